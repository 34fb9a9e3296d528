// SPDX-License-Identifier: Apache-2.0

package dense

import (
	"math/rand/v2"
	"testing"
)

// hashed is cells beside a model: the hash of each id.
type hashed struct {
	cells
	of []uint32
}

func (h *hashed) hash(id uint32) uint32 { return h.of[id] }

func (h *hashed) push(hash uint32) {
	h.of = append(h.of, hash)
	h.insert(hash, uint32(len(h.of)-1), hash, h.hash)
}

// drop removes an id, whose number the last one gets, as in a Table.
func (h *hashed) drop(id uint32) {
	last := uint32(len(h.of) - 1)
	h.remove(h.of[id], id, h.hash)
	if id != last {
		h.renumber(h.of[last], last, id)
		h.of[id] = h.of[last]
	}
	h.of = h.of[:last]
}

// check searches for each id.
func (h *hashed) check(t *testing.T) {
	t.Helper()
	for id, hash := range h.of {
		found, at, ok := h.next(hash, hash)
		for ; ok && found != uint32(id); found, at, ok = h.next(hash, at+1) {
			if h.of[found]&^uint32(len(h.cells.cells)-1) != hash&^uint32(len(h.cells.cells)-1) {
				t.Fatalf("id %d of hash %#x is found under %#x", found, h.of[found], hash)
			}
		}
		if !ok {
			t.Fatalf("id %d of hash %#x is not found", id, hash)
		}
	}
	if err := h.cells.check(h.hash); err != nil {
		t.Fatal(err)
	}
}

// Hashes that are spread, that have one of a few homes, so that most cells are too far from
// theirs, and that begin at the end of the cells.
func TestCells(t *testing.T) {
	spreads := map[string]func(r *rand.Rand) uint32{
		"spread":     func(r *rand.Rand) uint32 { return r.Uint32() },
		"few homes":  func(r *rand.Rand) uint32 { return r.Uint32()<<16 | r.Uint32N(3)*700 },
		"at the end": func(r *rand.Rand) uint32 { return r.Uint32()<<16 | 0xfff0 | r.Uint32N(16) },
		"one hash":   func(*rand.Rand) uint32 { return 7 },
	}
	for name, next := range spreads {
		t.Run(name, func(t *testing.T) {
			h, r := &hashed{}, rand.New(rand.NewPCG(1, 2))
			for range 800 {
				h.push(next(r))
			}
			h.check(t)
			for range 400 {
				h.drop(r.Uint32N(uint32(len(h.of))))
			}
			h.check(t)
			h.resize(len(h.of), h.hash)
			h.check(t)
			for i := range 900 {
				if h.push(next(r)); i%3 == 0 {
					h.drop(r.Uint32N(uint32(len(h.of))))
				}
			}
			h.check(t)
			for len(h.of) > 0 {
				h.drop(uint32(len(h.of) - 1))
			}
			h.check(t)
		})
	}
}
