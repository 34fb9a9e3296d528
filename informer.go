// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// Options configures an Informer. The zero value is ready to use.
type Options[T Object] struct {
	ReflectorOptions // from Go 1.27 on, its fields can be set right here

	KeyFunc   KeyFunc[T]       // nil: KeyOf
	Indexers  Indexers[T]      // nil: none
	Transform TransformFunc[T] // nil: none
	Store     *Store[T]        // a store to write to, which nobody else may write while Run runs; nil: one of its own

	// MutationGuard has one object in so many hashed, to find handlers that change what
	// they were given: such a change is reported to OnError and the log, with the key. 1
	// guards every object; 0: none. Negative: New panics.
	MutationGuard int
}

// batchLimit is how many deltas the source may be ahead of the store, lists aside.
const batchLimit = 2000

// Informer mirrors one source, or the union of several, in a Store and tells handlers what
// changed.
// It has synced when its store has and every handler was told of what was there; the
// loops over Changes aside, whose pace is their own.
//
// Ownership: the objects that it hands out are shared and read-only.
//
// Concurrency: all methods may be called from anywhere, handlers included, in any order.
//
// Lifetime: one Run. It runs two goroutines, the caller's own among them, one more for
// each source of a union, and one for each handler that has something to do.
type Informer[T Object] struct {
	*syncSignal // the source's list is in the store, and the handlers were told

	name    string
	union   bool // it was made by NewUnion
	options Options[T]
	store   *Store[T]
	queue   *DeltaFIFO[T]
	guard   *mutationGuard // nil: none
	epoch   time.Time      // of now
	room    chan struct{}  // a handler with a Limit has made room, or has gone
	listed  *syncSignal    // the lists of all sources are in the store
	stopped chan struct{}  // Run is about to return
	ended   chan groupEnd  // a source has ended Run; has room for one
	bell    bell           // rings when the failures of a union's sources change

	goroutines sync.WaitGroup // of handlers and timers
	running    sync.WaitGroup // of a union's sources

	bursts burstLog[T] // of the goroutine that applies batches

	mu       sync.Mutex
	phase    informerPhase
	ctx      context.Context // of Run
	failure  error           // that ended Run
	ending   bool            // no source may be started any more
	members  []*member[T]    // replaced, never changed; one, unless it is a union
	handlers []*delivery[T]  // replaced, never changed
	unsynced map[*delivery[T]]struct{}
	applying bool                // the store is ahead of the queues, or about to be
	joining  []*delivery[T]      // added meanwhile
	sweeps   []sweepRequest[T]   // asked for meanwhile
	versions []*versionWait[T]   // WaitForResourceVersion
	keys     map[string][]signal // WaitFor
}

type informerPhase int

const (
	informerIdle informerPhase = iota
	informerRunning
	informerStopped
)

// New returns an informer of one source; Run starts it.
//
// It panics if source is nil, if a period is negative where that means nothing, and if
// Options.Store has an index of the name of one of the Indexers already.
func New[T Object](source ListerWatcher, options Options[T]) *Informer[T] {
	if source == nil {
		panic("informer: New: nil source")
	}
	i := newInformer(options, "New")
	m := &member[T]{}
	m.reflector = NewReflector[T](source, i.queue, i.feedOptions())
	m.reflector.broke = func() { i.historyBroke(m) }
	i.name = m.reflector.options.Name // or its default
	m.name = i.name
	i.members = []*member[T]{m}
	return i
}

// newInformer returns one without a source.
func newInformer[T Object](options Options[T], constructor string) *Informer[T] {
	checkOptions(options, constructor)
	i := &Informer[T]{
		syncSignal: newSyncSignal(),
		options:    options,
		store:      storeFor(options, constructor),
		guard:      newMutationGuard(options.MutationGuard),
		epoch:      time.Now(),
		room:       make(chan struct{}, 1),
		listed:     newSyncSignal(),
		stopped:    make(chan struct{}),
		ended:      make(chan groupEnd, 1),
		unsynced:   map[*delivery[T]]struct{}{},
		keys:       map[string][]signal{},
	}
	queue := DeltaFIFOOptions[T]{
		KeyFunc: options.KeyFunc, KnownObjects: i.store, Transform: options.Transform, Limit: batchLimit,
	}
	if queue.KeyFunc == nil { // those of a store that was given
		queue.KeyFunc = i.store.s.keyFunc
	}
	if queue.Transform == nil {
		queue.Transform = i.store.s.transform
	}
	i.queue = NewDeltaFIFO(queue)
	i.queue.batching = true // also for a list that is there before the first batch is asked for
	return i
}

