// SPDX-License-Identifier: Apache-2.0

package informer

import "math/bits"

// itemHashes are the hashes of the items of a list, in a hash table with linear probing, 11
// to 22 bytes for each.
type itemHashes struct {
	n      int
	cells  []uint64 // 0: empty; a hash that is 0 is left out, and its item decoded
	expect int      // so many are likely, which the table then does not have to grow to
}

const minHashCells = 64

// spread multiplies a hash, so that those whose upper bits are all alike have homes of their
// own: 2^64 by the golden ratio.
const spread = 0x9E37_79B9_7F4A_7C15

func (h *itemHashes) has(hash uint64) bool {
	_, found := h.find(hash)
	return found
}

// find returns the cell of a hash, or the empty one that it belongs into.
func (h *itemHashes) find(hash uint64) (at int, found bool) {
	if hash == 0 || len(h.cells) == 0 {
		return 0, false
	}
	home, _ := bits.Mul64(hash*spread, uint64(len(h.cells)))
	for at = int(home); h.cells[at] != 0 && h.cells[at] != hash; {
		if at++; at == len(h.cells) {
			at = 0
		}
	}
	return at, h.cells[at] == hash
}

func (h *itemHashes) add(hash uint64) {
	if hash == 0 {
		return
	}
	if 4*(h.n+1) > 3*len(h.cells) {
		h.grow()
	}
	if at, found := h.find(hash); !found {
		h.cells[at] = hash
		h.n++
	}
}

func (h *itemHashes) grow() {
	old := h.cells
	h.cells = make([]uint64, max(minHashCells, 2*len(old), h.expect/3*4+8))
	for _, hash := range old {
		if at, found := h.find(hash); !found && hash != 0 {
			h.cells[at] = hash
		}
	}
}

// clear forgets all, and keeps the memory.
func (h *itemHashes) clear() {
	clear(h.cells)
	h.n = 0
}
