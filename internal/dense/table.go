// SPDX-License-Identifier: Apache-2.0

package dense

import (
	"hash/maphash"
	"iter"
	"sync/atomic"
)

// The parts of a table that can be frozen or forked each on its own: a List must not
// make the writer copy chunks of keys.
const (
	objects = iota
	keys    // and notes
	lists   // ids of buckets
	buckets
	parts
)

// clock knows the epoch of each part, and which were frozen in it.
type clock struct {
	seed   maphash.Seed
	epochs [parts]uint64
	frozen atomic.Uint32 // a bit a part, set by readers
}

func (c *clock) hash(s string) uint32 { return uint32(maphash.String(c.seed, s)) }

// freeze ends the epoch of the parts at the next write.
func (c *clock) freeze(bits uint32) {
	if c.frozen.Load()&bits != bits {
		c.frozen.Or(bits)
	}
}

// advance begins the epochs of a write.
func (c *clock) advance() {
	bits := c.frozen.Load()
	if bits == 0 {
		return
	}
	c.frozen.Store(0)
	for part := range c.epochs {
		c.epochs[part] += uint64(bits >> part & 1)
	}
}

// Note is what is known of an object that it does not say itself.
type Note struct {
	Version, UID string
	Own          bool   // the object says both of them itself, so that many objects can share the note
	Source       string // that sent it; "": the only one
}

// Op puts an object, or deletes one.
type Op[T any] struct {
	Key    string
	Hash   uint32 // of the key; 0: not known
	Hint   uint32 // id that the key may have; 0 is none too
	Object T
	Note   *Note      // nil: none
	Values [][]string // what each index files it under; read only while Apply runs
	Delete bool
}

// Table is a set of objects by key, with indexes.
type Table[T any] struct {
	clock
	ids     cells // hash of key → id
	keys    vector[string]
	objects vector[T]
	notes   vector[*Note] // empty until the first note
	indexes []*index
	plan    plan[T]
}

// New returns an empty table.
func New[T any]() *Table[T] { return NewSeeded[T](maphash.MakeSeed()) }

// NewSeeded returns an empty table whose hashes of keys have the seed of another one, which
// may Adopt it then.
func NewSeeded[T any](seed maphash.Seed) *Table[T] {
	return &Table[T]{clock: clock{seed: seed}}
}

// Len returns the number of objects.
func (t *Table[T]) Len() int { return t.objects.len() }

// Find returns the id of a key; it is valid until the next write.
func (t *Table[T]) Find(key string) (id uint32, ok bool) { return t.find(key, t.hash(key)) }

func (t *Table[T]) find(key string, hash uint32) (id uint32, ok bool) {
	if id, ok = t.guess(hash); ok && t.hasKey(id, key) {
		return id, true
	}
	id, _, ok = t.probe(key, hash)
	return id, ok
}

// probe is find, and says where the search has ended: for a new key, at an empty cell.
func (t *Table[T]) probe(key string, hash uint32) (id, at uint32, ok bool) {
	cells := t.ids.cells
	mask := uint32(len(cells) - 1)
	for at = hash; len(cells) > 0; at++ {
		x := atomic.LoadUint32(&cells[at&uint32(len(cells)-1)])
		if x == 0 {
			break
		}
		if id = x&mask - 1; (x^hash)&^mask == 0 && t.hasKey(id, key) {
			return id, at, true
		}
	}
	return 0, at, false
}

// hasKey reports whether there is such an id, with that key.
func (t *Table[T]) hasKey(id uint32, key string) bool {
	k := t.keys.row(id)
	return k != nil && *k == key
}

// guess returns the id of the cell that most likely is that of a hash: of the first two, one
// with the hash. Which it is must not be a branch, since the processor would take the wrong one
// for every third key, and wait for the row of another key before it notices.
func (t *Table[T]) guess(hash uint32) (id uint32, ok bool) {
	cells := t.ids.cells
	if len(cells) == 0 {
		return 0, false
	}
	mask := uint32(len(cells) - 1)
	first, second := atomic.LoadUint32(&cells[hash&mask]), atomic.LoadUint32(&cells[(hash+1)&mask])
	differs := int64((first ^ hash) &^ mask)
	isFirst := uint32((differs - 1) >> 63) // all bits, or none
	x := first&isFirst | second&^isFirst
	return x&mask - 1, x != 0 && (x^hash)&^mask == 0
}

