// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/informerkit/informer"
)

// account prints what happens, a line each, with the time since the start.
type account struct {
	began time.Time
	mu    sync.Mutex
	out   io.Writer
}

func newAccount(out io.Writer) *account { return &account{began: time.Now(), out: out} }

func (a *account) printf(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprintf(a.out, "%6.2fs  %s\n", time.Since(a.began).Seconds(), fmt.Sprintf(format, args...))
}

// change prints a change by its key and versions.
func (a *account) change(change informer.Change[object]) {
	versions := change.Object().GetResourceVersion()
	if change.Type == informer.Updated {
		versions = change.Old.GetResourceVersion() + " to " + versions
	}
	a.printf("%-7s %s (version %s, %s)", change.Type, change.Key, versions, change.Cause)
}

// trace prints what the mirror does to keep up.
func (a *account) trace() *informer.Trace {
	return &informer.Trace{
		ListPage: func(_ string, items int, remaining int64) {
			if remaining >= 0 {
				a.printf("listing: %d objects so far, %d remain", items, remaining)
			}
		},
		WatchStart: func(_, version string) { a.printf("watching from version %q", version) },
		WatchEnd: func(_, reason string, events int, _ time.Duration) {
			a.printf("stream is over (%s) after %d events", reason, events)
		},
		Relist:  func(_, reason string) { a.printf("listing again (%s)", reason) },
		Backoff: func(_ string, delay time.Duration, _ error) { a.printf("waiting %v", delay.Round(time.Millisecond)) },
	}
}