// checkOptions panics if something is wrong with them.
func checkOptions[T Object](options Options[T], constructor string) {
	switch {
	case options.Resync < 0:
		panic("informer: " + constructor + ": negative Resync")
	case options.WatchTimeout < 0:
		panic("informer: " + constructor + ": negative WatchTimeout")
	case options.Verify < 0:
		panic("informer: " + constructor + ": negative Verify")
	case options.MutationGuard < 0:
		panic("informer: " + constructor + ": negative MutationGuard")
	}
	if options.NotOlderThan != "" && options.MostRecent {
		panic("informer: " + constructor + ": NotOlderThan and MostRecent exclude each other")
	}
	if err := options.Shard.check(); err != nil {
		panic(fmt.Sprintf("informer: %s: %v", constructor, err))
	}
}

// feedOptions are those of a reflector. Resync is the handlers' own affair: nothing passes
// through the queue for it.
func (i *Informer[T]) feedOptions() ReflectorOptions {
	options := i.options.ReflectorOptions
	options.Resync = 0
	return options
}

func storeFor[T Object](options Options[T], constructor string) *Store[T] {
	if options.Store == nil {
		return NewStore(StoreOptions[T]{KeyFunc: options.KeyFunc, Indexers: options.Indexers})
	}
	if len(options.Indexers) > 0 {
		if err := options.Store.AddIndexers(options.Indexers); err != nil {
			panic(fmt.Sprintf("informer: %s: Options.Store: %v", constructor, err))
		}
	}
	return options.Store
}

// Run mirrors until ctx ends, and then returns nil, or until StopOn, and then returns that
// error. When it returns, all calls of handlers have; what was queued for them is dropped.
// The logger of ctx (klog.NewContext) is the informer's, and the handlers'.
//
// A panic of the source's List or Watch passes through, and so does one of a type in its own
// decoding, as in UnmarshalJSON, where a source of package rest reads it. So does runtime.Goexit,
// as of a test's Fatal, there and in an index function or hook that is called before handlers are.
//
// Errors: ErrStarted if it was called before.
func (i *Informer[T]) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !i.start(ctx) {
		return ErrStarted
	}
	var loop sync.WaitGroup
	var err error
	processed, listened := false, false
	defer func() { // also where the source panics
		cancel()
		i.queue.Close()
		loop.Wait()
		i.stop(err)
		if listened && !processed {
			runtime.Goexit()
		}
	}()
	loop.Go(func() {
		defer cancel() // also after runtime.Goexit of an index function or a hook
		i.process(ctx)
		processed = true
	})
	err = i.runSources(ctx, cancel)
	listened = true
	return err
}

func (i *Informer[T]) start(ctx context.Context) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.phase != informerIdle {
		return false
	}
	i.phase, i.ctx = informerRunning, ctx
	for _, d := range i.handlers {
		i.beginLocked(d)
		d.startSweep(CauseInitial, snapshotOf(i.store.view), i.now())
	}
	if i.union {
		for _, m := range i.members {
			i.startLocked(m)
		}
		i.concludeLocked()
	}
	return true
}

// stop ends what start began, and waits for it. Waits end before handlers do, because a
// handler may be waiting.
func (i *Informer[T]) stop(err error) {
	i.mu.Lock()
	i.phase, i.failure = informerStopped, err
	close(i.stopped)
	for _, d := range i.handlers {
		i.stopResyncLocked(d)
		d.stop()
	}
	i.mu.Unlock()
	i.goroutines.Wait()
}

