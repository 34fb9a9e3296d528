// SPDX-License-Identifier: Apache-2.0

// Package quantity keeps quantities from costing more than they are worth. apimachinery reads
// 1e-2000000000 by way of a number with two thousand million digits: a text of a dozen bytes
// occupies a processor for hours, and one of thirty fills the memory.
package quantity

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/conversion"
)

// Bounds of a text. The largest exponent that means anything to Kubernetes is that of E, 18;
// at these bounds apimachinery takes some microseconds.
const (
	maxExponent       = 999
	maxExponentDigits = 3
	maxText           = 1024 // bytes
)

// Boundless reports whether the text of a quantity is one that must not be read: its decimal
// exponent is beyond ±999, or it is longer than 1,024 bytes.
func Boundless(text string) bool {
	if len(text) > maxText {
		return true
	}
	at := strings.LastIndexAny(text, "eE")
	if at < 0 {
		return false
	}
	exponent := text[at+1:]
	if len(exponent) > 0 && (exponent[0] == '-' || exponent[0] == '+') {
		exponent = exponent[1:]
	}
	exponent = strings.TrimLeft(exponent, "0")
	return len(exponent)-len(strings.TrimLeft(exponent, "0123456789")) > maxExponentDigits
}

// semantic is apimachinery's equality of what the API means, but for quantities whose
// comparison would have no end. It is made late: programs may add to apimachinery's.
var semantic = sync.OnceValue(func() conversion.Equalities {
	out := equality.Semantic.Copy()
	if err := out.AddFunc(equal); err != nil {
		panic(err)
	}
	return out
})

// DeepEqual reports whether two values mean the same to the API: nil and empty slices are
// equal, and so are quantities in another notation.
//
// It panics at unexported fields, as apimachinery's does.
func DeepEqual(a, b any) bool { return semantic().DeepEqual(a, b) }

// equal compares by value, but for numbers whose exponents are too far from each other: these are
// equal if they are written alike. a and b are copies.
func equal(a, b resource.Quantity) bool {
	one, two := a.AsDec(), b.AsDec()
	if one.Sign() != two.Sign() || one.Sign() == 0 {
		return one.Sign() == two.Sign() // zeros have exponents, too
	}
	if smaller, larger := min(one.Scale(), two.Scale()), max(one.Scale(), two.Scale()); smaller < -maxExponent || larger > maxExponent {
		return smaller == larger && one.UnscaledBig().Cmp(two.UnscaledBig()) == 0
	}
	return one.Cmp(two) == 0
}
