// SPDX-License-Identifier: Apache-2.0

package dense

import (
	"fmt"
	"slices"
	"testing"
)

// newPlanned returns a table of n objects with an index of one value for all.
func newPlanned(n int) (*Table[int], map[string]int) {
	table, model := New[int](), map[string]int{}
	table.AddIndex(nil)
	ops := make([]Op[int], n)
	for i := range ops {
		ops[i] = Op[int]{Key: fmt.Sprint("key-", i), Object: i, Values: [][]string{{"all"}}}
		model[ops[i].Key] = i
	}
	table.Apply(ops)
	return table, model
}

// What readers freeze before, between and after the halves of a write stays as it was.
func TestSwapLeavesFrozen(t *testing.T) {
	table, model := newPlanned(12 * chunkRows)
	type state struct {
		frozen Frozen[int]
		want   []int
	}
	var kept []state
	freeze := func(odds int) {
		if f := table.Objects(); odds%3 == 0 {
			f.Provide()
			kept = append(kept, state{f, f.Collect()})
		}
	}
	for i := range 300 {
		ops := make([]Op[int], 1+i%5)
		for j := range ops {
			key := fmt.Sprint("key-", (i*7919+j*i*37)%len(model))
			ops[j] = Op[int]{Key: key, Object: -i, Values: [][]string{{"all"}}}
			model[key] = -i
		}
		freeze(i)
		if !table.Plan(ops) {
			t.Fatal("no swap")
		}
		freeze(i / 3)
		table.Swap(ops)
	}
	for i, s := range kept {
		if !slices.Equal(s.frozen.Collect(), s.want) {
			t.Fatalf("state %d of %d has changed", i, len(kept))
		}
	}
	for key, want := range model {
		if id, ok := table.Find(key); !ok || table.Object(id) != want {
			t.Fatalf("%s: %v", key, ok)
		}
	}
	if err := table.Check(); err != nil {
		t.Fatal(err)
	}
}

// The same for all that Apply does.
func TestPlanBeforeApply(t *testing.T) {
	s := newSteps(t)
	s.table.Apply(s.random(9000, 8000))
	for i := range 100 {
		before := s.table.Objects()
		want := before.Collect()
		ops := s.random(1+i%30, 8000)
		if s.table.Plan(ops) {
			t.Fatal("deletes and puts taken for swaps")
		}
		if i%4 == 0 {
			before.Provide()
			s.table.Objects()
		}
		s.table.Apply(ops)
		if !slices.Equal(before.Collect(), want) {
			t.Fatalf("what was frozen before step %d has changed", i)
		}
	}
	s.check()
}

// Only ops that change nothing but objects are swaps.
func TestPlanRefuses(t *testing.T) {
	table, _ := newPlanned(20)
	all := [][]string{{"all"}}
	fine := Op[int]{Key: "key-3", Object: 1, Values: all}
	for name, op := range map[string]Op[int]{
		"a new key":     {Key: "new", Values: all},
		"a delete":      {Key: "key-7", Delete: true},
		"a note":        {Key: "key-7", Values: all, Note: &Note{Version: "1"}},
		"another value": {Key: "key-7", Values: [][]string{{"other"}}},
		"no value":      {Key: "key-7", Values: [][]string{nil}},
	} {
		if table.Plan([]Op[int]{fine, op}) {
			t.Errorf("%s: taken for a swap", name)
		}
	}
	if !table.Plan([]Op[int]{fine, fine}) {
		t.Error("the same object twice is no swap")
	}
}

// A writer needs no memory of its own after a list.
func TestSwapUsesSpares(t *testing.T) {
	table, _ := newPlanned(12 * chunkRows)
	ops := []Op[int]{{Key: "key-3000", Object: -1, Values: [][]string{{"all"}}}}
	write := func() {
		if !table.Plan(ops) {
			t.Fatal("no swap")
		}
		table.Swap(ops)
	}
	write()
	provide := func() { f := table.Objects(); f.Provide() }
	both := testing.AllocsPerRun(20, func() { provide(); write() })
	if alone := testing.AllocsPerRun(20, func() { table.plan.spares = &spares[int]{}; provide() }); both > alone {
		t.Errorf("%v allocations with the write, %v without", both, alone)
	}
}
