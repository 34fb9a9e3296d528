// SPDX-License-Identifier: Apache-2.0

package dense

import "iter"

const (
	chunkBits = 9
	// chunkSize is a compromise: a frozen column costs a copy of a chunk, and one of the column's
	// chunk list, before the next write; at 100,000 rows these are 4 and 6 KB.
	chunkSize = 1 << chunkBits
	chunkMask = chunkSize - 1
	// chunkRows leaves room for the 8 bytes that the allocator puts before a chunk with
	// pointers; without it, a chunk takes the next size class, a sixth more. The last
	// number of each chunk is no row.
	chunkRows = chunkSize - 1
	minChunk  = 4 // capacity of the first chunk; most buckets of an index stay small
	// wholeChunks is from which chunk on a new one has its whole capacity at once: it
	// takes an eighth of the column at most, and saves the steps of growing.
	wholeChunks = 8
)

// chunk is up to chunkRows rows. All chunks of a vector but the last are full.
type chunk[E any] struct {
	epoch uint64
	items []E
}

// vector is a column. What belongs to an older epoch is copied before it is changed, so
// a copy of the struct is a frozen column.
type vector[E any] struct {
	epoch  uint64 // of chunks, the list; each chunk has its own
	chunks []chunk[E]
}

func (v *vector[E]) len() int {
	last := len(v.chunks) - 1
	if last < 0 {
		return 0
	}
	return last*chunkRows + len(v.chunks[last].items)
}

// next returns the number of the row that push will add.
func (v *vector[E]) next() uint32 {
	last := len(v.chunks) - 1
	if last < 0 {
		return 0
	}
	if n := len(v.chunks[last].items); n < chunkRows {
		return uint32(last<<chunkBits + n)
	}
	return uint32(last+1) << chunkBits
}

// last returns the number of the last row, if there is one.
func (v *vector[E]) last() uint32 {
	last := len(v.chunks) - 1
	return uint32(last<<chunkBits + len(v.chunks[last].items) - 1)
}

// row returns row i to be read, nil if there is none.
func (v *vector[E]) row(i uint32) *E {
	if chunks := v.chunks; int(i>>chunkBits) < len(chunks) {
		if items := chunks[i>>chunkBits].items; int(i&chunkMask) < len(items) {
			return &items[i&chunkMask]
		}
	}
	return nil
}

// rows yields the numbers of all rows; the vector may not grow or shrink meanwhile.
func (v *vector[E]) rows() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for c := range v.chunks {
			for i := range v.chunks[c].items {
				if !yield(uint32(c<<chunkBits + i)) {
					return
				}
			}
		}
	}
}

func (v *vector[E]) at(i uint32) E { return v.chunks[i>>chunkBits].items[i&chunkMask] }

func (v *vector[E]) set(i uint32, e E, epoch uint64) { *v.ptr(i, epoch) = e }

// ptr returns row i to be changed, in this epoch.
func (v *vector[E]) ptr(i uint32, epoch uint64) *E {
	return &v.own(int(i>>chunkBits), epoch).items[i&chunkMask]
}

// own makes the chunk one of this epoch.
func (v *vector[E]) own(i int, epoch uint64) *chunk[E] {
	v.ownList(epoch)
	c := &v.chunks[i]
	if c.epoch != epoch {
		c.epoch, c.items = epoch, resized(c.items, cap(c.items))
	}
	return c
}

func (v *vector[E]) ownList(epoch uint64) {
	if v.epoch != epoch {
		v.epoch, v.chunks = epoch, copied(v.chunks)
	}
}

// push adds a row. A chunk of an older epoch need not be copied for it: what was frozen
// ends before the row.
func (v *vector[E]) push(e E, epoch uint64) {
	v.ownList(epoch)
	last := len(v.chunks) - 1
	if last < 0 || len(v.chunks[last].items) == chunkRows {
		v.chunks = append(v.chunks, chunk[E]{epoch: epoch})
		last++
		if last >= wholeChunks {
			v.chunks[last].items = make([]E, 0, chunkRows)
		}
	}
	c := &v.chunks[last]
	if len(c.items) == cap(c.items) {
		c.epoch, c.items = epoch, resized(c.items, min(cap(c.items)+max(cap(c.items)/4, minChunk), chunkRows))
	}
	c.items = append(c.items, e)
}

// pop removes the last row.
func (v *vector[E]) pop(epoch uint64) {
	last := len(v.chunks) - 1
	c := v.own(last, epoch)
	n := len(c.items) - 1
	clear(c.items[n:])
	c.items = c.items[:n]
	switch {
	case n == 0:
		v.chunks[last] = chunk[E]{}
		v.chunks = v.chunks[:last]
	case n <= cap(c.items)/4 && cap(c.items) > minChunk:
		c.items = resized(c.items, cap(c.items)/2)
	}
}

func resized[E any](items []E, capacity int) []E {
	return append(make([]E, 0, capacity), items...)
}

// Frozen is a column as it was at one moment. It stays valid for ever, and can be read
// by any goroutine without a lock.
type Frozen[E any] struct{ v vector[E] }

// Len returns the number of rows.
func (f Frozen[E]) Len() int { return f.v.len() }

// At returns row i, counted from 0 to Len.
func (f Frozen[E]) At(i int) E { return f.v.chunks[i/chunkRows].items[i%chunkRows] }

// Collect returns all rows in one new slice.
func (f Frozen[E]) Collect() []E {
	out := make([]E, f.v.len())
	touch(out)
	rest := out
	for i := range f.v.chunks {
		items := f.v.chunks[i].items
		copyRows(rest, items)
		rest = rest[len(items):]
	}
	return out
}
