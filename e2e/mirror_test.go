// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/informerkit/informer"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
)

// failSafe ends a test that waits in vain. No test asserts how long anything takes.
const failSafe = 2 * time.Minute

// lister lists through client-go, so that what the mirror holds is compared with what another
// decoder made of another request.
type lister func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)

// asLister makes a lister of any client of client-go.
func asLister[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error)) lister {
	return func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return list(ctx, options)
	}
}

// mirror is a running informer under test, and what its handler was told.
type mirror[T informer.Object] struct {
	*informer.Informer[T]
	fresh    lister
	selector string
	told     *record[T]
	story    *story
}

// startMirror runs an informer until the test is over, which fails if Run returns an error.
func startMirror[T informer.Object](t *testing.T, source informer.ListerWatcher, fresh lister, options informer.Options[T]) *mirror[T] {
	t.Helper()
	told := &record[T]{shown: map[string]T{}}
	story := newStory()
	options.OnError = story.fails
	m := &mirror[T]{
		Informer: informer.New(source, options),
		fresh:    fresh,
		selector: options.LabelSelector,
		told:     told,
		story:    story,
	}
	handler, err := m.AddHandler(told, informer.HandlerOptions{DrainOnRemove: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), story.logger()))
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() {
		// What waits for a handler as Run ends would not be delivered.
		ending, cancel := context.WithTimeout(context.Background(), failSafe)
		defer cancel()
		if err := handler.RemoveAndWait(ending); err != nil {
			t.Errorf("handler: %v", err)
		}
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		told.check(t, m.Store())
		t.Logf("log of the mirror over %T:\n%s", source, story)
	})
	return m
}

// patience bounds one wait.
func patience(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), failSafe)
	t.Cleanup(cancel)
	return ctx
}

// sync waits for the first list.
func (m *mirror[T]) sync(t *testing.T) {
	t.Helper()
	if err := m.WaitForSync(patience(t)); err != nil {
		t.Fatal(err)
	}
	m.equal(t, "the first list")
}

// reach waits for a version, as a write returned it, and compares.
func (m *mirror[T]) reach(t *testing.T, version, after string) {
	t.Helper()
	if err := m.WaitForResourceVersion(patience(t), version); err != nil {
		t.Fatalf("after %s: %v", after, err)
	}
	m.equal(t, after)
}

// gone waits until the mirror has ceased to hold the object, and compares.
func (m *mirror[T]) gone(t *testing.T, key, after string) {
	t.Helper()
	if _, err := m.WaitFor(patience(t), key, func(_ T, ok bool) bool { return !ok }); err != nil {
		t.Fatalf("after %s: %v", after, err)
	}
	m.equal(t, after)
}

// equal compares the mirror with a fresh list, object by object. Nothing else writes to what the
// test mirrors, so a consistent list after the wait for the last write is what the mirror has to be.
func (m *mirror[T]) equal(t *testing.T, after string) {
	t.Helper()
	if difference := m.difference(t, after); difference != "" {
		t.Fatalf("after %s: %s", after, difference)
	}
}

// converge waits until the mirror is equal to a fresh list: after an outage no version tells when.
func (m *mirror[T]) converge(t *testing.T, after string) {
	t.Helper()
	ctx := patience(t)
	for {
		difference := m.difference(t, after)
		if difference == "" {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("after %s: %s\n%+v\n%s", after, difference, m.Status(), m.story)
		case <-time.After(pollInterval):
		}
	}
}

// pollInterval is the time between two looks at what cannot be waited for.
const pollInterval = 100 * time.Millisecond

// difference compares the mirror with a fresh list, and returns "" if they are equal.
func (m *mirror[T]) difference(t *testing.T, after string) string {
	t.Helper()
	list, err := m.fresh(patience(t), metav1.ListOptions{LabelSelector: m.selector})
	if err != nil {
		t.Fatalf("after %s: fresh list: %v", after, err)
	}
	want, err := meta.ExtractList(list)
	if err != nil {
		t.Fatalf("after %s: fresh list: %v", after, err)
	}
	for _, item := range want {
		key, err := informer.KeyOf(item)
		if err != nil {
			t.Fatalf("after %s: key: %v", after, err)
		}
		got, ok := m.Store().Get(key)
		if !ok {
			return key + " is on the server, but not in the mirror"
		}
		if !sameObject(got, item) {
			return fmt.Sprintf("%s in the mirror differs from the server's:\n%s\n%s", key, text(got), text(item))
		}
	}
	if m.Store().Len() != len(want) {
		return fmt.Sprintf("the mirror holds %d objects %v; the server has %d", m.Store().Len(), m.Store().Keys(), len(want))
	}
	return ""
}

// sameObject compares everything, except for the kind of objects of metadata alone: client-go sets
// it or not, by the encoding that it asked for.
func sameObject(a, b runtime.Object) bool {
	ma, aok := a.(*metav1.PartialObjectMetadata)
	mb, bok := b.(*metav1.PartialObjectMetadata)
	if aok && bok {
		return equality.Semantic.DeepEqual(ma.ObjectMeta, mb.ObjectMeta)
	}
	return equality.Semantic.DeepEqual(a, b)
}

// text shows an object of a test.
func text(obj runtime.Object) string {
	content, err := json.Marshal(obj)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%T %s", obj, content)
}

// record is a handler that checks the life of each key, and knows what it was shown.
type record[T informer.Object] struct {
	mu     sync.Mutex
	shown  map[string]T
	types  []informer.ChangeType
	faults []string
}

func (r *record[T]) Handle(_ context.Context, change informer.Change[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, shown := r.shown[change.Key]
	if shown == (change.Type == informer.Added) {
		r.faults = append(r.faults, fmt.Sprintf("%s of %s, which was shown before: %v", change.Type, change.Key, shown))
	}
	r.types = append(r.types, change.Type)
	if change.Type == informer.Deleted {
		delete(r.shown, change.Key)
		return
	}
	r.shown[change.Key] = change.New
}

// check runs after Run has returned: what the handler was told adds up to what the mirror holds.
func (r *record[T]) check(t *testing.T, store informer.View[T]) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, fault := range r.faults {
		t.Errorf("handler: %s", fault)
	}
	for _, want := range []informer.ChangeType{informer.Added, informer.Updated, informer.Deleted} {
		if !slices.Contains(r.types, want) {
			t.Errorf("handler was never told of %s", want)
		}
	}
	if len(r.shown) != store.Len() {
		t.Errorf("handler was told of %d objects; the mirror holds %d", len(r.shown), store.Len())
	}
	for key, obj := range r.shown {
		if got, ok := store.Get(key); !ok || got.GetResourceVersion() != obj.GetResourceVersion() {
			t.Errorf("handler knows %s at %s, which is not what the mirror holds", key, obj.GetResourceVersion())
		}
	}
}
