// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestDeltaFIFOReplaceUnchanged(t *testing.T) {
	for _, c := range []struct {
		name      string
		old, item string
		want      []string
	}{
		{"all equal", "s@5/u1 {a}", "s@5/u1 {a}", nil},
		{"another version", "s@5/u1 {a}", "s@6/u1 {a}", []string{"Replaced s@6"}},
		{"another UID", "s@5/u1 {a}", "s@5/u2 {a}", []string{"Replaced s@5"}},
		{"another content", "s@5/u1 {a}", "s@5/u1 {a,b}", []string{"Replaced s@5"}},
		{"no versions, no UIDs, equal", "s {a}", "s {a}", nil},
		{"no versions, no UIDs, another content", "s {a}", "s {b}", []string{"Replaced s@"}},
		{"no UIDs, another content", "s@1 {a}", "s@1 {b}", []string{"Replaced s@1"}},
		{"a UID came", "s@1 {a}", "s@1/u1 {a}", []string{"Replaced s@1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			known := newFifoKnown(c.old)
			before, _ := known.Get("s")
			f := newFifo(known)
			fifoMust(t, f.Replace(t.Context(), []fifoObject{fifoObj(c.item)}, "9"))
			fifoWant(t, f, known, c.want...)
			if after, _ := known.Get("s"); (before == after) != (c.want == nil) {
				t.Errorf("old object stays: %v, want %v", before == after, c.want == nil)
			}
			if got := f.ResourceVersion(); got != "9" {
				t.Errorf("version %q, want 9", got)
			}
		})
	}
}

// What differs by value and not by meaning is unchanged, if it is an object of the API.
func TestDeltaFIFOReplaceSemantic(t *testing.T) {
	known := newFifoKnown("s@5")
	f := newFifo(known)
	item := fifoObj("s@5")
	item.Labels, item.Finalizers = map[string]string{}, []string{}
	fifoMust(t, f.Replace(t.Context(), []fifoObject{item}, "9"))
	fifoWant(t, f, known)
}

// halfAPI is an object of the API with a field that the semantic comparison panics at.
type halfAPI struct {
	metav1.PartialObjectMetadata
	hidden []string
}

func TestDeltaFIFOReplaceUnexportedFields(t *testing.T) {
	f := informer.NewDeltaFIFO(informer.DeltaFIFOOptions[*halfAPI]{})
	item := func(hidden ...string) *halfAPI {
		return &halfAPI{PartialObjectMetadata: *fifoObj("s@5/u1"), hidden: hidden}
	}
	want := 1
	for _, obj := range []*halfAPI{item("a"), item("a"), item("b")} {
		if obj.hidden[0] == "b" {
			want = 2
		}
		fifoMust(t, f.Replace(t.Context(), []*halfAPI{obj}, "5"))
	}
	fifoMust(t, f.Pop(t.Context(), func(deltas informer.Deltas[*halfAPI]) error {
		if len(deltas) != want || deltas.Newest().Object.hidden[0] != "b" || deltas.Oldest().Object.hidden[0] != "a" {
			t.Errorf("%d deltas, want one for a and one for b", len(deltas))
		}
		return nil
	}))
}

func TestDeltaFIFOReplaceStages(t *testing.T) {
	known := newFifoKnown("gone2@1", "gone1@1", "kept@1", "removed@1", "same@1")
	f := newFifo(known)
	r, err := f.BeginReplace(t.Context())
	fifoMust(t, err)
	for _, obj := range fifoObjs("b@2", "a@3", "same@1", "b@4", "removed@9", "kept@9", "back@5") {
		fifoMust(t, r.Put(obj))
	}
	r.Keep(fifoObj("kept"))
	r.Keep(fifoObj("never"))
	r.Keep(fifoObj("")) // nothing to keep
	r.Keep((*metav1.PartialObjectMetadata)(nil))
	other := &unstructured.Unstructured{Object: map[string]any{}}
	other.SetName("gone2")
	r.Keep(other) // an item that is no T
	fifoMust(t, r.Remove(fifoObj("removed@10")))
	fifoMust(t, r.Remove(fifoObj("not there@10")))
	fifoMust(t, r.Remove(fifoObj("back@6")))
	fifoMust(t, r.Put(fifoObj("back@7")))
	if f.Len() != 0 {
		t.Error("queued before Commit")
	}
	fifoMust(t, r.Commit("10"))
	fifoWant(t, f, known, "Replaced b@4", "Replaced a@3", "Replaced back@7", "Deleted? gone1@1", "Deleted? removed@1")
}

