// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"errors"
	"testing"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStoreReplacement(t *testing.T) {
	s := newLabelStore(newStoreObject("a", "1", "x"), newStoreObject("b", "2", "x"), newStoreObject("c", "3"), newStoreObject("d", "4"))
	oldA, _ := s.Get("ns/a")
	r, err := s.BeginReplace(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	put := func(obj storeObject) {
		t.Helper()
		if err := r.Put(obj); err != nil {
			t.Error(err)
		}
	}
	put(newStoreObject("a", "1", "x"))          // unchanged
	put(newStoreObject("b", "7"))               // put twice
	put(newStoreObject("b", "8", "y"))          // changed
	put(newStoreObject("e", "9", "y"))          // new
	put(newStoreObject("f", "9"))               // removed again
	r.Keep(newStoreObject("c", "30"))           // stays as it is
	r.Keep(newStoreObject("nothing", "1"))      // nothing to keep
	r.Keep(&metav1.ObjectMeta{Name: "cluster"}) // of another type
	if err := r.Remove(storeWithUID(newStoreObject("e", "10"), "other")); err != nil {
		t.Error(err)
	}
	if err := r.Remove(newStoreObject("f", "10")); err != nil {
		t.Error(err)
	}
	wantStore(t, s, "ns/a@1 ns/b@2 ns/c@3 ns/d@4 :4")
	if s.HasSynced() {
		t.Error("synced before Commit")
	}
	if err := r.Commit("40"); err != nil {
		t.Error(err)
	}
	wantStore(t, s, "ns/a@1 ns/b@8 ns/c@3 ns/e@9 :40")
	wantStoreKeys(t, s, "x", "ns/a")
	wantStoreKeys(t, s, "y", "ns/b ns/e")
	if a, _ := s.Get("ns/a"); a != oldA {
		t.Error("an unchanged object was exchanged")
	}
	select {
	case <-s.Synced():
	default:
		t.Error("not synced after Commit")
	}
	if r.Commit("41") == nil || r.Put(newStoreObject("z", "1")) == nil || r.Remove(newStoreObject("a", "1")) == nil {
		t.Error("no error after Commit")
	}
	r.Abort()
	r.Keep(newStoreObject("z", "1"))
	wantStore(t, s, "ns/a@1 ns/b@8 ns/c@3 ns/e@9 :40")
}

func TestStoreReplacementAborted(t *testing.T) {
	s := newLabelStore(newStoreObject("a", "1"))
	r, _ := s.BeginReplace(t.Context())
	_ = r.Put(newStoreObject("b", "2"))
	r.Abort()
	if err := r.Commit("3"); err == nil {
		t.Error("Commit after Abort")
	}
	var object *informer.ObjectError
	if err := s.Replace(t.Context(), []storeObject{newStoreObject("b", "2"), nil}, "3"); !errors.As(err, &object) {
		t.Errorf("a list with a nil object: %v", err)
	}
	wantStore(t, s, "ns/a@1 :1")
	if s.HasSynced() {
		t.Error("synced by a list that failed")
	}
}

func TestStoreReplacementWins(t *testing.T) {
	s := newLabelStore(newStoreObject("a", "1"), newStoreObject("b", "1"))
	r, _ := s.BeginReplace(t.Context())
	_ = r.Put(newStoreObject("a", "1")) // unchanged, for now
	_ = s.Update(t.Context(), newStoreObject("a", "5"))
	_ = s.Delete(t.Context(), newStoreObject("b", "6"))
	_ = r.Put(newStoreObject("b", "1"))
	_ = s.Add(t.Context(), newStoreObject("c", "7"))
	if err := r.Commit("4"); err != nil {
		t.Error(err)
	}
	wantStore(t, s, "ns/a@1 ns/b@1 :4")
}

func TestStoreReplacementKeepsByUID(t *testing.T) {
	s := newLabelStore(newStoreObject("same", "1"), newStoreObject("other", "1"), newStoreObject("none", "1"))
	r, _ := s.BeginReplace(t.Context())
	r.Keep(newStoreObject("same", "2"))
	r.Keep(storeWithUID(newStoreObject("other", "2"), "recreated"))
	r.Keep(storeWithUID(newStoreObject("none", "2"), ""))
	if err := r.Commit("2"); err != nil {
		t.Error(err)
	}
	wantStore(t, s, "ns/none@1 ns/same@1 :2")
}

// What an unchanged item is, with versions and without.
func TestStoreReplaceUnchanged(t *testing.T) {
	tests := []struct {
		name     string
		old, new storeObject
		stays    bool
	}{
		{"all equal", newStoreObject("a", "1", "x"), newStoreObject("a", "1", "x"), true},
		{"content", newStoreObject("a", "1", "x"), newStoreObject("a", "1", "y"), false},
		{"version", newStoreObject("a", "1", "x"), newStoreObject("a", "2", "x"), false},
		{"UID", newStoreObject("a", "1"), storeWithUID(newStoreObject("a", "1"), "u"), false},
		{"no versions", newStoreObject("a", "", "x"), newStoreObject("a", "", "x"), true},
		{"no versions, content", newStoreObject("a", "", "x"), newStoreObject("a", "", "y"), false},
		{"no UIDs", storeWithUID(newStoreObject("a", "1"), ""), storeWithUID(newStoreObject("a", "1"), ""), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newLabelStore(test.old)
			if err := s.Replace(t.Context(), []storeObject{test.new}, ""); err != nil {
				t.Fatal(err)
			}
			if got, _ := s.Get("ns/a"); (got == test.old) != test.stays || (got == test.new) == test.stays {
				t.Errorf("stays: %v, want %v", got == test.old, test.stays)
			}
			if s.ResourceVersion() != test.old.ResourceVersion {
				t.Errorf("a list without a version moved it to %q", s.ResourceVersion())
			}
		})
	}
}

