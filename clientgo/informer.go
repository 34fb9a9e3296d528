// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/informerkit/informer"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/features"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Options configures a SharedIndexInformer. The zero value does what client-go's does.
type Options struct {
	// Resync is the period of handlers that ask for none of their own; 0 or negative: never.
	Resync time.Duration
	// Indexers are the first indexes; nil: none. The map stays the caller's.
	Indexers cache.Indexers
	// Reflector is what client-go has no words for: page size, timeouts, backoff, hooks. Its
	// Example and Resync are not used. Name is the description of the objects in logs and
	// errors; "": the type of the example. An InitialEventsTimeout of 0 is negative where the
	// feature gate WatchListClient of client-go is off.
	Reflector informer.ReflectorOptions
	// MutationGuard has one object in so many hashed, to find handlers that change what they
	// were given: the watch error handler and the log are told its key. 1 guards every object;
	// 0: none. Negative: New panics. It is this library's KUBE_CACHE_MUTATION_DETECTOR.
	MutationGuard int
	// MergeChanges has a slow handler cost memory by keys, and not by events: what happens to
	// an object while the handler is busy becomes one call. client-go's handlers get every
	// change, and that is the default.
	MergeChanges bool
}

// errStarted is what client-go's documentation promises to setters that come too late.
var errStarted = errors.New("informer has already started")

// SharedIndexInformer is a cache.SharedIndexInformer of client-go on an informer of this library.
//
// Ownership: objects are shared with the store and all handlers, and are read-only.
//
// Concurrency: all methods may be called from anywhere, handlers included.
//
// Lifetime: one Run.
type SharedIndexInformer struct {
	description string
	lw          cache.ListerWatcher
	resync      time.Duration
	merge       bool
	example     runtime.Object
	inner       *informer.Informer[informer.Object]
	indexer     *indexer
	synced      signal // the first list is in the store

	goroutines sync.WaitGroup // that wait for the last call of a removed handler

	mu            sync.Mutex
	started       bool
	ctx           context.Context // of Run; it has stopped once that has ended
	stopped       bool            // Run has returned, or is about to
	transform     cache.TransformFunc
	watchError    cache.WatchErrorHandlerWithContext
	registrations map[*registration]struct{} // whose last call has not returned
}

var _ cache.SharedIndexInformer = (*SharedIndexInformer)(nil)

// NewSharedIndexInformer has the name and the parameters of client-go's constructor.
//
// lw may be nil in a test that only seeds the store; Run then panics. A nil example accepts
// objects of any type.
//
// It panics if the example is no API object (a list, for one): nothing could ever be of its
// type, where client-go logs and drops each object.
func NewSharedIndexInformer(lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	return New(lw, example, Options{Resync: resync, Indexers: indexers})
}

// NewInformerFunc returns a constructor as cache.Options.NewInformer of controller-runtime and
// hand-written factories take it. The period that it is called with takes the place of that
// of the options, and the indexers are added to theirs.
func NewInformerFunc(options Options) func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer {
	return func(lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
		own := options
		own.Resync = resync
		own.Indexers = cache.Indexers{}
		for _, more := range []cache.Indexers{options.Indexers, indexers} {
			for name, fn := range more {
				own.Indexers[name] = fn
			}
		}
		return New(lw, example, own)
	}
}

// New returns an informer with all the options there are; as NewSharedIndexInformer otherwise.
func New(lw cache.ListerWatcher, example runtime.Object, options Options) *SharedIndexInformer {
	s := &SharedIndexInformer{
		lw:            lw,
		example:       example,
		resync:        max(options.Resync, 0),
		merge:         options.MergeChanges,
		synced:        signal{done: make(chan struct{})},
		registrations: map[*registration]struct{}{},
	}
	own := informer.Options[informer.Object]{
		ReflectorOptions: options.Reflector, Transform: s.transformed, MutationGuard: options.MutationGuard,
	}
	own.Example = exampleOf(example)
	own.Resync = 0 // each handler has a period of its own
	if own.InitialEventsTimeout == 0 && !features.FeatureGates().Enabled(features.WatchListClient) {
		own.InitialEventsTimeout = -1
	}
	own.OnError = s.onError(options.Reflector.OnError)
	s.indexer = newIndexer(options.Indexers)
	own.Store = s.indexer.store
	s.inner = informer.New(sourceOf(lw), own)
	s.description = s.inner.Name()
	return s
}

// exampleOf returns the example as what this library compares with; nil for none.
func exampleOf(example runtime.Object) informer.Object {
	if example == nil {
		return nil
	}
	typed, ok := example.(informer.Object)
	if !ok {
		panic(fmt.Sprintf("clientgo: New: an example of type %T, which has no metadata of an object", example))
	}
	return typed
}

