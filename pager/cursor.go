// SPDX-License-Identifier: Apache-2.0

package pager

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// defaultPageSize is the page size of client-go, and so what servers are tuned for.
const defaultPageSize = 500

// cursor is a place in a list: what to ask for next, and what follows from the answer. It does not
// wait and starts nothing.
type cursor struct {
	asked   metav1.ListOptions  // of page one, without a token
	token   string              // of the next page; "": page one
	page    int                 // number of the next page, from 1
	resumed bool                // the caller brought a token
	full    bool                // this is the full list after an expired token
	seen    map[string]struct{} // every token of this list
}

// newCursor returns the place before page one of a list with these options.
func newCursor(options metav1.ListOptions, pageSize int64) *cursor {
	c := &cursor{asked: options, token: options.Continue, page: 1, seen: map[string]struct{}{}}
	c.asked.Continue = ""
	if c.asked.Limit <= 0 {
		c.asked.Limit = max(pageSize, 0)
		if pageSize == 0 {
			c.asked.Limit = defaultPageSize
		}
	}
	if c.token != "" {
		c.resumed = true
		c.seen[c.token] = struct{}{}
		return c
	}
	// Limit and version without a match mean "exactly this version", which nobody asked for: a list
	// after a 410 would bring the expired version again, for ever.
	if v := options.ResourceVersion; v != "" && v != "0" && options.ResourceVersionMatch == "" {
		c.asked.Limit = 0
	}
	return c
}

// request returns the options of the next page.
func (c *cursor) request() metav1.ListOptions {
	request := c.asked
	if c.token != "" {
		// The token holds the version; a server refuses a second one. It does not hold the selectors.
		request.Continue = c.token
		request.ResourceVersion = ""
		request.ResourceVersionMatch = ""
	}
	return request
}

// advance moves on to the page that the token of this one names, if it names one.
func (c *cursor) advance(token string) (last bool, err error) {
	if token == "" {
		return true, nil
	}
	if _, ok := c.seen[token]; ok {
		return false, ErrRepeatedToken
	}
	c.seen[token] = struct{}{}
	c.token = token
	c.page++
	return false, nil
}

// restart moves to the full list that follows an expired token.
func (c *cursor) restart() {
	c.asked.Limit = 0
	c.token = ""
	c.page = 1
	c.full = true
	clear(c.seen)
}

// step is what follows a failed page.
type step int

const (
	giveUp step = iota // the failure is the result
	retry              // ask whether to fetch the page again
	relist             // the one full list
)

// nextStep decides what follows err, a failure of the page at c.
func (c *cursor) nextStep(err error, mayRelist bool) step {
	switch {
	case c.page == 1, errors.Is(err, ErrRepeatedToken), errors.Is(err, ErrNotList):
		return giveUp
	case !expired(err):
		return retry
	case c.full, c.resumed, !mayRelist:
		// A full list is more than what a caller with a token of its own asked for.
		return giveUp
	}
	return relist
}

// expired reports whether err is a 410.
func expired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
}

// fetchFunc fetches one page. The object is nil for streams.
type fetchFunc func(ctx context.Context, options metav1.ListOptions) (runtime.Object, metav1.ListMeta, error)

// result is a page or its failure.
type result struct {
	object runtime.Object
	meta   metav1.ListMeta
	page   int
	last   bool
	err    error
}

// take fetches the page at c and moves on if it came.
func (c *cursor) take(ctx context.Context, fetch fetchFunc) result {
	r := result{page: c.page}
	r.object, r.meta, r.err = fetch(ctx, c.request())
	if r.err == nil {
		r.last, r.err = c.advance(r.meta.Continue)
	}
	return r
}
