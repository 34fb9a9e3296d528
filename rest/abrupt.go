// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"

	"github.com/informerkit/informer"
)

// errAbrupt is what an ERROR event says of a decoding that did not return.
var errAbrupt = errors.New("rest: type does not return from its own decoding")

// abrupt is how a type that reads itself left its decoding: by a panic, or by
// runtime.Goexit, as a test's Fatal does. It is kept for the goroutine that waits.
type abrupt struct{ panicked any } // nil: runtime.Goexit

// rethrow leaves this goroutine in the same way; nil: it does nothing.
func (a *abrupt) rethrow() {
	switch {
	case a == nil:
	case a.panicked != nil:
		panic(a.panicked)
	default:
		runtime.Goexit()
	}
}

// catching calls fn and then after, with nil if fn has returned. After runtime.Goexit it
// does not return itself.
func catching(fn func(), after func(left *abrupt)) {
	returned := false
	defer func() {
		if returned {
			after(nil)
			return
		}
		after(&abrupt{recover()})
	}()
	fn()
	returned = true
}

// Rethrow leaves the goroutine of the caller as a type has left its decoding. If none has, it
// does nothing.
func (w *watcher[T]) Rethrow() { w.left.Load().rethrow() }

// abandon ends the stream because of an object that cannot be got past. Its reader finds an
// event of type ERROR, which has the type of the panic's value, but not the value: that may
// be content.
func (w *watcher[T]) abandon(left *abrupt, raw []byte) {
	what := "runtime.Goexit"
	if left.panicked != nil {
		what = fmt.Sprintf("panic with a value of type %T", left.panicked)
	}
	err := fmt.Errorf("%w %v: %s", errAbrupt, reflect.TypeFor[T](), what)
	if raw != nil { // an object, not a bookmark
		id, _ := w.codec.identify(raw, true) // it could be identified before
		m := id.object()
		err = fmt.Errorf("object %q: %w", informer.JoinKey(m.Namespace, m.Name), err)
	}
	w.left.Store(left)
	w.send(watchError(w.describe(err)))
	w.Stop()
}
