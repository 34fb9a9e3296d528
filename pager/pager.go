// SPDX-License-Identifier: Apache-2.0

package pager

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ListFunc asks for one page.
//
// Ownership: what it returns belongs to the pager, which may change it.
//
// Lifetime: it has to return when its ctx ends; see Options.OnAbandon.
type ListFunc func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)

// Options says how a list is read. The zero value is ready to use.
//
// Concurrency: Retry, Restart and OnAbandon are called in the goroutine that called the method or Walk,
// after everything before the failed page was handed over.
type Options struct {
	// PageSize is the number of objects asked for a page, where metav1.ListOptions.Limit is not positive.
	// 0: 500. Negative: no limit is asked for; a server that pages nevertheless is followed.
	PageSize int64
	// Prefetch is the number of pages fetched ahead while one is handled.
	// 0: 1, so that a page is dropped before the next but one is fetched. Negative: none. More than 100: 100.
	Prefetch int
	// Retry is asked after page (from 2 on) failed with err. nil means that it has waited as long as
	// it wants to, and that the page is to be fetched again; an error is the end, and the result. It is
	// not asked about an expired token, an answer that is no list, a repeated token, or when ctx has ended,
	// and what it says does not count if ctx ended meanwhile. nil: no retry.
	Retry func(ctx context.Context, page int, err error) error
	// Restart is called before the one full list that follows an expired token: all that was handed
	// over so far is void. nil: if anything was handed over, the 410 is the result instead. List hands
	// nothing over before its end, and so needs no Restart.
	Restart func()
	// OnAbandon is called when a list function has not returned a second after its ctx ended: its
	// goroutine is left behind, and its result is dropped (a panic is not: it ends the process). nil: nobody.
	OnAbandon func()
}

// Pager reads lists page by page. New makes one.
//
// Concurrency: safe for concurrent use if the list function and the functions of the Options are.
type Pager struct {
	list    ListFunc
	options Options
}

// New returns a Pager that asks list. It panics with "informer: pager: …" if list is nil.
func New(list ListFunc, o Options) *Pager {
	if list == nil {
		panic("informer: pager: nil ListFunc")
	}
	return &Pager{list: list, options: o}
}

// List returns the whole list in one object: page one's, with the items of all pages, its version, and
// neither token nor remaining count. A list of one page is returned as it came.
//
// Ownership: the result is the caller's.
//
// Errors: as EachPage; ErrNotList too if the type of a page differs from page one's. On error the
// result is nil.
func (p *Pager) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	var whole runtime.Object
	merged := false
	w := p.newWalk(options)
	w.restart = func() { whole, merged = nil, false }
	w.handle = func(r result) error {
		if whole == nil {
			whole = r.object
			return nil
		}
		merged = true
		return pageError(r.page, appendItems(whole, r.object))
	}
	if _, err := w.walkAhead(ctx, p.fetch); err != nil {
		return nil, err
	}
	if !merged {
		return whole, nil
	}
	info, err := meta.ListAccessor(whole)
	if err != nil {
		return nil, err
	}
	info.SetContinue("")
	info.SetRemainingItemCount(nil)
	return whole, nil
}

// EachPage calls handle with each page, in order, while the next ones are fetched. It returns the
// metadata of the list: page one's, without token and remaining count.
//
// Ownership: a page is handle's, which may keep it; the bound on Options.Prefetch holds if it does not.
//
// Errors: an error of handle ends the walk and is returned as it is, and so are one of page one and one
// of Retry; that of a later page is wrapped with its number. ErrRepeatedToken and ErrNotList, wrapped,
// for pages that cannot be used. When ctx ends, an error that wraps ctx.Err(),
// context.Cause(ctx) and the last failure of the page. On error the metadata is empty.
//
// Lifetime: the goroutine that fetches has ended on return, unless a list function ignores its ctx.
func (p *Pager) EachPage(ctx context.Context, options metav1.ListOptions, handle func(page runtime.Object) error) (metav1.ListMeta, error) {
	w := p.newWalk(options)
	w.handle = func(r result) error {
		w.handed = true
		return handle(r.object)
	}
	return w.walkAhead(ctx, p.fetch)
}

// EachItem calls handle with each item of each page, in order, while the next pages are fetched. It
// returns the metadata of the list: page one's, without token and remaining count. ctx is checked before
// each item.
//
// Ownership: an item is handle's, which may keep it: one that is part of its page's memory is copied
// once, shallowly, so that it does not keep the page.
//
// Errors: as EachPage; ErrNotList too for an item that is nil or no object. Whether anything was handed
// over, as Options.Restart asks, is counted in items.
func (p *Pager) EachItem(ctx context.Context, options metav1.ListOptions, handle func(obj runtime.Object) error) (metav1.ListMeta, error) {
	w := p.newWalk(options)
	w.handle = func(r result) error {
		return eachItem(r, func(obj runtime.Object) error {
			if ctx.Err() != nil {
				return endedError(ctx, r.page, nil)
			}
			w.handed = true
			return handle(obj)
		})
	}
	return w.walkAhead(ctx, p.fetch)
}

// newWalk returns a walk that still lacks its handle.
func (p *Pager) newWalk(options metav1.ListOptions) *walk {
	return &walk{options: p.options, cursor: newCursor(options, p.options.PageSize), page: 1}
}

// fetch asks for one page and looks at what came.
func (p *Pager) fetch(ctx context.Context, options metav1.ListOptions) (runtime.Object, metav1.ListMeta, error) {
	page, err := p.list(ctx, options)
	if err != nil {
		return nil, metav1.ListMeta{}, err
	}
	info, err := inspect(page)
	return page, info, err
}
