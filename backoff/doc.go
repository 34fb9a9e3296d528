// SPDX-License-Identifier: Apache-2.0

// Package backoff says how long to wait after a failure, and waits.
//
// A [Manager] is the one budget of one source: its list, its watch and its checks all report to it,
// so that no two loops can hammer a server side by side.
//
//	m := backoff.New(backoff.Options{})
//	err := m.Loop(ctx, func(ctx context.Context) error {
//		conn, err := dial(ctx)
//		if err != nil {
//			return err // waits 800 ms, 1.6 s, 3.2 s … 30 s, each up to doubled by jitter
//		}
//		m.Success() // good contact
//		return conn.Serve(ctx)
//	})
//
// # When the delays start again
//
// [Manager.Success] sets the number of failures in a row to zero at once, but the delay only shrinks
// after health has lasted for [Options.ResetAfter]. Health begins with the first Success after the
// last failure, and not before the wait for that failure is over. Time alone proves nothing: in an
// outage the waits and the requests that hang until they time out are time without a failure too,
// and together easily longer than ResetAfter. So in an outage of any length the delays grow to the
// cap and stay there, and a source that recovers only for moments does not get back to short delays.
//
// # What a server asks for
//
// A delay that the error carries ([RetryAfter]) is a lower bound, above the cap too, up to
// [MaxRetryAfter].
package backoff
