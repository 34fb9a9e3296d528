// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"math/rand/v2"
	"reflect"
	"time"
)

// process takes what the reflector has queued, batch by batch, until ctx ends: into the
// store, and from there to the handlers' queues.
func (i *Informer[T]) process(ctx context.Context) {
	for {
		b, err := i.queue.takeBatch(ctx)
		if err != nil {
			return // ctx has ended, or Run is about to return
		}
		for _, t := range i.options.Traces {
			if t != nil && t.QueueDepth != nil {
				t.QueueDepth(b.len())
			}
		}
		i.apply(ctx, b)
		if !i.waitForRoom(ctx) {
			return
		}
	}
}

// apply brings a batch into the store, and tells everybody. No lock is held while index
// functions run: those who want to join meanwhile are put off.
func (i *Informer[T]) apply(ctx context.Context, b batch[T]) {
	before := i.store.ResourceVersion()
	i.mu.Lock()
	i.applying = true
	handlers := i.handlers
	i.mu.Unlock()
	var records []record[T]
	swept := i.canSweep(b, handlers)
	if !swept && len(handlers) > 0 || i.guard != nil {
		records = i.changesOf(&b)
	}

	i.guardBatch(ctx, records)
	err := i.store.applyBatch(b)
	if len(records) > 0 {
		i.publish(records, handlers)
	}
	i.settle(b, before, swept)
	i.queue.batchDone()
	if err != nil {
		logger(ctx, i.name).Error(err, "index")
		i.reportError(ctx, err)
	}
}

// canSweep reports whether the handlers can be told of a batch by a look at the store after
// it, as late ones are: a large first list, and nothing before it. That takes no memory for
// each object.
func (i *Informer[T]) canSweep(b batch[T], handlers []*delivery[T]) bool {
	if b.whole == nil || i.guard != nil || i.store.Len() > 0 {
		return false
	}
	for _, d := range handlers {
		if !d.fresh() {
			return false
		}
	}
	return true
}

// publish queues for all handlers what has been applied.
func (i *Informer[T]) publish(records []record[T], handlers []*delivery[T]) {
	held := uint64(0)
	for _, d := range handlers {
		if shares := d.shares(); shares > 0 && (held == 0 || shares < held) {
			held = shares
		}
	}
	b := i.bursts.append(records, held, i.now())
	for _, d := range handlers {
		d.enqueue(b)
	}
}

// changesOf returns what a batch does to the store, change by change, and notes in the batch
// where the store has its keys. It is called before the batch is applied.
func (i *Informer[T]) changesOf(b *batch[T]) []record[T] {
	records := make([]record[T], 0, b.len())
	b.hints = make([]uint32, 0, b.len())
	i.store.s.w.Lock() // the writer reads without the readers' lock
	defer i.store.s.w.Unlock()
	for deltas := range b.all {
		key := deltas.Key()
		old, uid, id, there := i.store.s.seek(&deltas[0])
		b.hints = append(b.hints, id)
		for n := range deltas {
			d := &deltas[n]
			if d.Type == DeltaSync || d.Type == DeltaDeleted && !there {
				continue
			}
			r := record[T]{Change: Change[T]{Key: key, Cause: d.Cause, Source: d.source}, hash: deltas[0].hash}
			switch {
			case d.Type == DeltaDeleted:
				r.Type, r.Old, r.FinalStateUnknown = Deleted, finalState(d, old), d.FinalStateUnknown
			case !there:
				r.Type, r.New = Added, d.Object
			default:
				r.Type, r.Old, r.New = Updated, old, d.Object
				r.recreated = uid != "" && d.UID != "" && uid != d.UID
			}
			records = append(records, r)
			old, uid, there = d.Object, d.UID, d.Type != DeltaDeleted
		}
	}
	return records
}

// finalState returns the object that a Deleted ends with.
func finalState[T any](d *Delta[T], known T) T {
	if reflect.ValueOf(&d.Object).Elem().IsZero() {
		return known
	}
	return d.Object
}

// settle lets those in who came while the batch was applied, and wakes those who wait
// for what it brought.
func (i *Informer[T]) settle(b batch[T], before string, swept bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.applying = false
	if swept {
		for _, d := range i.handlers {
			d.startSweep(CauseInitial, snapshotOf(i.store.view), i.now())
		}
	}
	i.progressLocked(b, before)
	i.concludeLocked()
	for _, d := range i.joining {
		i.registerLocked(d)
	}
	i.joining = nil
	for _, s := range i.sweeps {
		s.to.startSweep(s.cause, snapshotOf(i.store.view), i.now())
	}
	i.sweeps = nil
	i.syncLocked()
	i.wakeVersionsLocked(b)
	i.wakeKeysLocked(b)
}

func (i *Informer[T]) markLocked(d *delivery[T]) {
	if d.mark() {
		d.registration.signal()
		delete(i.unsynced, d)
	}
}

// waitForRoom waits for the handlers with a Limit, and with it the source; false: ctx has
// ended.
func (i *Informer[T]) waitForRoom(ctx context.Context) bool {
	for i.anyFull() {
		select {
		case <-i.room:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (i *Informer[T]) anyFull() bool {
	i.mu.Lock()
	handlers := i.handlers
	i.mu.Unlock()
	for _, d := range handlers {
		if d.full() {
			return true
		}
	}
	return false
}

// signalRoom has waitForRoom look again.
func (i *Informer[T]) signalRoom() {
	select {
	case i.room <- struct{}{}:
	default: // it will already
	}
}

// sweepRequest asks that all objects of the store be delivered to a handler.
type sweepRequest[T Object] struct {
	to    *delivery[T]
	cause Cause
}

// requestSweep has all objects delivered to one handler, as they are between two batches.
// Before Run there is no need: the handler was shown nothing yet.
func (i *Informer[T]) requestSweep(d *delivery[T], cause Cause) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.phase == informerRunning {
		i.requestSweepLocked(d, cause)
	}
}

func (i *Informer[T]) requestSweepLocked(d *delivery[T], cause Cause) {
	if i.applying {
		i.sweeps = append(i.sweeps, sweepRequest[T]{d, cause})
		return
	}
	d.startSweep(cause, snapshotOf(i.store.view), i.now())
}

// resyncPeriod is the one place where the default applies; 0: never.
func (i *Informer[T]) resyncPeriod(d *delivery[T]) time.Duration {
	period := d.options.Resync
	if period == 0 {
		period = i.options.Resync
	}
	return min(max(period, 0), maxPeriod)
}

// armResyncLocked starts the next period of a handler. Its timer counts as a goroutine,
// because it is about to be one.
func (i *Informer[T]) armResyncLocked(d *delivery[T]) {
	period := i.resyncPeriod(d)
	if period == 0 || d.wake != nil {
		return
	}
	i.goroutines.Add(1)
	period += rand.N(period/10 + 1) // so that handlers of one period spread out
	d.resyncTimer = time.AfterFunc(period, func() {
		defer i.goroutines.Done()
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.phase != informerRunning || d.resyncTimer == nil {
			return
		}
		if i.listed.HasSynced() {
			i.requestSweepLocked(d, CauseResync)
		}
		i.armResyncLocked(d)
	})
}

func (i *Informer[T]) stopResyncLocked(d *delivery[T]) {
	if d.resyncTimer != nil && d.resyncTimer.Stop() {
		i.goroutines.Done()
	}
	d.resyncTimer = nil
}
