// SPDX-License-Identifier: Apache-2.0

package informer

import "github.com/informerkit/informer/internal/dense"

// wholeList is a first list, in the table that the store takes over: what is put into the list
// is looked up, hashed and copied once. Items and deltas beside the table would be all garbage
// a moment later, on a heap that grows to its final size just then.
//
// It goes to the consumer as a batch of its own, before what is queued after it.
type wholeList[T any] struct {
	table    *dense.Table[T] // without indexes
	position uint64          // of its Commit
	version  string          // that the queue had reached with it
}

// wholeFrom is from which length on a list is worth it.
const wholeFrom = 1024

// beginWholeLocked has a list collected in a table if it may be queued so: it is the first, and
// nothing is queued or known.
func (r *fifoReplacement[T]) beginWholeLocked() {
	f := r.f
	if r.blank && f.batching && f.firstReplace == 0 && !f.union && r.cause == "" {
		r.whole = dense.NewSeeded[T](f.seed)
	}
}

// putWhole puts an item into the table, without the queue's lock: whether the list can be
// queued whole after all is for commitWhole to see.
func (r *fifoReplacement[T]) putWhole(d *Delta[T]) error {
	select {
	case <-r.f.closed:
		return ErrClosed
	default:
	}
	r.whole.Put(d.Key, d.Object, noteOf(d.Object, d.ResourceVersion, d.UID))
	return nil
}

// takeApart stages what is in the table, if there is one.
func (r *fifoReplacement[T]) takeApart() {
	table := r.whole
	if r.whole = nil; table == nil {
		return
	}
	for id := range table.IDs() {
		obj, note := table.Object(id), table.Note(id)
		item := stagedItem[T]{key: table.Key(id), object: obj, verdict: itemChanged, changes: r.began}
		item.version, item.uid = identity(obj, note)
		r.items.put(item)
	}
}

// commitWhole is Commit of a list that is in a table and can be queued so; done reports whether
// it was. Another one is taken apart.
func (r *fifoReplacement[T]) commitWhole(version string) (done bool, err error) {
	f := r.f
	if r.whole == nil {
		return false, nil
	}
	f.mu.Lock()
	switch {
	case f.isClosed:
		f.mu.Unlock()
		return false, ErrClosed
	case f.changes != r.began || f.firstReplace != 0 || r.whole.Len() < f.wholeFrom || !f.restedLocked() || f.knownLocked() != 0:
		f.mu.Unlock()
		r.takeApart()
		return false, nil
	}
	f.position++
	whole := &wholeList[T]{table: r.whole, position: f.position, version: version}
	if version == "" {
		whole.version = f.written
	}
	f.whole = whole
	f.changes += uint64(whole.len())
	f.created, f.firstReplace = f.position, f.position
	return true, f.endWrite(r.ctx, version)
}

// takeWholeLocked is takeBatchLocked for a list that is queued whole.
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
	return w.table.Len()
}

// get returns the delta of a key, nil if there is none.
func (w *wholeList[T]) get(key string) Deltas[T] {
	if w == nil {
		return nil
	}
	id, ok := w.table.Find(key)
	if !ok {
		return nil
	}
	return Deltas[T]{w.delta(id)}
}

// delta is that of an object of a first list.
func (w *wholeList[T]) delta(id uint32) Delta[T] {
	key, obj, note := w.table.Key(id), w.table.Object(id), w.table.Note(id)
	version, uid := identity(obj, note)
	return Delta[T]{
		Type: DeltaReplaced, Key: key, Object: obj, ResourceVersion: version, UID: uid,
		Cause: CauseInitial, own: note == nil, hash: w.table.Hash(key),
	}
}

// keys yields the keys.
func (w *wholeList[T]) keys(yield func(key string)) {
	if w == nil {
		return
	}
	for id := range w.table.IDs() {
		yield(w.table.Key(id))
	}
}

// all yields the deltas of each key, in memory that is used again for the next one.
func (w *wholeList[T]) all(yield func(deltas Deltas[T]) bool) {
	if w == nil {
		return
	}
	var one [1]Delta[T]
	for id := range w.table.IDs() {
		if one[0] = w.delta(id); !yield(one[:]) {
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
