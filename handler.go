// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ChangeType says what happened to an object.
type ChangeType string

// The types of changes.
const (
	Added   ChangeType = "Added"   // Old is zero
	Updated ChangeType = "Updated" // Old is what this handler was shown last
	Deleted ChangeType = "Deleted" // New is zero, Old the final state if it is known
)

// Cause says why the informer learned of a change.
type Cause string

// The causes of changes and deltas. Where changes of one key are merged, the result has
// the first of their causes in this order; a Deleted has the cause of the delete.
const (
	CauseInitial Cause = "Initial" // the first list, or a late handler's first view
	CauseWatch   Cause = "Watch"   // an event
	CauseVerify  Cause = "Verify"  // the periodic list and diff
	CauseRelist  Cause = "Relist"  // a list that recovery asked for
	CauseScope   Cause = "Scope"   // a filter, a shard or a source of a union came, went or changed: nothing happened at the source
	CauseResync  Cause = "Resync"  // the period of the handler: nothing happened
)

// strength orders causes for a merge; the strongest is 0.
func (c Cause) strength() int {
	switch c {
	case CauseInitial:
		return 0
	case CauseWatch:
		return 1
	case CauseVerify:
		return 2
	case CauseRelist:
		return 3
	case CauseScope:
		return 4
	default:
		return 5
	}
}

// Change is what a handler is told about one object.
//
// Ownership: Old and New are shared with the store and with every other handler; they
// are read-only.
type Change[T any] struct {
	Type              ChangeType // what happened
	Key               string     // as the key function has it
	Old, New          T          // shared and read-only
	Cause             Cause      // why the informer learned of it
	Source            string     // of a union: the name of the source; otherwise ""
	FinalStateUnknown bool       // Deleted, and Old is only the last known state
}

// Object returns New, or Old of a Deleted.
func (c Change[T]) Object() T {
	if c.Type == Deleted {
		return c.Old
	}
	return c.New
}

// Handler is told of changes. For each key it sees Added, any number of Updated, Deleted,
// and around again; when it hears of a change, the store already holds it or a later state.
//
// A handler may take its time: the changes that come meanwhile are merged per key. It may
// be a BatchHandler too.
//
// Concurrency: one call at a time for each registration; changes of one key in order,
// keys in order of arrival. A handler may call every method of the informer.
type Handler[T any] interface {
	// Handle is called for each change. Its ctx ends with Run, and carries the logger of
	// Run (klog.FromContext) and the Registration (RegistrationFromContext).
	Handle(ctx context.Context, change Change[T])
}

// BatchHandler is implemented by a Handler that takes all that is queued at once.
//
// Concurrency: as for a Handler.
type BatchHandler[T any] interface {
	// HandleBatch is called instead of Handle. There is at least one change; with a
	// Limit, there are no more than that. A late handler's first view, a resync, and a
	// first list of more than a thousand objects come in batches of 1,024.
	//
	// Ownership: the slice is the handler's, what its changes refer to is shared.
	HandleBatch(ctx context.Context, changes []Change[T])
}

// HandlerFunc makes a Handler of a function.
type HandlerFunc[T any] func(ctx context.Context, change Change[T])

// Handle calls f.
func (f HandlerFunc[T]) Handle(ctx context.Context, change Change[T]) { f(ctx, change) }

// HandlerFuncs makes a Handler of a function for each type of change; nil ones are skipped.
type HandlerFuncs[T any] struct {
	AddFunc    func(obj T)            // of Added; nil: none
	UpdateFunc func(oldObj, newObj T) // of Updated; nil: none
	DeleteFunc func(obj T)            // with the final state if it is known, otherwise the last known one
}

// Handle calls the function for the type of change.
func (f HandlerFuncs[T]) Handle(_ context.Context, change Change[T]) {
	switch {
	case change.Type == Added && f.AddFunc != nil:
		f.AddFunc(change.New)
	case change.Type == Updated && f.UpdateFunc != nil:
		f.UpdateFunc(change.Old, change.New)
	case change.Type == Deleted && f.DeleteFunc != nil:
		f.DeleteFunc(change.Old)
	}
}

// HandlerOptions configures one handler. The zero value merges changes per key.
type HandlerOptions struct {
	// Name is for Status, errors and logs; "": the handler's type.
	Name string
	// Resync is the period after which each object that has nothing queued is delivered
	// again, as Updated with Old equal to New; no request is made for it. Each period is
	// random in [Resync, 1.1 Resync). 0: Resync of the Options. Negative: never.
	Resync time.Duration
	// EveryChange keeps each change instead of the newest state per key: without bound
	// unless Limit is set.
	EveryChange bool
	// Limit, with EveryChange, is how many changes are queued at most. The informer then
	// takes nothing more from its source until the handler has made room, which holds up
	// the other handlers too, or was removed. 0: no bound. Negative, or without
	// EveryChange: an error.
	Limit int
	// MergeRecreated makes an object whose delete was missed, and which is there again
	// with another UID, Updated instead of Deleted and Added.
	MergeRecreated bool
	// DrainOnRemove has Remove deliver what is queued instead of dropping it. The end of
	// Run drops it all the same.
	DrainOnRemove bool
	// RecoverPanics reports a panic of the handler to OnError and the log, as a
	// *PanicError, and goes on: the change counts as delivered. Otherwise a panic crashes
	// the process.
	RecoverPanics bool
}

// What AddHandler refuses.
var (
	errNilHandler = errors.New("informer: AddHandler: nil handler")
	errLimit      = errors.New("informer: AddHandler: Limit is negative, or without EveryChange")
)

// checkHandler finds what can never work before the first change does.
func checkHandler[T any](handler Handler[T], options HandlerOptions) error {
	if f, ok := handler.(HandlerFunc[T]); handler == nil || ok && f == nil {
		return errNilHandler
	}
	if options.Limit < 0 || options.Limit > 0 && !options.EveryChange {
		return errLimit
	}
	return nil
}

// handlerName is the default of HandlerOptions.Name.
func handlerName(name string, handler any) string {
	if name == "" {
		return fmt.Sprintf("%T", handler)
	}
	return name
}
