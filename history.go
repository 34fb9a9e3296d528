// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/informerkit/informer/pager"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// A backend that is restored to an older state starts the history of the collection over
// at an older version. A watch that is opened at a version which it has not reached again
// is accepted and stays silent, and events may come that contradict what was seen. This
// file finds that out.

const (
	checkPause = time.Minute      // least time between two version checks
	earlyEnd   = 10 * time.Second // a stream that ends so long before its timeout was cut
	// Where a version is too large, kube-apiserver says so after 3 s; client-go asks again
	// for 40 s before it passes that on. A consistent list tells the same sooner.
	checkPatience  = 10 * time.Second
	checkTimeout   = 30 * time.Second // for all of a version check
	maxFalseAlarms = 2                // and versions are not compared any more
)

// wantsCheck reports whether R has to be checked before the watch is opened again: the
// backend may have been restored while nobody looked.
func wantsCheck(o outcome) bool {
	switch o.class {
	case classStalled:
		return true
	case classUnanswered:
		return !isCode(o.err, 429) && !isCode(o.err, 408)
	case classEnded:
		return !o.seen || o.lived < o.asked-earlyEnd
	}
	return false
}

// history is what a reflector knows of the order of its versions.
type history struct {
	check   bool      // R has to be checked
	next    time.Time // no check before
	noCheck bool      // the source refuses it, or ignores the limit
	plain   bool      // the source refuses it at R, but not without a version
	blind   bool      // versions of this source are not compared
	alarmed bool      // the list on its way answers an alarm
	lost    bool      // a check has shown that the history was broken
}

// due reports whether a check is to be made, and when at the earliest.
func (h *history) due() (at time.Time, due bool) { return h.next, h.check && !h.noCheck && !h.blind }

// checkVersion asks for one object at R. It returns errBroken where the collection is
// older than R, an error where nobody can be reached, which is a failure, or that of ctx.
// A check that fails in another way is made again in a minute.
func (r *Reflector) checkVersion(parent context.Context) error {
	ctx, cancel := context.WithTimeout(parent, checkTimeout)
	defer cancel()
	r.history.check, r.history.next = false, time.Now().Add(checkPause)
	if !ordered(r.reached) {
		return nil
	}
	options := r.listOptions(r.reached, false)
	if r.noMatch || r.history.plain { // R with a limit alone would mean exactly R
		options = r.listOptions("", false)
	}
	brief, done := context.WithTimeout(ctx, checkPatience)
	version, err := r.peek(brief, options)
	late := brief.Err() != nil && ctx.Err() == nil
	done()
	refused := options.ResourceVersion != "" && refusesOptions(err)
	if err != nil && (late || refused || classify(err) == classTooLarge) {
		r.history.plain = r.history.plain || refused
		version, err = r.peek(ctx, r.listOptions("", false))
	}
	switch {
	case err == nil && older(version, r.reached):
		r.history.lost = true
		return errBroken
	case err == nil:
		return nil
	}
	switch {
	case refusesOptions(err):
		r.history.noCheck = true
	case ctx.Err() == nil && isUnreachable(err): // so would the watch be
		r.history.check, r.history.next = true, time.Time{} // after the backoff
		return err
	case classify(err) != classExpired: // the watch will say that
		r.history.check = true // in a minute; the watch is opened meanwhile
	}
	return context.Cause(parent)
}

// isUnreachable reports whether a request did not get as far as an answer.
func isUnreachable(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) && isUnanswered(err)
}

// ordered reports whether a version has an order: package resourceversion compares positive
// integers without leading zeros, the shorter ones first. An update that moves no version looks
// at two of them.
func ordered(version string) bool {
	for i := range len(version) {
		if version[i]-'0' > 9 {
			return false
		}
	}
	return version != "" && version[0] != '0'
}

// errPeeked ends a list that has shown its first item.
var errPeeked = errors.New("seen enough")

// peek returns the version of a list with limit 1.
func (r *Reflector) peek(ctx context.Context, options metav1.ListOptions) (version string, err error) {
	options.Limit = 1
	items := 0
	var list metav1.ListMeta
	if source, ok := r.source.(StreamLister); ok {
		list, err = source.ListStream(ctx, options, nil, func(runtime.Object) error {
			if items++; items > 1 {
				return errPeeked
			}
			return nil
		})
	} else {
		list, items, err = r.peekWhole(ctx, options)
	}
	if items > 1 {
		r.history.noCheck = true // it ignores the limit: a check costs a list
	}
	if errors.Is(err, errPeeked) {
		return "", nil // the version may come behind the items
	}
	r.report.contact()
	return list.ResourceVersion, err
}

func (r *Reflector) peekWhole(ctx context.Context, options metav1.ListOptions) (list metav1.ListMeta, items int, err error) {
	first := pager.New(r.source.List, pager.Options{PageSize: 1, Prefetch: -1, OnAbandon: r.report.abandoned})
	seen := errors.New("page")
	_, err = first.EachPage(ctx, options, func(page runtime.Object) error {
		m, err := meta.ListAccessor(page)
		if err != nil {
			return err
		}
		list.ResourceVersion, items = m.GetResourceVersion(), meta.LenList(page)
		return seen
	})
	if errors.Is(err, seen) {
		err = nil
	}
	return list, items, err
}

// alarming reports whether an event contradicts what is known, as only one of another
// history does: others that are older than R come from per-object counters, and from
// DELETED with the last version of the object.
func (r *Reflector) alarming(event watch.Event, m metav1.Object) bool {
	version := m.GetResourceVersion()
	if r.history.blind || !older(version, r.reached) {
		return false
	}
	switch event.Type {
	case watch.Bookmark:
		return true
	case watch.Added, watch.Modified:
		known, uid, ok := r.target.identity(m)
		return ok && uid == m.GetUID() && older(version, known)
	}
	return false
}

// judge says what the version of a complete list means. An error asks for a consistent
// list first.
func (r *Reflector) judge(asked, version string) (broken bool, err error) {
	if !r.synced || r.history.blind {
		return false, nil
	}
	back := older(version, r.reached)
	if back && asked != "" {
		return false, fmt.Errorf("%w: list at %s, asked for %s", errAlarm, version, asked)
	}
	return back || r.history.lost, nil
}

// settleHistory draws the conclusions from a list that was committed in the place of the
// version from.
func (r *Reflector) settleHistory(ctx context.Context, broken bool, from, to string) {
	alarmed := r.history.alarmed
	r.history.alarmed, r.history.lost = false, false
	r.history.check = false // the list has shown it
	switch {
	case broken:
		r.streak.falseAlarms = 0
		r.report.historyBreak(ctx, from, to)
	case alarmed:
		if r.streak.falseAlarms++; r.streak.falseAlarms >= maxFalseAlarms {
			r.history.blind = true
		}
	}
}