// FindHashedBytes is FindHashed for a key that is not worth a string yet.
func (t *Table[T]) FindHashedBytes(key []byte, hash uint32) (id uint32, ok bool) {
	cells := t.ids.cells
	mask := uint32(len(cells) - 1)
	for at := hash; len(cells) > 0; at++ {
		x := atomic.LoadUint32(&cells[at&uint32(len(cells)-1)])
		if x == 0 {
			break
		}
		if (x^hash)&^mask == 0 {
			if k := t.keys.row(x&mask - 1); k != nil && *k == string(key) {
				return x&mask - 1, true
			}
		}
	}
	return 0, false
}

// hashOf returns the hash of the key of an id.
func (t *Table[T]) hashOf(id uint32) uint32 { return t.hash(t.keys.at(id)) }

// IDs yields all ids; there may be no write meanwhile.
func (t *Table[T]) IDs() iter.Seq[uint32] { return t.keys.rows() }

// Key returns the key of an id.
func (t *Table[T]) Key(id uint32) string { return t.keys.at(id) }

// Object returns the object of an id.
func (t *Table[T]) Object(id uint32) T { return t.objects.at(id) }

// Note returns the note of an id, nil if there is none.
func (t *Table[T]) Note(id uint32) *Note {
	if t.notes.len() == 0 {
		return nil
	}
	return t.notes.at(id)
}

// Put puts one object into a table without indexes. The note is nil if there is none.
func (t *Table[T]) Put(key string, obj T, note *Note) {
	t.advance()
	t.put(&Op[T]{Key: key, Object: obj, Note: note})
}

// Apply does what the ops say, in their order.
func (t *Table[T]) Apply(ops []Op[T]) {
	t.advance()
	t.plan.install(&t.objects, t.epochs[objects])
	for i := range ops {
		if ops[i].Delete {
			t.delete(ops[i].Key)
		} else {
			t.put(&ops[i])
		}
	}
}

// Delete removes one object, if it is there.
func (t *Table[T]) Delete(key string) {
	t.advance()
	t.delete(key)
}

func (t *Table[T]) put(op *Op[T]) {
	id := op.Hint
	if !t.hasKey(id, op.Key) {
		id = t.idFor(op.Key, op.Hash)
	}
	if id == t.objects.next() {
		t.objects.push(op.Object, t.epochs[objects])
	} else {
		t.objects.set(id, op.Object, t.epochs[objects])
	}
	t.annotate(id, op.Note)
	for i, x := range t.indexes {
		x.file(&t.clock, id, op.Values[i])
	}
}

// idFor returns the id of the key, the next one for a new key, which it adds. The hash is 0
// if it is not known.
func (t *Table[T]) idFor(key string, hash uint32) uint32 {
	if hash == 0 {
		hash = t.hash(key)
	}
	id, at, ok := t.probe(key, hash)
	if !ok {
		id = t.keys.next()
		t.ids.insert(hash, id, at, t.hashOf)
		t.keys.push(key, t.epochs[keys])
	}
	return id
}

func (t *Table[T]) annotate(id uint32, note *Note) {
	if note == nil && t.notes.len() == 0 {
		return
	}
	for t.notes.len() < t.objects.len() {
		t.notes.push(nil, t.epochs[keys])
	}
	if t.notes.at(id) != note {
		t.notes.set(id, note, t.epochs[keys])
	}
}

