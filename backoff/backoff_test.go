// SPDX-License-Identifier: Apache-2.0

package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer/backoff"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
)

var errDown = errors.New("connection refused")

// plain is a Manager on a fake clock, without jitter.
func plain(o backoff.Options) (*backoff.Manager, *clocktesting.FakeClock) {
	clock := clocktesting.NewFakeClock(time.Unix(1_000_000, 0))
	o.Clock = clock
	if o.Jitter == 0 {
		o.Jitter = -1
	}
	return backoff.New(o), clock
}

func tooMany(seconds int) error {
	return apierrors.NewTooManyRequests("busy", seconds)
}

func TestCases(t *testing.T) {
	t.Run("R05", testEndsAtOnce)
	t.Run("R14", testRetryAfterIsLowerBound)
	t.Run("R26", testOutageStaysAtCap)
}

// R05: 429 on every try, ctx cancelled in the fifth wait.
func testEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		waits := 0
		m := backoff.New(backoff.Options{OnDelay: func(context.Context, time.Duration, error) {
			if waits++; waits == 5 {
				time.AfterFunc(time.Millisecond, cancel)
			}
		}})
		done := make(chan time.Time, 1)
		go func() {
			err := m.Loop(ctx, func(context.Context) error { return tooMany(30) })
			if err != nil {
				t.Errorf("Loop = %v", err)
			}
			done <- time.Now()
		}()
		<-ctx.Done()
		cancelled := time.Now()
		if returned := <-done; !returned.Equal(cancelled) {
			t.Errorf("Loop returned %v after the cancellation", returned.Sub(cancelled))
		}
		if waits != 5 || m.Failures() != 5 {
			t.Errorf("%d waits, %d failures, want 5 of each", waits, m.Failures())
		}
	})
}

// R14: 429 with Retry-After 5.
func testRetryAfterIsLowerBound(t *testing.T) {
	for name, o := range map[string]backoff.Options{
		"default":      {},
		"no jitter":    {Jitter: -1},
		"below max":    {Max: time.Second},
		"least jitter": {Random: func() float64 { return 0 }},
	} {
		m := backoff.New(o)
		for i := range 10 {
			if d := m.Delay(fmt.Errorf("watch: %w", tooMany(5))); d < 5*time.Second {
				t.Errorf("%s: delay %d = %v, want at least 5s", name, i, d)
			}
		}
	}
}

// R26: an outage of 10 minutes and more, however long a request takes to fail.
func testOutageStaysAtCap(t *testing.T) {
	for _, request := range []time.Duration{0, time.Second, 61 * time.Second, 3 * time.Minute} {
		for _, jitter := range []float64{-1, 1, 3} {
			m, clock := plain(backoff.Options{Jitter: jitter, Random: func() float64 { return 1 }})
			m.Success() // healthy before
			end := clock.Now().Add(time.Hour)
			last := time.Duration(0)
			for clock.Now().Before(end) {
				clock.Step(request)
				d := m.Delay(errDown)
				if d < last {
					t.Fatalf("request %v, jitter %v: %v after %v", request, jitter, d, last)
				}
				last = d
				clock.Step(d)
			}
			if want := time.Duration(float64(30*time.Second) * (1 + max(jitter, 0))); last != want {
				t.Errorf("request %v, jitter %v: ends with %v, want %v", request, jitter, last, want)
			}
		}
	}
}

