// SPDX-License-Identifier: Apache-2.0

package backoff

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// MaxRetryAfter is the longest delay that a server's Retry-After is followed for; longer ones count as
// this long. It is a choice of this library: no protocol bounds them.
const MaxRetryAfter = 5 * time.Minute

// Loop calls round again and again until ctx ends: at once after a nil, which counts as a Success, and
// after a Delay for any other error. ctx is checked before each round, and ends a wait at once. A round
// that returns nil is expected to have taken its time, or to have made progress.
//
// Errors: nil when ctx ends, whatever round returns then; the error that was given to Permanent, which
// ends the loop whether or not ctx ended (if round has wrapped what Permanent returned, its wrapping is
// kept). A panic of round is not caught.
//
// Lifetime: round is called in the caller's goroutine, and Loop starts no other.
func (m *Manager) Loop(ctx context.Context, round func(ctx context.Context) error) error {
	for ctx.Err() == nil {
		err := round(ctx)
		if err == nil {
			m.Success()
			continue
		}
		if permanent, ok := stops(err); ok {
			return permanent
		}
		if ctx.Err() != nil {
			return nil // the round failed because it was told to end, which is no failure of the source
		}
		delay := m.Delay(err)
		if m.options.OnDelay != nil {
			m.options.OnDelay(ctx, delay, err)
		}
		if m.Sleep(ctx, delay) != nil {
			return nil
		}
	}
	return nil
}

// Permanent marks an error as one that ends Loop. It is seen through wrapping, and leaves message, Is
// and As of err as they are. Permanent(nil) is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err: err}
}

// IsPermanent reports whether err is one that Permanent marked, wrapped or not.
func IsPermanent(err error) bool {
	_, permanent := stops(err)
	return permanent
}

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// stops reports whether err ends a loop, and with which error.
func stops(err error) (error, bool) {
	if p, ok := err.(*permanentError); ok {
		return p.err, true
	}
	var p *permanentError
	return err, errors.As(err, &p)
}

// RetryAfter returns how long the server that sent err asks to wait, at most MaxRetryAfter; 0 if err,
// which may be wrapped or nil, says nothing about it. Source: Status.details.retryAfterSeconds of the
// Kubernetes API, into which clients also put the Retry-After header; or a method RetryAfter() time.Duration
// of an error of this side.
func RetryAfter(err error) time.Duration {
	if own, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](err); ok {
		return max(0, min(own.RetryAfter(), MaxRetryAfter))
	}
	seconds, ok := apierrors.SuggestsClientDelay(err)
	if !ok || seconds <= 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, MaxRetryAfter)
}
