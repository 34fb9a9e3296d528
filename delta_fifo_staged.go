// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"hash/maphash"

	"k8s.io/apimachinery/pkg/types"
)

// stagedItems are the items of a list by key, in order of first arrival. Of an item that
// stays as it is, which most of a relist are, there is the key alone.
type stagedItems[T any] struct {
	chunked[stagedItem[T]]
	kept   chunked[string]
	index  slotTable // hash of a key → number of its item, or of its kept key with keptOnly
	seed   maphash.Seed
	expect int // so many items are likely, which the table then does not have to grow to
}

// keptOnly marks the numbers of kept keys.
const keptOnly = 1 << 31

// stagedItem is less than a delta: there is one for each item that was decoded, changed or not.
type stagedItem[T any] struct {
	key     string
	object  T
	version string
	uid     types.UID
	verdict stagedVerdict
	firm    bool   // itemSame: by the known objects, or in Commit
	changes uint64 // of the queue, when the verdict was given
}

type stagedVerdict uint8

const (
	itemRemoved stagedVerdict = iota // not in the list after all
	itemKept                         // present, as it is
	itemSame                         // present, and object is the newest state's own
	itemChanged
)

// judge compares an item with the newest state. Of two equal objects the old one stays,
// so that a list of what is there holds no second copy of it.
func (i *stagedItem[T]) judge(base newestState[T]) {
	i.verdict = itemChanged
	if base.identical(i.version, i.uid) && sameContent(base.object, i.object) {
		i.verdict, i.firm = itemSame, base.known
		i.object = base.object
	}
}

// settled reports whether the verdict needs no second look. One that rests on the queue
// does: what was queued then may have been processed, and not have been kept.
func (i *stagedItem[T]) settled(changes uint64) bool {
	switch i.verdict {
	case itemChanged:
		return i.changes == changes
	case itemSame:
		return i.changes == changes && i.firm
	default:
		return true
	}
}

func (s *stagedItems[T]) hash(key string) uint32 { return uint32(maphash.String(s.seed, key)) }

// find returns what is filed under a key.
func (s *stagedItems[T]) find(key string, hash uint32) (number uint32, ok bool) {
	for number, at, ok := s.index.next(hash, home(hash)); ok; number, at, ok = s.index.next(hash, at+1) {
		if s.key(number) == key {
			return number, true
		}
	}
	return 0, false
}

func (s *stagedItems[T]) key(number uint32) string {
	if number&keptOnly != 0 {
		return *s.kept.at(int(number &^ keptOnly))
	}
	return s.at(int(number)).key
}

// holds reports whether the list has the key.
func (s *stagedItems[T]) holds(key string) bool {
	number, ok := s.find(key, s.hash(key))
	return ok && (number&keptOnly != 0 || s.at(int(number)).verdict != itemRemoved)
}

// put stages an item in the place of what was staged with its key.
func (s *stagedItems[T]) put(item stagedItem[T]) {
	hash := s.hash(item.key)
	number, ok := s.find(item.key, hash)
	switch next := uint32(s.n); {
	case !ok:
		s.file(hash, next)
	case number&keptOnly != 0:
		s.index.renumber(hash, number, next)
	default:
		*s.at(int(number)) = item
		return
	}
	s.add(item)
}

// keep stages a key whose object stays.
func (s *stagedItems[T]) keep(key string) {
	hash := s.hash(key)
	number, ok := s.find(key, hash)
	switch {
	case !ok:
		s.file(hash, uint32(s.kept.n)|keptOnly)
		s.kept.add(key)
	case number&keptOnly == 0:
		*s.at(int(number)) = stagedItem[T]{key: key, verdict: itemKept}
	}
}

func (s *stagedItems[T]) file(hash, number uint32) {
	if s.index.n == 0 {
		s.index.grow(s.expect)
	}
	s.index.insert(hash, number)
}

// changed returns the number of items that are not there, or not as the list has them.
func (s *stagedItems[T]) changed() (n int) {
	for i := range s.n {
		if s.at(i).verdict == itemChanged {
			n++
		}
	}
	return n
}

// chunked is a slice in chunks: it grows without the garbage of growing.
type chunked[E any] struct {
	n      int
	chunks [][]E
}

// chunkedSize is a chunk's number of elements.
const chunkedSize = 256

func (c *chunked[E]) at(i int) *E { return &c.chunks[i/chunkedSize][i%chunkedSize] }

// add appends an element. The first chunk grows, for most lists are short.
func (c *chunked[E]) add(e E) {
	last := len(c.chunks) - 1
	if c.n%chunkedSize == 0 {
		c.chunks = append(c.chunks, nil)
		if last++; last > 0 {
			c.chunks[last] = make([]E, 0, chunkedSize)
		}
	}
	c.chunks[last] = append(c.chunks[last], e)
	c.n++
}
