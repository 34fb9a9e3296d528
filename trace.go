// SPDX-License-Identifier: Apache-2.0

package informer

import "time"

// Trace is a set of optional hooks, in the manner of net/http/httptrace. A nil hook
// costs nothing.
//
// Concurrency: the hooks are called synchronously by the goroutine that does the work,
// those of one source in order; they must not block, and must not call back.
type Trace struct {
	// ListStart is called as a list, or the initial events of a watch-list, begin.
	ListStart func(source string)
	// ListPage is called after each page, with the number of items so far and of those
	// that remain; negative: the server did not say.
	ListPage func(source string, items int, remaining int64)
	// ListEnd is called as a list, or the initial events, have been committed, or have failed, or
	// were left by a panic or runtime.Goexit.
	ListEnd func(source string, items int, took time.Duration, err error)
	// WatchStart is called before a watch, or a watch-list, is asked for.
	WatchStart func(source, resourceVersion string)
	// WatchEnd is called when a watch is over, with the number of its events and bookmarks.
	WatchEnd func(source, reason string, events int, took time.Duration)
	// Event is called after an event or a bookmark has been handed on.
	Event func(source, eventType, key, resourceVersion string)
	// Relist is called when a watch cannot be resumed.
	Relist func(source, reason string)
	// Verify is called after the mirror was compared with the source, with the number of
	// objects that it was repaired by, or with what kept the comparison from being made.
	Verify func(source string, differences int, err error)
	// HistoryBreak is called when the collection was found at an older version, and mirrored anew.
	HistoryBreak func(source, from, to string)
	// Backoff is called before a wait because of a failure.
	Backoff func(source string, delay time.Duration, err error)
	// HandlerStart is called before a handler is; the key is that of the first change of a batch.
	HandlerStart func(handler, key string)
	// HandlerEnd is called after a handler has returned.
	HandlerEnd func(handler, key string, took time.Duration)
	// QueueDepth is called as a batch is taken, with the number of its keys.
	QueueDepth func(depth int)
}
