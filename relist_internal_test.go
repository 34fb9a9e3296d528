// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"runtime"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// heavy is an object that is dear to make.
type heavy struct {
	metav1.PartialObjectMetadata
	Rest [200]uint64
}

// hashedList streams the same items in each list.
type hashedList struct {
	ListWatch
	items   []*heavy
	decoded int
}

func newHashedList(n int) *hashedList {
	l := &hashedList{}
	for i := range n {
		obj := &heavy{}
		obj.Namespace, obj.Name, obj.ResourceVersion = "ns", fmt.Sprint("object-", i), fmt.Sprint(i+1)
		l.items = append(l.items, obj)
	}
	return l
}

func (l *hashedList) ListStream(_ context.Context, _ metav1.ListOptions, known func(metav1.Object, uint64) bool, yield func(apiruntime.Object) error) (metav1.ListMeta, error) {
	bare := &metav1.PartialObjectMetadata{}
	for i, obj := range l.items {
		bare.Namespace, bare.Name, bare.UID, bare.ResourceVersion = obj.Namespace, obj.Name, obj.UID, obj.ResourceVersion
		if known(bare, uint64(i+1)) {
			continue
		}
		l.decoded++
		if err := yield(obj); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	return metav1.ListMeta{ResourceVersion: "9"}, nil
}

// An item that has not changed takes next to nothing, whatever the objects are: all that is
// allocated meanwhile counts, for the collector comes once the heap has doubled.
func TestUnchangedListMemory(t *testing.T) {
	const n = 20_000
	source := newHashedList(n)
	s := NewStore(StoreOptions[*heavy]{})
	f := NewDeltaFIFO(DeltaFIFOOptions[*heavy]{KnownObjects: s})
	f.batching = true
	r := NewReflector[*heavy](source, f, ReflectorOptions{})
	fifoCheck(t, r.list(t.Context(), ""))
	b, err := f.takeBatch(t.Context())
	fifoCheck(t, err)
	fifoCheck(t, s.applyBatch(b))
	f.batchDone()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fifoCheck(t, r.list(t.Context(), ""))
	runtime.ReadMemStats(&after)
	perItem := (after.TotalAlloc - before.TotalAlloc) / n
	if source.decoded != n || f.Len() != 0 || perItem > 100 {
		t.Errorf("%d of %d items decoded, %d queued, %d bytes an item, want 100 at most", source.decoded-n, n, f.Len(), perItem)
	} else {
		t.Logf("%d bytes an item", perItem)
	}
}

func TestItemHashes(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for _, n := range []uint64{0, 1, 2, 3, 10, 1000} {
		var all chunked[uint64]
		want := map[uint64]bool{0: false}
		for i := range n {
			for _, hash := range []uint64{draw.Uint64(), i << 48, i} {
				all.add(hash)
				want[hash] = hash != 0
			}
		}
		h := hashesOf(&all)
		for hash, ok := range want {
			if h.has(hash) != ok || h.has(hash+1) != want[hash+1] {
				t.Errorf("%x: %v, %x: %v", hash, h.has(hash), hash+1, h.has(hash+1))
			}
		}
	}
}

// itemOf returns the item of a key, nil if there is none, or the key alone.
func itemOf(s *stagedItems[fifoMeta], key string) *stagedItem[fifoMeta] {
	if number, ok := s.find(key, s.hash(key)); ok && number&keptOnly == 0 {
		return s.at(int(number))
	}
	return nil
}

// What is staged is what a map would hold, however often a key is put, kept and removed.
func TestStagedItems(t *testing.T) {
	for seed := range uint64(20) {
		draw := rand.New(rand.NewPCG(seed, 3))
		s := stagedItems[fifoMeta]{seed: maphash.MakeSeed(), expect: draw.IntN(100)}
		want := map[string]stagedItem[fifoMeta]{}
		for i := range 3000 {
			key := fmt.Sprint("k", draw.IntN(900))
			switch op := draw.IntN(4); {
			case op == 0:
				s.keep(key)
				want[key] = stagedItem[fifoMeta]{verdict: itemKept}
			case op == 1 && s.holds(key):
				s.put(stagedItem[fifoMeta]{key: key})
				want[key] = stagedItem[fifoMeta]{}
			case op > 1:
				item := stagedItem[fifoMeta]{key: key, version: fmt.Sprint(i), verdict: itemChanged}
				s.put(item)
				want[key] = item
			}
		}
		changed := 0
		for i := range 900 {
			key := fmt.Sprint("k", i)
			w, ok := want[key]
			if s.holds(key) != (ok && w.verdict != itemRemoved) {
				t.Errorf("%s: held is %v", key, s.holds(key))
			}
			if item := itemOf(&s, key); item != nil && (item.key != key || item.verdict != w.verdict || item.version != w.version) ||
				item == nil && w.verdict == itemChanged {
				t.Errorf("%s: %+v, want %+v", key, item, w)
			}
			if w.verdict == itemChanged {
				changed++
			}
		}
		if s.changed() != changed {
			t.Errorf("%d have changed, want %d", s.changed(), changed)
		}
	}
}

// What a list asks about is metadata of some type; a sink of metadata with keys of its own
// knows it all the same.
func TestIdentityByOwnKeys(t *testing.T) {
	s := NewStore(StoreOptions[fifoMeta]{KeyFunc: func(obj fifoMeta) (string, error) { return "own/" + obj.Name, nil }})
	fifoCheck(t, s.Add(t.Context(), fifoNamed("a", "5")))
	target := newTarget[fifoMeta](s, nil)
	for name, want := range map[string]string{"a": "5", "b": ""} {
		asked := &bareName{*fifoNamed(name, "7")}
		if version, _, ok := target.identity(asked); version != want || ok != (want != "") {
			t.Errorf("%s is @%s, want @%s", name, version, want)
		}
	}
}

// What such a sink holds and a list has unchanged stays.
func TestKeepByOwnKeys(t *testing.T) {
	own := func(obj fifoMeta) (string, error) { return "own/" + obj.Name, nil }
	queue := func() *DeltaFIFO[fifoMeta] { return NewDeltaFIFO(DeltaFIFOOptions[fifoMeta]{KeyFunc: own}) }
	for name, sink := range map[string]Sink[fifoMeta]{
		"store": NewStore(StoreOptions[fifoMeta]{KeyFunc: own}),
		"queue": queue(),
		"union": queue().newFeed("east", "east/"),
	} {
		fifoCheck(t, sink.Add(t.Context(), fifoNamed("a", "5")))
		target := newTarget(sink, nil)
		list, err := target.begin(t.Context(), nil)
		fifoCheck(t, err)
		asked := &bareName{*fifoNamed("a", "5")}
		list.keep(asked)
		asked.Name = "b" // it is used again
		fifoCheck(t, list.commit("6"))
		if version, _, ok := target.identity(fifoNamed("a", "5")); !ok || version != "5" {
			t.Errorf("%s: a is gone (%v, @%s)", name, ok, version)
		}
	}
}

// wrapped is a sink that has lists of its own, and remembers what it was told to keep.
type wrapped struct {
	*DeltaFIFO[*heavy]
	kept *[]metav1.Object
}

type wrappedList struct {
	Replacement[*heavy]
	kept *[]metav1.Object
}

func (w wrapped) BeginReplace(ctx context.Context) (Replacement[*heavy], error) {
	list, err := w.DeltaFIFO.BeginReplace(ctx)
	return wrappedList{list, w.kept}, err
}

func (l wrappedList) Keep(obj metav1.Object) {
	*l.kept = append(*l.kept, obj)
	l.Replacement.Keep(obj)
}

// An embedder's sink is told to keep objects of its type, each in memory of its own, also where
// it embeds one that would do with less.
func TestKeepByEmbedder(t *testing.T) {
	var kept []metav1.Object
	sink := wrapped{NewDeltaFIFO(DeltaFIFOOptions[*heavy]{}), &kept}
	r := NewReflector[*heavy](newHashedList(3), sink, ReflectorOptions{})
	for range 2 {
		fifoCheck(t, r.list(t.Context(), ""))
	}
	if len(kept) != 3 || sink.Len() != 3 {
		t.Fatalf("%d kept, %d queued", len(kept), sink.Len())
	}
	for i, obj := range kept {
		if _, ok := obj.(*heavy); !ok || obj.GetName() != fmt.Sprint("object-", i) {
			t.Errorf("%d: %T %s", i, obj, obj.GetName())
		}
	}
}
