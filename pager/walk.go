// SPDX-License-Identifier: Apache-2.0

package pager

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// FetchFunc fetches one page and disposes of its items itself, as they come. It returns the metadata
// of the page, once the page is complete.
//
// A page that failed part way may be fetched again, with the items that were already disposed of.
type FetchFunc func(ctx context.Context, options metav1.ListOptions) (metav1.ListMeta, error)

// Walk fetches the pages of a list one after the other. It follows the rules of the package, without
// prefetch; Options.Prefetch and Options.OnAbandon say nothing here. It returns the metadata of the
// list: page one's, without token and remaining count.
//
// Errors: as EachPage. Since fetch disposes of items before Walk sees its page, an expired token is an
// error if there is no Options.Restart.
//
// Lifetime: fetch is called in the caller's goroutine, and has to return when its ctx ends: Walk cannot
// leave it behind, because it would go on to dispose of items. A panic of fetch is not caught.
func Walk(ctx context.Context, options metav1.ListOptions, fetch FetchFunc, o Options) (metav1.ListMeta, error) {
	if fetch == nil {
		panic("informer: pager: nil FetchFunc")
	}
	w := &walk{options: o, cursor: newCursor(options, o.PageSize), page: 1}
	take := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, metav1.ListMeta, error) {
		info, err := fetch(ctx, options)
		return nil, info, err
	}
	w.next = func(ctx context.Context) result {
		w.handed = true // even a page that fails may have handed over items
		return w.cursor.take(ctx, take)
	}
	w.handle = func(result) error { return nil }
	return w.run(ctx)
}

// walk goes from page to page until the list or ctx ends.
type walk struct {
	options Options
	cursor  *cursor                          // not to be touched while a prefetcher runs
	next    func(ctx context.Context) result // fetches a page
	handle  func(r result) error             // hands it over
	restart func()                           // what was handed over is void; nil: nobody needs to know
	handed  bool                             // something was handed over (not so by List, before its end)
	page    int                              // being waited for
	last    error                            // the last failure of that page
	first   metav1.ListMeta                  // page one's
}

// walkAhead is run with a prefetcher.
func (w *walk) walkAhead(ctx context.Context, fetch fetchFunc) (metav1.ListMeta, error) {
	p := newPrefetcher(w.cursor, fetch, w.options)
	defer p.stop()
	w.next = p.next
	return w.run(ctx)
}

// run is the walk. On failure the metadata is empty.
func (w *walk) run(ctx context.Context) (metav1.ListMeta, error) {
	for {
		if ctx.Err() != nil {
			return metav1.ListMeta{}, endedError(ctx, w.page, w.last)
		}
		r := w.next(ctx)
		if r.err != nil {
			if err := w.afterFailure(ctx, r); err != nil {
				return metav1.ListMeta{}, err
			}
			continue
		}
		last := r.last
		if err := w.take(ctx, r); err != nil {
			return metav1.ListMeta{}, err
		}
		if last {
			w.first.Continue = ""
			w.first.RemainingItemCount = nil
			return w.first, nil
		}
	}
}

// take hands a page over, unless ctx has ended meanwhile. It holds the only reference to the page: when
// it returns, the page is dropped.
func (w *walk) take(ctx context.Context, r result) error {
	if ctx.Err() != nil {
		return endedError(ctx, r.page, w.last)
	}
	if r.page == 1 {
		w.first = r.meta
	}
	w.page, w.last = r.page+1, nil
	return w.handle(r)
}

// afterFailure does what is to be done about a failed page; nil means: go on.
func (w *walk) afterFailure(ctx context.Context, r result) error {
	if ctx.Err() != nil {
		if saysNoMore(ctx, r.err) {
			return endedError(ctx, w.page, w.last)
		}
		return endedError(ctx, w.page, r.err)
	}
	w.last = r.err
	switch w.cursor.nextStep(r.err, !w.handed || w.options.Restart != nil) {
	case relist:
		w.relist()
		return nil
	case retry:
		return w.retry(ctx, r)
	default:
		return pageError(r.page, r.err)
	}
}

// relist starts again with the full list.
func (w *walk) relist() {
	w.cursor.restart()
	w.page, w.last, w.handed = 1, nil, false
	if w.restart != nil {
		w.restart()
	}
	if w.options.Restart != nil {
		w.options.Restart()
	}
}

// retry asks whether to fetch the page again.
func (w *walk) retry(ctx context.Context, r result) error {
	if w.options.Retry == nil {
		return pageError(r.page, r.err)
	}
	err := w.options.Retry(ctx, r.page, r.err)
	if ctx.Err() != nil {
		return endedError(ctx, r.page, r.err)
	}
	return err
}
