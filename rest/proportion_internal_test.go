// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// Work that grows with the square of the input does not end before the timeout of these tests.

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

// Arrays that say no length, and tags, in each other: each would be gone through by all around it.
func TestGoneThroughAgain(t *testing.T) {
	for depth, want := range map[int]error{maxAgain: nil, maxAgain + 1: ErrMalformed, maxCBORDepth/2 - 1: ErrMalformed} {
		for open, end := range map[string]string{"\x9f": "\xff", "\x81\x9f": "\xff", "\xa1\x61a\x9f": "\xff", "\xd9\xd9\xf6": "", "\xc6\x81": ""} {
			body := strings.Repeat(open, depth) + "\x01" + strings.Repeat(end, depth)
			if _, err := newWire(strings.NewReader(body), 1<<20).item(); !errors.Is(err, want) {
				t.Errorf("%d of %x: %v", depth, open, err)
			}
		}
	}
	for open, end := range map[string]string{"\xbf\x61a": "\xff", "\x81": ""} {
		body := strings.Repeat(open, 5000) + "\x01" + strings.Repeat(end, 5000)
		if _, err := newWire(strings.NewReader(body), 1<<20).item(); err != nil {
			t.Errorf("%x: %v", open, err)
		}
	}
}