// unheard is a handler that has only its registration's signal.
type unheard struct{}

func (unheard) Handle(context.Context, informer.Change[informer.Object])        {}
func (unheard) HandleBatch(context.Context, []informer.Change[informer.Object]) {}

// Informer returns what is behind it: for Status, for waits with errors that say what the
// source answered, and for handlers that are told causes. To be run is not among its uses.
func (s *SharedIndexInformer) Informer() *informer.Informer[informer.Object] { return s.inner }

// Run is RunWithContext until stop is closed.
func (s *SharedIndexInformer) Run(stop <-chan struct{}) {
	s.RunWithContext(wait.ContextForChannel(stop))
}

// RunWithContext mirrors until ctx ends. When it returns, all calls of handlers have. A second
// call logs a warning and returns. A panic of the source is handled as utilruntime is told to,
// and so are those of handlers.
func (s *SharedIndexInformer) RunWithContext(ctx context.Context) {
	defer utilruntime.HandleCrashWithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !s.start(ctx) {
		klog.FromContext(ctx).Info("Informer was started before, and cannot be run twice", "informer", s.description)
		return
	}
	defer s.stop()
	if isNil(s.lw) {
		panic("clientgo: Run: nil ListerWatcher")
	}
	var syncing sync.WaitGroup
	syncing.Go(s.awaitSync(ctx))
	defer syncing.Wait()
	defer cancel()
	if err := s.inner.Run(ctx); err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Informer ended", "informer", s.description)
	}
}

func (s *SharedIndexInformer) start(ctx context.Context) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return false
	}
	s.started, s.ctx = true, ctx
	return true
}

// stoppedLocked reports whether Run has returned, or waits for nothing but handlers.
func (s *SharedIndexInformer) stoppedLocked() bool {
	return s.stopped || s.ctx != nil && s.ctx.Err() != nil
}

// stop ends what is left of the registrations: no handler will be called any more.
func (s *SharedIndexInformer) stop() {
	s.mu.Lock()
	s.stopped = true
	for r := range s.registrations {
		r.end()
	}
	clear(s.registrations)
	s.mu.Unlock()
	s.goroutines.Wait()
}

// awaitSync returns what waits for the first list. That is what the store says, unless it was
// replaced by hand; then a handler finds out, which costs some memory meanwhile.
func (s *SharedIndexInformer) awaitSync(ctx context.Context) (wait func()) {
	listed, forget := s.indexer.store.Synced(), func() {}
	if s.indexer.store.HasSynced() {
		r, err := s.inner.AddHandler(unheard{}, informer.HandlerOptions{Name: "first list", Resync: -1})
		if err != nil {
			panic(fmt.Sprintf("clientgo: Run: %v", err)) // of an inner informer that was run by hand
		}
		listed, forget = r.Synced(), r.Remove
	}
	s.synced.follow(listed)
	return func() {
		select {
		case <-listed:
			s.synced.reached()
			forget()
		case <-ctx.Done():
		}
	}
}

// signal is a channel that is closed a moment after another one. Whoever asks whether it is
// closed does not have to wait for that moment.
type signal struct {
	done chan struct{}

	mu     sync.Mutex
	after  <-chan struct{} // nil: not known yet
	closed bool
}

func (s *signal) follow(after <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = after
}

// reached closes the channel if it is time, and reports whether it is closed.
func (s *signal) reached() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return true
	}
	select {
	case <-s.after:
		s.closed = true
		close(s.done)
	default:
	}
	return s.closed
}

// HasSynced reports whether the first list is in the store, whatever handlers have seen of it.
func (s *SharedIndexInformer) HasSynced() bool { return s.synced.reached() }

// HasSyncedChecker is HasSynced as a channel with a name.
func (s *SharedIndexInformer) HasSyncedChecker() cache.DoneChecker {
	return done{name: s.name, channel: s.synced.done}
}

func (s *SharedIndexInformer) name() string { return "SharedIndexInformer " + s.description }

// done is a cache.DoneChecker.
type done struct {
	name    func() string
	channel <-chan struct{}
}

func (d done) Name() string          { return d.name() }
func (d done) Done() <-chan struct{} { return d.channel }

// LastSyncResourceVersion returns the version of the collection that the store has reached;
// "" before the first list. Unlike client-go's it is never ahead of the store.
func (s *SharedIndexInformer) LastSyncResourceVersion() string {
	if !s.HasSynced() {
		return ""
	}
	return s.indexer.store.ResourceVersion()
}

