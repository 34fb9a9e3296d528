// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// watch follows the collection from R on, stream after stream, beginning with the one
// that a watch-list has left open, until a list is needed.
func (r *Reflector) watch(ctx context.Context, s *stream) error {
	for {
		o, err := r.follow(ctx, s)
		if err != nil {
			return err
		}
		s = nil
		var next step
		r.streak, next = afterWatch(r.streak, o)
		if next.action == actRelist {
			return r.relist(ctx, o, next)
		}
		switch {
		case next.failure:
			if err := r.retried(ctx, "watch", next.report); err != nil {
				return err
			}
		case next.report != nil:
			r.report.note(ctx, r.sourceError("watch", next.report))
		}
	}
}

// relist ends the round.
func (r *Reflector) relist(ctx context.Context, o outcome, next step) error {
	r.consistent = r.consistent || next.consistent
	r.report.relist(o.class.reason())
	switch {
	case next.failure:
		return r.failed(ctx, "watch", next.report)
	case next.report != nil:
		r.report.note(ctx, r.sourceError("watch", next.report))
	}
	return nil
}

// follow opens a watch, unless it is given one, and hands on its events until it ends.
// The error is that of ctx, or one that ends Run; everything else is the outcome.
func (r *Reflector) follow(ctx context.Context, s *stream) (outcome, error) {
	if s == nil {
		if err := r.pace(ctx); err != nil {
			return outcome{}, err
		}
		var err error
		if s, err = r.open(ctx, r.watchOptions()); err != nil {
			return outcome{class: classify(err), err: err}, context.Cause(ctx)
		}
	}
	defer s.stop()
	r.report.phase(PhaseWatching)
	err := r.consume(ctx, s)
	lived := time.Since(s.opened)
	o := outcome{
		lived:    lived,
		seen:     s.events > 0,
		progress: s.events > 0 || lived >= healthyStream,
	}
	switch {
	case errors.Is(err, errStreamEnded):
		o.class = classEnded
	case errors.Is(err, errDrawn):
		o.class = classDrawn
	default:
		o.class, o.err = classify(err), err
	}
	r.traceWatchEnd(s, o)
	return o, context.Cause(ctx)
}

// pace keeps the opens of a watch apart, so that a server that ends every stream after
// an event cannot be hammered.
func (r *Reflector) pace(ctx context.Context) error {
	if wait := time.Until(r.paced); wait > 0 {
		if err := r.backoff.Sleep(ctx, wait); err != nil {
			return err
		}
	}
	r.paced = time.Now().Add(watchPace)
	return nil
}

// watchOptions asks for events after R.
func (r *Reflector) watchOptions() metav1.ListOptions {
	timeout := randomSeconds(r.options.WatchTimeout)
	if r.drawing {
		timeout, r.drawing = int64(drawTimeout/time.Second), false
	}
	return metav1.ListOptions{
		LabelSelector:       r.options.LabelSelector,
		FieldSelector:       r.options.FieldSelector,
		ResourceVersion:     r.reached,
		TimeoutSeconds:      &timeout,
		AllowWatchBookmarks: true,
	}
}

// open opens a stream.
func (r *Reflector) open(ctx context.Context, options metav1.ListOptions) (*stream, error) {
	r.report.each(func(t *Trace) {
		if t.WatchStart != nil {
			t.WatchStart(r.options.Name, options.ResourceVersion)
		}
	})
	ctx, cancel := context.WithCancel(ctx)
	w, err := r.source.Watch(ctx, options)
	if err != nil {
		cancel()
		return nil, err
	}
	if w == nil {
		cancel()
		return nil, errors.New("watch returned neither a stream nor an error")
	}
	r.report.contact()
	return newStream(w, cancel, time.Duration(*options.TimeoutSeconds)*time.Second), nil
}

// consume hands on the events of a stream. It always returns an error: why there are no more.
func (r *Reflector) consume(ctx context.Context, s *stream) error {
	for {
		event, err := s.next(ctx, r.draw)
		switch {
		case errors.Is(err, errHealthy):
			r.well(ctx)
			continue
		case errors.Is(err, errDrawn) && !r.mayDraw():
			continue
		case err != nil:
			return err
		}
		if err := r.event(ctx, s, event); err != nil {
			return err
		}
		if s.events == 1 {
			r.well(ctx)
		}
	}
}

// well says that the source is in good health.
func (r *Reflector) well(ctx context.Context) {
	r.backoff.Success()
	r.report.good(ctx)
}

// mayDraw bounds the watches that draw a bookmark.
func (r *Reflector) mayDraw() bool {
	if now := time.Now(); now.Sub(r.drawn) >= drawPause {
		r.drawn, r.drawing = now, true
		return true
	}
	return false
}

// event hands on one event.
func (r *Reflector) event(ctx context.Context, s *stream, event watch.Event) error {
	switch event.Type {
	case watch.Error:
		return streamError(event.Object)
	case watch.Bookmark:
		m, ok := event.Object.(metav1.Object)
		if !ok {
			return fmt.Errorf("%w: bookmark of type %T", errUnappliable, event.Object)
		}
		s.saw()
		return r.moved(ctx, event, m, true)
	}
	skipped := false
	if err := r.noted(ctx, r.target.apply(ctx, event.Type, event.Object)); err != nil {
		if !r.skips(ctx, event.Object, err) {
			return err
		}
		skipped = true
	}
	s.saw()
	m, ok := event.Object.(metav1.Object)
	if !ok {
		return nil
	}
	if !skipped {
		r.report.applied(m)
	}
	return r.moved(ctx, event, m, skipped)
}

// skips decides about an object of an event that was not applied, and reports whether the
// stream goes on past it.
func (r *Reflector) skips(ctx context.Context, obj runtime.Object, err error) bool {
	if errors.Is(err, ErrWrongType) {
		r.report.note(ctx, r.sourceError("watch", err))
		return true
	}
	poison, ok := errors.AsType[*ObjectError](err)
	m, identified := obj.(metav1.Object)
	if !ok || !identified || m.GetName() == "" {
		return false
	}
	r.report.setAside(ctx, r.named(poison))
	return true
}

// moved makes the version of an event the one to resume from, unless it is an older one,
// as per-object counters and some DELETED have. tell says that the sink has not heard of it.
func (r *Reflector) moved(ctx context.Context, event watch.Event, m metav1.Object, tell bool) error {
	version := m.GetResourceVersion()
	r.report.event(event.Type, m)
	if version == "" || older(version, r.reached) {
		return nil
	}
	r.reached = version
	r.report.reached(version)
	if tell {
		return r.target.bookmark(ctx, version)
	}
	return nil
}

// streamError is what an ERROR event says.
func streamError(obj runtime.Object) error {
	if status, ok := obj.(*metav1.Status); ok && status != nil {
		return apierrors.FromObject(status)
	}
	return fmt.Errorf("ERROR event with %T in the place of a Status", obj)
}

func (r *Reflector) traceWatchEnd(s *stream, o outcome) {
	r.report.each(func(t *Trace) {
		if t.WatchEnd != nil {
			t.WatchEnd(r.options.Name, o.class.reason(), s.events, o.lived)
		}
	})
}
