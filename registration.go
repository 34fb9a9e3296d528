// SPDX-License-Identifier: Apache-2.0

package informer

import "context"

// Registration is a handler's place in an Informer. Its Synced is closed when the handler
// was told of what was there: of the first list or, if it was added later, of what the
// store held then; that is, when its call for the last of these objects has returned.
// It stays open if the handler is removed before.
//
// Concurrency: all methods may be called from anywhere, the handler itself included.
type Registration struct {
	*syncSignal
	place place
}

// place is a delivery with its type erased.
type place interface {
	remove()
	waitRemoved(ctx context.Context) error
	refilter()
	owner() any // the informer
}

type registrationKey struct{}

// RegistrationFromContext returns the registration of the handler that was given ctx, so
// that it can remove itself; nil outside of a handler.
func RegistrationFromContext(ctx context.Context) *Registration {
	r, _ := ctx.Value(registrationKey{}).(*Registration)
	return r
}

// Remove ends the deliveries: no call begins after it has returned, except for those that
// DrainOnRemove asks for. It does not wait for a call that is under way, so the handler
// may remove itself. Removing twice does nothing.
func (r *Registration) Remove() { r.place.remove() }

// RemoveAndWait removes the handler and waits until its last call has returned, drained
// ones included.
//
// Errors: a *WaitError; of ErrInHandler, with the handler removed, if ctx is the one that
// this handler was given; otherwise of ctx.
func (r *Registration) RemoveAndWait(ctx context.Context) error {
	r.place.remove()
	return r.place.waitRemoved(ctx)
}

// Refilter applies a Filter whose answers have changed to all objects again. The handler
// gets the difference with CauseScope, in order with other changes. It returns at once,
// and does nothing for a handler without a Filter.
func (r *Registration) Refilter() { r.place.refilter() }
