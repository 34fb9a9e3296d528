// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"runtime"
	"sync/atomic"
	"time"
)

// listers are those who make large lists of a store. Goroutines that list without pause keep all
// processors, one after the other, each for a time slice of 10 ms. Who wakes up meanwhile, such as
// the writer, waits until a slice ends, may inherit what is left of another one, and so may be
// preempted in the middle of its work, to wait for a slice of each lister. So who lists beside others
// lets others run after the list: 0.2 to 7 ms, if those are listers and a writer.
//
// To whoever uses slices up, listers that always gave way would lose nearly all of their time. So after
// a wait nobody gives way for as long as it was, and for eight times as long after one of a slice.
type listers struct {
	began time.Time    // of the store; in a bubble of synctest, which is years earlier, nobody gives way
	n     atomic.Int32 // who lists now, or lets others run
	rests atomic.Int64 // until when nobody gives way: a time.Duration since began
}

const (
	// largeList is how many rows are a large list. It takes 30 to 50 µs, and ten times as long where
	// the garbage of lists keeps the collector busy. To let others run takes less than a microsecond
	// if there are none.
	largeList = 1 << 15
	// longWait is longer than a slice, and than all but one in a thousand waits for four listers and a
	// writer on two processors.
	longWait = 12 * time.Millisecond
	// maxRest is for waits that no slice explains, as when the machine stood still.
	maxRest = 2 * time.Second
)

// begin begins a list of so many rows; end ends it, and does nothing after a small one, for which begin
// returns nil. Who calls them holds no lock but those that an index function runs under.
func (l *listers) begin(rows int) *listers {
	if rows < largeList {
		return nil
	}
	l.n.Add(1)
	return l
}

// end lets others run, if that is due.
func (l *listers) end() {
	if l == nil {
		return
	}
	defer l.n.Add(-1)
	before, ok := l.due()
	if !ok {
		return
	}
	runtime.Gosched()
	after := time.Since(l.began)
	l.rest(after + restAfter(after-before))
}

// due reports whether one of the listers is to give way, and when it looked at the clock.
func (l *listers) due() (now time.Duration, ok bool) {
	if l.n.Load() < 2 { // nearly always
		return 0, false
	}
	now = time.Since(l.began)
	return now, now >= time.Duration(l.rests.Load())
}

// rest lets nobody give way until then, or until later if that was said before.
func (l *listers) rest(until time.Duration) {
	for {
		said := l.rests.Load()
		if said >= int64(until) || l.rests.CompareAndSwap(said, int64(until)) {
			return
		}
	}
}

// restAfter returns for how long nobody gives way after somebody has waited so long.
func restAfter(waited time.Duration) time.Duration {
	if waited < longWait {
		return waited
	}
	return min(8*waited, max(waited, maxRest))
}
