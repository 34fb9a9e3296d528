// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// delivery takes changes to one handler: its queue, and the goroutine that calls it,
// which lives only while something is queued. That of Changes is emptied by its caller
// instead.
//
// Lock order: Informer.mu, then mu. No call is made with either held.
type delivery[T Object] struct {
	informer     *Informer[T]
	registration *Registration
	name         string
	options      HandlerOptions
	filters      []*filtered[T]
	handler      Handler[T]
	batch        BatchHandler[T] // nil: Handle is called
	wake         chan struct{}   // of Changes; otherwise nil
	finished     chan struct{}   // closed when no call will be made any more

	resyncTimer *time.Timer // guarded by Informer.mu

	mu       sync.Mutex
	ctx      context.Context // given to the handler; nil before Run
	queue    changeQueue[T]
	running  bool // the goroutine lives
	removed  bool
	stopped  bool  // Run is about to return
	ended    bool  // finished is closed
	told     bool  // the registration has synced, or is about to
	again    Cause // of a sweep that was asked for during another one
	lastTook time.Duration
}

func newDelivery[T Object](i *Informer[T], handler Handler[T], options HandlerOptions) *delivery[T] {
	d := &delivery[T]{informer: i, options: options, finished: make(chan struct{})}
	d.filters, d.handler = unwrapFilters(handler)
	d.name = handlerName(options.Name, d.handler)
	d.batch, _ = d.handler.(BatchHandler[T])
	d.queue.every, d.queue.merge = options.EveryChange, options.MergeRecreated
	d.registration = &Registration{syncSignal: newSyncSignal(), place: d}
	return d
}

// begin is called as Run starts, or as the handler joins later.
func (d *delivery[T]) begin(ctx context.Context) {
	ctx = klog.NewContext(ctx, logger(ctx, d.informer.name).WithValues("handler", d.name))
	ctx = context.WithValue(ctx, registrationKey{}, d.registration)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ctx = ctx
	d.startLocked()
}

// enqueue queues what the store has just applied. It never waits.
func (d *delivery[T]) enqueue(b *burst[T]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.removed || d.stopped {
		return
	}
	d.queue.addBurst(b)
	d.startLocked()
}

// fresh reports whether the handler has nothing to be told of, and no bound on what waits.
func (d *delivery[T]) fresh() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.options.Limit == 0 && d.queue.count == 0 && d.queue.sweep == nil && d.again == ""
}

// shares returns the number of the oldest record that the queue shares with others and
// may have to merge; 0: there is none.
func (d *delivery[T]) shares() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.queue.every {
		return 0
	}
	return d.queue.shared.next()
}

// startSweep has the snapshot delivered, or asks for another one once the sweep that is
// under way has ended. A resync that comes upon a sweep is left out.
func (d *delivery[T]) startSweep(cause Cause, objects snapshot[T], now time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.removed || d.stopped || objects.len() == 0:
	case d.queue.sweep == nil:
		d.queue.startSweep(cause, objects, now)
		d.startLocked()
	case cause != CauseResync:
		d.again = cause
	}
}

// mark says that what was there is now queued; it reports whether the handler was told
// of it already.
func (d *delivery[T]) mark() (told bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.queue.mark()
	d.told = d.queue.told()
	return d.told
}

// startLocked has somebody empty the queue.
func (d *delivery[T]) startLocked() {
	switch {
	case d.queue.depth() == 0:
	case d.wake != nil:
		d.wakeUp()
	case d.ctx != nil && !d.running && !d.stopped:
		d.running = true
		d.informer.goroutines.Go(d.run)
	}
}

func (d *delivery[T]) wakeUp() {
	select {
	case d.wake <- struct{}{}:
	default: // woken already
	}
}

// run calls the handler until nothing is queued. A handler that ends its goroutine with
// runtime.Goexit, as a test's Fatal does, goes on in another one.
func (d *delivery[T]) run() {
	var key string // of the change, or the first of some, that the handler was last called with
	returned := false
	defer func() {
		if returned {
			return
		}
		if value := recover(); value != nil {
			panic(value) // a crash, as without this function
		}
		defer d.informer.goroutines.Go(d.run) // also where OnError ends the goroutine too
		d.reportPanic(key, errGoexit)
	}()
	d.deliver(&key)
	returned = true
}

// deliver calls the handler until nothing is queued, and says in key what for. The end of one
// call is the start of the next: one look at the clock each.
func (d *delivery[T]) deliver(key *string) {
	last := d.informer.now()
	var took time.Duration
	for {
		var ok bool
		if d.batch != nil {
			ok = d.runBatch(took, key)
		} else {
			ok = d.runOne(took, key)
		}
		if !ok {
			return
		}
		now := d.informer.now()
		last, took = now, now-last
	}
}

func (d *delivery[T]) runOne(took time.Duration, key *string) bool {
	var change Change[T]
	ok := d.next(took, func() (ok bool) { change, ok = d.queue.pop(); return ok })
	if ok {
		*key = change.Key
		d.call(change)
	}
	return ok
}

func (d *delivery[T]) runBatch(took time.Duration, key *string) bool {
	var changes []Change[T]
	ok := d.next(took, func() bool { changes = d.queue.popAll(d.options.Limit); return len(changes) > 0 })
	if ok {
		*key = changes[0].Key
		d.callBatch(changes)
	}
	return ok
}

