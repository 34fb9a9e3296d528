// SPDX-License-Identifier: Apache-2.0

package informertest

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Quirks make a collection behave like an older or an odder server. The zero value is
// kube-apiserver 1.37.
type Quirks struct {
	// Latency delays the answer to each list and watch, and ends with the request.
	// Zero or negative: none.
	Latency time.Duration

	// History is how many changes can be replayed and listed exactly; older versions are
	// answered with 410. Zero: 10,000. Negative: none.
	History int

	// TooLargeDelay is how long a list or a watch-list at a version of the future waits for
	// it. Zero: 3 s, as kube-apiserver does; negative: not at all. Without a watch cache it
	// never waits.
	TooLargeDelay time.Duration

	// NoWatchCache is a resource without a watch cache, as "events" is: a limit counts even
	// at version "0", and there are no bookmarks but the end marker.
	NoWatchCache bool

	// RefuseWatchList answers 422 to sendInitialEvents, as a server with the feature off does.
	RefuseWatchList bool

	// IgnoreWatchList ignores sendInitialEvents, and serves a watch.
	IgnoreWatchList bool

	// NoMarker serves the initial events without the bookmark that ends them.
	NoMarker bool

	// NoBookmarks sends no bookmark but the end marker.
	NoBookmarks bool

	// NoPaging ignores the limit of lists.
	NoPaging bool

	// NoVersions is a resource that is computed and not stored, as "componentstatuses" is:
	// neither lists nor objects have a version, objects have no UID, and a watch is answered
	// with 405.
	NoVersions bool

	// IgnoreTimeout ignores timeoutSeconds: watches go on until somebody ends them.
	IgnoreTimeout bool

	// IgnoreSelectors ignores the selectors for labels and fields.
	IgnoreSelectors bool

	// HalfOpen accepts watches and then neither sends nor ends them, as a connection does
	// whose other side is gone. They end with their context, and with CutStreams.
	HalfOpen bool

	// Slow is a pause before each item of a list and each event. Zero or negative: none.
	Slow time.Duration

	// Truncate breaks bodies off: lists half way, watches in their first event. Without
	// HTTP that is io.ErrUnexpectedEOF, and a channel that is closed.
	Truncate bool

	// ExpireTokens answers 410 to every continue token.
	ExpireTokens bool

	// RepeatTokens sends the token that was asked with again, in the place of the next one.
	RepeatTokens bool

	// DropEvents leaves every n-th event of a watch out, DuplicateEvents sends it twice, and
	// ReorderEvents sends it after the next one. Bookmarks and initial events do not count,
	// and come as they should. Zero or negative: none.
	DropEvents, DuplicateEvents, ReorderEvents int
}

// Defaults of Quirks. The delay is that of the watch cache of kube-apiserver.
const (
	defaultHistory  = 10_000
	defaultPatience = 3 * time.Second
)

func (q Quirks) patience() time.Duration {
	switch {
	case q.NoWatchCache:
		return 0
	case q.TooLargeDelay == 0:
		return defaultPatience
	}
	return q.TooLargeDelay
}

// watchList reports whether the server knows sendInitialEvents.
func (q Quirks) watchList() bool { return !q.RefuseWatchList && !q.IgnoreWatchList }

// The verbs of a Request.
const (
	VerbList  = "list"
	VerbWatch = "watch"
)

// Request is a list or watch that reached a collection.
type Request struct {
	Verb      string             // VerbList or VerbWatch
	Namespace string             // empty: all namespaces
	Options   metav1.ListOptions // as they were sent
	Time      time.Time          // when it arrived
}

// faults are what makes requests fail, and the record of them. All of it is guarded by the
// engine's lock.
type faults struct {
	quirks   Quirks
	rules    []*rule
	requests []Request
}

// rule answers requests that it matches with an error.
type rule struct {
	left  int                // requests to come; negative: without end
	match func(Request) bool // nil: all
	err   error
}

// maxRequests bounds the record of requests; the oldest half goes when it is full.
const maxRequests = 10_000

// historyLimit is the number of changes to keep.
func (f *faults) historyLimit() int {
	switch {
	case f.quirks.History == 0:
		return defaultHistory
	case f.quirks.History < 0:
		return 0
	}
	return f.quirks.History
}

// record notes a request and returns the error that it is to be answered with.
func (f *faults) record(r Request) error {
	if len(f.requests) >= maxRequests {
		f.requests = slices.Clone(f.requests[maxRequests/2:])
	}
	f.requests = append(f.requests, r)
	for i, rule := range f.rules {
		if rule.match != nil && !rule.match(r) {
			continue
		}
		if rule.left > 0 {
			rule.left--
		}
		if rule.left == 0 {
			f.rules = slices.Delete(f.rules, i, i+1)
		}
		return rule.err
	}
	return nil
}

// intercept lets the faults have their way with a request before it is answered.
func (e *engine) intercept(ctx context.Context, r Request) (Quirks, error) {
	r.Time = time.Now()
	e.mu.Lock()
	err := e.faults.record(r)
	quirks := e.faults.quirks
	e.mu.Unlock()
	if !rest(ctx, quirks.Latency) {
		return quirks, context.Cause(ctx)
	}
	return quirks, err
}

// ignore takes out of a request what the server does not look at.
func (q Quirks) ignore(options metav1.ListOptions) metav1.ListOptions {
	if q.IgnoreSelectors {
		options.LabelSelector, options.FieldSelector = "", ""
	}
	if q.IgnoreTimeout || q.HalfOpen {
		options.TimeoutSeconds = nil
	}
	return options
}

// rest waits, unless ctx ends first, which it reports.
func rest(ctx context.Context, pause time.Duration) bool {
	if pause <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (e *engine) addRule(r *rule) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.faults.rules = append(e.faults.rules, r)
}

// errCut is the cause of a stream that CutStreams ended.
var errCut = errors.New("informertest: the stream was cut")
