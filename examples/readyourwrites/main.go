// SPDX-License-Identifier: Apache-2.0

// Command readyourwrites writes through a client and then reads what it wrote from the
// mirror, without asking the server again and without polling.
package main

import (
	"context"
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
		fmt.Fprintln(os.Stderr, "readyourwrites:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := informertest.NewCollection[object](nil)
	objects := informer.New(server, informer.Options[object]{})
	done := make(chan error, 1)
	go func() { done <- objects.Run(ctx) }()

	obj := &metav1.PartialObjectMetadata{}
	obj.Namespace, obj.Name = "default", "web"
	created, err := server.Create(ctx, obj) // through any client
	if err != nil {
		return err
	}
	// The version that the write returned is what to wait for.
	if err := objects.WaitForResourceVersion(ctx, created.ResourceVersion); err != nil {
		return err
	}
	_, ok := objects.Store().Get("default/web")
	fmt.Fprintln(out, "created, and in the store:", ok)

	if err := server.Delete(ctx, "default", "web"); err != nil {
		return err
	}
	// A delete may return no version; then the absence is what to wait for.
	if _, err := objects.WaitFor(ctx, "default/web", func(_ object, ok bool) bool { return !ok }); err != nil {
		return err
	}
	fmt.Fprintln(out, "deleted, and in the store:", objects.Store().Len() > 0)
	cancel()
	return <-done
}
