// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"runtime"
	"sync/atomic"
)

// readersLock is a lock for readers that come often, and for writers that exclude each other
// already. All readers of a sync.RWMutex write to one word, which processors hand to each other for
// longer than a Get takes; here they write to one of several, and only look at whether a writer is
// there.
//
// A reader counts itself, then looks for a writer. A writer says that it is there, then looks at
// the counts. So at least one of them sees the other. A reader that sees a writer steps back, and
// comes in at a look that falls between two writes; so no number of readers keeps a writer waiting
// for long, and writers without pause may keep a reader waiting.
//
// Nearly always both stay for less than it takes to park and to be woken, so who waits looks again,
// and lets others run in between. A writer of many changes stays for 0.1 ms (maxInPlace), and who is
// preempted inside, or has to help the collector, for longer: who waits then takes turns with all
// others.
type readersLock struct {
	slots   [readerSlots]readerSlot
	_       [60]byte
	writing atomic.Bool // the last field, beside what the lock is for
}

const readerSlots = 8

// readerSlot counts readers, with nothing else on its cache line.
type readerSlot struct {
	_ [60]byte
	n atomic.Int32
}

// reader is who has entered, or is about to; leave ends it.
type reader struct {
	lock *readersLock
	slot *readerSlot
}

// enter locks for a reader. Readers with different hashes hold up each other less.
func (l *readersLock) enter(hash uint32) reader {
	r := l.at(hash)
	if !r.tryEnter() {
		r.wait()
	}
	return r
}

// at, tryEnter and, after false, wait are what enter does; Get writes them out, which saves a call.
func (l *readersLock) at(hash uint32) reader { return reader{l, &l.slots[hash%readerSlots]} }

// tryEnter counts the reader, and reports whether no writer is there. If one is, the reader stays
// counted: wait has to follow.
func (r reader) tryEnter() bool {
	r.slot.n.Add(1)
	return !r.lock.writing.Load()
}

// leave ends what enter has begun.
func (r reader) leave() { r.slot.n.Add(-1) }

// wait takes back the count of a tryEnter that met a writer, and enters once none is there.
func (r reader) wait() {
	for entered := false; !entered; entered = r.tryEnter() {
		r.leave()
		for looks := 0; r.lock.writing.Load(); looks++ {
			pause(looks)
		}
	}
}

// Lock keeps readers out. Its callers exclude each other.
func (l *readersLock) Lock() {
	l.writing.Store(true)
	for i := range l.slots {
		for looks := 0; l.slots[i].n.Load() != 0; looks++ {
			pause(looks)
		}
	}
}

// Unlock ends what Lock has begun.
func (l *readersLock) Unlock() { l.writing.Store(false) }

// pause comes between two looks; after the first hundred it lets others run.
func pause(looks int) {
	if looks > 100 { // these take less than a microsecond
		runtime.Gosched()
	}
}
