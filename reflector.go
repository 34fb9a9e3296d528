// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/informerkit/informer/backoff"

	"k8s.io/klog/v2"
)

// ReflectorOptions says how a source is listed and watched. The zero value is ready to use.
type ReflectorOptions struct {
	Name                 string                               // in logs, errors and Status; "": what the source calls itself (fmt.Stringer), or the object's type
	LabelSelector        string                               // as in metav1.ListOptions; "": all
	FieldSelector        string                               // as in metav1.ListOptions; "": all
	Shard                Shard                                // the part of the collection to mirror; zero: all of it
	Example              Object                               // its Go type, and its kind if it is unstructured, is what the source must send; nil: T decides alone
	NotOlderThan         string                               // the first list is at least this resource version; "": any state that the server has cached
	MostRecent           bool                                 // the first list is a consistent read; not together with NotOlderThan
	PageSize             int64                                // objects a page; 0: 500, as client-go; negative: no paging
	WatchTimeout         time.Duration                        // asked of the server, random in [d, 2d), whole seconds; 0: 5 minutes, as client-go
	InitialEventsTimeout time.Duration                        // longest silence within a watch-list; 0: 10 s; negative: never ask for one
	Backoff              backoff.Options                      // between failures
	Resync               time.Duration                        // period of DeltaFIFO.Resync, or default of an Informer's handlers; 0: never
	Verify               time.Duration                        // period of a list that the mirror is compared with, and repaired by, plus up to a tenth; 0: never
	Quarantine           bool                                 // set poison objects aside from the first list on; false: only after the first sync, which they fail, to be tried 5 minutes later
	StopOn               func(err error) bool                 // ends Run with err; nil: never
	OnError              func(ctx context.Context, err error) // every failure of a list, a watch or an object (of those of another type in a list ten, and their number); called synchronously; nil: none
	Traces               []*Trace                             // hooks; each is called
}

const (
	defaultWatchTimeout         = 5 * time.Minute
	defaultInitialEventsTimeout = 10 * time.Second

	// maxPeriod stands for ever, 73 years, and leaves room for what is added at random.
	maxPeriod time.Duration = math.MaxInt64 / 4
)

// withDefaults is the one place where the defaults apply.
func (o ReflectorOptions) withDefaults(name string) ReflectorOptions {
	switch {
	case o.WatchTimeout < 0:
		panic("informer: NewReflector: negative WatchTimeout")
	case o.Resync < 0:
		panic("informer: NewReflector: negative Resync")
	case o.Verify < 0:
		panic("informer: NewReflector: negative Verify")
	case o.NotOlderThan != "" && o.MostRecent:
		panic("informer: NewReflector: NotOlderThan and MostRecent exclude each other")
	case o.Shard.check() != nil:
		panic(fmt.Sprintf("informer: NewReflector: %v", o.Shard.check()))
	}
	if o.Name == "" {
		o.Name = name
	}
	if o.WatchTimeout == 0 {
		o.WatchTimeout = defaultWatchTimeout
	}
	if o.InitialEventsTimeout == 0 {
		o.InitialEventsTimeout = defaultInitialEventsTimeout
	}
	o.WatchTimeout, o.Resync = min(o.WatchTimeout, maxPeriod), min(o.Resync, maxPeriod)
	return o
}

