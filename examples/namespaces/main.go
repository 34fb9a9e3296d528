// SPDX-License-Identifier: Apache-2.0

// Command namespaces mirrors the namespaces that a program may list, one by one, in one
// store behind one sync, as RBAC with least privilege has it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/informertest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type object = *metav1.PartialObjectMetadata

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "namespaces:", err)
		os.Exit(1)
	}
}

// run mirrors two of three namespaces, takes the third one in, and lets the first one go.
func run(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := informertest.NewCollection(nil, in("blue", "a"), in("green", "b"), in("red", "c"))
	objects := informer.NewUnion(informer.Options[object]{})
	add := func(namespace string) error {
		return objects.AddSource(informer.Source{Name: namespace, ListerWatcher: server.InNamespace(namespace)})
	}
	for _, namespace := range []string{"blue", "green"} {
		if err := add(namespace); err != nil {
			return err
		}
	}
	done := make(chan error, 1)
	go func() { done <- objects.Run(ctx) }()
	if err := objects.WaitForSync(ctx); err != nil {
		return err // names the namespace that is forbidden
	}
	keys := objects.Store().Keys()
	slices.Sort(keys)
	fmt.Fprintln(out, "synced:", keys)
	if err := add("red"); err != nil {
		return err
	}
	for change := range objects.Changes(ctx) {
		switch {
		case change.Source == "red":
			fmt.Fprintln(out, change.Type, change.Key)
			if err := objects.RemoveSource("blue"); err != nil {
				return err
			}
		case change.Type == informer.Deleted:
			fmt.Fprintln(out, change.Type, change.Key, "because of", change.Cause)
			cancel()
		}
	}
	return <-done
}

func in(namespace, name string) object {
	obj := &metav1.PartialObjectMetadata{}
	obj.Namespace, obj.Name = namespace, name
	return obj
}
