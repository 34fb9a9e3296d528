// SPDX-License-Identifier: Apache-2.0

package dense

// Objects freezes the objects.
func (t *Table[T]) Objects() Frozen[T] {
	t.freeze(1 << objects)
	return Frozen[T]{t.objects}
}

// Keys freezes the keys.
func (t *Table[T]) Keys() Frozen[string] {
	t.freeze(1 << keys)
	return Frozen[string]{t.keys}
}

// Notes freezes the notes; there are none, or one for each object, which may be nil.
func (t *Table[T]) Notes() Frozen[*Note] {
	t.freeze(1 << keys)
	return Frozen[*Note]{t.notes}
}

// Selection is what an index files under one value: the objects, or the keys. One that
// is Small is not frozen and has to be collected before the lock is released.
type Selection[E any] struct {
	n      int // ids
	ids    []chunk[uint32]
	one    uint32 // if there are no ids; none: nothing is selected
	column []chunk[E]
}

// ObjectsOf selects the objects that an index files under the value.
func (t *Table[T]) ObjectsOf(index int, value string) (s Selection[T]) {
	s.n, s.ids, s.one = t.group(index, value, 1<<objects)
	s.column = t.objects.chunks
	return s
}

// KeysOf selects the keys of the objects that an index files under the value.
func (t *Table[T]) KeysOf(index int, value string) (s Selection[string]) {
	s.n, s.ids, s.one = t.group(index, value, 1<<keys)
	s.column = t.keys.chunks
	return s
}

// group returns what the bucket of the value holds, and freezes what is read of a large one.
func (t *Table[T]) group(i int, value string, column uint32) (n int, ids []chunk[uint32], one uint32) {
	x := t.indexes[i]
	b, ok := x.find(&t.clock, value)
	if !ok {
		return 0, nil, none
	}
	found := &x.buckets.chunks[b>>chunkBits].items[b&chunkMask]
	if found.list == nil {
		return 0, nil, found.one
	}
	if n = found.list.len(); n > chunkRows {
		t.freeze(1<<lists | column)
	}
	return n, found.list.chunks, none
}

// Small reports whether Collect is so quick that freezing costs more.
func (s *Selection[E]) Small() bool { return s.n <= chunkRows }

// Len returns the number of rows.
func (s *Selection[E]) Len() int {
	if s.n == 0 && s.one != none {
		return 1
	}
	return s.n
}

// Collect returns what is selected in one new slice, nil if it is nothing.
func (s *Selection[E]) Collect() []E {
	if s.n == 0 {
		if s.one == none {
			return nil
		}
		return []E{s.column[s.one>>chunkBits].items[s.one&chunkMask]}
	}
	out := make([]E, s.n)
	touch(out)
	rest := out
	for i := range s.ids {
		ids := s.ids[i].items
		gather(rest, ids, s.column)
		rest = rest[len(ids):]
	}
	return out
}

// gather copies the rows of a column; it is a function of its own so that the loop keeps
// all it needs in registers. Two rows at a time share one look at whether the collector marks.
//
//go:noinline
func gather[E any](to []E, ids []uint32, column []chunk[E]) {
	to = to[:len(ids)]
	for i := 0; i < len(ids)-1; i += 2 {
		a, b := ids[i], ids[i+1]
		one := column[a>>chunkBits].items[a&chunkMask]
		two := column[b>>chunkBits].items[b&chunkMask]
		to[i], to[i+1] = one, two
	}
	if last := len(ids) - 1; last >= 0 && last%2 == 0 {
		id := ids[last]
		to[last] = column[id>>chunkBits].items[id&chunkMask]
	}
}

// Values are the values of an index, frozen.
type Values struct {
	buckets vector[bucket]
	n       int
}

// Values freezes the values of an index.
func (t *Table[T]) Values(index int) Values {
	t.freeze(1 << buckets)
	return Values{t.indexes[index].buckets, t.indexes[index].values.n}
}

// Len returns the number of values.
func (v Values) Len() int { return v.n }

// Collect returns the values in one new slice.
func (v Values) Collect() []string {
	out := make([]string, 0, v.n)
	for i := range v.buckets.chunks {
		for _, b := range v.buckets.chunks[i].items {
			if b.list != nil || b.one != none {
				out = append(out, b.value)
			}
		}
	}
	return out
}
