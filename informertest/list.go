// SPDX-License-Identifier: Apache-2.0

package informertest

import (
	"context"
	"slices"
	"sort"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// listing is the answer to a list.
type listing struct {
	version   uint64 // 0: none
	items     []*entry
	next      *token // nil: this is the last page
	remaining int64  // 0: unknown or none
	quirks    Quirks // that its body is written with
}

// meta returns the metadata of the list.
func (l *listing) meta() metav1.ListMeta {
	var m metav1.ListMeta
	if l.version != 0 {
		m.ResourceVersion = strconv.FormatUint(l.version, 10)
	}
	if l.next != nil {
		m.Continue = l.next.String()
	}
	if l.remaining > 0 {
		m.RemainingItemCount = &l.remaining
	}
	return m
}

// list answers a list request.
func (e *engine) list(ctx context.Context, namespace string, options metav1.ListOptions) (*listing, error) {
	quirks, err := e.intercept(ctx, Request{Verb: VerbList, Namespace: namespace, Options: options})
	if err != nil {
		return nil, err
	}
	q, err := newQuery(namespace, quirks.ignore(options), false, true)
	if err != nil {
		return nil, err
	}
	answer, err := e.answer(ctx, q, quirks)
	if err != nil {
		return nil, err
	}
	answer.quirks = quirks
	return answer, nil
}

// answer finds what a list is answered from.
func (e *engine) answer(ctx context.Context, q *query, quirks Quirks) (*listing, error) {
	if quirks.NoPaging {
		q.limit = 0
	}
	switch {
	case quirks.NoVersions:
		return e.listComputed(q), nil
	case q.page != nil:
		return e.listPage(q)
	case q.version != 0 && (q.match == metav1.ResourceVersionMatchExact || q.match == "" && q.limit > 0):
		return e.listExact(ctx, q)
	case q.version != 0:
		if err := e.waitFor(ctx, q.version); err != nil {
			return nil, err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !q.given || quirks.NoWatchCache:
		e.catchUpLocked()
	case q.version == 0:
		q.limit = 0 // the cache answers "0" as it is, and in full
	}
	return e.selectLocked(q, e.seen, ""), nil
}

// listComputed answers with everything there is, and no versions.
func (e *engine) listComputed(q *query) *listing {
	q.limit = 0
	e.mu.Lock()
	out := &listing{items: e.selectLocked(q, e.seen, "").items}
	e.mu.Unlock()
	for i, item := range out.items {
		obj := item.copy(0)
		obj.SetResourceVersion("")
		obj.SetUID("")
		out.items[i] = newEntryOf(obj)
	}
	return out
}

// listPage answers a page other than the first.
func (e *engine) listPage(q *query) (*listing, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if q.given && !e.faults.quirks.NoWatchCache {
		q.limit = 0 // version 0, the only one that newQuery lets pass
	}
	switch {
	case e.faults.quirks.ExpireTokens:
		return nil, errTokenExpired(q.page.start)
	case q.page.latest:
		return e.repeatLocked(q, e.selectLocked(q, e.catchUpLocked(), q.page.start)), nil
	case q.page.version < e.log.floor || q.page.version > e.revision.Load(): // of a past, or of one that was undone
		return nil, errTokenExpired(q.page.start)
	}
	return e.repeatLocked(q, e.selectLocked(q, q.page.version, q.page.start)), nil
}

// repeatLocked sends the token of the request back, if there is to be one at all.
func (e *engine) repeatLocked(q *query, answer *listing) *listing {
	if e.faults.quirks.RepeatTokens && answer.next != nil {
		answer.next = q.page
	}
	return answer
}

// listExact answers from the history.
func (e *engine) listExact(ctx context.Context, q *query) (*listing, error) {
	if err := e.waitFor(ctx, q.version); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if q.version < e.log.floor {
		return nil, errExpired(q.version, e.log.floor)
	}
	return e.selectLocked(q, q.version, ""), nil
}

// waitFor waits until the collection has reached version, as long as a server does.
func (e *engine) waitFor(ctx context.Context, version uint64) error {
	var late <-chan time.Time
	for expired := false; ; {
		e.mu.Lock()
		now, advanced, quirks := e.catchUpLocked(), e.advanced, e.faults.quirks
		e.mu.Unlock()
		patience := quirks.patience()
		if version <= now {
			return nil
		}
		if patience <= 0 || expired {
			return errTooLarge(version, now, !quirks.NoWatchCache)
		}
		if late == nil {
			timer := time.NewTimer(patience)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-advanced:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			expired = true // look again: a write to another resource wakes nobody here
		}
	}
}

// selectLocked returns the objects of the version after the key start, in key order.
func (e *engine) selectLocked(q *query, version uint64, start string) *listing {
	keys := e.keysLocked()
	was := e.log.undo(version)
	if len(was) > 0 {
		keys = mergeKeys(keys, was)
	}
	keys = keysIn(keys, q.namespace, start)
	out := &listing{version: version}
	for i, key := range keys {
		object, changed := was[key]
		if !changed {
			object = e.objects[key]
		}
		if !q.matches(object) {
			continue
		}
		out.items = append(out.items, object)
		if more := len(keys) - i - 1; int64(len(out.items)) == q.limit && more > 0 {
			out.next = &token{version: version, start: key, latest: q.page != nil && q.page.latest}
			if !q.selective() {
				out.remaining = int64(more)
			}
			break
		}
	}
	return out
}

// keysIn returns the keys of the namespace that come after start.
func keysIn(keys []string, namespace, start string) []string {
	if namespace != "" {
		from := sort.SearchStrings(keys, namespace+"/")
		to := sort.SearchStrings(keys, namespace+"0") // "0" is the character after "/"
		keys = keys[from:to]
	}
	if start != "" {
		from, found := slices.BinarySearch(keys, start)
		if found {
			from++
		}
		keys = keys[from:]
	}
	return keys
}