// Reflector feeds a Sink from a ListerWatcher. It has no type parameter: none of its
// methods needs one.
//
// A round is a list, or a watch-list where the source serves one, and then a watch that is
// opened again and again at the last version for as long as it can be resumed. What
// ends a watch, and what is done about it, is the table in recovery.go.
//
// Concurrency: all methods may be called from any goroutine.
type Reflector struct {
	source    ListerWatcher
	target    target
	resync    resyncer // nil where the sink has none
	options   ReflectorOptions
	backoff   *backoff.Manager
	report    *reporter
	draw      chan string   // holds the version that somebody waits for
	reshard   chan struct{} // nextShard has changed
	nextShard atomic.Pointer[Shard]
	started   atomic.Bool
	broke     func()        // told of a break of the history before its list is committed; nil: nobody
	rounds    chan struct{} // held by the round that runs

	// What follows belongs to the round that runs.
	synced       bool      // a list was committed
	shard        Shard     // of the list or the watch under way
	listedShard  Shard     // of the last list that was committed
	reached      string    // R, the version to resume from
	consistent   bool      // the next list is at ""
	noMatch      bool      // the source does not know resourceVersionMatch
	streak       streak    // of the watch
	initialTries int       // watch-lists in a row that ended early
	refusedUntil time.Time // no watch-list before
	paced        time.Time // the last watch was opened
	relisted     time.Time // the last relist that asked for no delay
	drawn        time.Time // the last watch that draws a bookmark
	drawing      bool      // the next watch draws a bookmark
	fruitless    bool      // the last watch that drew one ended without any event
	wanted       time.Time // the last list for the sake of a wait
	want         string    // the version that the next list has to reach; "": R
	verifyAt     time.Time // the next verify; zero: never
	history      history
	hashes       chunked[uint64] // of the items of the last list
}

// NewReflector returns a Reflector; Run starts it.
//
// It panics if source or sink is nil, if a period is negative where that has no meaning,
// if NotOlderThan and MostRecent are both set, or if the Shard is none.
func NewReflector[T Object](source ListerWatcher, sink Sink[T], options ReflectorOptions) *Reflector {
	if source == nil || sink == nil {
		panic("informer: NewReflector: nil source or sink")
	}
	target := newTarget(sink, options.Example)
	r := &Reflector{
		source:  source,
		target:  target,
		options: options.withDefaults(nameOf(source, target.name())),
		draw:    make(chan string, 1),
		rounds:  make(chan struct{}, 1),
		reshard: make(chan struct{}, 1),
	}
	r.nextShard.Store(&r.options.Shard)
	r.resync, _ = any(sink).(resyncer)
	r.report = newReporter(&r.options)
	r.backoff = backoff.New(r.backoffOptions())
	return r
}

// nameOf is the default name: what the source calls itself, or what it sends.
func nameOf(source ListerWatcher, sends string) string {
	if named, ok := source.(fmt.Stringer); ok {
		return named.String()
	}
	return sends
}

// backoffOptions has the delays of the manager told to Status and the traces.
func (r *Reflector) backoffOptions() backoff.Options {
	options := r.options.Backoff
	options.OnDelay = r.backoffTold
	return options
}

// backoffTold tells of a delay.
func (r *Reflector) backoffTold(ctx context.Context, delay time.Duration, err error) {
	r.report.waiting(delay, err)
	if r.options.Backoff.OnDelay != nil {
		r.options.Backoff.OnDelay(ctx, delay, err)
	}
}

// Run lists and watches until ctx ends, and then returns nil, or until StopOn, and then
// returns that error. It blocks, owns every goroutine that it starts, and returns after
// all of them, with one exception: a List function that ignores its context is not waited for.
//
// Errors: ErrStarted if it was called before, ErrClosed if the sink is a queue that was closed.
func (r *Reflector) Run(ctx context.Context) error {
	if r.started.Swap(true) {
		return ErrStarted
	}
	defer r.report.phase(PhaseStopped)
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.resync != nil && r.options.Resync > 0 {
		running.Go(func() { r.resyncs(ctx) })
	}
	return r.backoff.Loop(ctx, r.ListAndWatch)
}

// resyncs asks the sink for a resync, again and again. The period is jittered by up to a
// tenth, so that many reflectors do not resync at once.
func (r *Reflector) resyncs(ctx context.Context) {
	for {
		period := r.options.Resync + rand.N(r.options.Resync/10+1)
		if r.backoff.Sleep(ctx, period) != nil {
			return
		}
		if err := r.resync.Resync(ctx); err != nil && ctx.Err() == nil {
			r.report.note(ctx, r.sourceError("resync", err))
		}
	}
}

