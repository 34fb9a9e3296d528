// SPDX-License-Identifier: Apache-2.0

package dense

import (
	"fmt"
	"sync"
	"testing"
)

// A fork that only puts new keys fills cells and rows of its original, whose readers see
// nothing of it. The race detector has a say in this one.
func TestForkInsertsBesideReaders(t *testing.T) {
	table, model := newPlanned(3*chunkRows + 100)
	table.ids.resize(2*len(model), table.hashOf) // room for what comes
	known := len(model)
	for round := range 20 {
		ops := make([]Op[int], 50)
		for i := range ops {
			n := known + round*len(ops) + i
			ops[i] = Op[int]{Key: fmt.Sprint("key-", n), Object: n, Values: [][]string{{"all", fmt.Sprint("new-", n)}}}
		}
		fork := table.Fork()
		var readers sync.WaitGroup
		for range 2 {
			readers.Go(func() { seeOriginal(t, table, known+round*len(ops)) })
		}
		fork.Apply(ops)
		readers.Wait()
		seeOriginal(t, table, known+round*len(ops))
		if &fork.ids.cells[0] != &table.ids.cells[0] {
			t.Fatal("the fork copied the cells")
		}
		if before, after := table.keys.chunks, fork.keys.chunks; &before[0].items[0] != &after[0].items[0] {
			t.Fatal("the fork copied a chunk that it does not change")
		}
		fork.Settle()
		table = fork
		if err := table.Check(); err != nil {
			t.Fatal(err)
		}
	}
}

// seeOriginal finds n keys in a table, and nothing of what its fork is being told.
func seeOriginal(t *testing.T, table *Table[int], n int) {
	for i := n - 60; i < n+60; i++ {
		id, ok := table.Find(fmt.Sprint("key-", i))
		if ok != (i < n) || ok && table.Object(id) != i {
			t.Errorf("key %d of %d: found: %v at %d", i, n, ok, id)
		}
		if of := table.ObjectsOf(0, fmt.Sprint("new-", i)); i >= n && len(of.Collect()) > 0 {
			t.Errorf("value %d of %d: found", i, n)
		}
	}
	all := table.ObjectsOf(0, "all")
	if objects, keys := table.Objects(), table.Keys(); len(objects.Collect()) != n || len(keys.Collect()) != n || len(all.Collect()) != n {
		t.Errorf("%d objects, %d keys, want %d", objects.Len(), keys.Len(), n)
	}
}

// A bucket that the original has as a free one is not used again where its readers look.
func TestForkUsesBucketAgain(t *testing.T) {
	table, _ := newPlanned(10)
	put := func(key, value string) []Op[int] {
		return []Op[int]{{Key: key, Values: [][]string{{value}}}}
	}
	table.Apply(put("a", "one"))
	table.Apply([]Op[int]{{Key: "a", Delete: true}})
	if _, free := table.Buckets(0); free != 1 {
		t.Fatalf("%d free buckets", free)
	}
	fork := table.Fork()
	fork.Apply(put("b", ""))
	if of := table.ObjectsOf(0, ""); len(of.Collect()) > 0 {
		t.Error("the original sees the fork's object")
	}
	if of := fork.ObjectsOf(0, ""); len(of.Collect()) != 1 {
		t.Error("the fork does not see its object")
	}
	if &fork.indexes[0].values.cells[0] == &table.indexes[0].values.cells[0] {
		t.Error("the cells are shared")
	}
	fork.Settle()
	if err := fork.Check(); err != nil {
		t.Fatal(err)
	}
}

// Once its original is out of use, a fork changes its cells where they are.
func TestSettledForkCopiesNothing(t *testing.T) {
	table, _ := newPlanned(1000)
	fork := table.Fork()
	fork.Settle()
	fork.Delete("key-7")
	if &fork.ids.cells[0] != &table.ids.cells[0] {
		t.Error("the cells were copied")
	}
	if err := fork.Check(); err != nil {
		t.Fatal(err)
	}
}
