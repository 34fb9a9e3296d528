// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"math"
	"slices"
	"sort"
)

// Memory that a pile keeps for its next use: enough for the watch of a busy collection,
// not for a list. At 128 bytes a delta, 0.7 MiB at the very most.
const (
	pileKeepSlots = 1024
	pileKeepMany  = 4
)

// deltaPile holds deltas by key, keys in order of arrival. A delta costs no memory of its
// own once the pile has been used before: the first one of a key lies in the key's slot,
// the slice for further ones stays with the slot.
type deltaPile[T any] struct {
	slots  []pileSlot[T] // in order of the position of their oldest delta
	head   int           // index of the first slot that is in use
	base   int           // number of slots[0]; a key's number stays as slots move
	index  map[string]int
	deltas int // in all slots
	keys   []Deltas[T]
}

type pileSlot[T any] struct {
	key      string
	position uint64 // of the write of the oldest delta
	used     bool
	one      [1]Delta[T]
	many     Deltas[T] // all of them, if there are more than one
}

func newDeltaPile[T any]() *deltaPile[T] { return &deltaPile[T]{index: map[string]int{}} }

func (p *deltaPile[T]) len() int { return len(p.index) }

// oldest returns the position of the oldest delta.
func (p *deltaPile[T]) oldest() uint64 {
	if p.head == len(p.slots) {
		return math.MaxUint64
	}
	return p.slots[p.head].position
}

// get returns the deltas of a key, nil if there are none.
func (p *deltaPile[T]) get(key string) Deltas[T] {
	number, ok := p.index[key]
	if !ok {
		return nil
	}
	return p.slots[number-p.base].deltas()
}

// add puts a delta behind those of its key, and reports whether it is the only one.
func (p *deltaPile[T]) add(d Delta[T], position uint64) (first bool) {
	if number, ok := p.index[d.Key]; ok {
		p.deltas += p.slots[number-p.base].add(d)
		return false
	}
	if len(p.slots) < cap(p.slots) {
		p.slots = p.slots[:len(p.slots)+1]
	} else {
		p.slots = append(p.slots, pileSlot[T]{})
	}
	i := len(p.slots) - 1
	s := &p.slots[i]
	s.key, s.position, s.used, s.one[0] = d.Key, position, true, d
	p.index[d.Key] = p.base + i
	p.deltas++
	return true
}

// grow makes room for as many keys as a list brings, without the garbage of growing there.
func (p *deltaPile[T]) grow(n int) {
	p.slots = slices.Grow(p.slots, n)
	if len(p.index) == 0 && n > pileKeepSlots {
		p.index = make(map[string]int, n)
	}
}

// all returns the deltas of each key, in the pile's own memory.
func (p *deltaPile[T]) all() []Deltas[T] {
	p.keys = slices.Grow(p.keys[:0], len(p.index))
	for i := p.head; i < len(p.slots); i++ {
		if p.slots[i].used {
			p.keys = append(p.keys, p.slots[i].deltas())
		}
	}
	return p.keys
}

// find returns the index of the first key that is not in flight, -1 if there is none.
func (p *deltaPile[T]) find(flights map[string]flight[T]) int {
	for i := p.head; i < len(p.slots); i++ {
		if !p.slots[i].used {
			continue
		}
		if _, busy := flights[p.slots[i].key]; !busy {
			return i
		}
	}
	return -1
}

// removeAt takes the deltas of one key out, as a new slice.
func (p *deltaPile[T]) removeAt(i int) (Deltas[T], uint64) {
	s := &p.slots[i]
	deltas, position := slices.Clone(s.deltas()), s.position
	delete(p.index, s.key)
	p.deltas -= len(deltas)
	s.clear()
	p.trim()
	return deltas, position
}

// trim moves the head to a slot in use, and gives up memory that has become too large.
func (p *deltaPile[T]) trim() {
	for p.head < len(p.slots) && !p.slots[p.head].used {
		p.head++
	}
	switch {
	case p.head == len(p.slots) && cap(p.slots) > pileKeepSlots:
		*p = *newDeltaPile[T]()
	case p.head == len(p.slots):
		p.slots, p.head, p.base = p.slots[:0], 0, 0
	case p.head > pileKeepSlots/4 && p.head > len(p.slots)/2:
		// Into new memory: a slot that was moved within its own would share its slice.
		p.slots, p.base, p.head = slices.Clone(p.slots[p.head:]), p.base+p.head, 0
	}
}

// putBack puts deltas that were removed back to the head, before newer ones of their key,
// but behind what came before them and was put back as well.
func (p *deltaPile[T]) putBack(deltas Deltas[T], position uint64) {
	key := deltas.Key()
	if number, ok := p.index[key]; ok {
		newer, _ := p.removeAt(number - p.base)
		for _, d := range newer {
			deltas = appendDelta(deltas, d)
		}
	}
	p.makeGap()
	p.head--
	i := p.head
	for i+1 < len(p.slots) && p.slots[i+1].position < position {
		p.slots[i], p.slots[i+1] = p.slots[i+1], p.slots[i]
		if p.slots[i].used {
			p.index[p.slots[i].key] = p.base + i
		}
		i++
	}
	p.slots[i].set(deltas, position)
	p.index[key] = p.base + i
	p.deltas += len(deltas)
	p.trim() // where unused slots came to the head
}