// AddHandler has the handler called for each change, beginning with what the store holds,
// as Added with CauseInitial and in any order. It returns at once and holds up nobody;
// before Run, the calls begin with Run.
//
// Errors: ErrStopped once Run has returned; a nil handler, and a Limit that is negative or
// without EveryChange.
func (i *Informer[T]) AddHandler(handler Handler[T], options HandlerOptions) (*Registration, error) {
	if err := checkHandler(handler, options); err != nil {
		return nil, err
	}
	d := newDelivery(i, handler, options)
	if err := i.join(d); err != nil {
		return nil, err
	}
	return d.registration, nil
}

// join registers a handler between two batches, so that it is told of each object once:
// by the snapshot that it begins with, or by a batch that is not in there.
func (i *Informer[T]) join(d *delivery[T]) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.phase == informerStopped:
		return ErrStopped
	case i.applying:
		i.joining = append(i.joining, d)
	default:
		i.registerLocked(d)
	}
	return nil
}

func (i *Informer[T]) registerLocked(d *delivery[T]) {
	i.handlers = append(slices.Clip(i.handlers), d)
	if i.phase == informerRunning { // start sees to the others: Options.Store may be filled until then
		d.startSweep(CauseInitial, snapshotOf(i.store.view), i.now())
	}
	if i.listed.HasSynced() && d.mark() {
		d.registration.signal()
	} else if d.wake == nil && !i.HasSynced() {
		i.unsynced[d] = struct{}{}
	}
	if i.phase == informerRunning {
		i.beginLocked(d)
	}
}

func (i *Informer[T]) beginLocked(d *delivery[T]) {
	d.begin(i.ctx)
	i.armResyncLocked(d)
}

// leave forgets a handler.
func (i *Informer[T]) leave(d *delivery[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	same := func(other *delivery[T]) bool { return other == d }
	i.handlers = slices.DeleteFunc(slices.Clone(i.handlers), same)
	i.joining = slices.DeleteFunc(i.joining, same)
	i.stopResyncLocked(d)
	i.toldLocked(d)
}

// handlerTold is called once a handler was told of what was there.
func (i *Informer[T]) handlerTold(d *delivery[T]) {
	d.registration.signal()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.toldLocked(d)
}

func (i *Informer[T]) toldLocked(d *delivery[T]) {
	delete(i.unsynced, d)
	i.syncLocked()
}

// syncLocked concludes that the informer has synced.
func (i *Informer[T]) syncLocked() {
	if i.listed.HasSynced() && len(i.unsynced) == 0 {
		i.signal()
	}
}

// Store returns the mirror, to read. It can be read before, during and after Run.
func (i *Informer[T]) Store() View[T] { return i.store.View() }

// AddIndexers adds indexes over what the mirror holds, all at once, also while running.
//
// Errors: ErrExists if a name is taken, and then none is added; those of Store.AddIndexers.
func (i *Informer[T]) AddIndexers(indexers Indexers[T]) error { return i.store.AddIndexers(indexers) }

// Name returns the name from the Options, or its default, the type of the objects.
func (i *Informer[T]) Name() string { return i.name }

// Status returns what the informer is doing.
func (i *Informer[T]) Status() Status {
	i.mu.Lock()
	handlers, members := i.handlers, i.members
	i.mu.Unlock()
	s := Status{
		Name:            i.name,
		Type:            reflect.TypeFor[T]().String(),
		Synced:          i.HasSynced(),
		Objects:         i.store.Len(),
		ResourceVersion: i.store.ResourceVersion(),
		Queued:          i.queue.Len(),
		Quarantined:     i.quarantined(),
		Collisions:      collisionsOf(members),
	}
	for _, m := range members {
		s.Sources = append(s.Sources, m.status())
	}
	now := i.now()
	for _, d := range handlers {
		s.Handlers = append(s.Handlers, d.status(now))
	}
	return s
}

// now is the informer's clock: one reading of it is cheaper than a time.Time.
func (i *Informer[T]) now() time.Duration { return time.Since(i.epoch) }

// reportError tells the hook.
func (i *Informer[T]) reportError(ctx context.Context, err error) {
	if i.options.OnError != nil {
		i.options.OnError(ctx, err)
	}
}

// logger returns that of Run.
func logger(ctx context.Context, name string) klog.Logger {
	return klog.FromContext(ctx).WithValues("informer", name)
}