func TestDeltaFIFOReplaceEnds(t *testing.T) {
	known := newFifoKnown("a@1")
	f := newFifo(known)
	ended := func(name string, r informer.Replacement[fifoObject]) {
		for verb, err := range map[string]error{
			"Put": r.Put(fifoObj("b@1")), "Remove": r.Remove(fifoObj("b@1")), "Commit": r.Commit("3"),
		} {
			if err == nil {
				t.Errorf("%s after %s returned no error", verb, name)
			}
		}
		r.Keep(fifoObj("b@1"))
		r.Abort()
	}
	aborted, err := f.BeginReplace(t.Context())
	fifoMust(t, err)
	fifoMust(t, aborted.Put(fifoObj("b@1")))
	aborted.Abort()
	ended("Abort", aborted)
	fifoWant(t, f, known)
	if f.HasSynced() || f.ResourceVersion() != "" {
		t.Error("an aborted list counted")
	}
	committed, err := f.BeginReplace(t.Context())
	fifoMust(t, err)
	fifoMust(t, committed.Commit("2"))
	ended("Commit", committed)
	fifoWant(t, f, known, "Deleted? a@1")
	if got := f.ResourceVersion(); got != "2" {
		t.Errorf("version %q, want 2", got)
	}
}

func TestDeltaFIFOReplaceAborts(t *testing.T) {
	known := newFifoKnown("a@1")
	f := newFifo(known)
	var objectError *informer.ObjectError
	if err := f.Replace(t.Context(), fifoObjs("b@2", "@3"), "3"); !errors.As(err, &objectError) {
		t.Errorf("Replace returned %v, want an *ObjectError", err)
	}
	fifoWant(t, f, known)
}

// What is written between Put and Commit is compared with anew, and the list wins.
func TestDeltaFIFOReplaceMeanwhile(t *testing.T) {
	for _, c := range []struct {
		name      string
		put       string
		meanwhile []string
		drain     bool // meanwhile, too
		want      []string
	}{
		{"unchanged, then updated", "a@1 {x}", []string{"update a@2 {y}"}, false, []string{"Updated a@2; Replaced a@1"}},
		{"unchanged, then deleted", "a@1 {x}", []string{"delete a@2"}, false, []string{"Deleted a@2; Replaced a@1"}},
		{"unchanged, then the same again", "a@1 {x}", []string{"update a@1 {x}"}, false, []string{"Updated a@1"}},
		{"unchanged, then another key", "a@1 {x}", []string{"add b@2"}, false, []string{"Added b@2; Deleted? b@2"}},
		{"changed, then the same came", "a@2 {y}", []string{"update a@2 {y}"}, false, []string{"Updated a@2"}},
		{"changed, then the same came and went on", "a@2 {y}", []string{"update a@2 {y}"}, true, nil},
		{"changed, then other content came", "a@2 {y}", []string{"update a@2 {z}"}, true, []string{"Replaced a@2"}},
		{"changed, then resync", "a@2 {y}", []string{"resync"}, false, []string{"Sync a@1; Replaced a@2"}},
		{"unchanged, then another list", "a@1 {x}", []string{"list 2"}, true, []string{"Replaced a@1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			known := newFifoKnown("a@1 {x}")
			f := newFifo(known)
			r, err := f.BeginReplace(t.Context())
			fifoMust(t, err)
			fifoMust(t, r.Put(fifoObj(c.put)))
			fifoWrite(t, f, c.meanwhile...)
			if c.drain {
				fifoDrain(t, f, known)
			}
			fifoMust(t, r.Commit("9"))
			fifoWant(t, f, known, c.want...)
		})
	}
}

