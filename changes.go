// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"iter"
)

// Changes yields what a handler with the zero HandlerOptions would be told, and starts no
// goroutine for it: while the loop's body runs, changes are merged per key. It may be
// called before Run, and then waits for it. Each loop over it begins anew, with what the
// store holds.
//
// The loop ends when it breaks, which forgets it; when ctx ends; and when Run has
// returned and what was queued by then has been yielded, so after that at once.
//
// WaitForSync does not wait for the loops over Changes, and they are not resynced.
func (i *Informer[T]) Changes(ctx context.Context) iter.Seq[Change[T]] {
	return func(yield func(Change[T]) bool) {
		d := newDelivery[T](i, HandlerFunc[T](nil), HandlerOptions{Name: "changes"})
		d.wake = make(chan struct{}, 1)
		if i.join(d) != nil {
			return
		}
		defer d.remove()
		for {
			change, ok := d.pull(ctx)
			if !ok || !yield(change) {
				return
			}
		}
	}
}

// pull waits for the next change; false: there will be none.
func (d *delivery[T]) pull(ctx context.Context) (change Change[T], ok bool) {
	pop := func() (ok bool) { change, ok = d.queue.pop(); return ok }
	for ctx.Err() == nil {
		if d.next(0, pop) {
			return change, true
		}
		select {
		case <-d.wake:
		case <-d.finished:
			return change, false
		case <-ctx.Done():
		}
	}
	return change, false
}
