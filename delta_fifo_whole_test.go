// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func newWholeFIFO(known *fifoMap) *DeltaFIFO[fifoMeta] {
	f := newBatchFIFO(known)
	f.batching, f.wholeFrom = true, 2
	return f
}

// A first list that waits, or is being applied, counts as every other delta does.
func TestWholeList(t *testing.T) {
	known, ctx := newFIFOMap(), t.Context()
	f := newWholeFIFO(known)
	fifoCheck(t, f.Replace(ctx, []fifoMeta{fifoNamed("a", "1"), fifoNamed("b", "2"), fifoNamed("c", "3")}, "5"))
	if f.whole == nil {
		t.Fatal("the list was taken apart")
	}
	if f.Len() != 3 || f.HasSynced() || f.restedLocked() {
		t.Errorf("%d keys, synced %v", f.Len(), f.HasSynced())
	}
	// Events before the list is taken come after it, in a batch of their own.
	fifoCheck(t, f.Update(ctx, fifoNamed("a", "6")))
	fifoCheck(t, f.Delete(ctx, fifoNamed("b", "7")))
	fifoCheck(t, f.Delete(ctx, fifoNamed("none", "8")))
	list := fifoTake(t, f, "a: Replaced, b: Replaced, c: Replaced; version 5; synced")
	for name, want := range map[string]string{"a": "6", "b": "", "c": "3", "none": ""} {
		if version, _, ok := f.Identity(fifoNamed(name, "")); version != want || ok != (want != "") {
			t.Errorf("%s is @%s, want @%s", name, version, want)
		}
	}
	// So does a list that comes meanwhile: c is unchanged, a changed, b stays gone.
	fifoCheck(t, f.Replace(ctx, []fifoMeta{fifoNamed("c", "3"), fifoNamed("a", "9")}, "10"))
	for deltas := range list.all {
		known.last[deltas.Key()] = deltas.Newest()
	}
	f.batchDone()
	if got := f.ResourceVersion(); got != "5" || !f.HasSynced() {
		t.Errorf("version %q, synced %v", got, f.HasSynced())
	}
	fifoTake(t, f, "a: Updated Replaced, b: Deleted; version 10")
	f.batchDone()
	if !f.restedLocked() || f.ResourceVersion() != "10" {
		t.Errorf("at rest %v, version %s", f.restedLocked(), f.ResourceVersion())
	}
}

// What the next list lacks is deleted, also where the first one still waits.
func TestWholeListThenEmpty(t *testing.T) {
	f := newWholeFIFO(newFIFOMap())
	fifoCheck(t, f.Replace(t.Context(), []fifoMeta{fifoNamed("a", "1"), fifoNamed("b", "2")}, ""))
	fifoCheck(t, f.Replace(t.Context(), nil, "5"))
	fifoTake(t, f, "a: Replaced, b: Replaced; version ; synced")
	f.batchDone()
	fifoTake(t, f, "a: Deleted, b: Deleted; version 5")
	f.batchDone()
}

// A first list is what there is at first, whatever part of the collection it covers.
func TestWholeListRescoped(t *testing.T) {
	f := newWholeFIFO(newFIFOMap())
	r, err := f.beginRescoped(t.Context(), &rescope{})
	fifoCheck(t, err)
	fifoCheck(t, r.Put(fifoNamed("a", "1")))
	fifoCheck(t, r.Put(fifoNamed("b", "1")))
	fifoCheck(t, r.Commit("1"))
	b := fifoTake(t, f, "a: Replaced, b: Replaced; version 1; synced")
	for deltas := range b.all {
		if d := deltas.Newest(); b.whole == nil || d.Cause != CauseInitial {
			t.Errorf("%s: %s, queued whole: %v", d.Key, d.Cause, b.whole != nil)
		}
	}
}

