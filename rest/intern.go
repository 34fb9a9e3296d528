// SPDX-License-Identifier: Apache-2.0

package rest

import "hash/maphash"

// Bounds of an interner: half a megabyte is kept at most.
const (
	internSlots  = 4096
	maxInternLen = 128 // bytes
)

// interner shares repeated strings. It lets go: each slot keeps the last string that fell
// into it, and nothing is searched.
type interner struct {
	seed    maphash.Seed
	slots   [internSlots]string
	scratch []byte
}

func newInterner() *interner { return &interner{seed: maphash.MakeSeed()} }

// quoted returns what a JSON string means.
func (n *interner) quoted(quoted []byte) string {
	text := unquote(quoted, n.scratch)
	if cap(n.scratch) < len(quoted) && len(quoted) <= maxScratch && len(text) < len(quoted)-2 {
		n.scratch = make([]byte, 0, 2*len(quoted))
	}
	return n.share(text)
}

func (n *interner) share(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	if len(text) > maxInternLen {
		return string(text)
	}
	slot := &n.slots[maphash.Bytes(n.seed, text)%internSlots]
	if *slot != string(text) {
		*slot = string(text)
	}
	return *slot
}
