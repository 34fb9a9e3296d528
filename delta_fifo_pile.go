// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"hash/maphash"
	"math"
	"slices"
)

// Memory that is kept for the next batch, in a pile and in the store: enough for the watch of
// a busy collection, not for a list, and no more than twice what the last batches needed.
const (
	pileKeepSlots = 2048
	pileMinSlots  = 256
	pileKeepMany  = 512 // further deltas of a key, in all
)

// peak is what the last batches needed. It falls slowly.
type peak int

// keeps adds what a batch needed, and reports whether memory of that size is to be kept.
func (p *peak) keeps(needed, size int) bool {
	*p = max(peak(needed), *p-*p/8)
	return size <= pileKeepSlots && size <= max(2*int(*p), pileMinSlots)
}

// deltaPile holds deltas by key, keys in order of arrival. A delta costs no memory of its
// own once the pile has been used before: the first one of a key lies in the key's slot,
// the slice for further ones stays with the slot.
type deltaPile[T any] struct {
	seed   maphash.Seed
	slots  []pileSlot[T] // in order of the position of their oldest delta
	head   int           // index of the first slot that is in use
	base   int           // number of slots[0]; a key's number stays as slots move
	index  slotTable     // number of the slot of a key
	deltas int           // in all slots
	merged bool          // some slots have a slice for further deltas
	peak   peak          // slots that the last batches needed
}

type pileSlot[T any] struct {
	position uint64 // of the write of the oldest delta
	used     bool
	one      [1]Delta[T] // the delta, or, if there are more, key and hash alone
	many     Deltas[T]   // all of them, if there are more than one
}

func newDeltaPile[T any](seed maphash.Seed) *deltaPile[T] { return &deltaPile[T]{seed: seed} }

func (p *deltaPile[T]) len() int { return p.index.n }

// oldest returns the position of the oldest delta.
func (p *deltaPile[T]) oldest() uint64 {
	if p.head == len(p.slots) {
		return math.MaxUint64
	}
	return p.slots[p.head].position
}

func (p *deltaPile[T]) hash(key string) uint32 { return uint32(maphash.String(p.seed, key)) }

// lookup returns the index of the slot of a key.
func (p *deltaPile[T]) lookup(key string, hash uint32) (i int, ok bool) {
	for number, at, ok := p.index.next(hash, home(hash)); ok; number, at, ok = p.index.next(hash, at+1) {
		i := int(int32(number - uint32(p.base)))
		if p.slots[i].one[0].Key == key {
			return i, true
		}
	}
	return 0, false
}

// get returns the deltas of a key, nil if there are none.
func (p *deltaPile[T]) get(key string) Deltas[T] {
	if p.len() == 0 {
		return nil
	}
	if i, ok := p.lookup(key, p.hash(key)); ok {
		return p.slots[i].deltas()
	}
	return nil
}

// eachKey calls fn for each key.
func (p *deltaPile[T]) eachKey(fn func(key string)) {
	for i := p.head; i < len(p.slots); i++ {
		if p.slots[i].used {
			fn(p.slots[i].one[0].Key)
		}
	}
}

// add puts a delta behind those of its key, and reports whether it is the only one.
func (p *deltaPile[T]) add(d *Delta[T], position uint64) (first bool) {
	hash := d.hash
	if hash == 0 {
		hash = p.hash(d.Key)
	}
	if i, ok := p.lookup(d.Key, hash); ok {
		p.merged = true
		p.deltas += p.slots[i].add(*d)
		return false
	}
	i := len(p.slots)
	if i == cap(p.slots) { // to twice the size exactly, up to pileKeepSlots
		p.slots = append(make([]pileSlot[T], 0, max(2*i, 16)), p.slots...)
	}
	p.slots = p.slots[:i+1]
	s := &p.slots[i]
	s.position, s.used, s.one[0] = position, true, *d
	s.one[0].hash = hash
	p.index.insert(hash, uint32(p.base+i))
	p.deltas++
	return true
}

// grow makes room for as many keys as a list brings, without the garbage of growing there.
func (p *deltaPile[T]) grow(n int) {
	p.slots = slices.Grow(p.slots, n)
	p.index.grow(n)
}

// all yields the deltas of each key, in the pile's own memory.
func (p *deltaPile[T]) all(yield func(deltas Deltas[T]) bool) {
	for i := p.head; i < len(p.slots); i++ {
		if s := &p.slots[i]; s.used && !yield(s.deltas()) {
			return
		}
	}
}

// find returns the index of the first key that is not in flight, -1 if there is none.
func (p *deltaPile[T]) find(flights map[string]flight[T]) int {
	for i := p.head; i < len(p.slots); i++ {
		if !p.slots[i].used {
			continue
		}
		if _, busy := flights[p.slots[i].one[0].Key]; !busy {
			return i
		}
	}
	return -1
}

// removeAt takes the deltas of one key out, as a new slice.
func (p *deltaPile[T]) removeAt(i int) (Deltas[T], uint64) {
	s := &p.slots[i]
	deltas, position := slices.Clone(s.deltas()), s.position
	p.index.remove(s.one[0].hash, uint32(p.base+i))
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
		*p = *newDeltaPile[T](p.seed)
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
	hash := p.hash(key)
	if at, ok := p.lookup(key, hash); ok {
		newer, _ := p.removeAt(at)
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
			p.index.renumber(p.slots[i].one[0].hash, uint32(p.base+i+1), uint32(p.base+i))
		}
		i++
	}
	p.merged = true
	p.slots[i].set(deltas, position)
	p.slots[i].one[0].hash = hash
	p.index.insert(hash, uint32(p.base+i))
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
	if !p.peak.keeps(len(p.slots), cap(p.slots)) {
		return false
	}
	p.clearIndex()
	p.clearSlots()
	p.slots = p.slots[:0]
	p.head, p.base, p.deltas = 0, 0, 0
	return true
}

// clearIndex takes the keys out one by one if they are few: otherwise it costs the table's
// size, not its content.
func (p *deltaPile[T]) clearIndex() {
	if len(p.slots) >= len(p.index.cells)/16 {
		p.index.clear()
		return
	}
	for i := range p.slots {
		if s := &p.slots[i]; s.used {
			p.index.remove(s.one[0].hash, uint32(p.base+i))
		}
	}
}

// clearSlots keeps some of the slices for further deltas.
func (p *deltaPile[T]) clearSlots() {
	if !p.merged {
		clear(p.slots)
		return
	}
	many := 0
	for i := range p.slots {
		s := &p.slots[i]
		s.clear()
		if many += cap(s.many); many > pileKeepMany {
			s.many = nil
		}
	}
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
			merged.hash = s.one[0].hash
			s.one[0] = merged
			return 0
		}
		s.many = append(s.many, s.one[0])
		s.one[0] = Delta[T]{Key: d.Key, hash: s.one[0].hash}
	}
	before := len(s.many)
	s.many = appendDelta(s.many, d)
	return len(s.many) - before
}

func (s *pileSlot[T]) set(deltas Deltas[T], position uint64) {
	s.position, s.used = position, true
	if len(deltas) == 1 {
		s.one[0] = deltas[0]
		return
	}
	s.one[0] = Delta[T]{Key: deltas.Key()}
	s.many = append(s.many[:0], deltas...)
}

// clear keeps the position, which keeps the slots in order.
func (s *pileSlot[T]) clear() {
	s.used, s.one[0] = false, Delta[T]{}
	clear(s.many)
	s.many = s.many[:0]
}

// large reports whether a pile keeps much memory; nil keeps none.
func (p *deltaPile[T]) large() bool { return p != nil && cap(p.slots) > pileMinSlots }

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
