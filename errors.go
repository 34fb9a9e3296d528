// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// States of the caller's own making.
var (
	ErrStarted      = errors.New("informer: already started")                    // Run, called again
	ErrStopped      = errors.New("informer: stopped")                            // AddHandler and waits, after Run has returned
	ErrClosed       = errors.New("informer: queue is closed")                    // Pop and the writers of a DeltaFIFO
	ErrExists       = errors.New("informer: name is taken")                      // an index, a source or a member
	ErrUnknownIndex = errors.New("informer: unknown index")                      // reads by index; in an *IndexError
	ErrInHandler    = errors.New("informer: called by the handler it waits for") // RemoveAndWait, and waits that the handler itself holds up
)

// What a source did wrong.
var (
	ErrWrongType    = errors.New("informer: object of another type") // in an *ObjectError
	ErrNotAList     = errors.New("informer: answer is not a list of objects")
	ErrTable        = errors.New("informer: a Table is not a list of objects")
	ErrNoProgress   = errors.New("informer: watch ended at once and without an event")
	ErrStalled      = errors.New("informer: watch is silent past its timeout")
	ErrHistoryBreak = errors.New("informer: resource version went backwards")
	ErrVersionLost  = errors.New("informer: the collection is older than NotOlderThan") // surfaced, never a sync
)

// What is wrong with one object.
var (
	// ErrRepaired, in an *ObjectError, is an object that the mirror held in another state
	// than the source at the same version, until ReflectorOptions.Verify found that out.
	ErrRepaired = errors.New("informer: the mirror differed from the source, and was repaired")

	errNilObject = errors.New("nil object")
	errNoName    = errors.New("object without a name")
	errEmptyKey  = errors.New("empty key")
	errRenamed   = errors.New("transform changed namespace or name")
	errCollision = errors.New("another source of the union holds the key")
	errMutated   = errors.New("changed although it is shared and read-only")
	errGoexit    = errors.New("runtime.Goexit")                       // of a handler, at the object
	errLeft      = errors.New("left by a panic or by runtime.Goexit") // of a list, for ListEnd
)

// SourceError is a request or a stream of a source that failed. The OnError hook, the
// waits and Status report failures in this form.
type SourceError struct {
	Source    string // name of the reflector
	Operation string // "list", "watch", "watch-list" or "resync"
	Err       error  // what the source, or the way to it, said
}

// Error names operation and source.
func (e *SourceError) Error() string {
	return fmt.Sprintf("%s %s: %s", e.Operation, e.Source, strings.TrimPrefix(e.Err.Error(), e.Source+": "))
}

// Unwrap returns Err.
func (e *SourceError) Unwrap() error { return e.Err }

// ObjectError is an object that could not be decoded, keyed, transformed or stored. A
// Sink returns it for what concerns one object only; any other error of a Sink concerns
// the Sink. It names the object and never holds its content.
type ObjectError struct {
	Source          string    // name of the reflector; "" where there is none
	Key             string    // without the KeyPrefix of a union's source; "" if the object has none
	UID             types.UID // as the source sent it; "" if it has none
	ResourceVersion string    // as the source sent it; "" if it has none
	Err             error     // what is wrong with it
}

// Error names source and key.
func (e *ObjectError) Error() string {
	if e.Source == "" {
		return fmt.Sprintf("object %q: %v", e.Key, e.Err)
	}
	return fmt.Sprintf("%s: object %q: %v", e.Source, e.Key, e.Err)
}

// Unwrap returns Err.
func (e *ObjectError) Unwrap() error { return e.Err }

// WaitError is a wait that ended with ctx, or with Run, before what it waited for.
type WaitError struct {
	Name  string   // of the informer
	For   string   // `sync`, `resource version "12" (at "11")`, `object ns/name`
	Cause error    // of ctx, or ErrStopped, ErrHistoryBreak, ErrInHandler
	Late  []string // sources and handlers still waited for
	Last  error    // last failure of the source since its last good contact; nil: none
}

// Error names what was waited for, who is late and why.
func (e *WaitError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "wait for %s of %s: %v", e.For, e.Name, e.Cause)
	if len(e.Late) > 0 && !slices.Equal(e.Late, []string{e.Name}) {
		fmt.Fprintf(&b, "; late: %s", strings.Join(e.Late, ", "))
	}
	if e.Last != nil {
		fmt.Fprintf(&b, "; last failure: %v", e.Last)
	}
	return b.String()
}

