// SPDX-License-Identifier: Apache-2.0

// Package carry takes a panic, or runtime.Goexit, of code that others wrote from the goroutine
// where it happened to the one that waits for it.
package carry

import (
	"fmt"
	"runtime"
)

// Left is how a call was left that did not return.
type Left struct{ value any } // nil: runtime.Goexit

// Catch calls fn and then after, with nil if fn has returned. After runtime.Goexit it does not
// return itself.
func Catch(fn func(), after func(left *Left)) {
	returned := false
	defer func() {
		if returned {
			after(nil)
			return
		}
		after(&Left{recover()})
	}()
	fn()
	returned = true
}

// GoOn leaves this goroutine in the same way, a panic with the value it had; nil: it does nothing.
func (l *Left) GoOn() {
	switch {
	case l == nil:
	case l.value == nil:
		runtime.Goexit()
	default:
		panic(l.value)
	}
}

// String says how, with the type of the panic's value and not the value, which may be content.
func (l *Left) String() string {
	if l.value == nil {
		return "runtime.Goexit"
	}
	return fmt.Sprintf("panic with a value of type %T", l.value)
}