// Lists that are short, not the first, or not all new are taken apart.
func TestNoWholeList(t *testing.T) {
	ctx := t.Context()
	short := newWholeFIFO(newFIFOMap())
	fifoCheck(t, short.Replace(ctx, []fifoMeta{fifoNamed("a", "1")}, "1"))
	behind := newWholeFIFO(newFIFOMap())
	fifoCheck(t, behind.Add(ctx, fifoNamed("a", "1")))
	fifoCheck(t, behind.Replace(ctx, []fifoMeta{fifoNamed("b", "1"), fifoNamed("c", "1")}, "1"))
	removed := newWholeFIFO(newFIFOMap())
	r, err := removed.BeginReplace(ctx)
	fifoCheck(t, err)
	for _, name := range []string{"a", "b", "c"} {
		fifoCheck(t, r.Put(fifoNamed(name, "1")))
	}
	fifoCheck(t, r.Remove(fifoNamed("b", "1")))
	fifoCheck(t, r.Commit("1"))
	second := newWholeFIFO(newFIFOMap())
	fifoCheck(t, second.Replace(ctx, nil, "1"))
	fifoCheck(t, second.Replace(ctx, []fifoMeta{fifoNamed("b", "1"), fifoNamed("c", "1")}, "1"))
	for name, f := range map[string]*DeltaFIFO[fifoMeta]{"short": short, "behind": behind, "removed": removed, "second": second} {
		if f.whole != nil {
			t.Errorf("%s: the list was not taken apart", name)
		}
	}
}

// fillOf is a batch with a first list of n objects for a store that is empty.
func fillOf(t *testing.T, s *Store[fifoMeta], n int) batch[fifoMeta] {
	_, b := takenFill(t, s, n)
	return b
}

// takenFill is such a batch, and the queue that it was taken from.
func takenFill(t *testing.T, s *Store[fifoMeta], n int) (*DeltaFIFO[fifoMeta], batch[fifoMeta]) {
	f := NewDeltaFIFO(DeltaFIFOOptions[fifoMeta]{KnownObjects: s})
	f.batching, f.wholeFrom = true, 2
	var items []fifoMeta
	for i := range n {
		obj := fifoNamed(fmt.Sprint("n", i), fmt.Sprint(i+1))
		obj.Namespace = fmt.Sprint("ns", i%7)
		items = append(items, obj)
	}
	fifoCheck(t, f.Replace(t.Context(), items, "9"))
	b, err := f.takeBatch(t.Context())
	fifoCheck(t, err)
	if !s.s.canFill(b) {
		t.Fatal("the list cannot be taken over")
	}
	return f, b
}

func TestFill(t *testing.T) {
	const n = 773
	byNamespace := func(obj fifoMeta) ([]string, error) {
		if obj.Name == "n300" {
			return nil, errors.New("odd")
		}
		return []string{obj.Namespace}, nil
	}
	s := NewStore(StoreOptions[fifoMeta]{Indexers: Indexers[fifoMeta]{"ns": byNamespace}})
	before := s.View().All()
	err := s.applyBatch(fillOf(t, s, n))
	if index, ok := errors.AsType[*IndexError](err); !ok || index.Key != "ns6/n300" {
		t.Errorf("the index function's error: %v", err)
	}
	found, err := s.ByIndex("ns", "ns6")
	if err != nil || s.Len() != n || s.ResourceVersion() != "9" || !s.HasSynced() {
		t.Errorf("%d objects, version %s, synced %v, %v", s.Len(), s.ResourceVersion(), s.HasSynced(), err)
	}
	if want := n/7 - 1; len(found) < want || slices.ContainsFunc(found, func(o fifoMeta) bool { return o.Name == "n300" }) {
		t.Errorf("%d objects in the namespace, want about %d, without n300", len(found), want)
	}
	if err := s.s.table.Check(); err != nil {
		t.Error(err)
	}
	count := 0
	for range before {
		count++ // the loop begins now
	}
	if count != n {
		t.Errorf("a loop sees %d objects", count)
	}
}

