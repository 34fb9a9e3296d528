// SPDX-License-Identifier: Apache-2.0

package dense

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// steps applies random ops to a table of ints with three indexes: one value for all, one
// for each, and several.
type steps struct {
	t     *testing.T
	r     *rand.Rand
	table *Table[int]
	model map[string]int
}

func newSteps(t *testing.T) *steps {
	table := New[int]()
	for range 3 {
		table.AddIndex(nil)
	}
	return &steps{t, rand.New(rand.NewPCG(5, 6)), table, map[string]int{}}
}

func (s *steps) put(key, value int) Op[int] {
	name := fmt.Sprint(key)
	s.model[name] = value
	several := []string{fmt.Sprint(value % 7), fmt.Sprint(value % 11), fmt.Sprint(value % 7)}
	op := Op[int]{Key: name, Object: value, Values: [][]string{{"all"}, {fmt.Sprint(key, ":", value)}, several[:value%4]}}
	if value%3 == 0 {
		op.Note = &Note{Version: fmt.Sprint(value)}
	}
	return op
}

func (s *steps) delete(key int) Op[int] {
	delete(s.model, fmt.Sprint(key))
	return Op[int]{Key: fmt.Sprint(key), Delete: true}
}

func (s *steps) check() {
	s.t.Helper()
	if err := s.table.Check(); err != nil {
		s.t.Fatal(err)
	}
	if s.table.Len() != len(s.model) {
		s.t.Fatalf("%d objects, model %d", s.table.Len(), len(s.model))
	}
	for key, value := range s.model {
		id, ok := s.table.Find(key)
		if !ok || s.table.Object(id) != value {
			s.t.Fatalf("%s: found: %v", key, ok)
		}
		if note := s.table.Note(id); (note != nil) != (value%3 == 0) || note != nil && note.Version != fmt.Sprint(value) {
			s.t.Fatalf("%s=%d: note %v", key, value, note)
		}
	}
	all := s.table.ObjectsOf(0, "all")
	if got := all.Collect(); len(got) != len(s.model) {
		s.t.Fatalf("%d objects under one value, model %d", len(got), len(s.model))
	}
	s.checkUnion()
}

// checkUnion asks for what is under any of several values of an index of many.
func (s *steps) checkUnion() {
	s.t.Helper()
	var want []int
	for _, value := range s.model {
		several := []int{value % 7, value % 11, value % 7}
		if filed := several[:value%4]; slices.Contains(filed, 3) || slices.Contains(filed, 5) {
			want = append(want, value)
		}
	}
	got := s.table.UnionOf(2, []string{"3", "none", "5", "3"}).Collect()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		s.t.Fatalf("%d objects under some values, model %d", len(got), len(want))
	}
}

func (s *steps) random(n, keys int) []Op[int] {
	ops := make([]Op[int], n)
	for i := range ops {
		if key := s.r.IntN(keys); s.r.IntN(3) == 0 {
			ops[i] = s.delete(key)
		} else {
			ops[i] = s.put(key, s.r.IntN(1000))
		}
	}
	return ops
}

func TestTableRandom(t *testing.T) {
	s := newSteps(t)
	for i := range 150 {
		ops := s.random(1+s.r.IntN(40), 2500)
		if i%3 == 0 || s.table.NeedsRoom(ops) {
			s.table = s.table.Fork()
			s.table.MakeRoom(ops)
			if s.table.NeedsRoom(ops) {
				t.Fatal("NeedsRoom after MakeRoom")
			}
		}
		s.table.Apply(ops)
		if i%10 == 0 {
			s.check()
		}
	}
	s.check()
}

// A fork leaves what readers of the original see alone.
func TestForkLeavesOriginal(t *testing.T) {
	s := newSteps(t)
	s.table.Apply(s.random(3000, 2000))
	see := func(table *Table[int]) string {
		of, keys := table.ObjectsOf(0, "all"), table.KeysOf(2, "3")
		values := table.Values(1).Collect()
		found := 0
		for i := range 2000 {
			if id, ok := table.Find(fmt.Sprint(i)); ok {
				found += table.Object(id)
			}
		}
		return fmt.Sprint(found, of.Collect(), keys.Collect(), values, table.Objects().Collect(), table.Keys().Collect())
	}
	for range 5 {
		before, original := see(s.table), s.table
		s.table = original.Fork()
		s.table.Apply(s.random(3000, 2000))
		if see(original) != before {
			t.Fatal("the original changed")
		}
		s.check()
	}
}

// What is frozen stays, whatever the writer does next.
func TestFrozen(t *testing.T) {
	s := newSteps(t)
	s.table.Apply(s.random(4000, 3000))
	for range 10 {
		objects, keys, all := s.table.Objects(), s.table.Keys(), s.table.ObjectsOf(0, "all")
		notes, values := s.table.Notes(), s.table.Values(1)
		if all.Small() {
			t.Fatal("a bucket of one chunk is no test")
		}
		before := fmt.Sprint(objects.Collect(), keys.Collect(), all.Collect(), notes.Collect(), values.Collect())
		s.table.Apply(s.random(500, 3000))
		if got := fmt.Sprint(objects.Collect(), keys.Collect(), all.Collect(), notes.Collect(), values.Collect()); got != before {
			t.Fatal("what was frozen changed")
		}
	}
}

