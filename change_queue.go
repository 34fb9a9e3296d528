// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// record is a change as all handlers are told it.
type record[T any] struct {
	Change[T]
	recreated bool   // Updated, from one UID to another
	hash      uint32 // of the key
}

// changeQueue is the queue of one handler: pure, and unaware of locks and goroutines.
//
// By default it merges: what is queued for a key is the way from the state handed out
// last to the newest one, so it holds at most two changes a key (Deleted, Added), and
// nothing for an object that came and went unseen. What is handed out one by one stays
// open to merging until its turn comes.
//
// As long as nothing has to be merged, what is queued stays in the bursts that all
// queues share. Otherwise there are entries: one slice with a free list, in order of
// arrival by their links, so that a merge or a drop in the middle costs neither an
// allocation nor a shift. There are never both.
type changeQueue[T any] struct {
	every bool // keep every change
	merge bool // a recreated object is Updated

	shared sharedBursts[T]

	entries    []entry[T]
	free       int32 // first of the free entries, linked by next; positions count from 1, 0: none
	head, tail int32
	count      int              // of entries, and of records in shared bursts
	early      bool             // what is pushed was queued before the mark, although that has come
	pending    map[string]int32 // position of the first entry of a key, unless every
	sweep      *sweep[T]        // objects of the store that are to be delivered too

	marked   bool // what was there at the first list is known: open counts it
	open     int  // deliveries until the handler was told of all of it
	inFlight int  // handed out, not done, counted in open once marked
	sweeping bool // some of what is handed out, not done, is of a sweep
}

// entry is a queued change.
type entry[T any] struct {
	Change[T]
	since      time.Duration // when it was queued, on the informer's clock
	prev, next int32
	again      int32 // position of the Added that follows this Deleted
	late       bool  // queued after the mark
}

// sweep delivers each object of a snapshot of the store that has nothing queued: a late
// handler's first view, a resync or a Refilter. It comes before the changes of a merging
// queue, none of which is handed out until it ends, so that what has nothing queued is
// still as in the snapshot. Among every change it has its place in the order.
type sweep[T any] struct {
	cause   Cause
	objects snapshot[T]
	since   time.Duration
	gone    map[string]struct{} // of the snapshot, and dropped unseen since
	active  bool                // otherwise its entry has yet to come up
	counted bool                // in open
}

// forget keeps an object of the snapshot from being delivered.
func (s *sweep[T]) forget(key string) {
	if s.gone == nil {
		s.gone = map[string]struct{}{}
	}
	s.gone[key] = struct{}{}
}

// maxIdleEntries is how many entries an empty queue keeps for the next burst: 100 KB.
const maxIdleEntries = 1024

// sweepBatch is how many objects of a sweep a BatchHandler gets at once.
const sweepBatch = 1024

// addBurst queues a burst.
func (q *changeQueue[T]) addBurst(b *burst[T]) {
	if q.shares(b) {
		q.shared.add(heldBurst[T]{b, q.marked})
		q.count += len(b.records)
		return
	}
	q.unshare()
	for n := range b.records {
		q.add(&b.records[n], b.since)
	}
}

// shares reports whether the queue can hold a burst as it is: nothing is to be merged,
// neither within it nor with what is queued.
func (q *changeQueue[T]) shares(b *burst[T]) bool {
	if q.sweep != nil || q.head != 0 || b.recreated && !q.merge {
		return false
	}
	next := b.first
	if !q.shared.empty() {
		next = q.shared.next()
	}
	return q.every || b.repeats < next
}

// unshare makes entries of what is shared.
func (q *changeQueue[T]) unshare() {
	shared := q.shared
	q.shared = sharedBursts[T]{}
	for !shared.empty() {
		since := shared.held[shared.head].since
		c, late := shared.take()
		q.count--
		q.early = !late
		if q.marked && q.early {
			q.open-- // push counts it again, unless it is merged
		}
		q.addChange(c, since)
	}
	q.early = false
}

// add queues a change.
func (q *changeQueue[T]) add(r *record[T], now time.Duration) {
	if !r.recreated || q.merge {
		q.addChange(&r.Change, now)
		return
	}
	q.addChange(&Change[T]{
		Type: Deleted, Key: r.Key, Old: r.Old, Cause: r.Cause, Source: r.Source, FinalStateUnknown: true,
	}, now)
	q.addChange(&Change[T]{Type: Added, Key: r.Key, New: r.New, Cause: r.Cause, Source: r.Source}, now)
}

