// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

type storeItem = *metav1.PartialObjectMetadata

func newStoreItem(name, version string) storeItem {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, ResourceVersion: version, UID: types.UID("u-" + name), Labels: map[string]string{"app": name},
	}}
}

func newItemStore(transform TransformFunc[storeItem]) *Store[storeItem] {
	return NewStore(StoreOptions[storeItem]{Transform: transform, Indexers: Indexers[storeItem]{
		NamespaceIndex: IndexByNamespace[storeItem],
		"app":          func(obj storeItem) ([]string, error) { return []string{obj.Labels["app"]}, nil },
	}})
}

func storeDelta(kind DeltaType, name, version string) Delta[storeItem] {
	return Delta[storeItem]{
		Type: kind, Key: "ns/" + name, Object: newStoreItem(name, version),
		ResourceVersion: version, UID: types.UID("u-" + name), Cause: CauseInitial,
	}
}

func TestStoreApplyBatch(t *testing.T) {
	s := newItemStore(nil)
	if err := s.applyBatch(batch[storeItem]{version: "3"}); err != nil || s.ResourceVersion() != "3" || s.HasSynced() {
		t.Errorf("a version alone: %v, at %q, synced: %v", err, s.ResourceVersion(), s.HasSynced())
	}
	for _, n := range []int{10, 2000, 700} { // in place, in a fork, with deletes
		var b batch[storeItem]
		for i := range n {
			kind := DeltaReplaced
			if n == 700 {
				kind = DeltaDeleted
			}
			b.keys = append(b.keys, Deltas[storeItem]{storeDelta(kind, fmt.Sprint(i), "4")})
		}
		b.version, b.synced = fmt.Sprint(n), n == 2000
		if err := s.applyBatch(b); err != nil {
			t.Fatal(err)
		}
		if err := CheckStore(s); err != nil {
			t.Fatal(err)
		}
		if s.ResourceVersion() != b.version || s.HasSynced() != (n != 10) {
			t.Errorf("batch of %d: at %q, synced: %v", n, s.ResourceVersion(), s.HasSynced())
		}
	}
	if objects, _ := s.ByIndex(NamespaceIndex, "ns"); s.Len() != 1300 || len(objects) != 1300 {
		t.Errorf("%d objects, %d in the index", s.Len(), len(objects))
	}
}

func TestStoreApplyBatchJoinsErrors(t *testing.T) {
	bad := errors.New("bad")
	s := NewStore(StoreOptions[storeItem]{Indexers: Indexers[storeItem]{"bad": func(storeItem) ([]string, error) { return nil, bad }}})
	err := s.applyBatch(batch[storeItem]{version: "9", keys: []Deltas[storeItem]{
		{storeDelta(DeltaAdded, "a", "1")},
		{{Type: DeltaAdded, Key: "ns/nil"}},
		{storeDelta(DeltaAdded, "b", "2")},
	}})
	var index *IndexError
	var object *ObjectError
	if !errors.As(err, &index) || !errors.As(err, &object) || object.Key != "ns/nil" {
		t.Errorf("got %v", err)
	}
	if s.Len() != 2 || s.ResourceVersion() != "9" {
		t.Errorf("%d objects at %q: everything else is applied", s.Len(), s.ResourceVersion())
	}
}

func TestStoreApplyReached(t *testing.T) {
	s := newItemStore(nil)
	first, last := storeDelta(DeltaReplaced, "a", "1"), storeDelta(DeltaReplaced, "b", "2")
	last.reached = "7"
	if err := s.Apply(Deltas[storeItem]{first}); err != nil || s.ResourceVersion() != "" || s.HasSynced() {
		t.Errorf("first item of a list: %v, at %q, synced: %v", err, s.ResourceVersion(), s.HasSynced())
	}
	if err := s.Apply(Deltas[storeItem]{last}); err != nil || s.ResourceVersion() != "7" || s.HasSynced() {
		t.Errorf("last item of a list: %v, at %q, synced: %v", err, s.ResourceVersion(), s.HasSynced())
	}
	if s.listStored(); !s.HasSynced() {
		t.Error("not synced when the queue says so")
	}
}

