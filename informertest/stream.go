// SPDX-License-Identifier: Apache-2.0

package informertest

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// event is one event of a stream, in the form that both faces make theirs from.
type event struct {
	kind    watch.EventType
	entry   *entry         // of ADDED, MODIFIED and DELETED
	version uint64         // of a bookmark, and of a DELETED; 0: that of the entry
	marker  bool           // a bookmark that ends the initial events
	status  *metav1.Status // of ERROR
}

// stream is an open watch. It reads the history of its engine from where it stands, so it
// has no buffer, and a slow client costs nobody anything until it is cut.
type stream struct {
	engine *engine
	query  *query
	ctx    context.Context // ends with the request, at the deadline, and when the stream is cut
	cancel context.CancelCauseFunc
	free   context.CancelFunc // releases the timer of the deadline

	failure *metav1.Status // the only event, if it is set
	initial []*entry       // what there is, before what happens
	marker  bool           // a bookmark follows initial
	rhythm  rhythm
	quirks  Quirks

	position uint64 // the version up to which it has read; guarded by the engine's lock
}

// watch opens a stream; run serves it.
func (e *engine) watch(ctx context.Context, namespace string, options metav1.ListOptions) (*stream, error) {
	quirks, err := e.intercept(ctx, Request{Verb: VerbWatch, Namespace: namespace, Options: options})
	if err != nil {
		return nil, err
	}
	if quirks.NoVersions {
		return nil, apierrors.NewMethodNotSupported(e.groupResource(), VerbWatch)
	}
	if quirks.IgnoreWatchList {
		options.SendInitialEvents, options.ResourceVersionMatch = nil, ""
	}
	options = quirks.ignore(options)
	q, err := newQuery(namespace, options, true, quirks.watchList())
	if err != nil {
		return nil, err
	}
	s := &stream{engine: e, query: q, rhythm: newRhythm(options, quirks), quirks: quirks}
	var failure error
	if q.initial != nil && *q.initial && q.version > 0 {
		if failure = e.waitFor(ctx, q.version); ctx.Err() != nil {
			return nil, failure
		}
	}
	s.ctx, s.cancel, s.free = withDeadline(ctx, options.TimeoutSeconds)
	e.mu.Lock()
	defer e.mu.Unlock()
	if failure == nil {
		failure = s.startLocked(quirks)
	}
	if status, failed := statusOf(failure); failed {
		s.failure = &status
	}
	e.streams[s] = struct{}{}
	return s, nil
}

// withDeadline ends ctx after the seconds, if there are any, and with the cause given to cancel.
func withDeadline(ctx context.Context, seconds *int64) (context.Context, context.CancelCauseFunc, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if seconds == nil || *seconds <= 0 {
		return ctx, cancel, func() {}
	}
	ctx, free := context.WithTimeout(ctx, time.Duration(*seconds)*time.Second)
	return ctx, cancel, free
}

// startLocked decides what the stream begins with and where it stands.
func (s *stream) startLocked(quirks Quirks) error {
	e, q := s.engine, s.query
	switch {
	case s.wantsInitial():
		if !q.given || q.version > 0 || quirks.NoWatchCache {
			e.catchUpLocked()
		}
		s.position = e.seen
		s.initial = e.selectLocked(q, e.seen, "").items
		s.marker = q.initial != nil && q.bookmark && !quirks.NoMarker
	case q.version == 0:
		s.position = e.catchUpLocked()
	case q.version < e.log.floor:
		s.position = q.version
		return errExpired(q.version, e.log.floor)
	default:
		s.position = q.version
	}
	s.rhythm.start = s.position
	return nil
}

// wantsInitial reports whether the stream begins with what there is: if it was asked for,
// and where nothing was said about it, without a version and at "0".
func (s *stream) wantsInitial() bool {
	if s.query.initial != nil {
		return *s.query.initial
	}
	return s.query.version == 0
}

// close ends the stream for good. It may be called more than once.
func (s *stream) close() {
	s.cancel(nil)
	s.free()
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	if _, open := s.engine.streams[s]; !open {
		return
	}
	delete(s.engine.streams, s)
	if len(s.engine.streams) == 0 {
		close(s.engine.idle)
		s.engine.idle = make(chan struct{})
	}
}