// While a first list is put into the store, and indexes come, the queue knows it all the same.
// The race detector has a say in this one.
func TestFillBesideQueue(t *testing.T) {
	const n = 1500
	s := NewStore(StoreOptions[fifoMeta]{})
	f, b := takenFill(t, s, n)
	var reader sync.WaitGroup
	reader.Go(func() {
		for i := range n {
			obj := fifoNamed(fmt.Sprint("n", i), "")
			obj.Namespace = fmt.Sprint("ns", i%7)
			if version, _, ok := f.Identity(obj); !ok || version != fmt.Sprint(i+1) {
				t.Errorf("%s is @%s, want @%d", obj.Name, version, i+1)
			}
		}
	})
	fifoCheck(t, s.AddIndexers(Indexers[fifoMeta]{"early": IndexByNamespace[fifoMeta]}))
	fifoCheck(t, s.applyBatch(b))
	fifoCheck(t, s.AddIndexers(Indexers[fifoMeta]{"late": IndexByNamespace[fifoMeta]}))
	reader.Wait()
	f.batchDone()
	for _, index := range []string{"early", "late"} {
		if keys, err := s.IndexKeys(index, "ns3"); err != nil || len(keys) != (n+3)/7 {
			t.Errorf("%s: %d keys, %v", index, len(keys), err)
		}
	}
	fifoCheck(t, s.Update(t.Context(), fifoNamed("more", "10")))
	fifoCheck(t, s.s.table.Check())
}

// A store that was filled by hand gets the list on top, as of one moment.
func TestFillSeeded(t *testing.T) {
	s := NewStore(StoreOptions[fifoMeta]{})
	b := fillOf(t, s, 1500)
	fifoCheck(t, s.Add(t.Context(), fifoNamed("mine", "1")))
	fifoCheck(t, s.applyBatch(b))
	if _, ok := s.Get("mine"); !ok || s.Len() != 1501 {
		t.Errorf("%d objects", s.Len())
	}
	fifoCheck(t, s.s.table.Check())
}

// An index function that ends its goroutine leaves nothing of the list.
func TestFillEnded(t *testing.T) {
	const n = 700
	calls := 0
	s := NewStore(StoreOptions[fifoMeta]{Indexers: Indexers[fifoMeta]{"odd": func(obj fifoMeta) ([]string, error) {
		if calls++; calls == 500 {
			runtime.Goexit()
		}
		return []string{obj.Namespace}, nil
	}}})
	b, over := fillOf(t, s, n), make(chan struct{})
	go func() {
		defer close(over)
		_ = s.applyBatch(b)
	}()
	<-over
	if s.Len() != 0 || s.ResourceVersion() != "" {
		t.Errorf("%d objects at version %q", s.Len(), s.ResourceVersion())
	}
	if err := s.applyBatch(b); err != nil || s.Len() != n {
		t.Errorf("the second time: %d objects, %v", s.Len(), err)
	}
	if err := s.s.table.Check(); err != nil {
		t.Error(err)
	}
}

// A first list takes little memory beside its objects on its way into the store.
func TestFirstListMemory(t *testing.T) {
	const n = 20_000
	items := make([]fifoMeta, n)
	for i := range items {
		items[i] = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: strings.Repeat("n", 20) + fmt.Sprint(i), ResourceVersion: "1",
		}}
	}
	s := NewStore(StoreOptions[fifoMeta]{Indexers: Indexers[fifoMeta]{"ns": IndexByNamespace[fifoMeta]}})
	f := NewDeltaFIFO(DeltaFIFOOptions[fifoMeta]{KnownObjects: s})
	f.batching = true
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fifoCheck(t, f.Replace(t.Context(), items, "1"))
	b, err := f.takeBatch(t.Context())
	fifoCheck(t, err)
	fifoCheck(t, s.applyBatch(b))
	f.batchDone()
	runtime.ReadMemStats(&after)
	if perItem := (after.TotalAlloc - before.TotalAlloc) / n; perItem > 250 {
		t.Errorf("%d bytes an item were allocated, want 250 at most", perItem)
	} else {
		t.Logf("%d bytes an item", perItem)
	}
}

