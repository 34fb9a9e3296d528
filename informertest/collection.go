// SPDX-License-Identifier: Apache-2.0

package informertest

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Collection is a collection of an API server in memory: an informer.ListerWatcher with
// the writes and the faults that a test needs. It answers as kube-apiserver does, unless
// Quirks say otherwise.
//
// Ownership: objects are copied on their way in and out; nothing that a caller does to
// one reaches the collection, or another caller.
//
// Concurrency: all methods may be called at any time. Nothing waits on the real clock: in
// a testing/synctest bubble all of it runs on fake time. The only goroutines are one for
// each open watch.
//
// Errors: those of an API server, as apierrors knows them.
type Collection[T informer.Object] struct {
	engine *engine
}

// NewCollection returns a collection that holds objs, with versions as if they had been
// created in that order; a UID and a creation time that they have is kept. At cleanup it
// fails t for each watch that is still open 10 s (of fake time, in a bubble) after the
// cleanup has begun. Outside of tests t is nil, and nothing is checked.
//
// It panics if two objects have the same key, or one has no name.
func NewCollection[T informer.Object](t testing.TB, objs ...T) *Collection[T] {
	c := newCollection[T](newEngine(newRevision(), schema.GroupVersionKind{}, newObjectOf[T]()))
	c.engine.setKindLocked(schema.GroupVersionKind{Kind: kindName[T]()})
	for _, obj := range objs {
		if _, err := c.engine.create(obj.DeepCopyObject().(informer.Object), true); err != nil {
			panic(fmt.Sprintf("informertest: NewCollection: %v", err))
		}
	}
	if t != nil {
		t.Cleanup(func() { c.engine.checkIdle(t) })
	}
	return c
}

func newCollection[T informer.Object](e *engine) *Collection[T] { return &Collection[T]{engine: e} }

// newObjectOf returns what makes an empty T; where T is an interface, the bookmarks, which
// are all that it is needed for, are metadata.
func newObjectOf[T informer.Object]() func() informer.Object {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Pointer {
		return func() informer.Object { return new(metav1.PartialObjectMetadata) }
	}
	return func() informer.Object { return reflect.New(t.Elem()).Interface().(T) }
}

// kindName is the name of a typed object's kind; types of any kind have none.
func kindName[T informer.Object]() string {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Pointer || t.Elem().Name() == "Unstructured" || t.Elem().Name() == "PartialObjectMetadata" {
		return ""
	}
	return t.Elem().Name()
}

// cleanupGrace is how long open watches may take to end after the test has.
const cleanupGrace = 10 * time.Second

// checkIdle fails t if a watch stays open.
func (e *engine) checkIdle(t testing.TB) {
	t.Helper()
	timer := time.NewTimer(cleanupGrace)
	defer timer.Stop()
	for {
		e.mu.Lock()
		open, idle, kind := len(e.streams), e.idle, e.kind.Kind
		e.mu.Unlock()
		if open == 0 {
			return
		}
		select {
		case <-idle:
		case <-timer.C:
			t.Errorf("informertest: %d watches of the %s collection are still open at the end of the test", open, kind)
			e.cutStreams()
			return
		}
	}
}

// List answers with an *informer.ObjectList[T].
//
// Ownership: the list belongs to the caller.
func (c *Collection[T]) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return c.list(ctx, "", options)
}

func (c *Collection[T]) list(ctx context.Context, namespace string, options metav1.ListOptions) (runtime.Object, error) {
	answer, err := c.engine.list(ctx, namespace, options)
	if err != nil {
		return nil, err
	}
	if answer.quirks.Truncate {
		return nil, fmt.Errorf("list: %w", io.ErrUnexpectedEOF)
	}
	if !rest(ctx, answer.quirks.Slow*time.Duration(len(answer.items))) {
		return nil, context.Cause(ctx)
	}
	list := &informer.ObjectList[T]{ListMeta: answer.meta(), Items: make([]T, len(answer.items))}
	for i, item := range answer.items {
		list.Items[i] = item.copy(0).(T)
	}
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	if kind := c.engine.kind; kind.Version != "" {
		list.APIVersion, list.Kind = kind.GroupVersion().String(), kind.Kind+"List"
	}
	return list, nil
}

// Watch opens a watch, which ends with ctx, with Stop, at its timeoutSeconds, when it is
// cut, and when its reader is some ten thousands of events behind.
//
// Lifetime: its goroutine ends with it; until then it counts as open.
func (c *Collection[T]) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return c.watch(ctx, "", options)
}

func (c *Collection[T]) watch(ctx context.Context, namespace string, options metav1.ListOptions) (watch.Interface, error) {
	s, err := c.engine.watch(ctx, namespace, options)
	if err != nil {
		return nil, err
	}
	w := &watcher{stream: s, events: make(chan watch.Event)}
	go w.run()
	return w, nil
}

