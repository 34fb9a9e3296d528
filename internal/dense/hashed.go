// SPDX-License-Identifier: Apache-2.0

package dense

import (
	"hash/maphash"
	"runtime"
	"sync/atomic"
)

// A queue before the table hashes its keys as the table does, so that it is done once.

// Seed is that of the hashes of keys, which are the lower halves of maphash.String. Forks of
// a table, and one that has adopted another, have the same.
func (c *clock) Seed() maphash.Seed { return c.seed }

// Hash returns the hash of a key.
func (c *clock) Hash(key string) uint32 { return c.hash(key) }

// HashBytes is Hash for a key that is not worth a string yet.
func (c *clock) HashBytes(key []byte) uint32 { return uint32(maphash.Bytes(c.seed, key)) }

// FindHashed is Find for a key whose hash is known.
func (t *Table[T]) FindHashed(key string, hash uint32) (id uint32, ok bool) { return t.find(key, hash) }

// FindHinted is FindHashed for a key that may be at an id.
func (t *Table[T]) FindHinted(key string, hash, id uint32) (uint32, bool) {
	if t.hasKey(id, key) {
		return id, true
	}
	return t.find(key, hash)
}

// Fetch asks for the cell of a hash, so that a look at it later has less to wait for.
func (t *Table[T]) Fetch(hash uint32) {
	if cells := t.ids.cells; len(cells) > 0 {
		runtime.KeepAlive(atomic.LoadUint32(&cells[hash&uint32(len(cells)-1)]))
	}
}

// FindToWrite is FindHashedBytes for a key that is about to be written. It asks for the rows of
// the id, those of the indexes too, before it waits for the key's text; that they are rows of
// another key with nearly the same hash is rare.
func (t *Table[T]) FindToWrite(key []byte, hash uint32) (id uint32, ok bool) {
	at := hash - 1 // a wrong guess tells nothing: the search begins at home
	if id, ok = t.guess(hash); !ok {
		id, at, ok = t.ids.next(hash, hash)
	}
	for ; ok; id, at, ok = t.ids.next(hash, at+1) {
		k := t.keys.row(id)
		if k == nil {
			continue
		}
		runtime.KeepAlive(t.objects.at(id))
		for _, x := range t.indexes {
			runtime.KeepAlive(x.single.at(id).bucket)
		}
		if *k == string(key) {
			return id, true
		}
	}
	return 0, false
}
