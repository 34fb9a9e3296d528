// SPDX-License-Identifier: Apache-2.0

package dense

// Spare is what the first write after a freeze needs of the frozen column: a copy of its list
// of chunks, and memory for the copy of a chunk. A reader makes it, who allocates anyway, and far
// more. A writer that allocates has to help a garbage collection that runs, or is parked until
// there is work, for as long as milliseconds; and while the collector marks, to write the pointers
// of a list alone takes ten microseconds.
//
// The zero Spare is none.
type Spare[E any] struct {
	of    []chunk[E]
	list  []chunk[E] // copy of it
	items []E
}

// Spare makes what the next write needs. Small columns need none.
func (f Frozen[E]) Spare() (s Spare[E]) {
	if len(f.v.chunks) >= wholeChunks {
		items := make([]E, chunkRows)
		touch(items)
		s = Spare[E]{of: f.v.chunks, list: copied(f.v.chunks), items: items[:0]}
	}
	return s
}

// take returns a copy of a list, made now unless it is the one that the spare is of, and memory
// for a chunk, if there is some. Nil has none.
func (s *Spare[E]) take(of []chunk[E]) (list []chunk[E], items []E) {
	if s == nil || len(of) == 0 || len(of) != len(s.of) || &of[0] != &s.of[0] {
		return copied(of), nil
	}
	list, items = s.list, s.items
	*s = Spare[E]{}
	return list, items
}

// copied returns a copy of a list that has room for one chunk more.
func copied[E any](list []chunk[E]) []chunk[E] { return resized(list, len(list)+1) }
