// SPDX-License-Identifier: Apache-2.0

package dense

import (
	"slices"
	"sync/atomic"
)

// cells is a hash table from hashes to ids, with linear probing. A cell is the hash in
// its upper half and the id plus one in its lower; zero is empty. Eight bytes a cell and
// no pointer is a third of what a Go map of strings needs; the strings themselves are in
// a column.
//
// A fork fills empty cells of its original, while readers of that look up hashes: an id
// that they come upon and do not have is one of the fork's.
type cells struct {
	shared bool // with the original of a fork: nothing but empty cells may be changed
	n      int
	cells  []uint64 // a power of two of them
}

const (
	minCells  = 8
	manyCells = 4096 // as many take about 10 µs to move
)

func cell(hash, id uint32) uint64 { return uint64(hash)<<32 | uint64(id+1) }

// next returns the first id filed under hash at or behind position at, and its position.
// A search begins at position hash and goes on behind the one that was returned. The id may
// be one of a fork.
func (c *cells) next(hash, at uint32) (id, pos uint32, ok bool) {
	if len(c.cells) == 0 {
		return 0, 0, false
	}
	mask := uint32(len(c.cells) - 1)
	for at &= mask; ; at = (at + 1) & mask {
		x := atomic.LoadUint64(&c.cells[at])
		if x == 0 {
			return 0, 0, false
		}
		if uint32(x>>32) == hash {
			return uint32(x) - 1, at, true
		}
	}
}

// tooSmall reports whether n ids make it more than four fifths full.
func (c *cells) tooSmall(n int) bool { return 5*n > 4*len(c.cells) }

// cramped reports whether n more ids make it grow, and that takes time.
func (c *cells) cramped(n int) bool { return len(c.cells) >= manyCells && c.tooSmall(c.n+n) }

// tooLarge reports whether seven eighths or more are empty.
func (c *cells) tooLarge() bool { return len(c.cells) > 8*minCells && 8*c.n < len(c.cells) }

// resize makes it the right size for n ids.
func (c *cells) resize(n int) {
	size := minCells
	for 5*n > 4*size {
		size *= 2
	}
	old := c.cells
	c.cells, c.shared = make([]uint64, size), false
	for _, x := range old {
		if x != 0 {
			c.cells[c.gap(uint32(x>>32))] = x
		}
	}
}

// own makes it one that only the fork has.
func (c *cells) own() {
	if c.shared {
		c.cells, c.shared = slices.Clone(c.cells), false
	}
}

// insert files an id that the original of a fork does not have. A search for the hash
// may begin at position at.
func (c *cells) insert(hash, id, at uint32) {
	if c.tooSmall(c.n + 1) {
		c.resize(c.n + 1)
		at = hash
	}
	if at = c.gap(at); c.shared {
		atomic.StoreUint64(&c.cells[at], cell(hash, id))
	} else {
		c.cells[at] = cell(hash, id)
	}
	c.n++
}

// gap returns the position of the first empty cell from position at on.
func (c *cells) gap(at uint32) uint32 {
	mask := uint32(len(c.cells) - 1)
	for at &= mask; c.cells[at] != 0; {
		at = (at + 1) & mask
	}
	return at
}

// find returns the position of a cell that there is.
func (c *cells) find(hash, id uint32) uint32 {
	x, mask := cell(hash, id), uint32(len(c.cells)-1)
	at := hash & mask
	for c.cells[at] != x {
		at = (at + 1) & mask
	}
	return at
}

// renumber gives the id from the new id to.
func (c *cells) renumber(hash, from, to uint32) {
	c.own()
	c.cells[c.find(hash, from)] = cell(hash, to)
}

// remove empties a cell, and moves up those behind it that would not be found any more.
func (c *cells) remove(hash, id uint32) {
	c.own()
	mask := uint32(len(c.cells) - 1)
	gap := c.find(hash, id)
	for at := (gap + 1) & mask; c.cells[at] != 0; at = (at + 1) & mask {
		home := uint32(c.cells[at]>>32) & mask
		if (at-home)&mask >= (at-gap)&mask {
			c.cells[gap] = c.cells[at]
			gap = at
		}
	}
	c.cells[gap] = 0
	c.n--
}
