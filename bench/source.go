// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/informerkit/informer"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// memorySource is a collection in memory: one list, and one watch with the events of a
// channel. It has no goroutine.
type memorySource struct {
	items  []*corev1.Pod
	events chan watch.Event
	open   chan struct{} // the watch is not answered before it is closed; nil: at once
	stop   sync.Once
}

func (m *memorySource) list(context.Context, metav1.ListOptions) (runtime.Object, error) {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: make([]corev1.Pod, len(m.items))}
	for i, pod := range m.items {
		list.Items[i] = *pod
	}
	return list, nil
}

func (m *memorySource) watch(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
	if m.open != nil {
		select {
		case <-m.open:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return m, nil
}

// ResultChan implements watch.Interface.
func (m *memorySource) ResultChan() <-chan watch.Event { return m.events }

// Stop implements watch.Interface. Nothing is sent after it.
func (m *memorySource) Stop() { m.stop.Do(func() { close(m.events) }) }

// side is an informer of one of the two libraries, with an index by namespace.
type side interface {
	// handle adds a handler; on is called for each change, with nil where there is none.
	handle(on func(before, after *corev1.Pod), resync time.Duration)
	run()
	synced() bool
	stop()
}

// constant keeps what the index function allocates out of the figures.
type constant map[string][]string

func (c constant) of(namespace string) []string { return c[namespace] }

func namespaces() constant {
	c := constant{}
	for i := range 500 { // those of a million pods
		name := fmt.Sprintf("namespace-%d", i)
		c[name] = []string{name}
	}
	return c
}

type ourSide struct {
	informer *informer.Informer[*corev1.Pod]
	end      func()
}

func newOurs(m *memorySource) side {
	values := namespaces()
	source := &informer.ListWatch{ListFunc: m.list, WatchFunc: m.watch, NoWatchList: true}
	return &ourSide{informer: informer.New(source, informer.Options[*corev1.Pod]{
		Indexers: informer.Indexers[*corev1.Pod]{
			byNamespace: func(p *corev1.Pod) ([]string, error) { return values.of(p.Namespace), nil },
		},
	})}
}

func (o *ourSide) handle(on func(before, after *corev1.Pod), resync time.Duration) {
	_, err := o.informer.AddHandler(informer.HandlerFuncs[*corev1.Pod]{
		AddFunc:    func(obj *corev1.Pod) { on(nil, obj) },
		UpdateFunc: func(before, after *corev1.Pod) { on(before, after) },
		DeleteFunc: func(obj *corev1.Pod) { on(obj, nil) },
	}, informer.HandlerOptions{Resync: resync})
	must(err)
}

func (o *ourSide) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		must(o.informer.Run(ctx))
	}()
	o.end = func() { cancel(); <-done }
}

func (o *ourSide) synced() bool { return o.informer.HasSynced() }
func (o *ourSide) stop()        { o.end() }

type theirSide struct {
	informer cache.SharedIndexInformer
	handlers []cache.ResourceEventHandlerRegistration
	end      func()
}

func newTheirs(m *memorySource) side {
	values := namespaces()
	source := listOnly{&cache.ListWatch{ListWithContextFunc: m.list, WatchFuncWithContext: m.watch}}
	return &theirSide{informer: cache.NewSharedIndexInformer(source, &corev1.Pod{}, time.Hour, cache.Indexers{
		byNamespace: func(obj any) ([]string, error) { return values.of(obj.(*corev1.Pod).Namespace), nil },
	})}
}

func (t *theirSide) handle(on func(before, after *corev1.Pod), resync time.Duration) {
	registration, err := t.informer.AddEventHandlerWithResyncPeriod(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { on(nil, obj.(*corev1.Pod)) },
		UpdateFunc: func(before, after any) { on(before.(*corev1.Pod), after.(*corev1.Pod)) },
		DeleteFunc: func(obj any) {
			if pod, ok := obj.(*corev1.Pod); ok {
				on(pod, nil)
			}
		},
	}, resync)
	must(err)
	t.handlers = append(t.handlers, registration)
}

func (t *theirSide) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.informer.RunWithContext(ctx)
	}()
	t.end = func() { cancel(); <-done }
}

func (t *theirSide) synced() bool {
	for _, handler := range t.handlers {
		if !handler.HasSynced() {
			return false
		}
	}
	return t.informer.HasSynced()
}

func (t *theirSide) stop() { t.end() }

func waitSynced(s side) {
	for !s.synced() {
		time.Sleep(time.Millisecond)
	}
}
