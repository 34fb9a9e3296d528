// SPDX-License-Identifier: Apache-2.0

// Package undocumented lacks a comment wherever it can.
package undocumented

const One = 1 // a comment to the right will do

const Two = 2

var Three, four = 3, 4

type Thing struct {
	Field int
	inner
}

type inner struct {
	*deeper[int]
	Promoted int
}

type deeper[T any] struct {
	Anonymous struct { // documented, its field is not
		Inside int
	}
}

func (*deeper[T]) Get() int { return 0 }

// This does something.
func Something() {}

func Nothing() {}

// Doer does.
type Doer interface {
	Do()
}

// A group of types is no comment for one of them.
type (
	Grouped int
)
