// SPDX-License-Identifier: Apache-2.0

package dense

import "iter"

// Union is what an index files under any of several values, frozen.
type Union[E any] struct {
	buckets []bucket
	column  vector[E]
}

// UnionOf selects the objects that an index files under any of the values.
func (t *Table[T]) UnionOf(index int, values []string) Union[T] {
	t.freeze(1<<lists | 1<<objects)
	x := t.indexes[index]
	u := Union[T]{column: t.objects}
	for _, value := range values {
		if b, ok := x.find(&t.clock, value); ok {
			u.buckets = append(u.buckets, x.buckets.at(b))
		}
	}
	return u
}

// Len returns how many rows Collect goes through: those that are selected twice count twice.
func (u Union[E]) Len() (n int) {
	for _, b := range u.buckets {
		switch {
		case b.list != nil:
			n += b.list.len()
		case b.one != none:
			n++
		}
	}
	return n
}

// Collect returns what is selected in one new slice, each object once.
func (u Union[E]) Collect() []E {
	var out []E
	seen := map[uint32]struct{}{}
	for _, b := range u.buckets {
		for id := range b.ids() {
			if _, twice := seen[id]; !twice {
				seen[id] = struct{}{}
				out = append(out, u.column.at(id))
			}
		}
	}
	return out
}

// ids yields what is filed.
func (b bucket) ids() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if b.list == nil {
			if b.one != none {
				yield(b.one)
			}
			return
		}
		for row := range b.list.rows() {
			if !yield(b.list.at(row)) {
				return
			}
		}
	}
}
