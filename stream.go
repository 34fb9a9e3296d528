// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/watch"
)

// The bounds of the stall guard, from what kube-apiserver does: its first bookmark may
// take 120 s, some resources never send one, and two at the deadline are 1.2 s apart.
const (
	stallGrace  = 30 * time.Second // past the timeout, and of silence
	beatGap     = 30 * time.Second // a gap that counts as rhythm
	beatCount   = 3                // gaps that make a rhythm
	beatFactor  = 4                // times the longest gap, and the stream has stalled
	beatMinimum = 4 * time.Minute  // but not before
)

// stopGrace is how long a source has to end its stream after Stop.
const stopGrace = 100 * time.Millisecond

var (
	errStreamEnded = errors.New("stream ended")
	errDrawn       = errors.New("a bookmark is wanted")
	errResharded   = errors.New("another shard is wanted")
	errWanted      = errors.New("a version is wanted that does not come")
	errHealthy     = errors.New("stream has lived a minute")
	errWoken       = errors.New("the reader is wanted elsewhere")
)

// stream is an open watch. It counts time only while the reader waits for the source, so
// that a slow sink is never taken for a source that stalls.
type stream struct {
	source  watch.Interface
	results <-chan watch.Event
	cancel  context.CancelFunc
	opened  time.Time
	timeout time.Duration // that the server was asked for
	events  int           // events and bookmarks seen
	run     []arrival     // memory of drain
	timer   *time.Timer
	wish    string        // the version that somebody waits for
	quiet   time.Time     // since when the reader waits; zero: it does not
	longest time.Duration // of the gaps that count as rhythm
	gaps    int           // that count as rhythm
	healthy bool          // it lived a minute, and that was said
}

func newStream(source watch.Interface, cancel context.CancelFunc, timeout time.Duration) *stream {
	timer := time.NewTimer(timeout)
	timer.Stop()
	return &stream{
		source: source, results: source.ResultChan(), cancel: cancel,
		opened: time.Now(), timeout: timeout, timer: timer,
	}
}

// saw counts an event or a bookmark.
func (s *stream) saw() { s.events++ }

// settled says that the initial events are over: the watch begins here.
func (s *stream) settled() { s.events = 0 }

// wishes are what the reader of a stream may be called away for.
type wishes struct {
	draw    <-chan string   // a version that somebody waits for
	reshard <-chan struct{} // another shard may be wanted
	wake    time.Time       // errWoken is due; zero: never
}

// next waits for an event. The error is errStreamEnded, errDrawn, errResharded, errHealthy
// and errWoken (go on waiting), ErrStalled or that of ctx.
func (s *stream) next(ctx context.Context, w wishes) (watch.Event, error) {
	if event, ready, err := s.ready(ctx); ready {
		s.quiet = time.Time{}
		return event, err
	}
	now := time.Now()
	if s.quiet.IsZero() {
		s.quiet = now
	}
	s.timer.Reset(s.patience(now, w.wake))
	defer s.timer.Stop()
	select {
	case event, ok := <-s.results:
		s.gap(time.Since(s.quiet))
		s.quiet = time.Time{}
		return s.received(event, ok)
	case <-ctx.Done():
		return watch.Event{}, context.Cause(ctx)
	case s.wish = <-w.draw:
		return watch.Event{}, errDrawn
	case <-w.reshard:
		return watch.Event{}, errResharded
	case <-s.timer.C:
		return watch.Event{}, s.silence(time.Now(), w.wake)
	}
}

// silence says what it means that the timer has fired.
func (s *stream) silence(now, wake time.Time) error {
	switch {
	case !now.Before(s.stallsAt()):
	case !s.healthy && !now.Before(s.opened.Add(healthyStream)):
		s.healthy = true
		return errHealthy
	case !wake.IsZero() && !now.Before(wake):
		return errWoken
	}
	return fmt.Errorf("%w: nothing for %v", ErrStalled, now.Sub(s.quiet).Round(time.Second))
}

// nextInitial waits for one of the initial events, at most for the patience that is
// left, and says how long it waited. The error is errInitialEnded, errInitialSilence or that of ctx.
func (s *stream) nextInitial(ctx context.Context, left time.Duration) (watch.Event, time.Duration, error) {
	event, ready, err := s.ready(ctx)
	waited := time.Duration(0)
	if !ready {
		began := time.Now()
		s.timer.Reset(left)
		defer s.timer.Stop()
		select {
		case received, ok := <-s.results:
			event, err = s.received(received, ok)
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-s.timer.C:
			err = errInitialSilence
		}
		waited = time.Since(began)
	}
	if errors.Is(err, errStreamEnded) {
		err = errInitialEnded
	}
	return event, waited, err
}

// ready takes an event that is there already, without a timer.
func (s *stream) ready(ctx context.Context) (event watch.Event, ready bool, err error) {
	if ctx.Err() != nil {
		return watch.Event{}, true, context.Cause(ctx)
	}
	select {
	case event, ok := <-s.results:
		event, err := s.received(event, ok)
		return event, true, err
	default:
		return watch.Event{}, false, nil
	}
}

func (s *stream) received(event watch.Event, ok bool) (watch.Event, error) {
	if !ok {
		return watch.Event{}, errStreamEnded
	}
	if isNil(event.Object) {
		event.Object = nil // a nil pointer has methods that panic
	}
	return event, nil
}

// rethrow is called for an event of type ERROR. A source that decodes in a goroutine of its
// own may have met a panic there: that goes on in this one.
func (s *stream) rethrow() {
	if source, ok := s.source.(interface{ Rethrow() }); ok {
		source.Rethrow()
	}
}

// drewNothing reports whether the stream, which has lived so long, was to draw a bookmark
// and has brought nothing.
func (s *stream) drewNothing(lived time.Duration) bool {
	return s.timeout == drawTimeout && s.events == 0 && lived >= drawTimeout-shortStream
}

// gap learns the rhythm of the stream.
func (s *stream) gap(waited time.Duration) {
	if waited >= beatGap {
		s.gaps++
		s.longest = max(s.longest, waited)
	}
}

// stallsAt is when the silence that lasts now has lasted too long.
func (s *stream) stallsAt() time.Time {
	at := s.opened.Add(s.timeout + stallGrace)
	if grace := s.quiet.Add(stallGrace); grace.After(at) {
		at = grace
	}
	if s.gaps >= beatCount {
		if beat := s.quiet.Add(max(beatFactor*s.longest, beatMinimum)); beat.Before(at) {
			at = beat
		}
	}
	return at
}

// patience is how long to wait from now on, at most: until the stream counts as healthy,
// or as stalled.
func (s *stream) patience(now, wake time.Time) time.Duration {
	patience := s.stallsAt().Sub(now)
	if !s.healthy {
		patience = min(patience, max(s.opened.Add(healthyStream).Sub(now), 0))
	}
	if !wake.IsZero() {
		patience = min(patience, max(wake.Sub(now), 0))
	}
	return patience
}

// stop ends the stream and takes what a sender may be about to send, so that none stays
// blocked.
func (s *stream) stop() {
	s.timer.Stop()
	s.source.Stop()
	s.cancel()
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	for {
		select {
		case _, ok := <-s.results:
			if !ok {
				return
			}
		case <-grace.C:
			return
		}
	}
}

// randomSeconds is a whole number of seconds in [d, 2d), at least one.
func randomSeconds(d time.Duration) int64 {
	seconds := int64(d / time.Second)
	if seconds < 1 {
		return 1
	}
	return seconds + rand.Int64N(seconds)
}
