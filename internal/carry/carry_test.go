// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"runtime"
	"testing"
)

// What leaves one goroutine leaves the other in the same way.
func TestCarry(t *testing.T) {
	for _, test := range []struct {
		name, says string
		fn         func()
		returns    bool
		value      any
	}{
		{name: "returns", fn: func() {}, returns: true},
		{name: "panics", says: "panic with a value of type string", fn: func() { panic("secret") }, value: "secret"},
		{name: "exits", says: "runtime.Goexit", fn: runtime.Goexit},
	} {
		t.Run(test.name, func(t *testing.T) {
			caught := make(chan *Left, 1)
			go Catch(test.fn, func(left *Left) { caught <- left })
			left := <-caught
			if (left == nil) != test.returns || left != nil && left.String() != test.says {
				t.Fatalf("left: %v", left)
			}
			returned, ended := false, make(chan any)
			go func() {
				defer func() { ended <- recover() }()
				left.GoOn()
				returned = true
			}()
			if value := <-ended; value != test.value || returned != test.returns {
				t.Errorf("goes on with %v, returned %t", value, returned)
			}
		})
	}
}