func (q *changeQueue[T]) addChange(c *Change[T], now time.Duration) {
	if q.every {
		q.push(c, now)
		return
	}
	first, ok := q.pending[c.Key]
	if !ok {
		if q.pending == nil {
			q.pending = make(map[string]int32)
		}
		q.pending[c.Key] = q.push(c, now)
		return
	}
	switch c.Type {
	case Added: // what is queued is a Deleted
		again := q.push(c, now)
		q.at(first).again = again
	case Updated:
		e := q.at(first)
		if e.again != 0 {
			e = q.at(e.again)
		}
		e.New = c.New
		if c.Cause.strength() < e.Cause.strength() {
			e.Cause = c.Cause
		}
	case Deleted:
		q.mergeDeleted(first, c)
	}
}

func (q *changeQueue[T]) mergeDeleted(first int32, c *Change[T]) {
	e := q.at(first)
	if e.again != 0 { // seen, gone, back and gone: gone
		q.drop(e.again)
		e.again = 0
		if e.Source != c.Source || differ(uidOf(e.Old), uidOf(c.Old)) {
			return // what was back was another object, and never shown
		}
	} else if e.Type == Added { // unseen and gone: nothing
		if q.sweep != nil && e.since <= q.sweep.since {
			q.sweep.forget(c.Key)
		}
		delete(q.pending, c.Key)
		q.drop(first)
		return
	}
	e.Change = *c
}

// uidOf returns the UID that an object says it has, "" if it says none.
func uidOf(obj any) types.UID {
	m, err := accessor(obj)
	if err != nil {
		return ""
	}
	return m.GetUID()
}

// drop forgets an entry, which counts as delivered.
func (q *changeQueue[T]) drop(position int32) {
	if q.marked && !q.at(position).late {
		q.open--
	}
	q.unlink(position)
}

// startSweep begins to deliver a snapshot. There is none under way.
func (q *changeQueue[T]) startSweep(cause Cause, objects snapshot[T], now time.Duration) {
	q.unshare()
	q.sweep = &sweep[T]{cause: cause, objects: objects, since: now, active: !q.every || q.count == 0}
	if !q.sweep.active {
		q.push(&Change[T]{}, now)
	}
}

// mark says that the first list ends with what is queued now.
func (q *changeQueue[T]) mark() {
	q.marked = true
	switch {
	case q.sweep != nil && q.sweep.active:
		q.sweep.counted = true
		q.open++
	case q.sweeping:
		q.inFlight++
	}
	q.open += q.count + q.inFlight
}

// told reports whether the handler was told of all that was there at the mark.
func (q *changeQueue[T]) told() bool { return q.marked && q.open == 0 }

// pop hands out the next change; done has to follow before the next one.
func (q *changeQueue[T]) pop() (Change[T], bool) {
	for {
		if q.sweep != nil && q.sweep.active {
			if c, ok := q.popSweep(); ok {
				q.sweeping = true
				return c, true
			}
			q.endSweep()
		}
		if q.count == 0 {
			q.shrink()
			return Change[T]{}, false
		}
		if q.head == 0 {
			return q.popShared(), true
		}
		if c, ok := q.popEntry(); ok {
			return c, true
		}
	}
}

func (q *changeQueue[T]) popShared() Change[T] {
	c, late := q.shared.take()
	if !late {
		q.inFlight++
	}
	q.count--
	return *c
}

// popAll hands out all that is queued, or as much as fits; done has to follow.
func (q *changeQueue[T]) popAll(limit int) []Change[T] {
	n := q.count
	if q.sweep != nil {
		n += min(sweepBatch, q.sweep.objects.len())
	}
	if limit > 0 {
		n = min(n, limit)
	}
	changes := make([]Change[T], 0, n)
	for swept := 0; limit <= 0 || len(changes) < limit; {
		if q.sweep != nil && q.sweep.active {
			if swept++; swept > sweepBatch {
				break
			}
		}
		c, ok := q.pop()
		if !ok {
			break
		}
		changes = append(changes, c)
	}
	return changes
}

// done says that the handler was told of what was handed out.
func (q *changeQueue[T]) done() {
	if q.marked {
		q.open -= q.inFlight
	}
	q.inFlight, q.sweeping = 0, false
}

// depth returns how many deliveries are queued.
func (q *changeQueue[T]) depth() int {
	n := q.count
	if q.sweep != nil {
		n += q.sweep.objects.len()
		if !q.sweep.active {
			n-- // its entry
		}
	}
	return n
}

