// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"time"

	"github.com/informerkit/informer"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// minimumResync is the shortest period that a handler gets, as in client-go.
const minimumResync = time.Second

var errNilHandler = errors.New("add event handler: nil handler")

// registration is a handler's place in a SharedIndexInformer.
type registration struct {
	*informer.Registration // nil until it is added, which nobody sees
	informer               *SharedIndexInformer
	name                   string
	logger                 klog.Logger
	handler                cache.ResourceEventHandler
	once                   sync.Once
	ended                  chan struct{} // no call will be made any more
}

var _ cache.ResourceEventHandlerRegistration = (*registration)(nil)

// AddEventHandler adds a handler with the informer's period of resyncs.
//
// Errors: as AddEventHandlerWithOptions.
func (s *SharedIndexInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, cache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod adds a handler with a period of its own; 0: never.
//
// Errors: as AddEventHandlerWithOptions.
func (s *SharedIndexInformer) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, resync time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, cache.HandlerOptions{ResyncPeriod: &resync})
}

// AddEventHandlerWithOptions adds a handler. It is told of each change, one call at a time,
// beginning with what the store holds.
//
// Errors: a nil handler; informer.ErrStopped once it has stopped.
func (s *SharedIndexInformer) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, options cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	if handler == nil {
		return nil, errNilHandler
	}
	r := &registration{informer: s, name: handlerName(handler), handler: handler, logger: klog.Background(), ended: make(chan struct{})}
	if options.Logger != nil {
		r.logger = *options.Logger
	}
	resync := s.resync
	if options.ResyncPeriod != nil {
		resync = *options.ResyncPeriod
	}
	s.mu.Lock()
	defer s.mu.Unlock() // so that the end of Run finds the registration
	if s.stoppedLocked() {
		return nil, fmt.Errorf("add event handler to %s: %w", s.description, informer.ErrStopped)
	}
	own, err := s.inner.AddHandler(informer.HandlerFunc[informer.Object](r.handle), informer.HandlerOptions{
		Name:           r.name,
		Resync:         r.period(resync),
		EveryChange:    !s.merge,
		MergeRecreated: true,
		DrainOnRemove:  true,
	})
	if err != nil {
		return nil, fmt.Errorf("add event handler to %s: %w", s.description, err)
	}
	r.Registration = own
	s.registrations[r] = struct{}{}
	return r, nil
}

// handlerName tells handlers apart in Status, waits and logs: that of client-go's structs is the
// name of a function in it.
func handlerName(handler cache.ResourceEventHandler) string {
	if isNil(handler) {
		return fmt.Sprintf("%T", handler)
	}
	var functions []any
	switch h := handler.(type) {
	case cache.FilteringResourceEventHandler:
		return handlerName(h.Handler)
	case *cache.FilteringResourceEventHandler:
		return handlerName(h.Handler)
	case cache.ResourceEventHandlerFuncs:
		functions = []any{h.AddFunc, h.UpdateFunc, h.DeleteFunc}
	case *cache.ResourceEventHandlerFuncs:
		functions = []any{h.AddFunc, h.UpdateFunc, h.DeleteFunc}
	case cache.ResourceEventHandlerDetailedFuncs:
		functions = []any{h.AddFunc, h.UpdateFunc, h.DeleteFunc}
	case *cache.ResourceEventHandlerDetailedFuncs:
		functions = []any{h.AddFunc, h.UpdateFunc, h.DeleteFunc}
	}
	for _, fn := range functions {
		if value := reflect.ValueOf(fn); !value.IsNil() {
			return runtime.FuncForPC(value.Pointer()).Name()
		}
	}
	return fmt.Sprintf("%T", handler)
}

// HasSynced reports whether the handler was told of what was there, which includes that the
// informer has synced.
func (r *registration) HasSynced() bool { return r.Registration.HasSynced() && r.informer.HasSynced() }

// period returns what HandlerOptions.Resync takes: negative for never.
func (r *registration) period(resync time.Duration) time.Duration {
	switch {
	case resync <= 0:
		return -1
	case resync < minimumResync:
		r.logger.Info("Resync period is raised to the minimum", "period", resync, "minimum", minimumResync)
		return minimumResync
	}
	return resync
}

// handle passes a change on. A panic is handled as utilruntime is told to: by default, the
// process ends.
func (r *registration) handle(_ context.Context, change informer.Change[informer.Object]) {
	defer utilruntime.HandleCrashWithLogger(r.logger)
	switch change.Type {
	case informer.Added:
		r.handler.OnAdd(change.New, change.Cause == informer.CauseInitial)
	case informer.Updated:
		r.handler.OnUpdate(change.Old, change.New)
	case informer.Deleted:
		if change.FinalStateUnknown {
			r.handler.OnDelete(cache.DeletedFinalStateUnknown{Key: change.Key, Obj: change.Old})
		} else {
			r.handler.OnDelete(change.Old)
		}
	}
}

// HasSyncedChecker is HasSynced as a channel with a name.
func (r *registration) HasSyncedChecker() cache.DoneChecker {
	return done{
		name:    func() string { return r.informer.name() + " + event handler " + r.name },
		channel: r.Synced(),
	}
}

// ShutdownChan is what cache.ShutDownEventHandler waits for.
func (r *registration) ShutdownChan() <-chan struct{} { return r.ended }

func (r *registration) end() { r.once.Do(func() { close(r.ended) }) }

// RemoveEventHandler ends the queueing for a handler; what is queued is still delivered. It may
// be called twice, and from the handler. cache.ShutDownEventHandler waits for the last call.
//
// Errors: a handle that is not one of this informer.
func (s *SharedIndexInformer) RemoveEventHandler(handle cache.ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration)
	switch {
	case !ok:
		return fmt.Errorf("remove event handler from %s: a registration of type %T", s.description, handle)
	case r == nil || r.informer != s:
		return fmt.Errorf("remove event handler from %s: a registration of another informer", s.description)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.registrations[r]; !there {
		return nil
	}
	delete(s.registrations, r)
	r.Remove()
	s.goroutines.Go(func() {
		// Ends with the last call, and with Run at the latest.
		_ = r.RemoveAndWait(context.Background())
		r.end()
	})
	return nil
}