func (t *Table[T]) delete(key string) {
	hash := t.hash(key)
	id, ok := t.find(key, hash)
	if !ok {
		return
	}
	for _, x := range t.indexes {
		x.unfile(&t.clock, id)
		x.remove(&t.clock, id)
	}
	t.ids.remove(hash, id, t.hashOf)
	last := t.objects.last()
	if id != last {
		moved := t.keys.at(last)
		t.ids.renumber(t.hash(moved), last, id)
		t.keys.set(id, moved, t.epochs[keys])
		t.objects.set(id, t.objects.at(last), t.epochs[objects])
	}
	t.keys.pop(t.epochs[keys])
	t.objects.pop(t.epochs[objects])
	if t.notes.len() > 0 {
		t.notes.set(id, t.notes.at(last), t.epochs[keys])
		t.notes.pop(t.epochs[keys])
	}
}

// Fork returns a copy that shares everything with t until it changes, and as much as
// possible after that: new rows and cells go where t has none. t must not be changed any
// more, and only the newest fork may be, which then takes its place (Settle) if it was.
func (t *Table[T]) Fork() *Table[T] {
	f := &Table[T]{
		clock:   clock{seed: t.seed, epochs: t.epochs},
		ids:     t.ids,
		keys:    t.keys,
		objects: t.objects,
		notes:   t.notes,
		indexes: make([]*index, len(t.indexes)),
	}
	for part := range f.epochs {
		f.epochs[part]++
	}
	f.ids.shared = true
	for i, x := range t.indexes {
		mine := *x
		mine.values.shared = true
		f.indexes[i] = &mine
	}
	return f
}

// Settle says that nobody reads the original of a fork any more.
func (t *Table[T]) Settle() {
	t.ids.shared = false
	for _, x := range t.indexes {
		x.values.shared = false
	}
}

// Adopt returns a table with the objects of another one, which has the same seed and no
// indexes, and with the indexes of t, in which nothing is filed yet. It may take the place of
// t, whose rows it has none of. The other one must not be changed any more, nor read once the
// new one has been changed; to file objects in it changes nothing that the two share.
func (t *Table[T]) Adopt(other *Table[T]) *Table[T] {
	f := &Table[T]{
		clock:   clock{seed: t.seed, epochs: other.epochs},
		ids:     other.ids,
		keys:    other.keys,
		objects: other.objects,
		notes:   other.notes,
		indexes: make([]*index, len(t.indexes)),
	}
	for i := range f.indexes {
		f.indexes[i] = newIndex()
	}
	return f
}

// File files an object that is not filed yet; ids come in their order.
func (t *Table[T]) File(id uint32, values [][]string) {
	for i, x := range t.indexes {
		x.file(&t.clock, id, values[i])
	}
}

// NeedsRoom reports whether the ops may take as long as the table is large, because a
// hash table has to grow, or because something is due to shrink.
func (t *Table[T]) NeedsRoom(ops []Op[T]) bool {
	if t.ids.cramped(len(ops)) || t.ids.tooLarge() {
		return true
	}
	for i, x := range t.indexes {
		if x.wasteful() || x.values.cramped(countValues(ops, i)) {
			return true
		}
	}
	return false
}

// MakeRoom does what NeedsRoom asks for. It belongs on a fork, before a few ops; many
// make their room as they go, since most of what they put may be known.
func (t *Table[T]) MakeRoom(ops []Op[T]) {
	if t.ids.cramped(len(ops)) || t.ids.tooLarge() {
		t.ids.resize(t.ids.n+len(ops), t.hashOf)
	}
	for i, x := range t.indexes {
		if x.wasteful() {
			x.compact(&t.clock)
		}
		if n := countValues(ops, i); x.values.cramped(n) {
			x.values.resize(x.values.n+n, x.hasher(&t.clock))
		}
	}
}

func countValues[T any](ops []Op[T], index int) (n int) {
	for i := range ops {
		if !ops[i].Delete {
			n += len(ops[i].Values[index])
		}
	}
	return n
}

// AddIndex adds an index that files each object under what values returns for its id.
// The table must be a fork, or empty.
func (t *Table[T]) AddIndex(values func(id uint32) []string) {
	x := newIndex()
	for id := range t.IDs() {
		x.file(&t.clock, id, values(id))
	}
	t.indexes = append(t.indexes, x)
}