// A list that is no longer all there is, or holds more than objects, is queued item by item:
// each once, as it came last, in order of first arrival.
func TestWholeListTakenApart(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]struct {
		meanwhile func(f *DeltaFIFO[fifoMeta], r Replacement[fifoMeta]) error
		want      string
	}{
		"nothing":  {func(*DeltaFIFO[fifoMeta], Replacement[fifoMeta]) error { return nil }, "whole"},
		"bookmark": {func(f *DeltaFIFO[fifoMeta], _ Replacement[fifoMeta]) error { return f.Bookmark(ctx, "4") }, "whole"},
		"event": {
			func(f *DeltaFIFO[fifoMeta], _ Replacement[fifoMeta]) error { return f.Add(ctx, fifoNamed("e", "4")) },
			"e: Added Deleted, a: Replaced, b: Replaced, c: Replaced; version 5; synced",
		},
		"removed": {
			func(_ *DeltaFIFO[fifoMeta], r Replacement[fifoMeta]) error { return r.Remove(fifoNamed("a", "4")) },
			"b: Replaced, c: Replaced; version 5; synced",
		},
		"kept": {
			func(_ *DeltaFIFO[fifoMeta], r Replacement[fifoMeta]) error { r.Keep(fifoNamed("b", "4")); return nil },
			"a: Replaced, c: Replaced; version 5; synced",
		},
		"removed, and back": {
			func(_ *DeltaFIFO[fifoMeta], r Replacement[fifoMeta]) error {
				return errors.Join(r.Remove(fifoNamed("a", "4")), r.Put(fifoNamed("a", "5")))
			},
			"a: Replaced, b: Replaced, c: Replaced; version 5; synced",
		},
	} {
		f := newWholeFIFO(newFIFOMap())
		r, err := f.BeginReplace(ctx)
		fifoCheck(t, err)
		for _, obj := range []fifoMeta{fifoNamed("a", "1"), fifoNamed("b", "1"), fifoNamed("a", "2")} {
			fifoCheck(t, r.Put(obj))
		}
		fifoCheck(t, c.meanwhile(f, r))
		fifoCheck(t, r.Put(fifoNamed("c", "3")))
		fifoCheck(t, r.Commit("5"))
		if whole := f.whole != nil; whole != (c.want == "whole") {
			t.Errorf("%s: queued whole: %v", name, whole)
		}
		if c.want == "whole" {
			c.want = "a: Replaced, b: Replaced, c: Replaced; version 5; synced"
		}
		if version, _, ok := f.Identity(fifoNamed("a", "")); ok && version == "1" {
			t.Errorf("%s: a is as it came first", name)
		}
		fifoTake(t, f, c.want)
		f.batchDone()
	}
}

// A resync of what was in the store for a moment counts as older than the list.
func TestWholeListResync(t *testing.T) {
	ctx, s := t.Context(), NewStore(StoreOptions[fifoMeta]{})
	f := NewDeltaFIFO(DeltaFIFOOptions[fifoMeta]{KnownObjects: s})
	f.batching, f.wholeFrom = true, 2
	r, err := f.BeginReplace(ctx)
	fifoCheck(t, err)
	fifoCheck(t, errors.Join(r.Put(fifoNamed("a", "2")), r.Put(fifoNamed("b", "2"))))
	fifoCheck(t, errors.Join(s.Add(ctx, fifoNamed("a", "1")), f.Resync(ctx), s.Delete(ctx, fifoNamed("a", "1"))))
	fifoCheck(t, r.Commit("5"))
	if version, _, _ := f.Identity(fifoNamed("a", "")); version != "2" {
		t.Errorf("a is @%s, want @2", version)
	}
	fifoTake(t, f, "a: Sync Replaced, b: Replaced; version 5; synced")
	f.batchDone()
}

// A list whose queue is closed meanwhile fails as every other.
func TestWholeListClosed(t *testing.T) {
	f := newWholeFIFO(newFIFOMap())
	r, err := f.BeginReplace(t.Context())
	fifoCheck(t, err)
	fifoCheck(t, r.Put(fifoNamed("a", "1")))
	f.Close()
	if err := r.Put(fifoNamed("b", "1")); err != ErrClosed {
		t.Errorf("Put: %v", err)
	}
	if err := r.Commit("1"); err != ErrClosed || f.whole != nil {
		t.Errorf("Commit: %v", err)
	}
}
