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
// the counts. So one of them sees the other, or both do, and then the reader steps back: no number
// of readers keeps a writer waiting for long.
//
// Both stay for less than it takes to park and to be woken, so who waits looks again, and lets
// others run meanwhile. A reader comes in at the first look that falls between two writes.
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

// reader is one of them, while it is in.
type reader struct {
	lock *readersLock
	slot *readerSlot
}

// enter locks for a reader. Readers with different hashes hold up each other less.
func (l *readersLock) enter(hash uint32) reader {
	r := l.reader(hash)
	if !r.tryEnter() {
		r.wait()
	}
	return r
}

// reader, tryEnter and, if that fails, wait are enter without a call, for what is called often.
func (l *readersLock) reader(hash uint32) reader { return reader{l, &l.slots[hash%readerSlots]} }

func (r reader) tryEnter() bool {
	r.slot.n.Add(1)
	return !r.lock.writing.Load()
}

// leave ends what enter has begun.
func (r reader) leave() { r.slot.n.Add(-1) }

// wait enters behind the writer that was met.
func (r reader) wait() {
	for entered := false; !entered; entered = r.tryEnter() {
		r.leave()
		for looks := 0; r.lock.writing.Load(); looks++ {
			pause(looks)
		}
	}
}

// Lock locks for a writer.
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

// pause is between two looks.
func pause(looks int) {
	if looks > 100 { // the first take less than a microsecond
		runtime.Gosched()
	}
}