// The version before the transform counts: equal content after it is another state.
func TestStoreReplaceComparesBeforeTransform(t *testing.T) {
	blank := func(obj storeObject) (storeObject, error) {
		out := obj.DeepCopy()
		out.ResourceVersion, out.UID = "", ""
		return out, nil
	}
	s := informer.NewStore(informer.StoreOptions[storeObject]{Transform: blank})
	_ = s.Add(t.Context(), newStoreObject("a", "1"))
	first, _ := s.Get("ns/a")
	_ = s.Replace(t.Context(), []storeObject{newStoreObject("a", "1")}, "2")
	if second, _ := s.Get("ns/a"); second != first {
		t.Error("an unchanged object was exchanged")
	}
	_ = s.Replace(t.Context(), []storeObject{newStoreObject("a", "3")}, "3")
	if version, _, _ := s.Identity("ns/a"); version != "3" {
		t.Errorf("version %q", version)
	}
}

// A list into an empty store, and what may happen to either before its Commit.
func TestStoreReplacementOfNothing(t *testing.T) {
	type replacement = informer.Replacement[storeObject]
	for name, row := range map[string]struct {
		meanwhile func(s *informer.Store[storeObject], r replacement) error
		want, ofX string
	}{
		"nothing": {func(*informer.Store[storeObject], replacement) error { return nil }, "ns/a@3 ns/b@2 ns/z@9 :40", "ns/b"},
		"a write": {func(s *informer.Store[storeObject], _ replacement) error {
			return s.Add(t.Context(), newStoreObject("c", "5", "x"))
		}, "ns/a@3 ns/b@2 ns/z@9 :40", "ns/b"},
		"an unchanged write": {func(s *informer.Store[storeObject], _ replacement) error {
			return s.Add(t.Context(), newStoreObject("b", "2", "x"))
		}, "ns/a@3 ns/b@2 ns/z@9 :40", "ns/b"},
		"a write, taken back": {func(s *informer.Store[storeObject], _ replacement) error {
			return errors.Join(s.Add(t.Context(), newStoreObject("c", "5", "x")), s.Delete(t.Context(), newStoreObject("c", "5")))
		}, "ns/a@3 ns/b@2 ns/z@9 :40", "ns/b"},
		"removed": {func(_ *informer.Store[storeObject], r replacement) error { return r.Remove(newStoreObject("b", "5")) }, "ns/a@3 ns/z@9 :40", ""},
		"another removed": {func(_ *informer.Store[storeObject], r replacement) error {
			return r.Remove(storeWithUID(newStoreObject("b", "5"), "other"))
		}, "ns/a@3 ns/b@2 ns/z@9 :40", "ns/b"},
		"kept": {func(_ *informer.Store[storeObject], r replacement) error {
			r.Keep(newStoreObject("b", "2"))
			return nil
		}, "ns/a@3 ns/z@9 :40", ""},
		"kept what was written": {func(s *informer.Store[storeObject], r replacement) error {
			defer r.Keep(newStoreObject("c", "5"))
			return s.Add(t.Context(), newStoreObject("c", "5", "x"))
		}, "ns/a@3 ns/b@2 ns/c@5 ns/z@9 :40", "ns/b ns/c"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLabelStore()
			old := s.View().All()
			r, err := s.BeginReplace(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, obj := range []storeObject{newStoreObject("a", "1", "x"), newStoreObject("b", "2", "x"), newStoreObject("a", "3", "y")} {
				err = errors.Join(err, r.Put(obj))
			}
			err = errors.Join(err, row.meanwhile(s, r), r.Put(newStoreObject("z", "9", "y")), r.Commit("40"))
			if err != nil {
				t.Fatal(err)
			}
			wantStore(t, s, row.want)
			wantStoreKeys(t, s, "x", row.ofX)
			wantStoreKeys(t, s, "y", "ns/a ns/z")
			for range old {
				break // what was read before is still to be read
			}
			if r.Put(newStoreObject("z", "1")) == nil || r.Commit("41") == nil || !s.HasSynced() {
				t.Error("it goes on after Commit")
			}
			if err := s.Update(t.Context(), newStoreObject("a", "50", "x")); err != nil {
				t.Error(err)
			}
			if obj, ok := s.Get("ns/a"); !ok || obj.GetResourceVersion() != "50" {
				t.Error("an update after the list is lost")
			}
		})
	}
}
