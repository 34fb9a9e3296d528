// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/internal/carry"
)

// errAbrupt is what an ERROR event says of a decoding that did not return.
var errAbrupt = errors.New("rest: type does not return from its own decoding")

// Rethrow leaves the goroutine of the caller as a type has left its decoding. If none has, it
// does nothing.
func (w *watcher[T]) Rethrow() { w.left.Load().GoOn() }

// abandon ends the stream because of an object that cannot be got past. Its reader finds an
// event of type ERROR, which has the type of the panic's value, but not the value: that may
// be content.
func (w *watcher[T]) abandon(left *carry.Left, raw []byte) {
	err := fmt.Errorf("%w %v: %v", errAbrupt, reflect.TypeFor[T](), left)
	if raw != nil { // an object, not a bookmark
		id, _ := w.codec.identify(raw, true) // it could be identified before
		m := id.object()
		err = fmt.Errorf("object %q: %w", informer.JoinKey(m.Namespace, m.Name), err)
	}
	w.left.Store(left)
	w.send(watchError(w.describe(err)))
	w.Stop()
}
