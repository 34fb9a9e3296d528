// SPDX-License-Identifier: Apache-2.0

package dense

import (
	"slices"
	"sync/atomic"
)

// cells is a hash table from hashes to ids, with linear probing. Of 2^k cells, each is the id
// plus one in its lower k bits, and in the others those of the hash; zero is empty. The lower
// k bits of the hash are those of the position where the search for it begins, its home, and
// how far a cell is from its home is in a byte beside it, which no search needs. Five bytes a
// cell and no pointer is a fifth of what a Go map of strings needs; the strings themselves are
// in a column.
//
// A fork fills empty cells of its original, while readers of that look up hashes: an id
// that they come upon and do not have is one of the fork's.
type cells struct {
	shared bool // with the original of a fork: nothing but empty cells may be changed
	n      int
	cells  []uint32 // a power of two of them, more than there may be ids
	far    []uint8  // of a cell from its home; tooFar: as far, or farther
}

const (
	minCells  = 8
	manyCells = 4096 // as many take about 10 µs to move
	tooFar    = 255  // nearly never at four fifths: the farthest of 100,000 is at 150 to 210
)

// hasher returns the hash of an id that is filed, for those that are too far from home.
type hasher func(id uint32) uint32

// next returns the first id filed under hash at or behind position at, and its position.
// A search begins at position hash and goes on behind the one that was returned. The id may
// be one of a fork, or of another hash.
func (c *cells) next(hash, at uint32) (id, pos uint32, ok bool) {
	if len(c.cells) == 0 {
		return 0, 0, false
	}
	mask := uint32(len(c.cells) - 1)
	for at &= mask; ; at = (at + 1) & mask {
		x := atomic.LoadUint32(&c.cells[at])
		if x == 0 {
			return 0, 0, false
		}
		if (x^hash)&^mask == 0 {
			return x&mask - 1, at, true
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
func (c *cells) resize(n int, of hasher) {
	size := minCells
	for 5*n > 4*size {
		size *= 2
	}
	old := *c
	c.cells, c.far, c.shared = make([]uint32, size), make([]uint8, size), false
	for at, x := range old.cells {
		if x != 0 {
			hash := old.hash(uint32(at), of)
			c.fill(c.gap(hash), hash, old.id(uint32(at)))
		}
	}
}

// own makes it one that only the fork has.
func (c *cells) own() {
	if c.shared {
		c.cells, c.far, c.shared = slices.Clone(c.cells), slices.Clone(c.far), false
	}
}

// insert files an id that the original of a fork does not have. A search for the hash
// may begin at position at.
func (c *cells) insert(hash, id, at uint32, of hasher) {
	if c.tooSmall(c.n + 1) {
		c.resize(c.n+1, of)
		at = hash
	}
	c.fill(c.gap(at), hash, id)
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

// fill fills the empty cell at a position.
func (c *cells) fill(at, hash, id uint32) {
	mask := uint32(len(c.cells) - 1)
	c.far[at] = uint8(min((at-hash)&mask, tooFar))
	if x := hash&^mask | (id + 1); c.shared {
		atomic.StoreUint32(&c.cells[at], x)
	} else {
		c.cells[at] = x
	}
}

// id returns the id of the cell at a position, which is not empty.
func (c *cells) id(at uint32) uint32 { return c.cells[at]&uint32(len(c.cells)-1) - 1 }

// hash returns the hash of the cell at a position, which is not empty.
func (c *cells) hash(at uint32, of hasher) uint32 {
	if c.far[at] == tooFar {
		return of(c.id(at))
	}
	mask := uint32(len(c.cells) - 1)
	return c.cells[at]&^mask | (at-uint32(c.far[at]))&mask
}

// find returns the position of a cell that there is.
func (c *cells) find(hash, id uint32) uint32 {
	mask := uint32(len(c.cells) - 1)
	x, at := hash&^mask|(id+1), hash&mask
	for c.cells[at] != x {
		at = (at + 1) & mask
	}
	return at
}

// renumber gives the id from the new id to.
func (c *cells) renumber(hash, from, to uint32) {
	c.own()
	c.cells[c.find(hash, from)] += to - from
}

// remove empties a cell, and moves up those behind it that would not be found any more.
func (c *cells) remove(hash, id uint32, of hasher) {
	c.own()
	mask := uint32(len(c.cells) - 1)
	gap := c.find(hash, id)
	for at := (gap + 1) & mask; c.cells[at] != 0; at = (at + 1) & mask {
		from, up := (at-c.hash(at, of))&mask, (at-gap)&mask
		if from >= up {
			c.cells[gap], c.far[gap] = c.cells[at], uint8(min(from-up, tooFar))
			gap = at
		}
	}
	c.cells[gap] = 0
	c.n--
}