// GetStore returns the store. It may be written before Run, or without it, as tests of
// controllers do; while Run runs it has one writer, the informer.
func (s *SharedIndexInformer) GetStore() cache.Store { return s.indexer }

// GetIndexer returns the store with its indexes; as GetStore.
func (s *SharedIndexInformer) GetIndexer() cache.Indexer { return s.indexer }

// AddIndexers adds indexes over what the store holds, also while running.
//
// Errors: a name that is taken, or a nil function, and then none is added; an informer that
// has stopped.
func (s *SharedIndexInformer) AddIndexers(indexers cache.Indexers) error {
	if s.IsStopped() {
		return fmt.Errorf("add indexers to %s: %w", s.description, informer.ErrStopped)
	}
	return s.indexer.AddIndexers(indexers)
}

// IsStopped reports whether Run has returned, or waits for nothing but calls of handlers.
func (s *SharedIndexInformer) IsStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stoppedLocked()
}

// SetTransform has each object changed before it is stored; nil: none. It is never given a
// cache.DeletedFinalStateUnknown.
//
// Errors: after Run has begun.
func (s *SharedIndexInformer) SetTransform(fn cache.TransformFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return errStarted
	}
	s.transform = fn
	return nil
}

func (s *SharedIndexInformer) transformed(obj informer.Object) (informer.Object, error) {
	s.mu.Lock()
	fn := s.transform
	s.mu.Unlock()
	if fn == nil {
		return obj, nil
	}
	out, err := fn(obj)
	if err != nil {
		return nil, err
	}
	return objectOf(out)
}

// SetWatchErrorHandler is SetWatchErrorHandlerWithContext for a handler without a context.
//
// Errors: after Run has begun.
func (s *SharedIndexInformer) SetWatchErrorHandler(handler cache.WatchErrorHandler) error {
	if handler == nil {
		return s.SetWatchErrorHandlerWithContext(nil)
	}
	return s.SetWatchErrorHandlerWithContext(func(_ context.Context, r *cache.Reflector, err error) { handler(r, err) })
}

// SetWatchErrorHandlerWithContext has the handler called for every failure of a list, a watch or
// an object, one call at a time; the last handler set wins, nil: none, and the log has its
// lines either way. Errors are as the source returned them. The Reflector is good for its
// names, and for cache.DefaultWatchErrorHandler; it is not running.
//
// A call holds up the source that it tells of, as in client-go, or for an index function or a
// mutated object the store. What fails meanwhile waits for its end, 100 failures at most.
//
// Errors: after Run has begun.
func (s *SharedIndexInformer) SetWatchErrorHandlerWithContext(handler cache.WatchErrorHandlerWithContext) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return errStarted
	}
	s.watchError = handler
	return nil
}

// onError tells the handler that was set, and the hook of the options.
func (s *SharedIndexInformer) onError(hook func(ctx context.Context, err error)) func(ctx context.Context, err error) {
	var named *cache.Reflector // made at the first failure: most informers never need it
	handlers := teller{call: func(ctx context.Context, err error) {
		s.mu.Lock()
		handler := s.watchError
		s.mu.Unlock()
		if handler == nil {
			return
		}
		if named == nil {
			named = cache.NewReflectorWithOptions(s.lw, s.expected(), s.indexer, cache.ReflectorOptions{Name: s.description})
		}
		if failure, ok := errors.AsType[*informer.SourceError](err); ok {
			err = failure.Err // some handlers compare, and do not unwrap
		}
		handler(ctx, named, err)
	}}
	return func(ctx context.Context, err error) {
		if hook != nil {
			hook(ctx, err)
		}
		handlers.tell(ctx, err)
	}
}

// expected is the example as client-go's reflector takes it: nil, or a value.
func (s *SharedIndexInformer) expected() any {
	if s.example == nil || reflect.ValueOf(s.example).IsZero() {
		return nil
	}
	return s.example
}

// GetController returns what client-go has deprecated: it answers, and its Run does nothing.
func (s *SharedIndexInformer) GetController() cache.Controller { return controller{s} }

type controller struct{ informer *SharedIndexInformer }

func (c controller) Run(<-chan struct{})                 {}
func (c controller) RunWithContext(context.Context)      {}
func (c controller) HasSynced() bool                     { return c.informer.HasSynced() }
func (c controller) HasSyncedChecker() cache.DoneChecker { return c.informer.HasSyncedChecker() }
func (c controller) LastSyncResourceVersion() string     { return c.informer.LastSyncResourceVersion() }