// makeGap sees to an unused slot before the head.
func (p *deltaPile[T]) makeGap() {
	if p.head > 0 {
		return
	}
	gap := len(p.slots)/2 + 1
	p.slots = append(make([]pileSlot[T], gap, gap+len(p.slots)), p.slots...)
	p.base -= gap
	p.head = gap
}

// recycle empties the pile for its next use, and reports whether that is worth its memory.
func (p *deltaPile[T]) recycle() bool {
	if cap(p.slots) > pileKeepSlots {
		return false
	}
	few := len(p.slots) < cap(p.slots)/8 // clear costs the map's size, not its content
	if !few {
		clear(p.index)
	}
	for i := range p.slots {
		if few {
			delete(p.index, p.slots[i].key)
		}
		p.slots[i].clear()
	}
	clear(p.keys)
	p.slots, p.keys = p.slots[:0], p.keys[:0]
	p.head, p.base, p.deltas = 0, 0, 0
	return true
}

func (s *pileSlot[T]) deltas() Deltas[T] {
	if len(s.many) > 0 {
		return s.many[:len(s.many):len(s.many)]
	}
	return s.one[:]
}

// add returns by how many deltas there are more.
func (s *pileSlot[T]) add(d Delta[T]) int {
	if len(s.many) == 0 {
		if merged, ok := mergeDeletes(s.one[0], d); ok {
			s.one[0] = merged
			return 0
		}
		s.many = append(s.many, s.one[0])
		s.one[0] = Delta[T]{}
	}
	before := len(s.many)
	s.many = appendDelta(s.many, d)
	return len(s.many) - before
}

func (s *pileSlot[T]) set(deltas Deltas[T], position uint64) {
	s.key, s.position, s.used = deltas.Key(), position, true
	if len(deltas) == 1 {
		s.one[0] = deltas[0]
		return
	}
	s.many = append(s.many[:0], deltas...)
}

// clear keeps the position, which keeps the slots in order.
func (s *pileSlot[T]) clear() {
	s.key, s.used, s.one[0] = "", false, Delta[T]{}
	clear(s.many)
	s.many = s.many[:0]
	if cap(s.many) > pileKeepMany {
		s.many = nil
	}
}

// appendDelta appends, but two deletes in a row become one.
func appendDelta[T any](deltas Deltas[T], d Delta[T]) Deltas[T] {
	if n := len(deltas); n > 0 {
		if merged, ok := mergeDeletes(deltas[n-1], d); ok {
			deltas[n-1] = merged
			return deltas
		}
	}
	return append(deltas, d)
}

// mergeDeletes makes one of two deletes in a row: the newer, unless only the older knows
// the final state.
func mergeDeletes[T any](older, newer Delta[T]) (Delta[T], bool) {
	if older.Type != DeltaDeleted || newer.Type != DeltaDeleted {
		return older, false
	}
	if newer.FinalStateUnknown {
		return older, true
	}
	return newer, true
}

// versionMark says that the write at this position had this version.
type versionMark struct {
	position uint64
	version  string
}

// versionMarks are the versions of writes that have not been completed, in order of
// position. Of several between which no key was queued anew, only the last is kept: they
// are completed together.
type versionMarks struct {
	marks []versionMark
	head  int
}

func (v *versionMarks) note(m versionMark, created uint64) {
	if n := len(v.marks); n > v.head && v.marks[n-1].position >= created {
		v.marks[n-1] = m
		return
	}
	v.marks = append(v.marks, m)
}

// before returns the index of the first mark at position or after it.
func (v *versionMarks) before(position uint64) int {
	return v.head + sort.Search(len(v.marks)-v.head, func(i int) bool {
		return v.marks[v.head+i].position >= position
	})
}

// peek returns the newest version before the position.
func (v *versionMarks) peek(position uint64) (string, bool) {
	i := v.before(position)
	if i == v.head {
		return "", false
	}
	return v.marks[i-1].version, true
}

// through returns the newest version before the position and forgets it and those before it.
func (v *versionMarks) through(position uint64) (string, bool) {
	version, ok := v.peek(position)
	if !ok {
		return "", false
	}
	v.head = v.before(position)
	switch {
	case v.head == len(v.marks) && cap(v.marks) > pileKeepSlots:
		v.marks, v.head = nil, 0
	case v.head == len(v.marks):
		v.marks, v.head = v.marks[:0], 0
	case v.head > pileKeepSlots/4 && v.head > len(v.marks)/2:
		v.marks, v.head = slices.Clone(v.marks[v.head:]), 0
	}
	return version, true
}