// ListAndWatch does one round: a list, then a watch until it can no longer be resumed.
// It returns nil if the next round may begin at once, or ctx has ended; otherwise the
// failure, which was reported and asks for a delay. Run calls it; it is for those who
// bring a loop of their own.
//
// Concurrency: a second call waits for the first one to end.
func (r *Reflector) ListAndWatch(ctx context.Context) error {
	select {
	case r.rounds <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-r.rounds }()
	stream, err := r.begin(ctx)
	if err == nil {
		err = r.watch(ctx, stream)
	}
	switch {
	case ctx.Err() != nil && !backoff.IsPermanent(err):
		return nil
	case errors.Is(err, ErrClosed):
		return backoff.Permanent(ErrClosed)
	}
	return err
}

// begin brings the sink to a whole state of the collection, by a watch-list, whose stream
// it returns, or by a list.
func (r *Reflector) begin(ctx context.Context) (*stream, error) {
	for {
		r.adoptShard()
		list, initial := firstVersion(&r.options, r.synced, r.consistent, newest(r.reached, r.want))
		if !r.asksInitial() {
			return nil, r.list(ctx, list)
		}
		stream, verdict, err := r.watchList(ctx, initial)
		switch {
		case err == nil:
			return stream, nil
		case ctx.Err() != nil:
			return nil, err
		case verdict == initialRestart:
			r.consistent = true
			continue
		case verdict == initialRefused:
			r.refusedUntil = time.Now().Add(refusalMemory)
			klog.FromContext(ctx).V(2).Info("Source refuses to stream its initial events, listing instead", "source", r.options.Name)
		case verdict == initialUnserved:
			if err := r.noteFailure(ctx, "watch-list", err); err != nil {
				return nil, err
			}
		default:
			return nil, r.failed(ctx, "watch-list", err)
		}
		return nil, r.list(ctx, list)
	}
}

// failed reports a failure that ends the round.
func (r *Reflector) failed(ctx context.Context, operation string, err error) error {
	if ctx.Err() != nil || backoff.IsPermanent(err) {
		return err
	}
	if stop := r.noteFailure(ctx, operation, err); stop != nil {
		return stop
	}
	return r.sourceError(operation, err)
}

// retried reports a failure and waits as the backoff says. It returns an error if ctx
// ends, or if the failure is to end Run.
func (r *Reflector) retried(ctx context.Context, operation string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if stop := r.noteFailure(ctx, operation, err); stop != nil {
		return stop
	}
	delay := r.backoff.Delay(err)
	r.backoffTold(ctx, delay, err)
	return r.backoff.Sleep(ctx, delay)
}

// noteFailure reports a failure. It returns an error if that is to end Run.
func (r *Reflector) noteFailure(ctx context.Context, operation string, err error) error {
	failure := r.sourceError(operation, err)
	r.report.failure(ctx, failure)
	if r.options.StopOn != nil && r.options.StopOn(failure) {
		return backoff.Permanent(failure)
	}
	return nil
}

// sourceError names source and operation, once.
func (r *Reflector) sourceError(operation string, err error) error {
	if named, ok := errors.AsType[*SourceError](err); ok && named.Source == r.options.Name {
		return err
	}
	return &SourceError{Source: r.options.Name, Operation: operation, Err: err}
}

// LastSyncResourceVersion returns the version to resume from, "" before the first list.
func (r *Reflector) LastSyncResourceVersion() string { return r.report.version() }

// Status returns what the reflector is doing.
func (r *Reflector) Status() SourceStatus { return r.report.current() }

// lastFailure returns the last failure since the last good contact, nil if there is none;
// changed is closed when that changes, or an object is set aside.
func (r *Reflector) lastFailure() (changed <-chan struct{}, err error) { return r.report.last() }

// quarantined returns the objects that were set aside.
func (r *Reflector) quarantined() []Quarantined { return r.report.aside() }

// drawBookmark asks for a sign that the version, which somebody waits for, is reached. The
// watch is opened again at R with a timeout of 4 s, which makes kube-apiserver send a
// bookmark if anything of the resource is written meanwhile; at most every 5 s. If the
// first one has brought nothing, the collection is listed at the version; at most once a
// minute.
func (r *Reflector) drawBookmark(version string) {
	select {
	case r.draw <- version:
	default:
	}
}
