// SPDX-License-Identifier: Apache-2.0

package informer

import "time"

// burst is what one batch did to the store, change by change. All handlers' queues share
// it, and nobody changes it.
//
// The records of an informer are numbered, from 1 on. That is how a queue knows in one
// look whether something that it still holds would have to be merged with the burst.
type burst[T any] struct {
	records   []record[T]
	first     uint64        // number of records[0]
	repeats   uint64        // of the earlier records of keys that are here (again), the highest number; 0: none
	recreated bool          // of some record
	since     time.Duration // when it was queued, on the informer's clock
}

// burstLog numbers bursts and finds the keys that they repeat. It looks back no further
// than to what some queue still shares; where the handlers keep up, it has nothing to look at.
type burstLog[T any] struct {
	number uint64    // of the last record
	latest []uint32  // hashes of the last burst, which are not in last yet; not its objects
	last   slotTable // number of the last record of a key; of two with one hash, of the later
}

// maxIdleKeys is how many keys the log forgets without giving up their memory, or holds
// in vain.
const maxIdleKeys = 1024

// append makes a burst of records. held is the number of the oldest record that a queue
// still shares; 0: none does.
func (l *burstLog[T]) append(records []record[T], held uint64, now time.Duration) *burst[T] {
	b := &burst[T]{records: records, first: l.number + 1, since: now}
	if l.forget(held); held > 0 {
		for n, hash := range l.latest {
			l.note(hash, b.first-uint64(len(l.latest)-n))
		}
		l.latest = l.latest[:0]
	}
	l.number += uint64(len(records))
	for n := range records {
		r := &records[n]
		b.recreated = b.recreated || r.recreated
		switch number := b.first + uint64(n); {
		case held > 0:
			b.repeats = max(b.repeats, l.note(r.hash, number))
		case n > 0 && records[n-1].hash == r.hash: // records of one key lie side by side
			b.repeats = number - 1
			fallthrough
		default:
			l.latest = append(l.latest, r.hash)
		}
	}
	return b
}

// note enters a key, and returns the number of its last record, 0 if none is known. Two
// keys with one hash count as one: that costs a merge that finds nothing, and nothing else.
func (l *burstLog[T]) note(hash uint32, number uint64) (last uint64) {
	low, at, ok := l.last.next(hash, home(hash))
	if !ok {
		l.last.insert(hash, uint32(number))
		return 0
	}
	l.last.cells[at] = slotCell(hash, uint32(number))
	return l.full(low)
}

// full returns the number of a record, which is not newer than the last, from its lower half.
func (l *burstLog[T]) full(low uint32) uint64 { return l.number - uint64(uint32(l.number)-low) }

// forget drops what no queue shares any more.
func (l *burstLog[T]) forget(held uint64) {
	switch {
	case held > 0 && uint64(l.last.n) > 2*(l.number-held)+maxIdleKeys:
		l.last.filter(func(number uint32) bool { return l.full(number) >= held })
	case held > 0:
	case l.last.n > maxIdleKeys || cap(l.latest) > 2*maxIdleKeys:
		l.last, l.latest = slotTable{}, nil
	case l.last.n > 0:
		l.last.clear()
		fallthrough
	default:
		l.latest = l.latest[:0]
	}
}

// sharedBursts are the bursts in a changeQueue that hold no two changes of one key, so
// that nothing has to be merged: a queue that keeps up, or whose keys are all different,
// costs one pointer a burst.
type sharedBursts[T any] struct {
	held []heldBurst[T]
	head int // index of the first that is not handed out
	at   int // of its first record that is not
}

type heldBurst[T any] struct {
	*burst[T]
	late bool // queued after the mark
}

func (s *sharedBursts[T]) empty() bool { return s.head == len(s.held) }

// next returns the number of the first record, 0 if there is none.
func (s *sharedBursts[T]) next() uint64 {
	if s.empty() {
		return 0
	}
	return s.held[s.head].first + uint64(s.at)
}

func (s *sharedBursts[T]) add(b heldBurst[T]) {
	if s.head > maxIdleBursts && s.head > len(s.held)/2 {
		n := copy(s.held, s.held[s.head:])
		clear(s.held[n:])
		s.held, s.head = s.held[:n], 0
	}
	s.held = append(s.held, b)
}

// maxIdleBursts is how many bursts' places an empty queue keeps: 1 KB.
const maxIdleBursts = 64

// take returns the first record, and whether it was queued after the mark.
func (s *sharedBursts[T]) take() (c *Change[T], late bool) {
	b := s.held[s.head]
	c = &b.records[s.at].Change
	if s.at++; s.at == len(b.records) {
		s.held[s.head] = heldBurst[T]{}
		s.head, s.at = s.head+1, 0
	}
	if s.empty() {
		s.held, s.head = s.held[:0], 0
		if cap(s.held) > maxIdleBursts {
			s.held = nil
		}
	}
	return c, b.late
}
