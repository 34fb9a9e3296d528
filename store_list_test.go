// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// Lists without pause see each batch whole, and never an older one than before; the
// writer sees its own. The store is large enough for the listers to leave it memory.
func TestStoreListsSeeWholeBatches(t *testing.T) {
	const objects, changed, batches, listers = 4500, 150, 200, 4
	s := NewStore(StoreOptions[storeItem]{})
	version := func(n int) string { return fmt.Sprintf("%06d", n) }
	write := func(n, keys int) {
		b := batch[storeItem]{version: version(n)}
		for i := range keys {
			d := storeDelta(DeltaUpdated, fmt.Sprint(i*(objects/keys)), version(n))
			b.keys = append(b.keys, Deltas[storeItem]{d})
		}
		if err := s.applyBatch(b); err != nil {
			t.Error(err)
		}
	}
	newest := func() (version string, n int) {
		for _, obj := range s.List() {
			if obj.ResourceVersion > version {
				version, n = obj.ResourceVersion, 0
			}
			if obj.ResourceVersion == version {
				n++
			}
		}
		return version, n
	}
	write(0, objects)
	write(1, changed)
	var running sync.WaitGroup
	var written atomic.Bool
	for range listers {
		running.Go(func() {
			for last := version(1); last != version(batches); {
				whole := written.Load()
				now, n := newest()
				if whole && now != version(batches) {
					t.Errorf("%s after the last write", now)
					return
				}
				if n != changed || now < last {
					t.Errorf("%d objects at %s after %s", n, now, last)
					return
				}
				last = now
			}
		})
	}
	for n := 2; n <= batches; n++ {
		write(n, changed)
		if got, _ := newest(); n%3 == 0 && got != version(n) {
			t.Errorf("a list after version %d shows %s", n, got)
		}
	}
	written.Store(true)
	running.Wait()
	if err := CheckStore(s); err != nil {
		t.Error(err)
	}
}

// A list shows the last write, however many there were since the list before.
func TestStoreListAfterUnlistedWrites(t *testing.T) {
	s := NewStore(StoreOptions[storeItem]{})
	n := 0
	for writes := range 5 {
		for range 3 {
			for range writes {
				n++
				_ = s.Add(t.Context(), newStoreItem("a", fmt.Sprint(n)))
			}
			if list := s.List(); n > 0 && list[0].ResourceVersion != fmt.Sprint(n) {
				t.Fatalf("%s after write %d", list[0].ResourceVersion, n)
			}
		}
	}
	_ = s.Delete(t.Context(), newStoreItem("a", ""))
	if list := s.List(); len(list) != 0 {
		t.Errorf("%d objects after a delete", len(list))
	}
}
