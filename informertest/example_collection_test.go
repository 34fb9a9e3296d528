// SPDX-License-Identifier: Apache-2.0

package informertest_test

import (
	"context"
	"fmt"

	"github.com/informerkit/informer/informertest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A collection outside of tests: nil stands for the test.
func ExampleCollection() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	notes := informertest.NewCollection(nil, newNote("a", "one"))
	w, err := notes.Watch(ctx, metav1.ListOptions{AllowWatchBookmarks: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(written(<-w.ResultChan()), written(<-w.ResultChan()))
	if _, err := notes.Update(ctx, newNote("a", "two")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(written(<-w.ResultChan()))
	notes.CutStreams()
	_, open := <-w.ResultChan()
	fmt.Println("open:", open)
	notes.Compact()
	w, err = notes.Watch(ctx, metav1.ListOptions{ResourceVersion: "2"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(written(<-w.ResultChan()))
	// Output:
	// +a=one@2 BM*@2
	// ~a=two@3
	// open: false
	// ERR410
}