func TestStoreIdentityOf(t *testing.T) {
	s := newItemStore(nil)
	_ = s.Add(t.Context(), newStoreItem("a", "1"))
	if version, uid, ok := s.identityOf(newStoreItem("a", "5")); version != "1" || uid != "u-a" || !ok {
		t.Errorf("a: %q %q %v", version, uid, ok)
	}
	for _, obj := range []storeItem{newStoreItem("b", "1"), newStoreItem("", "1"), nil} {
		if _, _, ok := s.identityOf(obj); ok {
			t.Errorf("%v: found", obj)
		}
	}
}

func TestStoreSnapshotIsOfOneMoment(t *testing.T) {
	for name, transform := range map[string]TransformFunc[storeItem]{
		"as it came": nil,
		"blanked": func(obj storeItem) (storeItem, error) {
			obj.UID = ""
			return obj, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newItemStore(transform)
			_ = s.Add(t.Context(), newStoreItem("a", "1"))
			_ = s.Add(t.Context(), newStoreItem("b", "2"))
			state := snapshotOf(s.view)
			_ = s.Delete(t.Context(), newStoreItem("a", "3"))
			_ = s.Add(t.Context(), newStoreItem("b", "4"))
			got := ""
			for _, obj := range readAll(state) {
				got += fmt.Sprintf("%s@%s, ", obj.key, obj.object.ResourceVersion)
			}
			if want := "ns/a@1, ns/b@2, "; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if obj, uid, _, ok := s.s.seek(&Delta[storeItem]{Key: "ns/b"}); !ok || uid != "u-b" || obj.ResourceVersion != "4" {
				t.Errorf("lookup: %v %q %v", obj, uid, ok)
			}
			if _, _, _, ok := s.s.seek(&Delta[storeItem]{Key: "ns/a"}); ok {
				t.Error("lookup finds what was deleted")
			}
		})
	}
}

func TestStoreAllocations(t *testing.T) {
	s := NewStore(StoreOptions[storeItem]{Indexers: Indexers[storeItem]{
		"constant": func() IndexFunc[storeItem] {
			values := []string{"x"}
			return func(storeItem) ([]string, error) { return values, nil }
		}(),
	}})
	for i := range 3000 {
		_ = s.Add(t.Context(), newStoreItem(fmt.Sprint(i), "1"))
	}
	next, ctx := newStoreItem("7", "2"), t.Context()
	for name, test := range map[string]struct {
		want float64
		do   func()
	}{
		"Get":     {0, func() { s.Get("ns/7") }},
		"List":    {1, func() { s.List() }},
		"Keys":    {1, func() { s.Keys() }},
		"ByIndex": {1, func() { _, _ = s.ByIndex("constant", "x") }},
		"Update":  {0, func() { _ = s.Update(ctx, next) }},
	} {
		do := test.do
		do() // copies what an earlier test froze
		if got := testing.AllocsPerRun(20, do); got > test.want {
			t.Errorf("%s: %v allocations, want %v", name, got, test.want)
		}
	}
}

// Who lists leaves what the next write needs: a write after a list allocates nothing.
func TestStoreWriteAfterList(t *testing.T) {
	s := NewStore(StoreOptions[storeItem]{})
	for i := range 6000 { // of fewer than eight chunks, nothing is left
		_ = s.Add(t.Context(), newStoreItem(fmt.Sprint(i), "1"))
	}
	next, ctx := newStoreItem("7", "2"), t.Context()
	s.List()
	left := s.s.list.Load().next.Load()
	if _ = s.Update(ctx, next); s.s.list.Load() != left {
		t.Error("the list that a reader left was not published")
	}
	again := func() { s.s.list.Store(nil); s.List() }
	list := testing.AllocsPerRun(20, again)
	if both := testing.AllocsPerRun(20, func() { again(); _ = s.Update(ctx, next) }); both > list {
		t.Errorf("%v allocations with the write, %v without", both, list)
	}
}

// Sources of a union may come and go under ever new names.
func TestStoreForgetsSources(t *testing.T) {
	s := newItemStore(nil)
	first := s.s.noteOfSource("0")
	if again := s.s.noteOfSource("0"); again != first {
		t.Error("two objects of a source do not share a note")
	}
	for n := range 10 * maxNotes {
		source := fmt.Sprint(n)
		if note := s.s.noteOfSource(source); note.Source != source || !note.Own {
			t.Fatalf("note of source %s: %+v", source, note)
		}
	}
	if len(s.s.notes) > maxNotes {
		t.Errorf("%d notes", len(s.s.notes))
	}
}
