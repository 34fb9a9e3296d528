// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"hash/maphash"
	"strings"
)

// Bounds of an interner: half a megabyte is kept at most.
const (
	internSlots  = 4096
	maxInternLen = 128 // bytes
	maxMine      = 256 // bytes, of an object's own strings that share memory
)

// interner shares repeated strings. It lets go: each slot keeps the last string that fell
// into it, and nothing is searched.
type interner struct {
	seed    maphash.Seed
	slots   [internSlots]string
	scratch []byte

	mine   strings.Builder // strings of the object that is being read, and of no other
	needed int             // by those of the object before, bytes
	wanted int             // so far by those of this object, bytes
}

// begin is called before each object is read.
func (n *interner) begin() {
	n.mine.Reset()
	n.needed, n.wanted = min(n.wanted, maxMine), 0
}

// keep makes a string that only this object has. They are next to each other: a name, a UID, a
// version and the UID of an owner, each in memory of its own, take a quarter more.
func (n *interner) keep(text []byte) string {
	n.wanted += len(text)
	if n.mine.Cap() == 0 && n.needed > len(text) {
		n.mine.Grow(n.needed)
	}
	at := n.mine.Len()
	if n.mine.Cap()-at < len(text) {
		return string(text)
	}
	n.mine.Write(text)
	return n.mine.String()[at:]
}

func newInterner() *interner { return &interner{seed: maphash.MakeSeed()} }

// quoted returns what a JSON string means.
func (n *interner) quoted(quoted []byte) string { return n.share(n.unquote(quoted)) }

// unquote returns what a JSON string means, valid until the next call.
func (n *interner) unquote(quoted []byte) []byte {
	text := unquote(quoted, n.scratch)
	if cap(n.scratch) < len(quoted) && len(quoted) <= maxScratch && len(text) < len(quoted)-2 {
		n.scratch = make([]byte, 0, 2*len(quoted))
	}
	return text
}

func (n *interner) share(text []byte) string {
	s, _ := n.find(text)
	return s
}

// find returns a string, and whether it was here before.
func (n *interner) find(text []byte) (s string, found bool) {
	if len(text) == 0 {
		return "", true
	}
	if len(text) > maxInternLen {
		return string(text), false
	}
	slot := &n.slots[maphash.Bytes(n.seed, text)%internSlots]
	if found = *slot == string(text); !found {
		*slot = string(text)
	}
	return *slot, found
}

// A habit is what is known about the strings in one place of all objects. Most are what
// the object before had there, which is found without a hash; a name or UID never is what
// another object has, and would only drive out others.
type habit struct {
	last   string
	misses uint16 // in a row
}

// mapHabits is the number of entries that are expected to be what they were before.
const mapHabits = 8

// habits are those of the keys and values of a map, by their place.
type habits [2 * mapHabits]habit

// own is how many strings in a row have to be new until they are taken for each object's
// own: more than a cluster has nodes.
const own = internSlots

// shareAs is share for a string in one place.
func (n *interner) shareAs(h *habit, text []byte) string {
	switch {
	case len(text) == 0:
		return ""
	case h.last == string(text):
		return h.last
	case len(text) > maxInternLen:
		return string(text) // which nobody keeps but the object
	case h.misses >= own:
		h.misses++ // and begins anew in the end, for things change
		return n.keep(text)
	}
	s, found := n.find(text)
	h.last = s
	h.misses++
	if found {
		h.misses = 0
	}
	return s
}

// quotedAs is quoted for a string in one place.
func (n *interner) quotedAs(h *habit, quoted []byte) string {
	if plain := quoted[1 : len(quoted)-1]; h.last == string(plain) && len(plain) > 0 && strings.IndexByte(h.last, '\\') < 0 {
		return h.last
	}
	return n.shareAs(h, n.unquote(quoted))
}