// next settles what was handed out before, and pops what comes next.
func (d *delivery[T]) next(took time.Duration, pop func() bool) bool {
	d.mu.Lock()
	d.queue.done()
	if took > 0 {
		d.lastTook = took
	}
	ok := !d.overLocked() && pop()
	if !ok {
		d.running = false
		if d.removed || d.stopped {
			d.endLocked()
		}
	}
	told := !d.told && d.queue.told()
	d.told = d.told || told
	var again Cause
	if d.queue.sweep == nil {
		again, d.again = d.again, ""
	}
	d.mu.Unlock()

	if told {
		d.informer.handlerTold(d)
	}
	if again != "" {
		d.informer.requestSweep(d, again)
	}
	if d.options.Limit > 0 {
		d.informer.signalRoom()
	}
	return ok
}

// overLocked reports whether the handler is not to be called again.
func (d *delivery[T]) overLocked() bool {
	if d.wake != nil {
		return d.removed
	}
	return d.stopped || d.removed && !d.options.DrainOnRemove || d.ctx.Err() != nil
}

// endLocked says that there will be no call any more.
func (d *delivery[T]) endLocked() {
	d.queue.clear()
	if !d.ended {
		d.ended = true
		close(d.finished)
	}
}

// call calls the handler for one change.
func (d *delivery[T]) call(change Change[T]) {
	if d.options.RecoverPanics {
		defer d.recoverPanic(change.Key)
	}
	if len(d.filters) > 0 {
		var ok bool
		if change, ok = passAll(d.filters, change); !ok {
			return
		}
	}
	if len(d.informer.options.Traces) > 0 {
		defer d.trace(change.Key)()
	}
	d.handler.Handle(d.ctx, change)
	if d.informer.guard != nil {
		d.guardCall(change)
	}
}

// callBatch calls the handler for all changes at once; traces and panics name the first.
func (d *delivery[T]) callBatch(changes []Change[T]) {
	if d.options.RecoverPanics {
		defer d.recoverPanic(changes[0].Key)
	}
	if len(d.filters) > 0 {
		passed := changes[:0]
		for _, change := range changes {
			if change, ok := passAll(d.filters, change); ok {
				passed = append(passed, change)
			}
		}
		clear(changes[len(passed):])
		changes = passed
	}
	if len(changes) == 0 {
		return
	}
	defer d.trace(changes[0].Key)()
	given := changes
	if d.informer.guard != nil {
		given = slices.Clone(changes) // the slice is the handler's
	}
	d.batch.HandleBatch(d.ctx, changes)
	d.guardCall(given...)
}

func nothing() {}

// trace calls the hooks, now and when the result is called.
func (d *delivery[T]) trace(key string) (end func()) {
	traces := d.informer.options.Traces
	if len(traces) == 0 {
		return nothing
	}
	start := d.informer.now()
	for _, t := range traces {
		if t != nil && t.HandlerStart != nil {
			t.HandlerStart(d.name, key)
		}
	}
	return func() {
		took := d.informer.now() - start
		for _, t := range traces {
			if t != nil && t.HandlerEnd != nil {
				t.HandlerEnd(d.name, key, took)
			}
		}
	}
}

// recoverPanic is deferred by a call whose panics are reported.
func (d *delivery[T]) recoverPanic(key string) {
	if value := recover(); value != nil {
		d.reportPanic(key, value)
	}
}

// reportPanic tells of a call that did not return. Neither the log nor the error's text
// holds the value, which may be an object.
func (d *delivery[T]) reportPanic(key string, value any) {
	err := &PanicError{Handler: d.name, Key: key, Value: value, Stack: debug.Stack()}
	if value == errGoexit {
		klog.FromContext(d.ctx).Error(errGoexit, "handler did not return", "key", key)
	} else {
		klog.FromContext(d.ctx).Error(nil, "handler panicked", "key", key, "value", fmt.Sprintf("%T", value))
	}
	d.informer.reportError(d.ctx, err)
}

// remove implements Registration.Remove.
func (d *delivery[T]) remove() {
	d.informer.leave(d)
	d.mu.Lock()
	d.removed = true
	switch {
	case !d.running: // nothing is queued, or nobody is there to deliver it
		d.endLocked()
	case !d.options.DrainOnRemove:
		d.queue.clear()
	}
	d.mu.Unlock()
	d.informer.signalRoom()
}

// waitRemoved implements Registration.RemoveAndWait.
func (d *delivery[T]) waitRemoved(ctx context.Context) error {
	wait := &WaitError{Name: d.informer.name, For: "the last call of handler " + d.name, Late: []string{d.name}}
	select {
	case <-d.finished:
		return nil
	default:
	}
	if RegistrationFromContext(ctx) == d.registration {
		wait.Cause = ErrInHandler
		return wait
	}
	select {
	case <-d.finished:
		return nil
	case <-ctx.Done():
		wait.Cause = context.Cause(ctx)
		return wait
	}
}

// stop drops what is queued and lets no call begin any more. What Changes has queued is
// kept for its caller.
func (d *delivery[T]) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	switch {
	case d.wake != nil:
		d.wakeUp()
	case !d.running:
		d.endLocked()
	}
}

// refilter implements Registration.Refilter.
func (d *delivery[T]) refilter() {
	if len(d.filters) > 0 {
		d.informer.requestSweep(d, causeRefilter)
	}
}

// owner returns the informer, for those who do not know its type.
func (d *delivery[T]) owner() any { return d.informer }

// full reports whether the source has to wait for the handler.
func (d *delivery[T]) full() bool {
	if d.options.Limit == 0 {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.removed && d.queue.count >= d.options.Limit
}

func (d *delivery[T]) status(now time.Duration) HandlerStatus {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := HandlerStatus{Name: d.name, Synced: d.told, Queued: d.queue.depth(), LastDuration: d.lastTook}
	if over := d.queue.count - d.options.Limit; d.options.Limit > 0 && over > 0 {
		s.Queued -= over // these are still the informer's, which holds its batch until there is room
	}
	if since, ok := d.queue.oldest(); ok {
		s.OldestAge = now - since
	}
	return s
}
