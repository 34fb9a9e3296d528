// SPDX-License-Identifier: Apache-2.0

// Package documented has a comment for every exported name.
package documented

import "errors"

// Limits of something.
const (
	Low  = 1
	High = 2
)

const (
	Alone = 3 // Alone has its own
)

// ErrOne is an error.
var ErrOne = errors.New("one")

// A Thing is documented, its article does not matter.
type Thing struct {
	// Above has its comment above.
	Above int
	Right int // and this one to the right
	inner
	hidden int
	Func   func(Name string) // the parameter's name is no name of the API
}

// inner reaches the reader through Thing.
type inner struct {
	Field int // promoted
}

// Get's comment may go on like this.
func (inner) Get() int { return 0 }

type lost struct{ Field int }

func (lost) Method() {}

// Doer does.
type Doer interface {
	// Do does.
	Do()
	Done() // to the right
}

type (
	// Grouped is in a group.
	Grouped int
)

// String returns a text.
func (Grouped) String() string { return "" }

func unexported() {}