// InNamespace returns the part of the collection that is in one namespace.
func (c *Collection[T]) InNamespace(namespace string) informer.ListerWatcher {
	return &informer.ListWatch{
		ListFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return c.list(ctx, namespace, options)
		},
		WatchFunc: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return c.watch(ctx, namespace, options)
		},
	}
}

// Create stores a new object, with a UID, a creation time and a version of its own, and a
// name if it has generateName instead, and returns it as stored.
//
// Errors: AlreadyExists; Invalid without a name; an internal error if obj has a version.
func (c *Collection[T]) Create(ctx context.Context, obj T) (T, error) {
	return c.write(ctx, obj, func(obj informer.Object) (*entry, error) { return c.engine.create(obj, false) })
}

// Update replaces an object and returns it as stored. One that changes nothing gets no new
// version and is no event. It removes an object that was marked by Delete and has no
// finalizers left.
//
// Errors: NotFound; Conflict if obj has a version that is not the current one, or the UID
// of another object.
func (c *Collection[T]) Update(ctx context.Context, obj T) (T, error) {
	return c.write(ctx, obj, c.engine.update)
}

func (c *Collection[T]) write(ctx context.Context, obj T, write func(informer.Object) (*entry, error)) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	stored, err := write(obj.DeepCopyObject().(informer.Object))
	if err != nil {
		return none, err
	}
	return stored.copy(0).(T), nil
}

// Delete removes an object. One with finalizers is marked with a deletion timestamp, and
// goes with the Update that takes the last of them away.
//
// Errors: NotFound.
func (c *Collection[T]) Delete(ctx context.Context, namespace, name string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	_, err := c.engine.remove(namespace, name, metav1.Preconditions{})
	return err
}

// Get returns an object.
//
// Errors: NotFound.
func (c *Collection[T]) Get(ctx context.Context, namespace, name string) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	found, err := c.engine.get(namespace, name)
	if err != nil {
		return none, err
	}
	return found.copy(0).(T), nil
}

// Len returns the number of objects.
func (c *Collection[T]) Len() int {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	return len(c.engine.objects)
}

// ResourceVersion returns the version that a consistent list would have now.
func (c *Collection[T]) ResourceVersion() string {
	return strconv.FormatUint(c.engine.revision.Load(), 10)
}

// OpenWatches returns the number of watches that are open.
func (c *Collection[T]) OpenWatches() int {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	return len(c.engine.streams)
}

// Requests returns the lists and watches that arrived, oldest first: all of them up to
// 5,000, and at least the last 5,000.
func (c *Collection[T]) Requests() []Request {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	return slices.Clone(c.engine.faults.requests)
}

// SetQuirks changes how the collection answers from the next request on.
func (c *Collection[T]) SetQuirks(quirks Quirks) {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	c.engine.faults.quirks = quirks
}

// FailNext makes the next n lists or watches fail with err, after failures that were asked
// for before. An err without a Status stands for a server that cannot be reached: over
// HTTP, the connection is closed without an answer. Zero or less: nothing fails.
func (c *Collection[T]) FailNext(n int, err error) {
	if n > 0 {
		c.engine.addRule(&rule{left: n, err: err})
	}
}

// FailWhile makes every list and watch that match holds for fail with err, until Recover.
// match is called with the collection locked: it must not call its methods.
func (c *Collection[T]) FailWhile(match func(Request) bool, err error) {
	c.engine.addRule(&rule{left: -1, match: match, err: err})
}

// Recover ends the failures of FailNext and FailWhile.
func (c *Collection[T]) Recover() {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	c.engine.faults.rules = nil
}

// CutStreams ends all open watches at once: their channels are closed, which is how a
// client sees a broken connection; over HTTP it is broken.
func (c *Collection[T]) CutStreams() { c.engine.cutStreams() }

// Compact forgets the history: a watch from a version before now, a list of one and a
// continue token are answered with 410. Open watches go on.
func (c *Collection[T]) Compact() { c.engine.compact() }

// Snapshot is a collection at a version. It never changes.
type Snapshot struct {
	version uint64
	objects map[string]*entry
}

// Snapshot returns the collection as it is now, for Restore.
func (c *Collection[T]) Snapshot() *Snapshot { return c.engine.snapshot() }

// Restore puts the collection back to a snapshot of it, as a backend does that is restored
// from a backup: objects and version are those of then, and counting goes on from there, so
// that versions come a second time, for other objects; what is created has a new UID. The
// streams are cut, and the history before the snapshot is forgotten. A watch at a version
// that the collection has not reached again is accepted, and silent until it has.
//
// The count of versions is the server's: collections that share one are restored together.
func (c *Collection[T]) Restore(snapshot *Snapshot) { c.engine.restore(snapshot) }
