// SPDX-License-Identifier: Apache-2.0

package informer

import "context"

// Filter returns a Handler that sees only matching objects: Added as they come to match,
// Deleted as they cease to, with the state that it was shown last. It goes by what the
// handler was shown, so match may depend on more than the object; when its answers have
// changed, Registration.Refilter delivers the difference.
//
// Given to AddHandler directly, it can be registered any number of times, and with a
// BatchHandler inside it is one. Called by a handler of the caller's own, it remembers for
// one registration of one informer, and Refilter does not reach it.
//
// Concurrency: match is called by the goroutine of the handler, with shared objects.
//
// It panics if match or handler is nil.
func Filter[T any](match func(obj T) bool, handler Handler[T]) Handler[T] {
	if match == nil || handler == nil {
		panic("informer: Filter: nil match or handler")
	}
	return newFiltered(match, handler)
}

type filtered[T any] struct {
	match   func(obj T) bool
	handler Handler[T]
	shown   map[string]struct{} // keys that the handler holds to be there
}

func newFiltered[T any](match func(obj T) bool, handler Handler[T]) *filtered[T] {
	return &filtered[T]{match: match, handler: handler, shown: map[string]struct{}{}}
}

// Handle passes on what the handler is to see.
func (f *filtered[T]) Handle(ctx context.Context, change Change[T]) {
	if change, ok := f.pass(change); ok {
		f.handler.Handle(ctx, change)
	}
}

// pass turns a change into what it means among the matching objects, if anything.
func (f *filtered[T]) pass(change Change[T]) (Change[T], bool) {
	_, shown := f.shown[change.Key]
	matches := change.Type != Deleted && f.match(change.New)
	switch {
	case matches && shown:
		return change, true
	case matches:
		f.shown[change.Key] = struct{}{}
		return Change[T]{
			Type: Added, Key: change.Key, New: change.New, Cause: scopeIfIdle(change.Cause), Source: change.Source,
		}, true
	case shown:
		delete(f.shown, change.Key)
		change.Type, change.Cause = Deleted, scopeIfIdle(change.Cause)
		var none T
		change.New = none
		return change, true
	default:
		return Change[T]{}, false
	}
}

// causeRefilter is the cause of a Refilter's question, which no handler sees.
const causeRefilter Cause = "Refilter"

// scopeIfIdle is the cause of a transition: if a resync or a Refilter came upon it,
// nothing but the predicate has changed.
func scopeIfIdle(cause Cause) Cause {
	if cause == CauseResync || cause == causeRefilter {
		return CauseScope
	}
	return cause
}

// unwrapFilters returns the filters around a handler, outermost first and with a memory
// of their own, and the handler.
func unwrapFilters[T any](handler Handler[T]) ([]*filtered[T], Handler[T]) {
	var filters []*filtered[T]
	for {
		f, ok := handler.(*filtered[T])
		if !ok {
			return filters, handler
		}
		filters = append(filters, newFiltered(f.match, f.handler))
		handler = f.handler
	}
}

// passAll passes a change through all filters. A Refilter's question that no filter
// answers differently ends here.
func passAll[T any](filters []*filtered[T], change Change[T]) (Change[T], bool) {
	for _, f := range filters {
		var ok bool
		if change, ok = f.pass(change); !ok {
			return change, false
		}
	}
	return change, change.Cause != causeRefilter
}
