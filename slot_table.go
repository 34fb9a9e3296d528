// SPDX-License-Identifier: Apache-2.0

package informer

// slotTable is a hash table from hashes to numbers, with linear probing. Which of the numbers
// under a hash is meant is for the caller to find out. A cell is the hash, made odd, in its
// upper half, and the number in its lower; zero is empty.
type slotTable struct {
	n     int
	cells []uint64 // a power of two of them, half of which are empty
}

const minSlotCells = 16

// home is where the search for a hash begins.
func home(hash uint32) uint32 { return hash >> 1 }

func slotCell(hash, number uint32) uint64 { return uint64(hash|1)<<32 | uint64(number) }

// next returns the first number filed under the hash at or behind position at, and its
// position.
func (t *slotTable) next(hash, at uint32) (number, pos uint32, ok bool) {
	if t.n == 0 {
		return 0, 0, false
	}
	mask := uint32(len(t.cells) - 1)
	for at &= mask; ; at = (at + 1) & mask {
		x := t.cells[at]
		if x == 0 {
			return 0, 0, false
		}
		if uint32(x>>32) == hash|1 {
			return uint32(x), at, true
		}
	}
}

func (t *slotTable) insert(hash, number uint32) {
	t.grow(1)
	t.place(slotCell(hash, number))
	t.n++
}

func (t *slotTable) place(x uint64) {
	mask := uint32(len(t.cells) - 1)
	at := home(uint32(x>>32)) & mask
	for t.cells[at] != 0 {
		at = (at + 1) & mask
	}
	t.cells[at] = x
}

// grow makes room for n more.
func (t *slotTable) grow(n int) {
	size := max(len(t.cells), minSlotCells)
	for size < 2*(t.n+n) {
		size *= 2
	}
	if size == len(t.cells) {
		return
	}
	old := t.cells
	t.cells = make([]uint64, size)
	for _, x := range old {
		if x != 0 {
			t.place(x)
		}
	}
}

// find returns the position of a cell that there is.
func (t *slotTable) find(hash, number uint32) uint32 {
	x, mask := slotCell(hash, number), uint32(len(t.cells)-1)
	at := home(hash) & mask
	for t.cells[at] != x {
		at = (at + 1) & mask
	}
	return at
}

// renumber gives what is filed as from the number to.
func (t *slotTable) renumber(hash, from, to uint32) {
	t.cells[t.find(hash, from)] = slotCell(hash, to)
}

// remove empties a cell, and moves up those behind it that would not be found any more.
func (t *slotTable) remove(hash, number uint32) {
	mask := uint32(len(t.cells) - 1)
	gap := t.find(hash, number)
	for at := (gap + 1) & mask; t.cells[at] != 0; at = (at + 1) & mask {
		if from := home(uint32(t.cells[at] >> 32)); (at-from)&mask >= (at-gap)&mask {
			t.cells[gap] = t.cells[at]
			gap = at
		}
	}
	t.cells[gap] = 0
	t.n--
}

// filter keeps the numbers that keep says.
func (t *slotTable) filter(keep func(number uint32) bool) {
	old := t.cells
	*t = slotTable{}
	for _, x := range old {
		if x != 0 && keep(uint32(x)) {
			t.insert(uint32(x>>32), uint32(x))
		}
	}
}

func (t *slotTable) clear() {
	clear(t.cells)
	t.n = 0
}
