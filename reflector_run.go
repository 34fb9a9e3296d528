// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// A run is an event that was read, and those behind it that the stream has ready: nothing
// is waited for. Plain events of a run are handed on together, under one lock of the sink
// and with one wake-up of its consumer; everything else is done one by one.

// arrival is an event, and the version that its object had as it came: the sink owns the
// object once it has it, and a transform may blank the version.
type arrival struct {
	watch.Event
	meta    metav1.Object // the object again; nil if it is none
	version string
}

func arrivalOf(event watch.Event) arrival {
	if m, ok := event.Object.(metav1.Object); ok {
		return arrival{event, m, m.GetResourceVersion()}
	}
	return arrival{Event: event}
}

// maxRun bounds how long the first event of a run is held up by the others: a few µs.
const maxRun = 64

// events hands on an event, and those behind it that are there already.
func (r *Reflector) events(ctx context.Context, s *stream, first watch.Event) error {
	all := s.drain(first)
	defer clear(all)
	for run := all; len(run) > 0; {
		n := r.plain(run)
		if n < 2 {
			if err := r.event(ctx, s, run[0]); err != nil {
				return err
			}
			run = run[1:]
			continue
		}
		done, err := r.target.applyRun(ctx, run[:n])
		if moved := r.movedBy(s, run[:done]); moved != "" {
			r.reached = moved
			r.report.reached(moved)
		}
		run = run[done:]
		if err != nil {
			if err := r.applied(ctx, s, run[0], err); err != nil {
				return err
			}
			run = run[1:]
		}
	}
	return nil
}

// plain returns how many events at the head of a run say no more than that an object of
// this collection has changed, each at a version that is not older than the one before.
func (r *Reflector) plain(run []arrival) (n int) {
	at := r.reached
	for n := range run {
		switch run[n].Type {
		case watch.Added, watch.Modified, watch.Deleted:
		default:
			return n
		}
		if _, broken := run[n].Object.(*Undecodable); run[n].meta == nil || broken || r.elsewhere(run[n].Object) {
			return n
		}
		version := run[n].version
		if older(version, at) {
			return n
		}
		if version != "" {
			at = version
		}
	}
	return len(run)
}

// movedBy counts plain events that were applied, and returns the version that they come to.
func (r *Reflector) movedBy(s *stream, run []arrival) (version string) {
	for n := range run {
		s.saw()
		r.report.applied(run[n].meta)
		r.report.event(run[n], run[n].meta)
		if v := run[n].version; v != "" {
			version = v
		}
	}
	return version
}

// drain returns an event and those behind it that are ready, in memory of the stream.
func (s *stream) drain(first watch.Event) []arrival {
	run := append(s.run[:0], arrivalOf(first))
	for len(run) < maxRun {
		select {
		case event, ok := <-s.results:
			if ok {
				event, _ = s.received(event, ok)
				run = append(run, arrivalOf(event))
				continue
			}
		default:
		}
		break // at an end of the stream too, which is there to be seen again
	}
	s.run = run
	return run
}

// runTaker is a Sink that takes many events at once. done of them were taken, and err is
// that of the one behind them.
type runTaker[T any] interface {
	takeRun(ctx context.Context, events *run[T]) (done int, err error)
}

// applyRun applies plain events in their order, and returns how many it has, and the error
// of the one behind them.
func (t *typedTarget[T]) applyRun(ctx context.Context, events []arrival) (done int, err error) {
	if t.runs == nil {
		for done = range events {
			if err := t.apply(ctx, events[done].Type, events[done].Object); err != nil {
				return done, err
			}
		}
		return len(events), nil
	}
	t.run.reset()
	defer t.run.reset()
	var failed error
	for n := range events {
		typed, ok := events[n].Object.(T)
		if !t.exact || !ok || typed.GetName() == "" {
			if typed, failed = t.typed(events[n].Object); failed != nil {
				break
			}
		}
		t.run.add(deltaTypeOf(events[n].Type), typed)
	}
	if done, err = t.runs.takeRun(ctx, &t.run); err != nil {
		return done, sinkFailure(err)
	}
	return done, failed
}

// deltaTypeOf is that of a plain event.
func deltaTypeOf(event watch.EventType) DeltaType {
	switch event {
	case watch.Added:
		return DeltaAdded
	case watch.Modified:
		return DeltaUpdated
	}
	return DeltaDeleted
}