func TestDelays(t *testing.T) {
	ms := func(values ...float64) (delays []time.Duration) {
		for _, v := range values {
			delays = append(delays, time.Duration(v*float64(time.Millisecond)))
		}
		return delays
	}
	half := func() float64 { return 0.5 }
	for _, tt := range []struct {
		name string
		o    backoff.Options
		want []time.Duration
	}{
		{"zero value without jitter", backoff.Options{Jitter: -1}, ms(800, 1600, 3200, 6400, 12800, 25600, 30000, 30000)},
		{"default jitter doubles at most", backoff.Options{Random: func() float64 { return 1 }}, ms(1600, 3200, 6400)},
		{"half of half", backoff.Options{Jitter: 0.5, Random: half}, ms(1000, 2000, 4000)},
		{"random out of range", backoff.Options{Random: func() float64 { return 7 }}, ms(1600)},
		{"random below zero", backoff.Options{Random: func() float64 { return -1 }}, ms(800)},
		{"random not a number", backoff.Options{Random: math.NaN}, ms(800)},
		{"factor one", backoff.Options{Initial: time.Second, Factor: 1, Jitter: -1}, ms(1000, 1000, 1000)},
		{"max below the default initial", backoff.Options{Max: 100 * time.Millisecond, Jitter: -1}, ms(100, 100)},
		{"initial above the default max", backoff.Options{Initial: time.Minute, Jitter: -1}, ms(60000, 60000)},
		{"longest", backoff.Options{Initial: math.MaxInt64, Max: math.MaxInt64}, []time.Duration{math.MaxInt64, math.MaxInt64}},
		{"fast growth", backoff.Options{Initial: time.Hour, Max: math.MaxInt64, Factor: 1e300, Jitter: -1}, []time.Duration{time.Hour, math.MaxInt64}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := backoff.New(tt.o)
			for i, want := range tt.want {
				if d := m.Delay(errDown); d != want {
					t.Errorf("delay %d = %v, want %v", i, d, want)
				}
				if n := m.Failures(); n != i+1 {
					t.Errorf("Failures = %d after %d", n, i+1)
				}
			}
		})
	}
}

func TestJitterSpreads(t *testing.T) {
	m := backoff.New(backoff.Options{Initial: time.Second, Factor: 1})
	seen := map[time.Duration]bool{}
	for range 200 {
		d := m.Delay(nil)
		if d < time.Second || d > 2*time.Second {
			t.Fatalf("delay %v outside 1s to 2s", d)
		}
		seen[d] = true
	}
	if len(seen) < 100 {
		t.Errorf("only %d different delays of 200", len(seen))
	}
}

func TestReset(t *testing.T) {
	const s = time.Second
	// Each row: failures until the delay is 12.8 s, whose wait ends at 12.8 s; then this.
	for _, tt := range []struct {
		name                string
		success, fail, want time.Duration // success and fail: after the last failure; success < 0: none
	}{
		{"healthy for long enough", 13 * s, 133 * s, 800 * time.Millisecond},
		{"not yet", 13 * s, 132 * s, 25600 * time.Millisecond},
		{"success late", 100 * s, 200 * s, 25600 * time.Millisecond},
		{"success late, healthy since", 100 * s, 220 * s, 800 * time.Millisecond},
		{"success in the wait counts from its end", 1 * s, 130 * s, 25600 * time.Millisecond},
		{"success in the wait, healthy since", 1 * s, 133 * s, 800 * time.Millisecond},
		{"no success proves nothing", -1, time.Hour, 25600 * time.Millisecond},
		{"success a moment before", time.Hour, time.Hour + 1, 25600 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, clock := plain(backoff.Options{})
			for range 5 {
				m.Delay(errDown)
			}
			failed := clock.Now()
			if tt.success >= 0 {
				clock.SetTime(failed.Add(tt.success))
				m.Success()
				if n := m.Failures(); n != 0 {
					t.Errorf("Failures = %d after Success", n)
				}
			}
			clock.SetTime(failed.Add(tt.fail))
			if d := m.Delay(errDown); d != tt.want {
				t.Errorf("delay = %v, want %v", d, tt.want)
			}
		})
	}
}

func TestRepeatedSuccessDoesNotPutHealthOff(t *testing.T) {
	m, clock := plain(backoff.Options{ResetAfter: 10 * time.Second})
	m.Delay(errDown)
	m.Delay(errDown)
	clock.Step(2 * time.Second)
	for range 11 {
		m.Success()
		clock.Step(time.Second)
	}
	if d := m.Delay(errDown); d != 800*time.Millisecond {
		t.Errorf("delay = %v, want 800ms", d)
	}
}

