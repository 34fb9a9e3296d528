// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"sync"

	"github.com/informerkit/informer"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
)

// FromListerWatcher makes a source of this library of one of client-go. Its context reaches
// the server if lw has the methods with one. One that ToListerWatcher made is unwrapped.
//
// Sources of tests cannot send initial events: fake watchers are found out, and an error that
// is neither a server's nor the network's counts as a refusal. They are then listed at once.
//
// It panics if lw is nil.
//
// Concurrency: as informer.ListerWatcher.
func FromListerWatcher(lw cache.ListerWatcher) informer.ListerWatcher {
	if isNil(lw) {
		panic("clientgo: FromListerWatcher: nil ListerWatcher")
	}
	return sourceOf(lw)
}

// sourceOf takes nil too: an informer may be made without a source, but not run.
func sourceOf(lw cache.ListerWatcher) informer.ListerWatcher {
	if isNil(lw) {
		return &source{}
	}
	if ours, ok := lw.(*listerWatcher); ok {
		return ours.source
	}
	return &source{lw: cache.ToListerWatcherWithContext(lw), plain: watchlist.DoesClientNotSupportWatchListSemantics(lw)}
}

// isNil reports whether there is nothing, or a nil pointer.
func isNil(v any) bool {
	value := reflect.ValueOf(v)
	return !value.IsValid() || value.Kind() == reflect.Pointer && value.IsNil()
}

// source is a cache.ListerWatcher as an informer.ListerWatcher.
type source struct {
	lw    cache.ListerWatcherWithContext
	plain bool // it cannot send initial events

	mu   sync.Mutex
	held *watch.FakeWatcher // of a refused watch-list: for the watch that follows the list
}

func (s *source) IsWatchListSemanticsUnSupported() bool { return s.plain }

func (s *source) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return s.lw.ListWithContext(ctx, options)
}

func (s *source) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if held := s.takeHeld(); held != nil {
		return held, nil
	}
	w, err := s.lw.WatchWithContext(ctx, options)
	if options.SendInitialEvents == nil {
		return w, err
	}
	if err != nil {
		return nil, refusal(ctx, err)
	}
	switch fake := w.(type) {
	case *watch.RaceFreeFakeWatcher: // of a fake clientset, which makes a new one each time
		fake.Stop()
		return nil, errNoInitialEvents
	case *watch.FakeWatcher: // often the only one that the test has
		s.mu.Lock()
		s.held = fake
		s.mu.Unlock()
		return nil, errNoInitialEvents
	}
	return w, nil
}

func (s *source) takeHeld() *watch.FakeWatcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.held
	s.held = nil
	return held
}

// errNoInitialEvents is a refusal, and remembered as one.
var errNoInitialEvents = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status:  metav1.StatusFailure,
	Code:    http.StatusMethodNotAllowed,
	Reason:  metav1.StatusReasonMethodNotAllowed,
	Message: "a fake does not send initial events",
}}

// refusal returns an error of neither server nor network, which only a hand-written source
// has, as a refusal of the watch-list.
func refusal(ctx context.Context, err error) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) || ctx.Err() != nil {
		return err
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return err
	}
	return fmt.Errorf("%w: %w", errNoInitialEvents, err)
}

// ToListerWatcher makes a source of client-go of one of this library. What it returns has the
// methods with a context too, and says whether initial events can be asked for. It panics if
// source is nil.
func ToListerWatcher(source informer.ListerWatcher) cache.ListerWatcher {
	if isNil(source) {
		panic("clientgo: ToListerWatcher: nil source")
	}
	return &listerWatcher{source}
}

// listerWatcher is an informer.ListerWatcher as a cache.ListerWatcher.
type listerWatcher struct{ source informer.ListerWatcher }

var _ cache.ListerWatcherWithContext = (*listerWatcher)(nil)

func (l *listerWatcher) IsWatchListSemanticsUnSupported() bool {
	return watchlist.DoesClientNotSupportWatchListSemantics(l.source)
}

func (l *listerWatcher) List(options metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), options)
}

func (l *listerWatcher) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return l.WatchWithContext(context.Background(), options)
}

func (l *listerWatcher) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return l.source.List(ctx, options)
}

func (l *listerWatcher) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return l.source.Watch(ctx, options)
}
