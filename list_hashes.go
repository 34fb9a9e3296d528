// SPDX-License-Identifier: Apache-2.0

package informer

import "math/bits"

// itemHashes are the hashes of the items of a list, to be searched: a hash table with linear
// probing, 11 bytes for each. A Reflector keeps them one behind the other, for a first list
// searches nothing.
type itemHashes struct {
	all   *chunked[uint64]
	cells []uint64 // of all, once the first one has been searched; 0: empty
}

func hashesOf(all *chunked[uint64]) itemHashes { return itemHashes{all: all} }

// has reports whether there is such a hash; of 0, which marks an empty cell, it does not know.
func (h *itemHashes) has(hash uint64) bool {
	if hash == 0 || h.all.n == 0 {
		return false
	}
	if h.cells == nil {
		h.fill()
	}
	return h.cells[h.find(hash)] == hash
}

// spread multiplies a hash, so that those whose upper bits are all alike have homes of their
// own: 2^64 by the golden ratio.
const spread = 0x9E37_79B9_7F4A_7C15

// find returns the cell of a hash, or the empty one that it belongs into.
func (h *itemHashes) find(hash uint64) int {
	home, _ := bits.Mul64(hash*spread, uint64(len(h.cells)))
	at := int(home)
	for h.cells[at] != 0 && h.cells[at] != hash {
		if at++; at == len(h.cells) {
			at = 0
		}
	}
	return at
}

func (h *itemHashes) fill() {
	h.cells = make([]uint64, h.all.n+h.all.n/3+1)
	for i := range h.all.n {
		if hash := *h.all.at(i); hash != 0 {
			h.cells[h.find(hash)] = hash
		}
	}
}
