// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

// Pop waits for a key and has its deltas processed. If process returns an error or panics,
// they go back to the head of the queue, before newer deltas of the key, and Pop returns
// the error or panics. Pop blocks while process does, and holds no lock meanwhile.
//
// Ownership: the slice is process's to keep, and not to change unless it succeeds.
//
// Concurrency: process may call the queue, but with a Limit its writes may wait for room
// for ever.
//
// Errors: the cause of ctx; ErrClosed, also if something is queued; that of process; and
// that of the KnownObjects' Bookmark, by when the deltas have been processed.
func (f *DeltaFIFO[T]) Pop(ctx context.Context, process func(deltas Deltas[T]) error) error {
	deltas, err := f.take(ctx)
	if err != nil {
		return err
	}
	processed := false
	defer func() { // also where process panics or ends the goroutine
		if !processed {
			f.putBack(deltas.Key())
		}
	}()
	failed := process(deltas)
	if failed != nil && !onlyIndexErrors(failed) {
		return failed
	}
	processed = true
	return errors.Join(failed, f.landed(ctx, deltas.Key()))
}

// listKeeper is implemented by known objects that have a sync of their own.
type listKeeper interface{ listStored() }

// take waits for a key that no other Pop is processing, and takes its deltas.
func (f *DeltaFIFO[T]) take(ctx context.Context) (Deltas[T], error) {
	for {
		f.mu.Lock()
		if err := f.endedLocked(ctx); err != nil {
			f.mu.Unlock()
			return nil, err
		}
		if i := f.queue.find(f.flights); i >= 0 {
			deltas := f.takeLocked(i)
			f.mu.Unlock()
			return deltas, nil
		}
		f.mu.Unlock()
		f.waitReady(ctx)
	}
}

func (f *DeltaFIFO[T]) takeLocked(i int) Deltas[T] {
	deltas, position := f.queue.removeAt(i)
	// What is reached is asked for while this key is neither queued nor in flight.
	if version, ok := f.marks.peek(f.outstandingLocked()); ok && version != f.completed {
		deltas[len(deltas)-1].reached = version
	}
	for n := range deltas { // they are of this queue's table alone
		deltas[n].own, deltas[n].hash, deltas[n].hint = false, 0, 0
	}
	f.flights[deltas.Key()] = flight[T]{deltas, position}
	f.passLocked()
	return deltas
}

// endedLocked says why a consumer has to give up. A token that it may have taken is put back.
func (f *DeltaFIFO[T]) endedLocked(ctx context.Context) error {
	if f.isClosed {
		return ErrClosed
	}
	if ctx.Err() != nil {
		f.passLocked()
		return context.Cause(ctx)
	}
	return nil
}

func (f *DeltaFIFO[T]) waitReady(ctx context.Context) {
	select {
	case <-f.ready:
	case <-f.closed:
	case <-ctx.Done():
	}
}

// putBack is the end of a Pop that failed.
func (f *DeltaFIFO[T]) putBack(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	failed := f.flights[key]
	delete(f.flights, key)
	deltas := slices.Clone(failed.deltas) // the slice may have been kept
	deltas[len(deltas)-1].reached = ""
	f.queue.putBack(deltas, failed.position)
	f.passLocked()
}

// landed is the end of a Pop that succeeded.
func (f *DeltaFIFO[T]) landed(ctx context.Context, key string) error {
	f.mu.Lock()
	delete(f.flights, key)
	moved := f.settleLocked()
	f.passLocked() // the key may be queued again
	f.mu.Unlock()
	if !moved {
		return nil
	}
	return f.tell(ctx)
}

// batch is all that a DeltaFIFO held at one moment, on its way to the store.
type batch[T any] struct {
	pile    *deltaPile[T] // the queue's own memory, until batchDone; nil: none
	keys    []Deltas[T]   // instead of a pile
	whole   *wholeList[T] // instead of a pile; nil: none
	version string        // of the last bookmark, event or commit in it; "": none
	synced  bool          // the first replacement ends in this batch
	hints   []uint32      // where the store may have each key; nil: as the deltas say

	progress []progress[T] // of the sources of a union
}

