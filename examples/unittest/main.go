// SPDX-License-Identifier: Apache-2.0

// Command unittest is a controller that counts objects by owner, and main_test.go beside
// it is how such a controller is tested: on fake time, against a collection in memory
// that fails when it is told to.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"sync"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/informertest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type object = *metav1.PartialObjectMetadata

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "unittest:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := newCounter(informertest.NewCollection(nil, owned("a", "x"), owned("b", "y"), owned("c", "x")))
	done := make(chan error, 1)
	go func() { done <- c.objects.Run(ctx) }()
	if err := c.objects.WaitForSync(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, c.counted())
	cancel()
	return <-done
}

func owned(name, owner string) object {
	obj := &metav1.PartialObjectMetadata{}
	obj.Name, obj.Labels = name, map[string]string{"owner": owner}
	return obj
}

// counter counts objects by owner.
type counter struct {
	objects *informer.Informer[object]

	mu     sync.Mutex
	owners map[string]int
}

func newCounter(source informer.ListerWatcher) *counter {
	c := &counter{objects: informer.New(source, informer.Options[object]{}), owners: map[string]int{}}
	if _, err := c.objects.AddHandler(c, informer.HandlerOptions{}); err != nil {
		panic(err) // neither of the two was nil
	}
	return c
}

// Handle implements informer.Handler.
func (c *counter) Handle(_ context.Context, change informer.Change[object]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if change.Type != informer.Added {
		c.add(change.Old, -1)
	}
	if change.Type != informer.Deleted {
		c.add(change.New, 1)
	}
}

func (c *counter) add(obj object, n int) {
	owner := obj.Labels["owner"]
	if c.owners[owner] += n; c.owners[owner] == 0 {
		delete(c.owners, owner)
	}
}

func (c *counter) counted() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.owners)
}
