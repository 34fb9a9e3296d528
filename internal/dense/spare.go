// SPDX-License-Identifier: Apache-2.0

package dense

import "sync/atomic"

// spares is memory that readers leave for the copies of a writer. A list allocates
// anyway, and a thousand times as much; a writer that allocates has to help a garbage
// collection that runs, or is parked until there is work, for as long as milliseconds.
type spares[E any] struct{ slots [2]atomic.Pointer[spare[E]] }

// spare is what the first write after a freeze needs.
type spare[E any] struct {
	list  []chunk[E]
	items []E
}

// leave fills the slots that are empty. Small vectors need none.
func (s *spares[E]) leave(v *vector[E]) {
	if len(v.chunks) < wholeChunks {
		return
	}
	for i := range s.slots {
		if s.slots[i].Load() == nil {
			s.slots[i].Store(&spare[E]{make([]chunk[E], 0, len(v.chunks)+1), make([]E, 0, chunkRows)})
		}
	}
}

// take returns memory for a list, new if there is none, and for a chunk, if there is some.
func (s *spares[E]) take(list int) (sp spare[E]) {
	for i := range s.slots {
		if found := s.slots[i].Load(); found != nil {
			s.slots[i].Store(nil)
			sp = *found
			break
		}
	}
	if cap(sp.list) < list {
		sp.list = make([]chunk[E], 0, list)
	}
	return sp
}
