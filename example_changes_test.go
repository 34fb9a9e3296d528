// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"fmt"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// exampleSource is a collection of two objects, and of the events that are sent to it.
func exampleSource(events watch.Interface) informer.ListerWatcher {
	return &informer.ListWatch{
		NoWatchList: true,
		ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &informer.ObjectList[*metav1.PartialObjectMetadata]{
				ListMeta: metav1.ListMeta{ResourceVersion: "2"},
				Items:    []*metav1.PartialObjectMetadata{exampleObject("apple", "1"), exampleObject("pear", "2")},
			}, nil
		},
		WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return events, nil
		},
	}
}

func exampleObject(name, version string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, ResourceVersion: version}}
}

func ExampleInformer_Changes() {
	events := watch.NewFake()
	fruit := informer.New(exampleSource(events), informer.Options[*metav1.PartialObjectMetadata]{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- fruit.Run(ctx) }()

	for change := range fruit.Changes(ctx) {
		fmt.Println(change.Type, change.Key, change.Cause)
		if change.Key == "shop/pear" && change.Type == informer.Added {
			events.Delete(exampleObject("pear", "3"))
		}
		if change.Type == informer.Deleted {
			break // forgets the loop; another one would begin with what is there then
		}
	}
	cancel()
	fmt.Println(<-done)
	// Output:
	// Added shop/apple Initial
	// Added shop/pear Initial
	// Deleted shop/pear Watch
	// <nil>
}
