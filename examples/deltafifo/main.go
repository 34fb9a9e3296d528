// SPDX-License-Identifier: Apache-2.0

// Command deltafifo uses the queue alone, under a Reflector: for programs that want to see
// each step of each object, in order, and keep what they need of it themselves.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/informertest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type object = *metav1.PartialObjectMetadata

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "deltafifo:", err)
		os.Exit(1)
	}
}

var errSeen = errors.New("seen enough")

// run prints what happens to an object, from the list to its end.
func run(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	obj := &metav1.PartialObjectMetadata{}
	obj.Namespace, obj.Name = "default", "web"
	server := informertest.NewCollection(nil, obj)

	known := informer.NewStore(informer.StoreOptions[object]{}) // what was processed, so that deletes are found in lists
	queue := informer.NewDeltaFIFO(informer.DeltaFIFOOptions[object]{KnownObjects: known})
	reflector := informer.NewReflector(server, queue, informer.ReflectorOptions{Name: "objects"})
	done := make(chan error, 1)
	go func() { done <- reflector.Run(ctx) }()

	for {
		err := queue.Pop(ctx, func(deltas informer.Deltas[object]) error {
			for _, d := range deltas {
				fmt.Fprintln(out, d.Type, d.Key, d.Cause)
			}
			return known.Apply(deltas) // an error would put the deltas back
		})
		if err != nil {
			return err
		}
		if err := next(ctx, server, known); errors.Is(err, errSeen) {
			cancel()
			return <-done
		} else if err != nil {
			return err
		}
	}
}

// next changes the object, then deletes it.
func next(ctx context.Context, server *informertest.Collection[object], known *informer.Store[object]) error {
	obj, ok := known.Get("default/web")
	switch {
	case !ok:
		return errSeen
	case obj.Labels["changed"] != "":
		return server.Delete(ctx, "default", "web")
	}
	changed := obj.DeepCopy()
	changed.Labels = map[string]string{"changed": "yes"}
	_, err := server.Update(ctx, changed)
	return err
}