// Memory follows the number of objects down, too.
func TestTableShrinks(t *testing.T) {
	s := newSteps(t)
	var ops []Op[int]
	for i := range 12000 {
		ops = append(ops, s.put(i, i%1000))
	}
	s.table.Apply(ops)
	for i := range 11990 {
		op := []Op[int]{s.delete(i)}
		if s.table.NeedsRoom(op) {
			s.table = s.table.Fork()
			s.table.MakeRoom(op)
		}
		s.table.Apply(op)
		if i%4000 == 0 {
			s.check()
		}
	}
	s.check()
	buckets, _ := s.table.Buckets(1)
	if cells := len(s.table.ids.cells); cells > 1024 || buckets > 2*chunkSize {
		t.Errorf("%d objects, %d cells, %d buckets", s.table.Len(), cells, buckets)
	}
	if n := cap(s.table.objects.chunks[0].items); n > 64 {
		t.Errorf("%d objects in a chunk for %d", s.table.Len(), n)
	}
}

func TestSmallTableIsSmall(t *testing.T) {
	table := New[int]()
	table.Put("a", 1, nil)
	table.Put("b", 2, nil)
	table.Delete("a")
	table.Delete("a")
	if got := table.Keys().Collect(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("keys %q", got)
	}
	if n := cap(table.objects.chunks[0].items); n != minChunk || len(table.ids.cells) != minCells {
		t.Errorf("room for %d objects in %d cells", n, len(table.ids.cells))
	}
}

// Keys whose hashes are equal, or whose cells are neighbours, also around the end of the
// cells, are told apart.
func TestFindAmongEqualHashes(t *testing.T) {
	for _, hash := range []uint32{7, ^uint32(0)} {
		table := New[int]()
		for i := range 5 {
			table.Apply([]Op[int]{{Key: fmt.Sprint("equal", i), Hash: hash, Object: i}})
			table.Apply([]Op[int]{{Key: fmt.Sprint("next", i), Hash: hash - uint32(i) - 1, Object: 100 + i}})
		}
		find := func(key string, hash uint32) int {
			id, ok := table.FindHashed(key, hash)
			if other, found := table.FindHashedBytes([]byte(key), hash); found != ok || other != id {
				t.Errorf("%s: %d, %v as a string, %d, %v as bytes", key, id, ok, other, found)
			}
			if other, found := table.FindToWrite([]byte(key), hash); found != ok || other != id {
				t.Errorf("%s: %d, %v to be read, %d, %v to be written", key, id, ok, other, found)
			}
			if !ok {
				return -1
			}
			return table.Object(id)
		}
		for i := range 5 {
			if got := find(fmt.Sprint("equal", i), hash); got != i {
				t.Errorf("equal%d: %d", i, got)
			}
			if got := find(fmt.Sprint("next", i), hash-uint32(i)-1); got != 100+i {
				t.Errorf("next%d: %d", i, got)
			}
		}
		if got := find("other", hash); got != -1 {
			t.Errorf("a key that is not there: %d", got)
		}
	}
}

// A table takes over the objects of another one, and files them in indexes of its own.
func TestTableAdopts(t *testing.T) {
	s := newSteps(t)
	staged := NewSeeded[int](s.table.Seed())
	const n = 3 * chunkRows
	values := map[string][][]string{}
	for i := range n {
		op := s.put(i, s.r.IntN(1000))
		staged.Put(op.Key, op.Object, op.Note)
		if i%5 == 0 { // as it comes last
			op = s.put(i, s.r.IntN(1000))
			staged.Put(op.Key, op.Object, op.Note)
		}
		values[op.Key] = op.Values
	}
	s.table = s.table.Adopt(staged)
	next := 0
	for id := range s.table.IDs() {
		if key := s.table.Key(id); key != fmt.Sprint(next) {
			t.Fatalf("%s is in the place of %d", key, next)
		}
		s.table.File(id, values[s.table.Key(id)])
		next++
	}
	s.check()
	if err := staged.Check(); err != nil || staged.Len() != n { // filing leaves it as it was
		t.Fatalf("the table that was adopted has %d objects: %v", staged.Len(), err)
	}
	s.table.Apply(s.random(500, 2*n))
	s.check()
	s.table = s.table.Fork()
	s.table.Apply(s.random(500, 2*n))
	s.table.Settle()
	s.check()
}

// Len is what Collect goes through, also where a value has one object or none.
func TestSelectionLen(t *testing.T) {
	table := New[int]()
	table.AddIndex(nil)
	put := func(key string, values ...string) {
		table.Apply([]Op[int]{{Key: key, Object: len(key), Values: [][]string{values}}})
	}
	put("a", "one", "many")
	put("b", "many")
	put("c", "many", "other")
	for _, c := range []struct {
		values []string
		want   int
	}{
		{nil, 0}, {[]string{"none"}, 0}, {[]string{"one"}, 1}, {[]string{"many"}, 3},
		{[]string{"one", "none", "other"}, 2}, {[]string{"one", "many"}, 4},
	} {
		if got := table.UnionOf(0, c.values).Len(); got != c.want {
			t.Errorf("union of %v has %d, want %d", c.values, got, c.want)
		}
		if len(c.values) != 1 {
			continue
		}
		s := table.ObjectsOf(0, c.values[0])
		if got := s.Len(); got != c.want || len(s.Collect()) != c.want {
			t.Errorf("selection of %v has %d of %d, want %d", c.values, got, len(s.Collect()), c.want)
		}
	}
	if values := table.Values(0); values.Len() != 3 || len(values.Collect()) != 3 {
		t.Errorf("%d values, want 3", values.Len())
	}
}