// An item that equals what is queued, which the consumer then does not keep, is queued.
func TestDeltaFIFOReplaceNotKept(t *testing.T) {
	known := newFifoKnown()
	f := newFifo(known)
	fifoWrite(t, f, "add a@1")
	r, err := f.BeginReplace(t.Context())
	fifoMust(t, err)
	fifoMust(t, r.Put(fifoObj("a@1")))
	fifoDrain(t, f, nil)
	fifoMust(t, r.Commit("1"))
	fifoWant(t, f, known, "Replaced a@1")
}

// A sync waits for what was queued before the list, too, and survives failures.
func TestDeltaFIFOSync(t *testing.T) {
	known := newFifoKnown()
	f := newFifo(known)
	fifoWrite(t, f, "add a@1", "list 2 a@1 b@2", "update c@3")
	want := func(when string, want bool) {
		t.Helper()
		if f.HasSynced() != want {
			t.Errorf("%s: synced is %v", when, !want)
		}
	}
	want("queued", false)
	fifoMust(t, f.Pop(t.Context(), known.apply))
	want("b is queued", false)
	if err := f.Pop(t.Context(), func(informer.Deltas[fifoObject]) error { return errFifo }); !errors.Is(err, errFifo) {
		t.Errorf("Pop returned %v", err)
	}
	want("b failed", false)
	fifoMust(t, f.Pop(t.Context(), known.apply))
	want("c is no part of the list", true)
}

func TestDeltaFIFOConcurrentReplacements(t *testing.T) {
	t.Run("bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			known := newFifoKnown()
			f := newFifo(known)
			lists := [][]string{{"a@1", "b@1"}, {"b@2", "c@2"}, {"a@3"}, {}}
			for range 50 {
				for _, list := range lists {
					go func() { _ = f.Replace(t.Context(), fifoObjs(list...), "1") }()
				}
				go func() { _ = f.Update(t.Context(), fifoObj("a@9")) }()
			}
			synctest.Wait()
			fifoWrite(t, f, "list 5 z@5 b@2")
			fifoDrain(t, f, known)
			if got := known.Keys(); !slices.Equal(got, []string{"b", "z"}) {
				t.Errorf("keys %q at the end, want b and z", got)
			}
		})
	})
}

// Keep finds the key of a T as the queue does; keys that are gone come sorted.
func TestDeltaFIFOReplaceOwnKeys(t *testing.T) {
	f := informer.NewDeltaFIFO(informer.DeltaFIFOOptions[fifoObject]{
		KeyFunc: func(obj fifoObject) (string, error) { return "own/" + obj.Name, nil },
	})
	fifoWrite(t, f, "list 1 d@1 a@1 kept@1 c@1 b@1")
	fifoDrainKeys := func() (keys []string) {
		for f.Len() > 0 {
			fifoMust(t, f.Pop(t.Context(), func(deltas informer.Deltas[fifoObject]) error {
				if len(deltas) == 1 {
					deltas[0].Key += "!"
				}
				keys = append(keys, deltas[0].Key)
				return nil
			}))
		}
		return keys
	}
	r, err := f.BeginReplace(t.Context())
	fifoMust(t, err)
	r.Keep(fifoObj("kept"))
	fifoMust(t, r.Commit("2"))
	if got, want := fifoDrainKeys(), []string{"own/d", "own/a", "own/kept!", "own/c", "own/b"}; !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q: a tombstone for all but the kept", got, want)
	}
}

func TestDeltaFIFOReplaceGoneSorted(t *testing.T) {
	known := newFifoKnown("m@1", "c@1")
	f := newFifo(known)
	fifoWrite(t, f, "add k@1", "add b@1", "add z@1", "add a@1")
	fifoMust(t, f.Pop(t.Context(), func(deltas informer.Deltas[fifoObject]) error {
		fifoWrite(t, f, "list 2")
		return known.apply(deltas)
	}))
	fifoWant(t, f, known, "Added b@1; Deleted? b@1", "Added z@1; Deleted? z@1", "Added a@1; Deleted? a@1",
		"Deleted? c@1", "Deleted? k@1", "Deleted? m@1")
}
