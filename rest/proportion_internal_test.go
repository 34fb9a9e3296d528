// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"strings"
	"testing"
)

// What takes time in proportion to its square ends these tests only by their timeout.

// Each of the items of a list, and of what they consist of, is one more byte.
func TestManySmallItems(t *testing.T) {
	const n = 3 << 20
	body := append([]byte{0x9f}, bytes.Repeat([]byte{0x01}, n)...)
	w := newWire(bytes.NewReader(append(body, cborBreak)), 2*n)
	item, err := w.item()
	if err != nil || len(item) != n+2 {
		t.Errorf("%d bytes, %v", len(item), err)
	}
}

// Empty lines within an event.
func TestManyEmptyLines(t *testing.T) {
	const n = 3 << 20
	lines := strings.Repeat("\n", n)
	for body, want := range map[string]bool{
		"{[" + lines + "]}":                false,
		"{[" + lines + "]}\n":              true,
		"{[" + lines + " ]}\n":             false,
		"{[" + lines + "\t\n\t]}\n\n":      false,
		"{}" + lines + "{":                 true,
		"{}" + lines + " {":                false,
		"{}" + lines + " \n{":              true,
		"{}" + lines:                       true,
		strings.Repeat("\n \n", n/3) + "{": true,
	} {
		if endsEvent([]byte(body)) != want {
			t.Errorf("%.5q…%q: %t", body, body[max(0, len(body)-5):], !want)
		}
	}
}
