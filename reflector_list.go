// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/informerkit/informer/pager"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiltrace "k8s.io/utils/trace"
)

// longList is how long a list takes before its steps are logged, as client-go has it.
const longList = 10 * time.Second

// list brings the sink to the state that a list has, at the version or as near to it as
// the source can.
func (r *Reflector) list(ctx context.Context, version string) error {
	noMatch := r.noMatch
	for {
		options := r.listOptions(version, noMatch)
		err := r.listOnce(ctx, options)
		if err == nil {
			r.noMatch = noMatch // it was the match that the source refused
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		next := afterList(err, options)
		if !next.again {
			return r.failed(ctx, "list", err)
		}
		if next.consistent {
			r.consistent, version = true, ""
		}
		noMatch = noMatch || next.noMatch
	}
}

// listOptions asks for a version in the words that mean "not older than": a version with
// a limit and without a match would mean exactly that version.
func (r *Reflector) listOptions(version string, noMatch bool) metav1.ListOptions {
	options := metav1.ListOptions{
		LabelSelector:   r.options.LabelSelector,
		FieldSelector:   r.options.FieldSelector,
		ShardSelector:   r.shard.selector(),
		ResourceVersion: version,
	}
	if version != "" && version != "0" && !noMatch {
		options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	return options
}

// listOnce stages one list, page by page, and commits it.
func (r *Reflector) listOnce(ctx context.Context, options metav1.ListOptions) (err error) {
	r.report.listing(PhaseListing)
	l, err := r.newListing(ctx)
	if err != nil {
		return err
	}
	defer l.end(&err)
	list, err := l.walk(options)
	if err != nil {
		return err
	}
	if err := l.commit(options.ResourceVersion, list.ResourceVersion); err != nil {
		return err
	}
	r.report.cutBy(list.ShardInfo != nil && options.ShardSelector != "" && list.ShardInfo.Selector == options.ShardSelector)
	return nil
}

// listing is a list or the initial events of a watch-list on their way into the sink.
type listing struct {
	r       *Reflector
	ctx     context.Context
	staging staging
	broken  error // of the sink, between two items
	items   int
	seen    int                    // those of other parts too
	hashes  chunked[uint64]        // of the items
	before  itemHashes             // those of the list before
	aside   map[string]Quarantined // by namespace/name
	others  int                    // objects of another type, left out
	told    int                    // of these, one by one
	began   time.Time
	trace   *utiltrace.Trace
	late    *time.Timer // ends the list when nothing has come for too long; nil for initial events

	committed bool
}

func (r *Reflector) newListing(ctx context.Context) (*listing, error) {
	staging, err := r.target.begin(ctx, r.rescoped())
	if err != nil {
		return nil, err
	}
	r.report.each(func(t *Trace) {
		if t.ListStart != nil {
			t.ListStart(r.options.Name)
		}
	})
	return &listing{
		r: r, ctx: ctx, staging: staging, began: time.Now(), before: hashesOf(&r.hashes), aside: map[string]Quarantined{},
		trace: utiltrace.New("List", utiltrace.Field{Key: "source", Value: r.options.Name}),
	}, nil
}

// end tells the traces, and drops what was staged if the list was not committed, be it that
// the source has panicked.
func (l *listing) end(err *error) {
	result := *err
	if result == nil && !l.committed {
		result = errLeft
	}
	l.abort()
	if more := l.others - l.told; more > 0 {
		l.r.report.note(l.ctx, l.r.sourceError("list", fmt.Errorf("%d more objects left out: %w", more, ErrWrongType)))
	}
	l.r.report.listed(l.items, -1)
	l.trace.LogIfLong(longList)
	took := time.Since(l.began)
	l.r.report.each(func(t *Trace) {
		if t.ListEnd != nil {
			t.ListEnd(l.r.options.Name, l.items, took, result)
		}
	})
}

// abort drops what was staged, if it was neither dropped nor committed: a replacement is ended
// once, also where a sink does not return.
func (l *listing) abort() {
	if staging := l.staging; staging != nil {
		l.staging = nil
		staging.abort()
	}
}

// walk goes through the pages, streamed where the source can.
func (l *listing) walk(options metav1.ListOptions) (metav1.ListMeta, error) {
	pageSize := l.r.options.PageSize
	if options.ResourceVersion != "" && options.ResourceVersion != "0" && options.ResourceVersionMatch == "" {
		pageSize = -1 // a limit would make it mean exactly that version
	}
	ctx, end := context.WithCancelCause(l.ctx)
	defer end(nil)
	l.late = time.AfterFunc(listTimeout, func() { end(errNoAnswer) })
	defer l.late.Stop()
	paging := pager.Options{PageSize: pageSize, Retry: l.retry, Restart: l.restart, OnAbandon: l.r.report.abandoned}
	if source, ok := l.r.source.(StreamLister); ok {
		list, err := pager.Walk(ctx, options, func(ctx context.Context, options metav1.ListOptions) (metav1.ListMeta, error) {
			page, err := source.ListStream(ctx, options, l.known, l.item)
			if err == nil {
				l.page(page)
			}
			return page, err
		}, paging)
		return list, noAnswer(ctx, err)
	}
	list, err := pager.New(l.fetch, paging).EachPage(ctx, options, l.stage)
	return list, noAnswer(ctx, err)
}

// stage stages the items of a page.
func (l *listing) stage(page runtime.Object) error {
	if err := eachItem(page, l.item); err != nil {
		return err
	}
	list, err := meta.ListAccessor(page)
	if err != nil {
		return fmt.Errorf("%w: %T", ErrNotAList, page)
	}
	l.page(metav1.ListMeta{RemainingItemCount: list.GetRemainingItemCount()})
	return nil
}

// fetch asks for a page, and knows what servers send in the place of one.
func (l *listing) fetch(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	page, err := l.r.source.List(ctx, options)
	if err != nil {
		return nil, err
	}
	if isNil(page) {
		return nil, fmt.Errorf("%w: nil", ErrNotAList)
	}
	switch kind := kindOf(page); {
	case isStatus(page, kind):
		return nil, streamError(page)
	case isTable(page, kind):
		return nil, ErrTable
	}
	if !meta.IsListType(page) {
		return nil, fmt.Errorf("%w: %T", ErrNotAList, page)
	}
	return page, nil
}

// eachItem calls fn with each item of a page. An error of apimachinery would print the item.
func eachItem(page runtime.Object, fn func(obj runtime.Object) error) error {
	var own error
	err := meta.EachListItemWithAlloc(page, func(obj runtime.Object) error {
		own = fn(obj)
		return own
	})
	if err != nil && own == nil {
		return fmt.Errorf("%w: an item of %T", ErrNotAList, page)
	}
	return own
}

// page tells Status and the traces how far the list has come.
func (l *listing) page(list metav1.ListMeta) {
	l.late.Reset(listTimeout)
	remaining := int64(-1)
	if list.RemainingItemCount != nil {
		remaining = *list.RemainingItemCount
	}
	l.r.report.listed(l.items, remaining)
	l.trace.Step("page", utiltrace.Field{Key: "items", Value: l.items})
	l.r.report.each(func(t *Trace) {
		if t.ListPage != nil {
			t.ListPage(l.r.options.Name, l.items, remaining)
		}
	})
}

// retry waits for the backoff if a page from the second on may be had later.
func (l *listing) retry(ctx context.Context, _ int, err error) error {
	if classify(err) != classUnanswered {
		return err
	}
	l.late.Stop()
	defer l.late.Reset(listTimeout)
	return l.r.retried(ctx, "list", err)
}

// restart drops what was staged: one whole list follows.
func (l *listing) restart() {
	l.abort()
	l.staging, l.broken = l.r.target.begin(l.ctx, l.r.rescoped())
	l.items, l.others = 0, 0 // told stays: it bounds the reports of the whole list
	clear(l.aside)
	l.hashes = chunked[uint64]{}
}

// known says whether the sink holds the item in the very bytes that the list has.
func (l *listing) known(item metav1.Object, hash uint64) bool {
	l.hashes.add(hash)
	if !l.r.shard.whole() && !l.r.shard.holdsObject(item) {
		l.arrived()
		return true // of no interest: not even decoded
	}
	if !l.before.has(hash) || l.broken != nil || item.GetResourceVersion() == "" {
		return false
	}
	version, uid, ok := l.r.target.identity(item)
	if !ok || version != item.GetResourceVersion() || uid != item.GetUID() {
		return false
	}
	l.items++
	l.arrived()
	l.staging.keep(item)
	return true
}

// arrived says that the source is at work: the list is not late.
func (l *listing) arrived() {
	if l.seen++; l.seen%defaultProgress != 0 {
		return
	}
	l.r.report.progress(l.items)
	if l.late != nil {
		l.late.Reset(listTimeout)
	}
}

// item stages one object.
func (l *listing) item(obj runtime.Object) error {
	if l.broken != nil {
		return l.broken
	}
	l.items++
	l.arrived()
	if l.r.elsewhere(obj) {
		return nil
	}
	err := l.staging.put(obj)
	if err == nil {
		l.forgive(obj)
		return nil
	}
	return l.unusable(obj, err)
}

// forgive takes an object off those set aside: a later event of the same list is good.
func (l *listing) forgive(obj runtime.Object) {
	if m, ok := obj.(metav1.Object); ok && len(l.aside) > 0 {
		delete(l.aside, JoinKey(m.GetNamespace(), m.GetName()))
	}
}

// othersTold is the number of objects of another type that a list reports one by one; the
// rest is one report.
const othersTold = 10

// defaultProgress is the number of items between two updates of Status.
const defaultProgress = 100

// unusable decides about an object that was not staged. What belongs to another
// collection is left out, poison is set aside or fails the list.
func (l *listing) unusable(obj runtime.Object, err error) error {
	m, identified := obj.(metav1.Object)
	if errors.Is(err, ErrWrongType) {
		if l.others++; l.told < othersTold {
			l.told++
			l.r.report.note(l.ctx, l.r.sourceError("list", err))
		}
		return nil
	}
	poison, ok := errors.AsType[*ObjectError](err)
	switch {
	case errors.Is(err, errUnappliable) && l.late != nil: // nothing can be concluded from what the list lacks
		return &heldError{err: err, pause: poisonPause}
	case !ok || !identified || m.GetName() == "":
		return err
	}
	if _, bare := obj.(*Undecodable); bare && l.r.target.keyless() {
		return fmt.Errorf("%w: %w", errUnappliable, err)
	}
	named := l.r.named(poison)
	if !l.r.synced && !l.r.options.Quarantine {
		return &heldError{err: named, pause: poisonPause}
	}
	if _, uid, known := l.r.target.identity(m); !known || sameUID(uid, uidBefore(poison, m)) {
		l.staging.keep(m)
	}
	l.aside[JoinKey(m.GetNamespace(), m.GetName())] = quarantineOf(named)
	l.r.report.noteObject(l.ctx, m, named)
	return nil
}

// commit hands the list over and makes its version the one to resume from.
func (l *listing) commit(asked, version string) error {
	r := l.r
	if l.broken != nil {
		return l.broken
	}
	if !r.synced && older(version, r.options.NotOlderThan) {
		r.consistent = false // the next round asks for it again
		return fmt.Errorf("%w: at %s, and not at %s", ErrVersionLost, version, r.options.NotOlderThan)
	}
	broken, err := r.judge(asked, version)
	if err != nil {
		r.history.alarmed = true
		return err
	}
	if broken && r.broke != nil {
		r.broke()
	}
	r.report.setAsideAll(l.aside) // whoever waits for the sync finds them in Status
	staging := l.staging
	l.staging = nil
	if err := r.noted(l.ctx, staging.commit(version)); err != nil {
		return err
	}
	l.committed = true
	from := r.reached
	r.synced, r.reached, r.consistent, r.hashes = true, version, false, l.hashes
	r.initialTries, r.want, r.listedShard = 0, "", r.shard
	r.planVerify()
	r.backoff.Success()
	r.report.committed(l.ctx, version, l.aside)
	r.settleHistory(l.ctx, broken, from, version)
	return nil
}

// noted reports what index functions had to say, which holds up nobody, and returns any
// other error.
func (r *Reflector) noted(ctx context.Context, err error) error {
	if failure, ok := errors.AsType[*indexFailure](err); ok {
		r.report.note(ctx, failure)
		return nil
	}
	return err
}

// sameUID reports whether two UIDs may be those of one object.
func sameUID(a, b types.UID) bool { return a == "" || b == "" || a == b }

// named fills in the name of the source.
func (r *Reflector) named(err *ObjectError) *ObjectError {
	named := *err
	if named.Source == "" {
		named.Source = r.options.Name
	}
	return &named
}

func quarantineOf(err *ObjectError) Quarantined {
	return Quarantined{
		Source: err.Source, Key: err.Key, UID: err.UID,
		ResourceVersion: err.ResourceVersion, Error: err.Err.Error(),
	}
}

// heldError is a failure that asks for a longer delay than the backoff has.
type heldError struct {
	err   error
	pause time.Duration
}

func (e *heldError) Error() string             { return e.err.Error() }
func (e *heldError) Unwrap() error             { return e.err }
func (e *heldError) RetryAfter() time.Duration { return e.pause }
