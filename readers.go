// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"sync"
	"sync/atomic"
)

// readersLock is a lock for readers that come often and stay briefly, and for writers that exclude
// each other already. All readers of a sync.RWMutex write to one word, which processors hand to
// each other for longer than a Get takes; here they write to one of several, and only look at
// whether a writer is there.
//
// A reader counts itself, then looks for a writer. A writer says that it is there, then looks at
// the counts. So one of them sees the other, or both do, and then the reader steps back. It comes
// before the next writer.
type readersLock struct {
	slots [readerSlots]readerSlot
	left  chan struct{} // a token: a writer that waits for a reader may have to wait no more

	mu   sync.Mutex
	done chan struct{} // closed when the writer leaves, if it is awaited

	waiting atomic.Int32  // readers that stepped back
	writer  atomic.Uint32 // absent, present or awaited; the last field, beside what the lock is for
}

const (
	absent = iota
	present
	awaited
)

const readerSlots = 8

// readerSlot counts readers, on a cache line of its own.
type readerSlot struct {
	n atomic.Int32
	_ [60]byte
}

// reader is one of them, while it is in.
type reader struct {
	lock *readersLock
	slot *readerSlot
}

func newReadersLock() readersLock { return readersLock{left: make(chan struct{}, 1)} }

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
	return r.lock.writer.Load() == absent
}

// leave ends what enter has begun.
func (r reader) leave() {
	if r.slot.n.Add(-1); r.lock.writer.Load() != absent {
		r.lock.tell()
	}
}

// tell tells a writer to look again.
func (l *readersLock) tell() {
	select {
	case l.left <- struct{}{}:
	default:
	}
}

// wait enters behind the writer that was met, who may be waiting for this reader.
func (r reader) wait() {
	r.lock.waiting.Add(1)
	for entered := false; !entered; entered = r.tryEnter() {
		r.leave()
		if done := r.lock.await(); done != nil {
			<-done
		}
	}
	r.lock.waiting.Add(-1)
	r.lock.tell()
}

// await returns what is closed when the writer leaves; nil: it has left already.
func (l *readersLock) await() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writer.CompareAndSwap(present, awaited) {
		l.done = make(chan struct{})
	}
	if l.writer.Load() != awaited {
		return nil
	}
	return l.done
}

// Lock locks for a writer. A reader stays for less than it takes to park and to be woken, behind
// others with time slices of 10 ms, so a few looks come first.
func (l *readersLock) Lock() {
	for l.waiting.Load() != 0 {
		<-l.left
	}
	l.writer.Store(present)
	for i := range l.slots {
		for looks := 0; l.slots[i].n.Load() != 0; looks++ {
			if looks >= 100 {
				<-l.left
			}
		}
	}
}

// Unlock ends what Lock has begun.
func (l *readersLock) Unlock() {
	if l.writer.Swap(absent) == awaited {
		l.mu.Lock()
		close(l.done)
		l.mu.Unlock()
	}
}
