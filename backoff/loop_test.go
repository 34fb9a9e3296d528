// SPDX-License-Identifier: Apache-2.0

package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer/backoff"
)

func TestSleepOnFakeClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, clock := plain(backoff.Options{})
		done := make(chan error, 1)
		go func() { done <- m.Sleep(t.Context(), time.Minute) }()
		synctest.Wait()
		clock.Step(time.Minute - 1)
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("Sleep = %v, too early", err)
		default:
		}
		clock.Step(1)
		if err := <-done; err != nil {
			t.Errorf("Sleep = %v", err)
		}
		if clock.HasWaiters() {
			t.Error("timer left")
		}
	})
}

func TestSleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, clock := plain(backoff.Options{})
		why := errors.New("shutting down")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Sleep(ctx, time.Hour) }()
		synctest.Wait()
		cancel(why)
		if err := <-done; err != why {
			t.Errorf("Sleep = %v, want the cause", err)
		}
		if clock.HasWaiters() {
			t.Error("timer left")
		}
		for _, d := range []time.Duration{-1, 0, 1} {
			if err := m.Sleep(ctx, d); err != why {
				t.Errorf("Sleep(%v) = %v, want the cause", d, err)
			}
		}
		if err := m.Sleep(t.Context(), 0); err != nil {
			t.Errorf("Sleep(0) = %v", err)
		}
		if err := m.Sleep(t.Context(), -1); err != nil {
			t.Errorf("Sleep(-1) = %v", err)
		}
	})
}

func TestLoopPacesFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var reported []time.Duration
		m := backoff.New(backoff.Options{Jitter: -1, OnDelay: func(_ context.Context, d time.Duration, err error) {
			if err != errDown {
				t.Errorf("OnDelay got %v", err)
			}
			reported = append(reported, d)
		}})
		start := time.Now()
		var at []time.Duration
		err := m.Loop(ctx, func(context.Context) error {
			at = append(at, time.Since(start))
			switch len(at) {
			case 3:
				return nil // again at once, failures back to none, delay kept
			case 6:
				cancel()
			}
			return errDown
		})
		ms := time.Millisecond
		if want := []time.Duration{0, 800 * ms, 2400 * ms, 2400 * ms, 5600 * ms, 12000 * ms}; err != nil || !slices.Equal(at, want) {
			t.Errorf("Loop = %v; rounds at %v, want %v", err, at, want)
		}
		if want := []time.Duration{800 * ms, 1600 * ms, 3200 * ms, 6400 * ms}; !slices.Equal(reported, want) {
			t.Errorf("OnDelay got %v, want %v", reported, want)
		}
		if n := m.Failures(); n != 2 {
			t.Errorf("Failures = %d, want 2: what fails because ctx ended does not count", n)
		}
	})
}

// P8: in an outage of 10 minutes on the fake time of a bubble, no more calls than the delays allow.
func TestLoopBoundsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		calls := 0
		m := backoff.New(backoff.Options{})
		if err := m.Loop(ctx, func(context.Context) error { calls++; return errDown }); err != nil {
			t.Errorf("Loop = %v", err)
		}
		// Without jitter 0.8 s to 25.6 s take 50.4 s, and 30 s follow; jitter at most doubles it all.
		if calls < 12 || calls > 25 {
			t.Errorf("%d calls in 10 minutes", calls)
		}
	})
}

func TestLoopDoesNotStartWithoutContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := backoff.New(backoff.Options{}).Loop(ctx, func(context.Context) error {
		t.Error("round called")
		return nil
	})
	if err != nil {
		t.Errorf("Loop = %v", err)
	}
}

func TestPermanent(t *testing.T) {
	if err := backoff.Permanent(nil); err != nil {
		t.Errorf("Permanent(nil) = %v", err)
	}
	marked := backoff.Permanent(errDown)
	if marked.Error() != errDown.Error() || !errors.Is(marked, errDown) {
		t.Errorf("Permanent changes the error: %v", marked)
	}
	wrapped := fmt.Errorf("list pods: %w", marked)
	for _, tt := range []struct{ returned, want error }{{marked, errDown}, {wrapped, wrapped}} {
		m := backoff.New(backoff.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		rounds := 0
		err := m.Loop(ctx, func(context.Context) error {
			rounds++
			cancel() // ends the loop too, but does not hide the error
			return tt.returned
		})
		if err != tt.want || rounds != 1 || m.Failures() != 0 {
			t.Errorf("Loop = %v after %d rounds and %d failures", err, rounds, m.Failures())
		}
	}
}

func TestLoopLetsPanicsThrough(t *testing.T) {
	defer func() {
		if v := recover(); v != "boom" {
			t.Errorf("recovered %v", v)
		}
	}()
	_ = backoff.New(backoff.Options{}).Loop(t.Context(), func(context.Context) error { panic("boom") })
}