// run serves the stream until it ends. emit hands an event over and returns false if it
// cannot; flush is called before a wait.
func (s *stream) run(emit func(event) bool, flush func()) {
	defer s.close()
	if s.quirks.HalfOpen {
		<-s.ctx.Done()
		return
	}
	if s.failure != nil {
		emit(event{kind: watch.Error, status: s.failure})
		return
	}
	emit = s.slowly(emit, flush)
	if !s.runInitial(emit) {
		return
	}
	emit = s.mangled(emit)
	for s.ctx.Err() == nil {
		batch, version, advanced, lost := s.take()
		if lost {
			s.cancel(errSlow)
			return
		}
		for _, c := range batch {
			if !s.emitChange(c, emit) {
				return
			}
		}
		if len(batch) > 0 {
			continue
		}
		if s.rhythm.due(version) && !emit(event{kind: watch.Bookmark, version: version}) {
			return
		}
		flush()
		s.wait(advanced)
	}
}

// runInitial emits the initial events.
func (s *stream) runInitial(emit func(event) bool) bool {
	for _, object := range s.initial {
		if !emit(event{kind: watch.Added, entry: object}) {
			return false
		}
	}
	s.initial = nil
	return !s.marker || emit(event{kind: watch.Bookmark, version: s.rhythm.start, marker: true})
}

// maxBatch bounds what is taken from the history at once, so that a stream that stopped
// reading is known to stand where it does.
const maxBatch = 256

// take returns what has happened since the last call; if that is nothing, the version of
// the collection and a channel that is closed at the next change. lost says that the
// stream has not kept up.
func (s *stream) take() (batch []change, version uint64, advanced <-chan struct{}, lost bool) {
	e := s.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.position < e.log.trimmed && s.position < e.seen {
		return nil, 0, nil, true
	}
	batch = e.log.since(s.position)
	switch {
	case len(batch) > maxBatch:
		batch = batch[:maxBatch]
		s.position = batch[maxBatch-1].version
	default:
		s.position = max(s.position, e.seen)
	}
	return batch, s.position, e.advanced, false
}

// emitChange emits a change as the stream's selector sees it: an object that it no longer
// selects is DELETED, with the content that it did select.
func (s *stream) emitChange(c change, emit func(event) bool) bool {
	before, after := s.query.matches(c.before), s.query.matches(c.after)
	switch {
	case before && after:
		return emit(event{kind: watch.Modified, entry: c.after})
	case after:
		return emit(event{kind: watch.Added, entry: c.after})
	case before:
		return emit(event{kind: watch.Deleted, entry: c.before, version: c.version})
	}
	return true
}

// wait returns at the next change, when a bookmark is due, and at the end.
func (s *stream) wait(advanced <-chan struct{}) {
	var bookmark <-chan time.Time
	if !s.rhythm.next.IsZero() {
		timer := time.NewTimer(time.Until(s.rhythm.next))
		defer timer.Stop()
		bookmark = timer.C
	}
	select {
	case <-advanced:
	case <-bookmark:
	case <-s.ctx.Done():
	}
}

// rhythm says when the bookmarks of a stream are due.
type rhythm struct {
	next     time.Time // zero: never
	deadline time.Time // zero: none
	start    uint64    // none is sent before the version has moved on from here
}

// The bookmarks of kube-apiserver come every minute, and once before the deadline.
const (
	bookmarkEvery = time.Minute
	bookmarkAhead = 2 * time.Second
)

func newRhythm(options metav1.ListOptions, quirks Quirks) rhythm {
	var r rhythm
	if !options.AllowWatchBookmarks || quirks.NoWatchCache || quirks.NoBookmarks {
		return r
	}
	now := time.Now()
	if seconds := options.TimeoutSeconds; seconds != nil && *seconds > 0 {
		r.deadline = now.Add(time.Duration(*seconds) * time.Second)
	}
	r.plan(now)
	return r
}

// plan sets the time of the next bookmark.
func (r *rhythm) plan(now time.Time) {
	r.next = now.Add(bookmarkEvery)
	if last := r.deadline.Add(-bookmarkAhead); !r.deadline.IsZero() && last.After(now) && last.Before(r.next) {
		r.next = last
	}
}

// due reports whether a bookmark of the version is to be sent now.
func (r *rhythm) due(version uint64) bool {
	now := time.Now()
	if r.next.IsZero() || now.Before(r.next) {
		return false
	}
	r.plan(now)
	return version > r.start
}
