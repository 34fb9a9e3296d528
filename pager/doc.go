// SPDX-License-Identifier: Apache-2.0

// Package pager reads a collection page by page, as the Kubernetes list protocol serves it.
//
//	p := pager.New(list, pager.Options{PageSize: 500})
//	info, err := p.EachItem(ctx, metav1.ListOptions{}, func(obj runtime.Object) error {
//		return stage(obj)
//	})
//
// [Pager.EachPage] and [Pager.EachItem] hand over what they read while the next page is on its way;
// [Pager.List] puts it into one object; [Walk] is the same walk for who decodes items from a stream.
//
// # What is asked
//
// Page one is asked with the caller's options and a limit. A resource version other than "" and "0"
// without a resourceVersionMatch is asked without a limit: with one, it would mean exactly that version.
// From page two on the request has the token, the limit and the selectors, which the token does not hold,
// and no version and no match, which servers refuse there. The list's version is page one's.
// Whether a server pages is never concluded from an answer: a list is at its end when a page has no token.
//
// # What can go wrong
//
//   - Page one fails: its error is the result.
//   - The token has expired (410): one full list, without limit, at the original version and match; see
//     [Options.Restart].
//   - Another failure of a later page: [Options.Retry] is asked, and the walk goes on at that page.
//   - A token comes twice: [ErrRepeatedToken]. An empty page with a token is nothing special.
//   - A page that is no list: [ErrNotList], or the error that a Status in its place describes.
//   - ctx ends: no further request; the error wraps its cause and the last failure of the page.
//
// # Goroutines
//
// Pages are fetched in one goroutine that ends before the method returns; all callbacks run in the
// caller's. A panic of the list function continues in the caller's goroutine as a [*PanicError]. A list
// function has to return when its ctx ends. One that has not done so a second later is left behind, so
// that it cannot hold up its caller: see [Options.OnAbandon].
package pager
