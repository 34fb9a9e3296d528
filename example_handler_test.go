// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"fmt"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func ExampleInformer_AddHandler() {
	fruit := informer.New(exampleSource(watch.NewFake()), informer.Options[*metav1.PartialObjectMetadata]{})
	registration, err := fruit.AddHandler(informer.HandlerFuncs[*metav1.PartialObjectMetadata]{
		AddFunc: func(obj *metav1.PartialObjectMetadata) { fmt.Println("there is", obj.Name) },
	}, informer.HandlerOptions{Name: "printer"})
	if err != nil {
		fmt.Println(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- fruit.Run(ctx) }()

	<-registration.Synced() // the handler was told of the first list
	fmt.Println(registration.RemoveAndWait(ctx))
	cancel()
	fmt.Println(<-done)
	// Output:
	// there is apple
	// there is pear
	// <nil>
	// <nil>
}

func ExampleRegistrationFromContext() {
	fruit := informer.New(exampleSource(watch.NewFake()), informer.Options[*metav1.PartialObjectMetadata]{})
	found := make(chan string, 1)
	first := func(ctx context.Context, change informer.Change[*metav1.PartialObjectMetadata]) {
		found <- change.Key
		informer.RegistrationFromContext(ctx).Remove() // once is enough
	}
	if _, err := fruit.AddHandler(informer.HandlerFunc[*metav1.PartialObjectMetadata](first), informer.HandlerOptions{}); err != nil {
		fmt.Println(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- fruit.Run(ctx) }()
	fmt.Println(<-found)
	cancel()
	fmt.Println(<-done)
	// Output:
	// shop/apple
	// <nil>
}

func ExampleFilter() {
	fruit := informer.New(exampleSource(watch.NewFake()), informer.Options[*metav1.PartialObjectMetadata]{})
	told := make(chan string, 1)
	season := make(chan struct{}) // closed: pears, too
	ripe := func(obj *metav1.PartialObjectMetadata) bool {
		select {
		case <-season:
			return true
		default:
			return obj.Name == "apple"
		}
	}
	eat := informer.HandlerFunc[*metav1.PartialObjectMetadata](func(_ context.Context, change informer.Change[*metav1.PartialObjectMetadata]) {
		told <- fmt.Sprint(change.Type, " ", change.Key, " ", change.Cause)
	})
	registration, err := fruit.AddHandler(informer.Filter(ripe, eat), informer.HandlerOptions{})
	if err != nil {
		fmt.Println(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- fruit.Run(ctx) }()

	fmt.Println(<-told)
	<-registration.Synced()
	close(season)
	registration.Refilter() // its answers have changed
	fmt.Println(<-told)
	cancel()
	fmt.Println(<-done)
	// Output:
	// Added shop/apple Initial
	// Added shop/pear Scope
	// <nil>
}
