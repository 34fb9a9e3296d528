// SPDX-License-Identifier: Apache-2.0

package informer

// wholeList is a first list that is queued as it was staged. Deltas of each of its items, by
// key, would be three times the memory of the staging, all of it garbage a moment later: on a
// heap that grows to its final size just then, the collector's goal doubles it.
//
// It goes to the consumer as a batch of its own, before what is queued after it.
type wholeList[T any] struct {
	items    stagedItems[T]
	position uint64 // of its Commit
	version  string // that the queue had reached with it
}

// wholeFrom is from which length on a list is worth it.
const wholeFrom = 1024

// takesWholeLocked reports whether a list can be queued as it was staged: it is the first, all
// of it is new, and nothing else is queued.
func (r *fifoReplacement[T]) takesWholeLocked(gone int) bool {
	f := r.f
	return f.batching && f.firstReplace == 0 && f.whole == nil && f.queue.len() == 0 &&
		r.from == nil && r.scope == nil && r.cause == "" &&
		gone == 0 && r.items.kept.n == 0 && r.items.n >= f.wholeFrom && r.items.changed() == r.items.n
}

// queueWholeLocked queues a list as it was staged.
func (r *fifoReplacement[T]) queueWholeLocked(version string) {
	f := r.f
	if version == "" {
		version = f.written
	}
	f.whole = &wholeList[T]{items: r.items, position: f.position, version: version}
	f.changes += uint64(r.items.n)
	f.created = f.position
}

// takeWholeLocked is takeBatchLocked for a list that is queued as it was staged.
func (f *DeltaFIFO[T]) takeWholeLocked() batch[T] {
	whole := f.whole
	f.whole, f.wholeTaken = nil, whole
	b := batch[T]{whole: whole, synced: f.syncDueLocked()}
	f.syncTaken = f.syncTaken || b.synced
	if whole.version != f.delivered {
		b.version, f.delivered = whole.version, whole.version
	}
	f.inBatch = whole.version
	f.passLocked()
	return b
}

func (w *wholeList[T]) len() int {
	if w == nil {
		return 0
	}
	return w.items.n
}

// get returns the delta of a key, nil if there is none.
func (w *wholeList[T]) get(key string) Deltas[T] {
	item := w.items.get(key)
	if item == nil {
		return nil
	}
	return Deltas[T]{item.delta()}
}

// delta is that of an item of a first list.
func (i *stagedItem[T]) delta() Delta[T] {
	return Delta[T]{
		Type: DeltaReplaced, Key: i.key, Object: i.object,
		ResourceVersion: i.version, UID: i.uid, Cause: CauseInitial,
		own: i.own, hash: i.hash,
	}
}

// all yields the deltas of each key, in memory that is used again for the next one.
func (w *wholeList[T]) all(yield func(deltas Deltas[T]) bool) {
	if w == nil {
		return
	}
	var one [1]Delta[T]
	for i := range w.items.n {
		if one[0] = w.items.at(i).delta(); !yield(one[:]) {
			return
		}
	}
}

// len returns the number of keys in a batch.
func (b *batch[T]) len() int {
	n := len(b.keys) + b.whole.len()
	if b.pile != nil {
		n += b.pile.len()
	}
	return n
}

// all yields the deltas of each key of a batch; they stay as they are until the next one.
func (b *batch[T]) all(yield func(deltas Deltas[T]) bool) {
	for _, deltas := range b.keys {
		if !yield(deltas) {
			return
		}
	}
	if b.pile != nil {
		b.pile.all(yield)
	}
	b.whole.all(yield)
}
