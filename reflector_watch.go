// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
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
		r.history.check = r.history.check || wantsCheck(o)
		r.history.alarmed = r.history.alarmed || o.class == classAlarm
		var next step
		r.streak, next = afterWatch(r.streak, o)
		if next.action == actRelist || r.reached == "" { // without a version, there is nowhere to go on from
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
		if r.shardChanged() { // a list may be had where a watch cannot
			return r.relist(ctx, outcome{class: classResharded}, step{action: actRelist})
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
	case o.class == classAlarm: // what comes of it is told when it is known
		klog.FromContext(ctx).Info("Version went back, asking for a consistent list", "source", r.options.Name, "err", next.report)
	case next.report != nil:
		r.report.note(ctx, r.sourceError("watch", next.report))
	}
	return r.apart(ctx, &r.relisted, relistPace)
}

// follow opens a watch, unless it is given one, and hands on its events until it ends.
// The error is that of ctx, or one that ends Run; everything else is the outcome.
func (r *Reflector) follow(ctx context.Context, s *stream) (outcome, error) {
	if s == nil {
		var err error
		if s, err = r.nextStream(ctx); err != nil {
			return outcome{class: classify(err), err: err}, context.Cause(ctx)
		}
	}
	defer s.stop()
	r.report.phase(PhaseWatching)
	err := r.consume(ctx, s)
	lived := time.Since(s.opened)
	o := outcome{
		lived:    lived,
		asked:    s.timeout,
		seen:     s.events > 0,
		progress: s.events > 0 || lived >= healthyStream,
	}
	r.fruitless = s.drewNothing(lived)
	switch {
	case errors.Is(err, errStreamEnded):
		o.class = classEnded
	case errors.Is(err, errDrawn):
		o.class = classDrawn
	case errors.Is(err, errWanted):
		o.class = classWanted
	case errors.Is(err, errResharded):
		o.class = classResharded
	default:
		o.class, o.err = classify(err), err
	}
	r.traceWatchEnd(s, o)
	return o, context.Cause(ctx)
}

// nextStream opens the watch again.
func (r *Reflector) nextStream(ctx context.Context) (*stream, error) {
	if err := r.apart(ctx, &r.paced, watchPace); err != nil {
		return nil, err
	}
	if err := r.checkIfDue(ctx); err != nil {
		return nil, err
	}
	return r.open(ctx, r.watchOptions())
}

// apart waits until the pause since the last time is over, so that a server that ends
// every stream after an event cannot be hammered.
func (r *Reflector) apart(ctx context.Context, last *time.Time, pause time.Duration) error {
	if wait := time.Until(last.Add(pause)); wait > 0 {
		if err := r.backoff.Sleep(ctx, wait); err != nil {
			return err
		}
	}
	*last = time.Now()
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
		ShardSelector:       r.shard.selector(),
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
	ctx, end := context.WithCancelCause(ctx)
	cancel := func() { end(nil) }
	late := time.AfterFunc(openTimeout, func() { end(errNoAnswer) })
	w, err := r.source.Watch(ctx, options)
	if !late.Stop() && err == nil && w != nil { // too late: its context has ended
		w.Stop()
		w, err = nil, errNoAnswer
	}
	if err != nil {
		defer cancel()
		return nil, noAnswer(ctx, err)
	}
	if w == nil {
		cancel()
		return nil, errors.New("watch returned neither a stream nor an error")
	}
	r.report.contact()
	return newStream(w, cancel, time.Duration(*options.TimeoutSeconds)*time.Second), nil
}

// noAnswer says why a call was ended, if this side lost its patience.
func noAnswer(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errNoAnswer) {
		return errNoAnswer
	}
	return err
}

