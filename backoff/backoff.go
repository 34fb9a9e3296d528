// SPDX-License-Identifier: Apache-2.0

package backoff

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Manager computes the delays of one source and waits for them. New makes one.
//
// Concurrency: safe for concurrent use; all who use it share one budget.
type Manager struct {
	options Options // with every default applied

	mu        sync.Mutex
	base      time.Duration // the last delay before jitter; 0: none yet
	failures  int           // in a row
	waitEnd   time.Time     // when the longest wait handed out is over
	healthy   time.Time     // first Success after the last failure
	isHealthy bool          // healthy is set
}

// New returns a Manager.
//
// It panics with "informer: backoff: …" if the options cannot be: see the fields of Options.
func New(options Options) *Manager {
	return &Manager{options: options.withDefaults()}
}

// Delay counts a failure and returns how long to wait before the next try: the delay of its place in
// the row with jitter, and never less than RetryAfter(err) asks for. A nil err is a failure of which
// nothing more is known.
//
// A Retry-After has the same jitter added as the delay that it replaces, so that clients that were
// turned away together do not come back together. It does not change how the delays grow.
func (m *Manager) Delay(err error) time.Duration {
	extra := m.jitter()
	now := m.options.Clock.Now()

	m.mu.Lock()
	defer m.mu.Unlock()
	m.base = m.nextLocked(now)
	m.failures++
	m.isHealthy = false
	delay := add(max(m.base, RetryAfter(err)), scale(m.base, extra))
	if end := now.Add(delay); end.After(m.waitEnd) {
		m.waitEnd = end
	}
	return delay
}

// nextLocked returns the delay before jitter of a failure that happens now.
func (m *Manager) nextLocked(now time.Time) time.Duration {
	if m.base == 0 || m.recoveredLocked(now) {
		return m.options.Initial
	}
	return min(scale(m.base, m.options.Factor), m.options.Max)
}

// recoveredLocked reports whether health has lasted for ResetAfter.
func (m *Manager) recoveredLocked(now time.Time) bool {
	if !m.isHealthy {
		return false
	}
	since := m.healthy
	if m.waitEnd.After(since) {
		since = m.waitEnd
	}
	return now.Sub(since) >= m.options.ResetAfter
}

// jitter returns by which part of itself the delay is to be extended.
func (m *Manager) jitter() float64 {
	if m.options.Jitter <= 0 {
		return 0
	}
	r := m.options.Random()
	if !(r > 0) { // NaN too
		return 0
	}
	return min(r, 1) * m.options.Jitter
}

// Sleep waits for d, or until ctx ends. A d of zero or less does not wait.
//
// Errors: nil after d; context.Cause(ctx), at once, when ctx ends or has ended.
func (m *Manager) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	timer := m.options.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Failures returns the number of failures in a row, which is that of the calls of Delay since the last
// call of Success.
func (m *Manager) Failures() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.failures
}

// Success says that the source has answered well. Failures is 0 from now on; the next delay is a short
// one again only if a failure comes Options.ResetAfter or more after the first Success since the last
// failure (and after the wait for it).
func (m *Manager) Success() {
	now := m.options.Clock.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failures = 0
	if !m.isHealthy {
		m.isHealthy, m.healthy = true, now
	}
}

// scale returns d times factor, at most the longest duration there is.
func scale(d time.Duration, factor float64) time.Duration {
	product := float64(d) * factor
	if product >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(product)
}

// add returns the sum of two durations that are not negative, at most the longest there is.
func add(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// withDefaults checks the options and fills in what is zero.
func (o Options) withDefaults() Options {
	o.check()
	if o.Initial == 0 {
		o.Initial = 800 * time.Millisecond
		if o.Max > 0 {
			o.Initial = min(o.Initial, o.Max)
		}
	}
	if o.Max == 0 {
		o.Max = max(30*time.Second, o.Initial)
	}
	if o.ResetAfter == 0 {
		o.ResetAfter = 2 * time.Minute
	}
	if o.Factor == 0 {
		o.Factor = 2
	}
	if o.Jitter == 0 {
		o.Jitter = 1
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return o
}

// check panics if the options contradict themselves or have no meaning.
func (o Options) check() {
	switch {
	case o.Initial < 0:
		panic("informer: backoff: negative Initial")
	case o.Max < 0:
		panic("informer: backoff: negative Max")
	case o.ResetAfter < 0:
		panic("informer: backoff: negative ResetAfter")
	case o.Max > 0 && o.Initial > o.Max:
		panic("informer: backoff: Initial above Max")
	case math.IsNaN(o.Factor) || math.IsInf(o.Factor, 0) || o.Factor != 0 && o.Factor < 1:
		panic("informer: backoff: Factor is not a number of 1 or more")
	case math.IsNaN(o.Jitter) || math.IsInf(o.Jitter, 0):
		panic("informer: backoff: Jitter is not a number")
	}
}
