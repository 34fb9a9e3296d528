// SPDX-License-Identifier: Apache-2.0

// Command controller runs a controller with a work queue: handlers put keys in, workers
// take them out, read the store and act; what fails is tried again later.
//
// The queue here is as small as one can be. Programs that have client-go at hand use its
// workqueue in the same place.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/informertest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type object = *metav1.PartialObjectMetadata

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "controller:", err)
		os.Exit(1)
	}
}

// run labels three objects of a collection in memory, the second one in its second try.
func run(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := informertest.NewCollection(nil, named("a"), named("b"), named("c"))
	c := newController(server, func(ctx context.Context, obj object) error {
		_, err := server.Update(ctx, obj)
		return err
	})
	done := make(chan error, 1)
	go func() { done <- c.run(ctx) }()
	for change := range c.objects.Changes(ctx) {
		if labelled(c.objects.Store()) == 3 {
			fmt.Fprintln(out, "all are labelled, the last one by", change.New.Labels["owner"])
			break
		}
	}
	cancel()
	return <-done
}

func named(name string) object {
	obj := &metav1.PartialObjectMetadata{}
	obj.Namespace, obj.Name = "default", name
	return obj
}

func labelled(store informer.View[object]) (n int) {
	for _, obj := range store.All() {
		if obj.Labels["owner"] != "" {
			n++
		}
	}
	return n
}

// controller gives each object an owner.
type controller struct {
	objects *informer.Informer[object]
	update  func(ctx context.Context, obj object) error
	queue   *queue
}

func newController(source informer.ListerWatcher, update func(ctx context.Context, obj object) error) *controller {
	return &controller{objects: informer.New(source, informer.Options[object]{}), update: update, queue: newQueue()}
}

// run returns when ctx ends, after the worker.
func (c *controller) run(ctx context.Context) error {
	// The handler says which key; what is to be done is decided from the store.
	enqueue := informer.HandlerFunc[object](func(_ context.Context, change informer.Change[object]) { c.queue.add(change.Key) })
	if _, err := c.objects.AddHandler(enqueue, informer.HandlerOptions{Name: "enqueue"}); err != nil {
		return err
	}
	var worker sync.WaitGroup
	defer worker.Wait()
	worker.Go(func() {
		if c.objects.WaitForSync(ctx) == nil { // nothing is decided from half a store
			c.work(ctx)
		}
	})
	return c.objects.Run(ctx)
}

func (c *controller) work(ctx context.Context) {
	for {
		key, err := c.queue.take(ctx)
		if err != nil {
			return
		}
		if err := c.reconcile(ctx, key); err != nil {
			time.AfterFunc(100*time.Millisecond, func() { c.queue.add(key) })
		}
	}
}

var errFirstTry = errors.New("the first try")

func (c *controller) reconcile(ctx context.Context, key string) error {
	obj, ok := c.objects.Store().Get(key)
	if !ok || obj.Labels["owner"] != "" {
		return nil // gone, or done
	}
	if c.queue.tried(key) == 1 && obj.Name == "b" {
		return errFirstTry
	}
	changed := obj.DeepCopy() // what the store has is shared
	changed.Labels = map[string]string{"owner": "controller"}
	return c.update(ctx, changed)
}

// queue holds each key once, however often it was added.
type queue struct {
	token chan struct{} // something is there

	mu     sync.Mutex
	keys   []string
	queued map[string]bool
	tries  map[string]int
}

func newQueue() *queue {
	return &queue{token: make(chan struct{}, 1), queued: map[string]bool{}, tries: map[string]int{}}
}

func (q *queue) add(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.queued[key] {
		q.queued[key] = true
		q.keys = append(q.keys, key)
	}
	q.offer()
}

func (q *queue) offer() {
	select {
	case q.token <- struct{}{}:
	default: // offered already
	}
}

func (q *queue) take(ctx context.Context) (string, error) {
	select {
	case <-q.token:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	key := q.keys[0]
	q.keys = q.keys[1:]
	delete(q.queued, key)
	q.tries[key]++
	if len(q.keys) > 0 {
		q.offer()
	}
	return key, nil
}

func (q *queue) tried(key string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.tries[key]
}
