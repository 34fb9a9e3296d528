// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// stateWriter writes to a store at random, and keeps the sum of what it should hold at each
// version, from before the write on.
type stateWriter struct {
	t     *testing.T
	r     *rand.Rand
	s     *Store[storeItem]
	model map[string]string // name → version
	seed  maphash.Seed

	mu   sync.Mutex
	sums []uint64
}

const stateNames = 6000

func (w *stateWriter) sumOf(name, version string) uint64 {
	return maphash.String(w.seed, name+"@"+version)
}

// begin returns the version of the next write, which makes the model what it is now.
func (w *stateWriter) begin() string {
	sum := uint64(0)
	for name, version := range w.model {
		sum += w.sumOf(name, version)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sums = append(w.sums, sum)
	return fmt.Sprint(len(w.sums) - 1)
}

func (w *stateWriter) next() string { return fmt.Sprint(len(w.sums)) }

// batch changes up to n keys, with places of keys that need not be true.
func (w *stateWriter) batch(n int) {
	keys := map[string]Deltas[storeItem]{}
	for range n {
		name := fmt.Sprint(w.r.IntN(stateNames))
		d := storeDelta(DeltaUpdated, name, w.next())
		d.hint, d.own = uint32(w.r.IntN(2*stateNames)), w.r.IntN(2) == 0
		if w.r.IntN(2) == 0 {
			d.hash = w.s.s.table.Hash(d.Key)
		}
		if _, there := w.model[name]; there && w.r.IntN(3) == 0 {
			d.Type = DeltaDeleted
			delete(w.model, name)
		} else {
			w.model[name] = w.next()
		}
		keys[name] = append(keys[name], d)
	}
	b := batch[storeItem]{keys: slices.Collect(maps.Values(keys)), version: w.begin()}
	w.check(w.s.applyBatch(b))
}

// update changes objects alone, in their places.
func (w *stateWriter) update(n int) {
	var b batch[storeItem]
	for name := range w.model {
		if len(b.keys) == n {
			break
		}
		d := storeDelta(DeltaUpdated, name, w.next())
		d.own = true
		w.model[name] = w.next()
		b.keys = append(b.keys, Deltas[storeItem]{d})
	}
	b.version = w.begin()
	w.check(w.s.applyBatch(b))
}

// replace puts a list in the place of everything, or a first list into the emptied store.
func (w *stateWriter) replace(n int, fill bool) {
	if fill {
		w.model = map[string]string{}
		w.check(w.s.Replace(w.t.Context(), nil, w.begin()))
	}
	for name := range w.model {
		if w.r.IntN(4) == 0 {
			delete(w.model, name)
		}
	}
	for range n {
		w.model[fmt.Sprint(w.r.IntN(stateNames))] = w.next()
	}
	var items []storeItem
	for name, version := range w.model {
		items = append(items, newStoreItem(name, version))
	}
	version := w.begin()
	if !fill {
		w.check(w.s.Replace(w.t.Context(), items, version))
		return
	}
	f := NewDeltaFIFO(DeltaFIFOOptions[storeItem]{KnownObjects: w.s})
	f.batching = true
	w.check(f.Replace(w.t.Context(), items, version))
	b, err := f.takeBatch(w.t.Context())
	w.check(err)
	if b.whole == nil {
		w.t.Error("the list was taken apart")
	}
	w.check(w.s.applyBatch(b))
}

func (w *stateWriter) check(err error) {
	if err != nil {
		w.t.Error(err)
	}
}

func (w *stateWriter) step(n int) {
	switch draw := w.r.IntN(20); {
	case draw == 0:
		w.replace(4500, true)
	case draw == 1:
		w.replace(500, false)
	case draw == 2:
		w.check(w.s.Bookmark(w.t.Context(), w.begin()))
	case draw == 3:
		w.check(w.s.AddIndexers(Indexers[storeItem]{fmt.Sprint(n): func(obj storeItem) ([]string, error) {
			return []string{obj.ResourceVersion}, nil
		}}))
	case draw < 9:
		w.update(1 + w.r.IntN(200))
	case draw < 11:
		w.batch(600)
	default:
		w.batch(1 + w.r.IntN(20))
	}
}

// look takes a list, and reports whether it is what the store held at one of the versions
// that it had meanwhile.
func (w *stateWriter) look() (from, to int, ok bool) {
	sum := uint64(0)
	from, _ = strconv.Atoi(w.s.ResourceVersion())
	for _, obj := range w.s.List() {
		sum += w.sumOf(obj.Name, obj.ResourceVersion)
	}
	to, _ = strconv.Atoi(w.s.ResourceVersion())
	w.mu.Lock()
	defer w.mu.Unlock()
	// A list that needs no lock is there a moment before the version can be read.
	return from, to, slices.Contains(w.sums[from:min(to+2, len(w.sums))], sum)
}

// Whatever is done to a store, a list is one of its states, and never an older one than what
// was read before.
func TestStoreListsAreStates(t *testing.T) {
	w := &stateWriter{t: t, r: rand.New(rand.NewPCG(3, 4)), s: newItemStore(nil), model: map[string]string{}, seed: maphash.MakeSeed()}
	w.check(w.s.Bookmark(t.Context(), w.begin()))
	w.replace(4500, true)
	over := make(chan struct{})
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if from, to, ok := w.look(); !ok {
					t.Errorf("a list is none of the states from %d to %d", from, to)
					return
				}
			}
		})
	}
	for n := range 60 {
		w.step(n)
		if from, to, ok := w.look(); !ok || from != to || fmt.Sprint(from) != fmt.Sprint(len(w.sums)-1) {
			t.Errorf("step %d: the writer sees another state than its own, %d", n, from)
		}
		if n%10 == 0 {
			w.check(CheckStore(w.s))
			for key, obj := range w.s.All() {
				if key != "ns/"+obj.Name || w.model[obj.Name] != obj.ResourceVersion {
					t.Fatalf("%s holds %s@%s", key, obj.Name, obj.ResourceVersion)
				}
			}
		}
	}
	close(over)
	running.Wait()
}
