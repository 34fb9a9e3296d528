// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"errors"
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

// Arrays that say no length, in each other: each would be gone through by all around it.
func TestIndefiniteArrays(t *testing.T) {
	for depth, want := range map[int]error{maxIndefinite: nil, maxIndefinite + 1: ErrMalformed, maxCBORDepth - 1: ErrMalformed} {
		for _, open := range []string{"\x9f", "\x81\x9f", "\xa1\x61a\x9f"} {
			body := strings.Repeat(open, depth) + strings.Repeat("\x01", 300<<10) + strings.Repeat("\xff", depth)
			if _, err := newWire(strings.NewReader(body), 1<<20).item(); !errors.Is(err, want) {
				t.Errorf("%d of %x: %v", depth, open, err)
			}
		}
	}
	if _, err := newWire(strings.NewReader(strings.Repeat("\xbf\x61a", 1000)+"\x01"+strings.Repeat("\xff", 1000)), 1<<20).item(); err != nil {
		t.Errorf("maps: %v", err)
	}
}
