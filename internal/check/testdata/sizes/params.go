// SPDX-License-Identifier: Apache-2.0

package sizes

type receiver struct{}

func fourParams[K comparable, V any](ctx int, a, b K, v ...V) {}

func fiveParams(ctx int, a, b string, c bool, d ...int) {} // want "fiveParams has 5 parameters, the limit is 4"

func (receiver) four(a, b, c, d int) {}

func (receiver) five(a, b, c, d, e int) {} // want "five has 5 parameters, the limit is 4"

type callback func(a, b, c, d, e int) // want "callback has 5 parameters, the limit is 4"

// Four is as large as an interface may be; what it embeds is another's.
type Four interface {
	callbacks
	A()
	B()
	C()
	D()
}

type Five interface { // want "Five has 5 methods, the limit is 4"
	A()
	B()
	C()
	D()
	E(a, b, c, d, e int) // want "Five.E has 5 parameters, the limit is 4"
}

// Replacement may have five.
type Replacement interface {
	A()
	B()
	C()
	D()
	E()
}

type callbacks interface {
	F()
	G()
	H()
	I()
	J()
}
