// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// manyObjects is the length of a list that is queued whole.
const manyObjects = 2*wholeFrom + 7

// manySource lists many objects, and then sends what the test does.
func manySource() (*ListWatch, *watch.FakeWatcher) {
	events := watch.NewFakeWithChanSize(10, false)
	list := &ObjectList[fifoMeta]{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for i := range manyObjects {
		list.Items = append(list.Items, fifoNamed(fmt.Sprint("k", i), "1"))
	}
	return &ListWatch{
		ListFunc:    func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list, nil },
		WatchFunc:   func(context.Context, metav1.ListOptions) (watch.Interface, error) { return events, nil },
		NoWatchList: true,
	}, events
}

// listener writes down what it is told, and waits in its first call.
type listener struct {
	block    chan struct{}
	added    int
	initial  int
	of       []string // of k7
	versions map[string]string
}

func newListener() *listener {
	return &listener{block: make(chan struct{}), versions: map[string]string{}}
}

func (l *listener) Handle(_ context.Context, c Change[fifoMeta]) {
	<-l.block
	if c.Type == Added {
		l.added++
	}
	if c.Cause == CauseInitial {
		l.initial++
	}
	if c.Key == "k7" {
		l.of = append(l.of, string(c.Type)+c.Object().ResourceVersion)
	}
	l.versions[c.Key] = c.Object().ResourceVersion
}

// batchListener is a listener that takes batches.
type batchListener struct {
	*listener
	largest int
}

func (l *batchListener) HandleBatch(ctx context.Context, changes []Change[fifoMeta]) {
	l.largest = max(l.largest, len(changes))
	for _, c := range changes {
		l.Handle(ctx, c)
	}
}

// Handlers of every kind are told of a large first list, object by object and before what
// happens after it, and have synced when they were.
func TestLargeFirstList(t *testing.T) {
	t.Parallel()
	t.Run("handlers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			source, events := manySource()
			i := New[fifoMeta](source, Options[fifoMeta]{})
			merging, every := newListener(), newListener()
			batches := &batchListener{listener: newListener()}
			var registrations []*Registration
			add := func(h Handler[fifoMeta], options HandlerOptions) {
				r, err := i.AddHandler(h, options)
				fifoCheck(t, err)
				registrations = append(registrations, r)
			}
			add(merging, HandlerOptions{})
			add(every, HandlerOptions{EveryChange: true})
			add(batches, HandlerOptions{})
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan error, 1)
			go func() { over <- i.Run(ctx) }()
			synctest.Wait()
			if i.store.Len() != manyObjects {
				t.Fatalf("%d objects", i.store.Len())
			}
			events.Modify(fifoNamed("k7", "2"))
			events.Modify(fifoNamed("k7", "3"))
			time.Sleep(time.Second)
			synctest.Wait()
			for _, h := range i.Status().Handlers {
				if h.Synced || h.OldestAge < time.Second || h.Queued < manyObjects-wholeFrom-1 {
					t.Errorf("while it waits: %+v", h)
				}
			}
			for _, l := range []*listener{merging, every, batches.listener} {
				close(l.block)
			}
			synctest.Wait()
			for n, l := range []*listener{merging, every, batches.listener} {
				if l.added != manyObjects || l.initial != manyObjects || l.versions["k7"] != "3" || !registrations[n].HasSynced() {
					t.Errorf("handler %d: %d added, %d initial, k7 %q, synced %v", n, l.added, l.initial, l.of, registrations[n].HasSynced())
				}
			}
			if got := fmt.Sprint(every.of); got != "[Added1 Updated2 Updated3]" {
				t.Errorf("the handler that gets every change heard %s of k7", got)
			}
			if batches.largest > sweepBatch+1 {
				t.Errorf("a batch of %d", batches.largest)
			}
			if !i.HasSynced() {
				t.Error("the informer has not synced")
			}
			cancel()
			fifoCheck(t, <-over)
		})
	})
}

// A handler with a Limit holds up the source during a large first list as during any other.
func TestLargeFirstListLimited(t *testing.T) {
	t.Parallel()
	t.Run("limited", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			source, events := manySource()
			i := New[fifoMeta](source, Options[fifoMeta]{})
			limited := newListener()
			_, err := i.AddHandler(limited, HandlerOptions{EveryChange: true, Limit: 5})
			fifoCheck(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan error, 1)
			go func() { over <- i.Run(ctx) }()
			synctest.Wait()
			events.Modify(fifoNamed("k7", "2"))
			synctest.Wait()
			if version := i.store.ResourceVersion(); version != "1" {
				t.Errorf("the store went on to version %s", version)
			}
			close(limited.block)
			synctest.Wait()
			if limited.added != manyObjects || limited.versions["k7"] != "2" || i.store.ResourceVersion() != "2" {
				t.Errorf("%d added, k7@%s, store at %s", limited.added, limited.versions["k7"], i.store.ResourceVersion())
			}
			cancel()
			fifoCheck(t, <-over)
		})
	})
}

// What a transform blanks is known of a first list's objects all the same, and of those that
// it leaves alone.
func TestWholeListBlanked(t *testing.T) {
	s := NewStore(StoreOptions[fifoMeta]{})
	f := NewDeltaFIFO(DeltaFIFOOptions[fifoMeta]{KnownObjects: s, Transform: func(obj fifoMeta) (fifoMeta, error) {
		out := *obj
		switch obj.Name[len(obj.Name)-1] {
		case '1':
			out.ResourceVersion = ""
		case '2':
			out.UID = ""
		}
		return &out, nil
	}})
	f.batching = true
	var items []fifoMeta
	for i := range manyObjects {
		obj := fifoNamed(fmt.Sprint("k", i), fmt.Sprint(i+1))
		obj.UID = types.UID(fmt.Sprint("u", i))
		items = append(items, obj)
	}
	fifoCheck(t, f.Replace(t.Context(), items, "9"))
	b, err := f.takeBatch(t.Context())
	fifoCheck(t, err)
	if b.whole == nil {
		t.Fatal("the list was taken apart")
	}
	fifoCheck(t, s.applyBatch(b))
	f.batchDone()
	fifoCheck(t, s.s.table.Check())
	for _, obj := range items {
		version, uid, ok := s.Identity(obj.Name)
		if !ok || version != obj.ResourceVersion || uid != obj.UID {
			t.Errorf("%s is @%s/%s, want @%s/%s", obj.Name, version, uid, obj.ResourceVersion, obj.UID)
		}
	}
}