// consume hands on the events of a stream. It always returns an error: why there are no more.
func (r *Reflector) consume(ctx context.Context, s *stream) error {
	for {
		if r.shardChanged() {
			return errResharded
		}
		if err := r.verifyIfDue(ctx, s); err != nil {
			return err
		}
		event, err := s.next(ctx, r.wishes())
		switch {
		case errors.Is(err, errWoken):
			if err := r.checkBeside(ctx); err != nil {
				return err
			}
			s.quiet = time.Time{} // the stream was not read meanwhile
			continue
		case errors.Is(err, errHealthy):
			r.well(ctx)
			continue
		case errors.Is(err, errResharded):
			continue // to look above
		case errors.Is(err, errDrawn):
			if err := r.drawOrList(s); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		fresh := s.events == 0
		err = r.events(ctx, s, event)
		if fresh && s.events > 0 {
			r.well(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// wishes are what the reader of a stream may be called away for.
func (r *Reflector) wishes() wishes {
	w := wishes{draw: r.draw, wake: r.verifyAt, reshard: r.reshard}
	if at, due := r.history.due(); due && (w.wake.IsZero() || at.Before(w.wake)) {
		w.wake = at
	}
	return w
}

// checkIfDue makes the version check that has been waited for long enough.
func (r *Reflector) checkIfDue(ctx context.Context) error {
	if at, due := r.history.due(); due && !time.Now().Before(at) {
		return r.checkVersion(ctx)
	}
	return nil
}

// checkBeside makes the check beside an open stream, which is not given up because a
// check fails.
func (r *Reflector) checkBeside(ctx context.Context) error {
	err := r.checkIfDue(ctx)
	if err == nil || errors.Is(err, errBroken) || ctx.Err() != nil {
		return err
	}
	r.history.next = time.Now().Add(checkPause)
	return nil
}

// well says that the source is in good health.
func (r *Reflector) well(ctx context.Context) {
	r.backoff.Success()
	r.report.good(ctx)
}

// drawOrList decides what is done for somebody who waits for a version: errDrawn, errWanted
// or, where enough was done for now, nothing. A list is the last resort, after a watch that
// was to draw a bookmark has run its course and brought nothing.
func (r *Reflector) drawOrList(s *stream) error {
	now, version := time.Now(), s.wish
	switch {
	case ordered(version) && ordered(r.reached) && !older(r.reached, version):
		return nil
	case now.Sub(r.drawn) < drawPause:
		return nil
	case (r.fruitless || s.drewNothing(now.Sub(s.opened))) && now.Sub(r.wanted) >= wantPause:
		r.drawn, r.wanted, r.want = now, now, version
		return errWanted
	}
	r.drawn, r.drawing = now, true
	return errDrawn
}

// event hands on one event.
func (r *Reflector) event(ctx context.Context, s *stream, event arrival) error {
	switch event.Type {
	case watch.Error:
		s.rethrow()
		return streamError(event.Object)
	case watch.Bookmark:
		m, ok := event.Object.(metav1.Object)
		if !ok {
			return fmt.Errorf("%w: bookmark of type %T", errUnappliable, event.Object)
		}
		if r.alarming(event.Event, m) {
			return fmt.Errorf("%w: bookmark at %s, after %s", errAlarm, event.version, r.reached)
		}
		s.saw()
		return r.moved(ctx, event, m, true)
	}
	m, identified := event.Object.(metav1.Object)
	if identified && r.alarming(event.Event, m) {
		return fmt.Errorf("%w: object %s at %s", errAlarm, JoinKey(m.GetNamespace(), m.GetName()), event.version)
	}
	if !r.elsewhere(event.Object) {
		return r.applied(ctx, s, event, r.target.apply(ctx, event.Type, event.Object))
	}
	if err := r.pushOut(ctx, event.Type, m); err != nil {
		return err
	}
	s.saw()
	return r.moved(ctx, event, m, true)
}

// applied draws the conclusions from an event that was handed on, to which the sink said err.
func (r *Reflector) applied(ctx context.Context, s *stream, event arrival, err error) error {
	err = r.noted(ctx, err)
	if err != nil && !r.skips(ctx, event.Object, err) {
		return err
	}
	s.saw()
	m, identified := event.Object.(metav1.Object)
	if !identified {
		return nil
	}
	if err == nil {
		r.report.applied(m)
	}
	return r.moved(ctx, event, m, err != nil)
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
	if !ok || !identified || m.GetName() == "" || errors.Is(err, errUnappliable) {
		return false // a DELETED without a key is found by a list
	}
	r.report.setAside(ctx, m, r.named(poison))
	return r.loseOther(ctx, m, uidBefore(poison, m)) == nil
}

// uidBefore returns the UID that an object had before a transform that failed over it.
func uidBefore(poison *ObjectError, m metav1.Object) types.UID { return cmp.Or(poison.UID, m.GetUID()) }

// loseOther has the sink let go of an object with the name of m and another UID: it is
// gone, because m has taken its name.
func (r *Reflector) loseOther(ctx context.Context, m metav1.Object, now types.UID) error {
	if _, uid, known := r.target.identity(m); known && !sameUID(uid, now) {
		return r.noted(ctx, r.target.lose(ctx, m))
	}
	return nil
}

// moved makes the version of an event the one to resume from, unless it is an older one,
// as per-object counters and some DELETED have. tell says that the sink has not heard of it.
func (r *Reflector) moved(ctx context.Context, event arrival, m metav1.Object, tell bool) error {
	version := event.version
	r.report.event(event, m)
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

// streamError is what an ERROR event says. Any other error of FromObject would print the object.
func streamError(obj runtime.Object) error {
	if status, ok := errors.AsType[*apierrors.StatusError](apierrors.FromObject(obj)); ok {
		return statusError(&status.ErrStatus)
	}
	return fmt.Errorf("ERROR event with %T in the place of a Status", obj)
}

// statusError is a Status as an error, with a text where the server gave it none.
func statusError(status *metav1.Status) error {
	err := &apierrors.StatusError{ErrStatus: *status}
	if status.Message == "" {
		err.ErrStatus.Message = fmt.Sprintf("a Status without a message, code %d, reason %q", status.Code, status.Reason)
	}
	return err
}

func (r *Reflector) traceWatchEnd(s *stream, o outcome) {
	r.report.each(func(t *Trace) {
		if t.WatchEnd != nil {
			t.WatchEnd(r.options.Name, o.class.reason(), s.events, o.lived)
		}
	})
}