func TestFlappingSourceKeepsItsDelay(t *testing.T) {
	m, clock := plain(backoff.Options{})
	var d time.Duration
	for range 50 {
		d = m.Delay(errDown)
		clock.Step(d)
		m.Success()
		clock.Step(119 * time.Second)
	}
	if d != 30*time.Second {
		t.Errorf("delay = %v, want the cap", d)
	}
}

func TestRetryAfter(t *testing.T) {
	status := func(reason metav1.StatusReason, seconds int32) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Reason: reason, Details: &metav1.StatusDetails{RetryAfterSeconds: seconds}}}
	}
	for _, tt := range []struct {
		name string
		err  error
		want time.Duration
	}{
		{"nil", nil, 0},
		{"no status", errDown, 0},
		{"429", tooMany(7), 7 * time.Second},
		{"wrapped", fmt.Errorf("list pods: %w", tooMany(7)), 7 * time.Second},
		{"joined", errors.Join(errDown, tooMany(7)), 7 * time.Second},
		{"server timeout", apierrors.NewServerTimeout(schema.GroupResource{Resource: "pods"}, "list", 2), 2 * time.Second},
		{"nothing asked", apierrors.NewServerTimeout(schema.GroupResource{Resource: "pods"}, "list", 0), 0},
		{"negative", status(metav1.StatusReasonServerTimeout, -3), 0},
		{"five minutes", tooMany(300), 5 * time.Minute},
		{"longer", tooMany(301), backoff.MaxRetryAfter},
		{"longest", status(metav1.StatusReasonTooManyRequests, math.MaxInt32), backoff.MaxRetryAfter},
		{"status without details", &apierrors.StatusError{}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := backoff.RetryAfter(tt.err); got != tt.want {
				t.Errorf("RetryAfter = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestRetryAfterLeavesGrowthAlone(t *testing.T) {
	m, _ := plain(backoff.Options{Jitter: 1, Random: func() float64 { return 0.5 }})
	want := []time.Duration{60_400 * time.Millisecond, 60_800 * time.Millisecond, 61_600 * time.Millisecond}
	for i, w := range want {
		if d := m.Delay(tooMany(60)); d != w {
			t.Errorf("delay %d = %v, want %v", i, d, w)
		}
	}
	if d := m.Delay(errDown); d != 9600*time.Millisecond {
		t.Errorf("delay = %v, want 9.6s", d)
	}
}

func TestImpossibleOptionsPanic(t *testing.T) {
	for _, tt := range []struct {
		why string
		o   backoff.Options
	}{
		{"negative Initial", backoff.Options{Initial: -1}},
		{"negative Max", backoff.Options{Max: -1}},
		{"negative ResetAfter", backoff.Options{ResetAfter: -1}},
		{"Initial above Max", backoff.Options{Initial: 2, Max: 1}},
		{"Factor", backoff.Options{Factor: 0.5}},
		{"Factor", backoff.Options{Factor: -2}},
		{"Factor", backoff.Options{Factor: math.NaN()}},
		{"Factor", backoff.Options{Factor: math.Inf(1)}},
		{"Jitter", backoff.Options{Jitter: math.NaN()}},
		{"Jitter", backoff.Options{Jitter: math.Inf(-1)}},
	} {
		t.Run(tt.why, func(t *testing.T) {
			defer func() {
				message, _ := recover().(string)
				if !strings.HasPrefix(message, "informer: backoff: "+tt.why) {
					t.Errorf("panic %q", message)
				}
			}()
			backoff.New(tt.o)
		})
	}
}

func TestConcurrentUse(t *testing.T) {
	m := backoff.New(backoff.Options{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				m.Delay(errDown)
			}
		})
	}
	all.Wait()
	if n := m.Failures(); n != 800 {
		t.Errorf("Failures = %d, want 800", n)
	}
	for range 8 {
		all.Go(func() { m.Success(); m.Failures() })
	}
	all.Wait()
	if n := m.Failures(); n != 0 {
		t.Errorf("Failures = %d, want 0", n)
	}
}
