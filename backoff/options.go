// SPDX-License-Identifier: Apache-2.0

package backoff

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// Options configures a Manager. The zero value means 800 ms, times 2, at most 30 s, jitter of up to
// +100 %, and short delays again after 2 minutes of health.
type Options struct {
	// Initial is the delay after the first failure, before jitter.
	// 0: 800 ms, or Max if that is less. Negative: New panics.
	Initial time.Duration
	// Max bounds the delay before jitter; it does not bound what a server asks for.
	// 0: 30 s, or Initial if that is more. Negative, or less than Initial: New panics.
	Max time.Duration
	// ResetAfter is how long health has to last before the delays start at Initial again.
	// 0: 2 minutes. Negative: New panics.
	ResetAfter time.Duration
	// Factor is by how much the delay grows from failure to failure.
	// 0: 2. 1: it does not grow. Less than 1, infinite or not a number: New panics.
	Factor float64
	// Jitter is the largest part of a delay that is added to it at random: with 0.5 a delay of 10 s
	// becomes one from 10 s to 15 s. 0: 1. Negative: no jitter. Infinite or not a number: New panics.
	Jitter float64
	// Clock tells the time and makes the timers. nil: the real one, which is a fake one inside a
	// bubble of testing/synctest.
	Clock clock.Clock
	// Random returns a number from 0 to 1 that says how much of the jitter to add; what lies outside
	// counts as the nearer of the two. It must be safe for concurrent use. nil: math/rand/v2.
	Random func() float64
	// OnDelay is called by Loop, in its goroutine, before it waits for delay because of err. nil: nobody.
	OnDelay func(ctx context.Context, delay time.Duration, err error)
}
