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
	var old *Spare[int] // of a state that is no more, or none
	freeze := func(odds int) (spare *Spare[int]) {
		if f := table.Objects(); odds%3 == 0 {
			s := f.Spare()
			spare, kept = &s, append(kept, state{f, f.Collect()})
		}
		return spare
	}
	for i := range 300 {
		ops := make([]Op[int], 1+i%5)
		for j := range ops {
			key := fmt.Sprint("key-", (i*7919+j*i*37)%len(model))
			ops[j] = Op[int]{Key: key, Object: -i, Values: [][]string{{"all"}}}
			model[key] = -i
		}
		spare := freeze(i)
		if i%7 == 0 {
			spare = old
		}
		if !table.Plan(ops, spare) {
			t.Fatal("no swap")
		}
		old = freeze(i / 3)
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
		want, spare := before.Collect(), before.Spare()
		ops := s.random(1+i%30, 8000)
		if s.table.Plan(ops, &spare) {
			t.Fatal("deletes and puts taken for swaps")
		}
		if i%4 == 0 {
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
		if table.Plan([]Op[int]{fine, op}, nil) {
			t.Errorf("%s: taken for a swap", name)
		}
	}
	if !table.Plan([]Op[int]{fine, fine}, nil) {
		t.Error("the same object twice is no swap")
	}
}

// A writer needs no memory of its own after a list.
func TestSwapUsesSpare(t *testing.T) {
	table, _ := newPlanned(12 * chunkRows)
	ops := []Op[int]{{Key: "key-3000", Object: -1, Values: [][]string{{"all"}}}}
	freeze := func() *Spare[int] { s := table.Objects().Spare(); return &s }
	write := func(spare *Spare[int]) {
		if !table.Plan(ops, spare) {
			t.Fatal("no swap")
		}
		table.Swap(ops)
	}
	write(freeze())
	alone := testing.AllocsPerRun(20, func() { freeze() })
	if both := testing.AllocsPerRun(20, func() { write(freeze()) }); both > alone {
		t.Errorf("%v allocations with the write, %v without", both, alone)
	}
}

// A spare of another state is not taken for a copy of this one.
func TestSpareOfAnotherState(t *testing.T) {
	table, _ := newPlanned(12 * chunkRows)
	ops := []Op[int]{{Key: "key-3000", Object: -1, Values: [][]string{{"all"}}}}
	old := table.Objects().Spare()
	for i := range 3 {
		ops[0].Object--
		table.Objects()
		spare := old
		if !table.Plan(ops, &spare) {
			t.Fatal("no swap")
		}
		if used := spare.list == nil; used != (i == 0) {
			t.Errorf("write %d: used %v", i, used)
		}
		table.Swap(ops)
	}
	if err := table.Check(); err != nil {
		t.Error(err)
	}
}