// takeBatch waits until something is queued (deltas, or a version alone) and takes all
// of it; batchDone has to follow before the next one. What is taken counts as the newest
// state (Identity, Replace) until then.
//
// A queue is consumed by takeBatch or by Pop, not by both: from the first takeBatch on,
// versions reach the consumer in batches only.
func (f *DeltaFIFO[T]) takeBatch(ctx context.Context) (batch[T], error) {
	for {
		f.mu.Lock()
		if err := f.endedLocked(ctx); err != nil {
			f.mu.Unlock()
			return batch[T]{}, err
		}
		if !f.batching {
			f.batching, f.marks = true, versionMarks{}
		}
		if f.whole != nil || f.queue.len() > 0 || f.versionDueLocked() {
			b := f.takeBatchLocked()
			f.mu.Unlock()
			return b, nil
		}
		large := f.queue.large() || f.spare.large()
		f.mu.Unlock()
		if large {
			f.waitIdle(ctx)
		} else {
			f.waitReady(ctx)
		}
	}
}

// pileIdle is for how long nothing comes after a burst until its memory is given up.
const pileIdle = 10 * time.Millisecond

// waitIdle is waitReady after a burst.
func (f *DeltaFIFO[T]) waitIdle(ctx context.Context) {
	timer := time.NewTimer(pileIdle)
	defer timer.Stop()
	select {
	case <-f.ready:
	case <-f.closed:
	case <-ctx.Done():
	case <-timer.C:
		f.giveUp()
		if known, ok := f.known.(idler); ok {
			known.giveUp()
		}
	}
}

// idler is implemented by known objects that keep memory for the next batch.
type idler interface{ giveUp() }

func (f *DeltaFIFO[T]) giveUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.queue.len() == 0 {
		f.queue = newDeltaPile[T](f.seed)
	}
	f.spare = nil
}

func (f *DeltaFIFO[T]) takeBatchLocked() batch[T] {
	if f.taken != nil || f.wholeTaken != nil {
		panic("informer: takeBatch before batchDone")
	}
	if f.whole != nil {
		return f.takeWholeLocked()
	}
	f.taken, f.queue, f.spare = f.queue, f.spare, nil
	if f.queue == nil {
		f.queue = newDeltaPile[T](f.seed)
	}
	b := batch[T]{pile: f.taken, synced: f.syncDueLocked()}
	f.syncTaken = f.syncTaken || b.synced
	if f.written != f.delivered {
		b.version, f.delivered = f.written, f.written
	}
	f.inBatch = f.written
	b.progress = f.takeProgressLocked()
	f.passLocked()
	return b
}

// batchDone says that the store holds the batch.
func (f *DeltaFIFO[T]) batchDone() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.taken != nil && f.taken.recycle() {
		f.spare = f.taken
	}
	f.taken, f.wholeTaken = nil, nil
	f.completed = f.inBatch
	f.settleLocked()
}

// versionDueLocked reports whether a batch would have something to say without deltas.
func (f *DeltaFIFO[T]) versionDueLocked() bool {
	return f.batching && (f.written != f.delivered || f.syncDueLocked() || len(f.progressed) > 0)
}

func (f *DeltaFIFO[T]) syncDueLocked() bool { return f.firstReplace > 0 && !f.syncTaken }

// outstandingLocked returns the position of the oldest write that has not been processed.
func (f *DeltaFIFO[T]) outstandingLocked() uint64 {
	oldest := uint64(math.MaxUint64)
	for _, fl := range f.flights {
		oldest = min(oldest, fl.position)
	}
	if f.taken != nil {
		oldest = min(oldest, f.taken.oldest())
	}
	if f.whole != nil {
		oldest = min(oldest, f.whole.position)
	}
	if f.wholeTaken != nil {
		oldest = min(oldest, f.wholeTaken.position)
	}
	return min(oldest, f.queue.oldest())
}

// settleLocked draws the conclusions from what has been processed, and reports whether
// there is a version to tell the known objects.
func (f *DeltaFIFO[T]) settleLocked() (moved bool) {
	oldest := f.outstandingLocked()
	if f.firstReplace > 0 && oldest > f.firstReplace {
		f.signal()
		if store, ok := f.known.(listKeeper); ok && !f.batching {
			store.listStored()
		}
	}
	f.restLocked()
	version, ok := f.marks.through(oldest)
	if !ok || version == f.completed {
		return false
	}
	f.completed = version
	return f.bookmarker != nil
}

// tell tells the known objects which version the queue has completed.
func (f *DeltaFIFO[T]) tell(ctx context.Context) error {
	f.telling.Lock()
	defer f.telling.Unlock()
	f.mu.Lock()
	version, told := f.completed, f.told
	f.mu.Unlock()
	if version == told {
		return nil // another goroutine was faster
	}
	if err := f.bookmarker.Bookmark(ctx, version); err != nil {
		return err
	}
	f.mu.Lock()
	f.told = version
	f.mu.Unlock()
	return nil
}
