// SPDX-License-Identifier: Apache-2.0

package dense

// Objects freezes the objects.
func (t *Table[T]) Objects() Frozen[T] {
	t.freeze(1 << objects)
	return Frozen[T]{t.objects, t.plan.spares}
}

// Keys freezes the keys.
func (t *Table[T]) Keys() Frozen[string] {
	t.freeze(1 << keys)
	return Frozen[string]{v: t.keys}
}

// Notes freezes the notes; there are none, or one for each object, which may be nil.
func (t *Table[T]) Notes() Frozen[*Note] {
	t.freeze(1 << keys)
	return Frozen[*Note]{v: t.notes}
}

// Selection is what an index files under one value: the objects, or the keys. One that
// is Small is not frozen and has to be collected before the lock is released.
type Selection[E any] struct {
	ids    vector[uint32]
	one    uint32 // if ids is empty; none: nothing is selected
	column vector[E]
}

// ObjectsOf selects the objects that an index files under the value.
func (t *Table[T]) ObjectsOf(index int, value string) Selection[T] {
	return selection(t.group(index, value, 1<<objects), t.objects)
}

// KeysOf selects the keys of the objects that an index files under the value.
func (t *Table[T]) KeysOf(index int, value string) Selection[string] {
	return selection(t.group(index, value, 1<<keys), t.keys)
}

func selection[E any](b bucket, column vector[E]) Selection[E] {
	s := Selection[E]{one: b.one, column: column}
	if b.list != nil {
		s.ids = *b.list
	}
	return s
}

// group returns the bucket of the value, and freezes what is read of a large one.
func (t *Table[T]) group(i int, value string, column uint32) bucket {
	x := t.indexes[i]
	b, ok := x.find(&t.clock, value)
	if !ok {
		return bucket{one: none}
	}
	found := x.buckets.at(b)
	if found.list != nil && found.list.len() > chunkRows {
		t.freeze(1<<lists | column)
	}
	return found
}

// Small reports whether Collect is so quick that freezing costs more.
func (s *Selection[E]) Small() bool { return s.ids.len() <= chunkRows }

// Collect returns what is selected in one new slice, nil if it is nothing.
func (s *Selection[E]) Collect() []E {
	if s.one != none {
		return []E{s.column.at(s.one)}
	}
	n := s.ids.len()
	if n == 0 {
		return nil
	}
	out := make([]E, n)
	rest := out
	for i := range s.ids.chunks {
		ids := s.ids.chunks[i].items
		gather(rest, ids, s.column.chunks)
		rest = rest[len(ids):]
	}
	return out
}

// gather copies the rows of a column; it is a function of its own so that the loop keeps
// all it needs in registers.
//
//go:noinline
func gather[E any](to []E, ids []uint32, column []chunk[E]) {
	to = to[:len(ids)]
	for i, id := range ids {
		to[i] = column[id>>chunkBits].items[id&chunkMask]
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
