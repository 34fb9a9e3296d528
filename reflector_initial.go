// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// asksInitial reports whether this round begins with a watch-list.
func (r *Reflector) asksInitial() bool {
	if r.options.InitialEventsTimeout < 0 || time.Now().Before(r.refusedUntil) || r.shardUnlisted() {
		return false
	}
	source, ok := r.source.(interface{ IsWatchListSemanticsUnSupported() bool })
	return !ok || !source.IsWatchListSemanticsUnSupported()
}

// watchList has the source stream its objects, and after them its events. It returns the
// stream, positioned behind the initial events, or says what to do instead.
func (r *Reflector) watchList(ctx context.Context, version string) (*stream, initialVerdict, error) {
	r.report.listing(PhaseStreaming)
	end := initialEnd{asked: version}
	s, err := r.openInitial(ctx, version)
	settled := false
	defer func() { // also where the sink panics
		if s != nil && !settled {
			s.stop()
		}
	}()
	if err == nil {
		end.opened = true
		err = r.initialEvents(ctx, s, version)
		end.seen = s.events > 0
	}
	if err == nil {
		r.paced, settled = s.opened, true
		return s, 0, nil
	}
	if poison := (*heldError)(nil); errors.As(err, &poison) {
		return nil, initialAgain, err
	}
	if classify(err) != classUnanswered {
		r.initialTries++
	}
	end.err = err
	verdict := afterInitial(end, r.initialTries)
	if verdict != initialAgain {
		r.initialTries = 0
	}
	return nil, verdict, err
}

func (r *Reflector) openInitial(ctx context.Context, version string) (*stream, error) {
	r.drawing = false
	options := r.watchOptions()
	options.ResourceVersion = version
	options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	yes := true
	options.SendInitialEvents = &yes
	s, err := r.open(ctx, options)
	if err != nil {
		return nil, err
	}
	if _, fake := s.source.(*watch.RaceFreeFakeWatcher); fake {
		s.stop()
		return nil, errNoWatchList
	}
	return s, nil
}

// initialEvents stages the initial events in the order of the server, and commits them
// with the version of their end marker.
func (r *Reflector) initialEvents(ctx context.Context, s *stream, asked string) (err error) {
	l, err := r.newListing(ctx)
	if err != nil {
		return err
	}
	defer l.end(&err)
	silence := time.Duration(0)
	for {
		event, waited, err := s.nextInitial(ctx, r.options.InitialEventsTimeout-silence)
		if err != nil {
			return err
		}
		silence += waited
		if event.Type == watch.Added {
			silence = 0
		}
		if marker, err := l.initial(s, event); err != nil {
			return err
		} else if marker != "" || isMarker(event) {
			s.settled()
			return l.commit(asked, marker)
		}
	}
}

// initial stages one event; the version is that of the end marker.
func (l *listing) initial(s *stream, event watch.Event) (marker string, err error) {
	switch event.Type {
	case watch.Error:
		s.rethrow()
		return "", streamError(event.Object)
	case watch.Added, watch.Modified:
		err = l.item(event.Object)
	case watch.Deleted:
		if l.r.elsewhere(event.Object) {
			break
		}
		l.forgive(event.Object)
		if err = l.staging.remove(event.Object); err != nil {
			err = l.unusable(event.Object, err)
		}
	case watch.Bookmark:
		if m, ok := event.Object.(metav1.Object); ok && isMarker(event) {
			return m.GetResourceVersion(), nil
		}
		return "", nil
	default:
		return "", fmt.Errorf("%w: event of unknown type %q", errUnappliable, event.Type)
	}
	s.saw()
	return "", err
}

// isMarker reports whether the event is the bookmark that ends the initial events.
func isMarker(event watch.Event) bool {
	m, ok := event.Object.(metav1.Object)
	return ok && event.Type == watch.Bookmark && m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}