// oldest returns when the oldest delivery was queued.
func (q *changeQueue[T]) oldest() (time.Duration, bool) {
	swept := q.sweep != nil && q.sweep.active && q.sweep.objects.len() > 0
	switch {
	case swept && q.head != 0:
		return min(q.sweep.since, q.at(q.head).since), true
	case swept:
		return q.sweep.since, true
	case q.head != 0:
		return q.at(q.head).since, true
	case !q.shared.empty():
		return q.shared.held[q.shared.head].since, true
	}
	return 0, false
}

// clear drops everything.
func (q *changeQueue[T]) clear() {
	*q = changeQueue[T]{
		every: q.every, merge: q.merge,
		marked: q.marked, open: q.open, inFlight: q.inFlight, sweeping: q.sweeping,
	}
}

// popEntry takes the first entry off, and starts the sweep if that was its place.
func (q *changeQueue[T]) popEntry() (Change[T], bool) {
	e := q.at(q.head)
	c, again := e.Change, e.again
	counted := !e.late
	if c.Type == "" {
		q.sweep.active = true
		q.sweep.counted = counted && q.marked
		q.unlink(q.head)
		return c, false
	}
	if counted {
		q.inFlight++
	}
	if !q.every {
		if again != 0 {
			q.pending[c.Key] = again
		} else {
			delete(q.pending, c.Key)
		}
	}
	q.unlink(q.head)
	return c, true
}

// popSweep takes the next object of the snapshot that is to be delivered.
func (q *changeQueue[T]) popSweep() (Change[T], bool) {
	for {
		obj, ok := q.sweep.objects.next()
		if !ok {
			return Change[T]{}, false
		}
		first, queued := q.pending[obj.key]
		_, gone := q.sweep.gone[obj.key]
		switch {
		case gone:
		case q.sweep.cause == CauseInitial && queued:
			if c, ok := q.popUnseen(first); ok {
				return c, true
			}
		case q.sweep.cause == CauseInitial:
			return Change[T]{Type: Added, Key: obj.key, New: obj.object, Cause: CauseInitial, Source: obj.source}, true
		case !queued:
			return Change[T]{
				Type: Updated, Key: obj.key, Old: obj.object, New: obj.object, Cause: q.sweep.cause, Source: obj.source,
			}, true
		}
	}
}

// popUnseen takes off what is queued for an object that the handler was not shown yet,
// although it was there when the sweep began.
func (q *changeQueue[T]) popUnseen(first int32) (Change[T], bool) {
	e := *q.at(first)
	delete(q.pending, e.Key)
	q.drop(first)
	if e.Type == Deleted {
		if e.again == 0 {
			return Change[T]{}, false
		}
		again := q.at(e.again).Change
		q.drop(e.again)
		e.New, e.Source = again.New, again.Source
	}
	return Change[T]{Type: Added, Key: e.Key, New: e.New, Cause: CauseInitial, Source: e.Source}, true
}

// endSweep counts the sweep as delivered, or, if its last objects were just handed out,
// leaves that to done.
func (q *changeQueue[T]) endSweep() {
	switch {
	case q.sweep.counted && q.sweeping:
		q.inFlight++
	case q.sweep.counted:
		q.open--
	}
	q.sweep = nil
}

func (q *changeQueue[T]) at(position int32) *entry[T] { return &q.entries[position-1] }

// push appends an entry and returns its position. It may move the entries.
func (q *changeQueue[T]) push(c *Change[T], now time.Duration) int32 {
	position := q.free
	if position != 0 {
		q.free = q.at(position).next
	} else {
		q.entries = append(q.entries, entry[T]{})
		position = int32(len(q.entries))
	}
	*q.at(position) = entry[T]{Change: *c, since: now, prev: q.tail, late: q.marked && !q.early}
	if q.marked && q.early {
		q.open++
	}
	if q.tail != 0 {
		q.at(q.tail).next = position
	} else {
		q.head = position
	}
	q.tail = position
	q.count++
	return position
}

func (q *changeQueue[T]) unlink(position int32) {
	e := *q.at(position)
	if e.prev != 0 {
		q.at(e.prev).next = e.next
	} else {
		q.head = e.next
	}
	if e.next != 0 {
		q.at(e.next).prev = e.prev
	} else {
		q.tail = e.prev
	}
	*q.at(position) = entry[T]{next: q.free} // lets go of the objects
	q.free = position
	q.count--
}

// shrink gives the memory of a burst back.
func (q *changeQueue[T]) shrink() {
	if cap(q.entries) > maxIdleEntries {
		q.entries, q.free, q.pending = nil, 0, nil
	}
}