// Unwrap returns Cause and Last.
func (e *WaitError) Unwrap() []error {
	if e.Last == nil {
		return []error{e.Cause}
	}
	return []error{e.Cause, e.Last}
}

// IndexError is an unknown index, or an index function that failed for an object.
type IndexError struct {
	Index string   // its name
	Known []string // the indexes that there are, sorted; for an unknown one
	Key   string   // of the object; for a function that failed
	Err   error    // ErrUnknownIndex, ErrExists, or that of the function
}

// Error names the index, and the known ones or the object.
func (e *IndexError) Error() string {
	if e.Key != "" {
		return fmt.Sprintf("index %q of object %q: %v", e.Index, e.Key, e.Err)
	}
	return fmt.Sprintf("index %q of %q: %v", e.Index, e.Known, e.Err)
}

// Unwrap returns Err.
func (e *IndexError) Unwrap() error { return e.Err }

// onlyIndexErrors reports whether err holds nothing but errors of index functions: what it
// came from was stored all the same, and asks for a report, not for a repetition.
func onlyIndexErrors(err error) bool {
	switch e := err.(type) {
	case *IndexError:
		return !errors.Is(e.Err, ErrUnknownIndex)
	case interface{ Unwrap() error }:
		return onlyIndexErrors(e.Unwrap())
	case interface{ Unwrap() []error }:
		all := e.Unwrap()
		return len(all) > 0 && !slices.ContainsFunc(all, func(err error) bool { return !onlyIndexErrors(err) })
	}
	return false
}

// PanicError is a recovered panic of a handler, or a handler that ended its goroutine with
// runtime.Goexit, as a test's Fatal does. Its message leaves the value out, which may hold an
// object.
type PanicError struct {
	Handler string // name of the handler
	Key     string // of the change, or of the first of some, that it was called with
	Value   any    // what it panicked with; after runtime.Goexit an error that says so
	Stack   []byte // of the goroutine, at the panic
}

// Error names handler and key, and the type of the value.
func (e *PanicError) Error() string {
	if e.Value == errGoexit {
		return fmt.Sprintf("handler %s: %v at %s", e.Handler, errGoexit, e.Key)
	}
	return fmt.Sprintf("handler %s: panic at %s: %T", e.Handler, e.Key, e.Value)
}

// Unwrap returns Value if it is an error, and nil otherwise.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// MutationError is an object that was changed by somebody to whom it was lent, which the
// MutationGuard of the Options found out. Everybody sees the change now, and no event
// tells of it.
type MutationError struct {
	Informer string // its name
	Handler  string // that had just returned, or another one that ran meanwhile; "": it was found as the object was replaced
	Key      string // of the object
}

// Error names informer, key and handler.
func (e *MutationError) Error() string {
	if e.Handler == "" {
		return fmt.Sprintf("%s: object %q: %v", e.Informer, e.Key, errMutated)
	}
	return fmt.Sprintf("%s: object %q: %v: handler %s", e.Informer, e.Key, errMutated, e.Handler)
}

// What recovery tells apart, and nobody else needs to.
var (
	errUnappliable    = errors.New("event cannot be applied")
	errInitialSilence = errors.New("initial events: no end marker, and silence")
	errInitialEnded   = errors.New("initial events: ended before the end marker")
	errAlarm          = errors.New("version older than what was seen before")
	errBroken         = errors.New("the collection is older than what was seen before")
	errNoAnswer       = errors.New("no answer")
	errShortWindow    = errors.New("the history that the server keeps is shorter than a list takes")
)

// sinkError is an error of the sink, which a list repairs, and not of the source.
type sinkError struct{ err error }

// indexFailure is what the index functions of a sink had to say about objects that it holds.
type indexFailure struct{ err error }

func (e *indexFailure) Error() string { return e.err.Error() }
func (e *indexFailure) Unwrap() error { return e.err }

func (e *sinkError) Error() string { return "sink: " + e.err.Error() }
func (e *sinkError) Unwrap() error { return e.err }
