// SPDX-License-Identifier: Apache-2.0

package pager_test

import (
	"context"
	"fmt"

	"github.com/informerkit/informer/pager"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// books answers as a server with two pages would.
func books(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
	page := &metav1.PartialObjectMetadataList{}
	page.ResourceVersion = "42"
	titles := []string{"anna-karenina", "ulysses"}
	if options.Continue == "" {
		page.Continue = "page-two"
	} else {
		titles = []string{"walden"}
	}
	for _, title := range titles {
		page.Items = append(page.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: title}})
	}
	return page, nil
}

func ExamplePager_EachItem() {
	p := pager.New(books, pager.Options{PageSize: 2})
	info, err := p.EachItem(context.Background(), metav1.ListOptions{}, func(obj runtime.Object) error {
		fmt.Println(obj.(*metav1.PartialObjectMetadata).Name)
		return nil
	})
	fmt.Println("version", info.ResourceVersion, err)
	// Output:
	// anna-karenina
	// ulysses
	// walden
	// version 42 <nil>
}

func ExamplePager_List() {
	whole, err := pager.New(books, pager.Options{PageSize: 2}).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	list := whole.(*metav1.PartialObjectMetadataList)
	fmt.Println(len(list.Items), "books at version", list.ResourceVersion)
	// Output:
	// 3 books at version 42
}

func ExampleWalk() {
	count := 0
	info, err := pager.Walk(context.Background(), metav1.ListOptions{}, func(ctx context.Context, options metav1.ListOptions) (metav1.ListMeta, error) {
		page, err := books(ctx, options) // a real one decodes item by item
		if err != nil {
			return metav1.ListMeta{}, err
		}
		list := page.(*metav1.PartialObjectMetadataList)
		count += len(list.Items)
		return list.ListMeta, nil
	}, pager.Options{Restart: func() { count = 0 }})
	fmt.Println(count, "books at version", info.ResourceVersion, err)
	// Output:
	// 3 books at version 42 <nil>
}
