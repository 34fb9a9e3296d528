// SPDX-License-Identifier: Apache-2.0

package dense

import "slices"

const (
	none = ^uint32(0)     // no bucket, no id
	many = ^uint32(0) - 1 // the object is in several buckets: see refs.many
)

// bucket holds the ids of the objects that are filed under one value, in no order. A
// single id needs no list: an index by UID then costs no allocation an object.
type bucket struct {
	value string
	list  *vector[uint32] // two ids or more
	one   uint32          // the id, if list is nil; none: the bucket is free
}

// ref says where an object is filed: in which bucket, and where in it.
type ref struct{ bucket, pos uint32 }

// index is one index of a Table: buckets by value, and back from the objects.
type index struct {
	values  cells // hash of value → bucket
	buckets vector[bucket]
	*refs
}

// refs is the part of an index that only the writer reads. A fork shares it with its
// original, since it will take the original's place.
type refs struct {
	single vector[ref]      // by id
	many   map[uint32][]ref // of the ids whose single says so
	free   []uint32         // buckets to use again
}

func newIndex() *index { return &index{refs: &refs{many: map[uint32][]ref{}}} }

// find returns the bucket of a value.
func (x *index) find(c *clock, value string) (uint32, bool) {
	hash := c.hash(value)
	for b, at, ok := x.values.next(hash, hash); ok; b, at, ok = x.values.next(hash, at+1) {
		if found := x.buckets.row(b); found != nil && found.value == value {
			return b, true
		}
	}
	return none, false
}

// hasher returns a function for the hash of the value of a bucket.
func (x *index) hasher(c *clock) hasher {
	return func(b uint32) uint32 { return c.hash(*x.value(b)) }
}

// file files the object under the values and under no others. The id is known, or the next.
func (x *index) file(c *clock, id uint32, values []string) {
	isNew := id == x.single.next()
	if isNew && len(values) == 1 { // nearly always
		b := x.bucketFor(c, values[0])
		x.single.push(ref{b, x.add(c, b, id)}, 0)
		return
	}
	if isNew {
		x.single.push(ref{bucket: none}, 0)
	}
	if x.filed(id, values) {
		return
	}
	x.unfile(c, id)
	var few [8]ref
	refs := few[:0]
	for _, value := range values {
		b := x.bucketFor(c, value)
		if !slices.ContainsFunc(refs, func(r ref) bool { return r.bucket == b }) {
			refs = append(refs, ref{b, x.add(c, b, id)})
		}
	}
	switch len(refs) {
	case 0:
	case 1:
		x.single.set(id, refs[0], 0)
	default:
		x.single.set(id, ref{bucket: many}, 0)
		x.many[id] = slices.Clone(refs)
	}
}

// of returns the refs of an object; a single one is put into buf.
func (x *index) of(id uint32, buf *[1]ref) []ref {
	buf[0] = x.single.at(id)
	switch buf[0].bucket {
	case none:
		return nil
	case many:
		return x.many[id]
	}
	return buf[:]
}

// filed reports whether an object is filed under the values, in their order.
func (x *index) filed(id uint32, values []string) bool {
	r := x.single.at(id)
	switch r.bucket {
	case none:
		return len(values) == 0
	case many:
		return slices.EqualFunc(x.many[id], values, func(r ref, value string) bool { return *x.value(r.bucket) == value })
	}
	return len(values) == 1 && *x.value(r.bucket) == values[0]
}

// value returns the value of a bucket, to be read.
func (x *index) value(b uint32) *string {
	return &x.buckets.chunks[b>>chunkBits].items[b&chunkMask].value
}

// unfile takes the object out of its buckets.
func (x *index) unfile(c *clock, id uint32) {
	var buf [1]ref
	refs := x.of(id, &buf)
	if refs == nil {
		return
	}
	for _, r := range refs {
		x.take(c, r)
	}
	if len(refs) > 1 {
		delete(x.many, id)
	}
	x.single.set(id, ref{bucket: none}, 0)
}

// remove forgets an object that is not filed, and gives its id to the last one.
func (x *index) remove(c *clock, id uint32) {
	last := x.single.last()
	if id != last {
		var buf [1]ref
		for _, r := range x.of(last, &buf) {
			if x.buckets.at(r.bucket).list == nil {
				x.buckets.ptr(r.bucket, c.epochs[buckets]).one = id
			} else {
				x.list(c, r.bucket).set(r.pos, id, c.epochs[lists])
			}
		}
		x.single.set(id, x.single.at(last), 0)
		if refs, ok := x.many[last]; ok {
			x.many[id] = refs
			delete(x.many, last)
		}
	}
	x.single.pop(0)
}

// bucketFor returns the bucket of a value, a new one if there is none.
func (x *index) bucketFor(c *clock, value string) uint32 {
	b, ok := x.find(c, value)
	if ok {
		return b
	}
	empty := bucket{value: value, one: none}
	if n := len(x.free) - 1; n >= 0 {
		b, x.free = x.free[n], x.free[:n]
		x.buckets.set(b, empty, c.epochs[buckets])
		x.values.own() // the original has a bucket of this number
	} else {
		b = x.buckets.next()
		x.buckets.push(empty, c.epochs[buckets])
	}
	hash := c.hash(value)
	x.values.insert(hash, b, hash, x.hasher(c))
	return b
}

// add puts an id into a bucket and returns its position.
func (x *index) add(c *clock, b, id uint32) uint32 {
	now := x.buckets.at(b)
	switch {
	case now.list != nil:
		list := x.list(c, b)
		list.push(id, c.epochs[lists])
		return list.last()
	case now.one == none:
		x.buckets.ptr(b, c.epochs[buckets]).one = id
		return 0
	default:
		list := &vector[uint32]{epoch: c.epochs[lists]}
		list.push(now.one, c.epochs[lists])
		list.push(id, c.epochs[lists])
		now.list, now.one = list, none
		x.buckets.set(b, now, c.epochs[buckets])
		return list.last()
	}
}

// take takes an id out of a bucket; the last one of the bucket fills its place.
func (x *index) take(c *clock, r ref) {
	if x.buckets.at(r.bucket).list == nil {
		x.release(c, r.bucket)
		return
	}
	list := x.list(c, r.bucket)
	last := list.last()
	if r.pos != last {
		moved := list.at(last)
		list.set(r.pos, moved, c.epochs[lists])
		x.repoint(moved, r)
	}
	list.pop(c.epochs[lists])
	if list.len() == 1 {
		now := x.buckets.ptr(r.bucket, c.epochs[buckets])
		now.one, now.list = list.at(0), nil
	}
}

// repoint corrects the position of an object in one bucket.
func (x *index) repoint(id uint32, to ref) {
	refs := x.many[id]
	if x.single.at(id).bucket != many {
		x.single.set(id, to, 0)
		return
	}
	i := slices.IndexFunc(refs, func(r ref) bool { return r.bucket == to.bucket })
	refs[i].pos = to.pos
}

// release frees an empty bucket.
func (x *index) release(c *clock, b uint32) {
	x.values.remove(c.hash(*x.value(b)), b, x.hasher(c))
	x.buckets.set(b, bucket{one: none}, c.epochs[buckets])
	x.free = append(x.free, b)
}

// list returns the list of a bucket, to be changed in this epoch. A fork must not change
// the struct that its original points to.
func (x *index) list(c *clock, b uint32) *vector[uint32] {
	list := x.buckets.at(b).list
	if list.epoch != c.epochs[lists] {
		mine := *list
		list = &mine
		x.buckets.ptr(b, c.epochs[buckets]).list = list
	}
	return list
}

// wasteful reports whether more than half of the buckets are free.
func (x *index) wasteful() bool {
	return x.values.tooLarge() || len(x.free) > chunkSize && 2*len(x.free) > x.buckets.len()
}

// compact numbers the buckets anew, without the free ones.
func (x *index) compact(c *clock) {
	old, numbers := x.buckets, make([]uint32, x.buckets.next())
	x.buckets, x.values, x.free = vector[bucket]{}, cells{}, nil
	for i := range old.rows() {
		if b := old.at(i); b.list != nil || b.one != none {
			numbers[i] = x.buckets.next()
			x.buckets.push(b, c.epochs[buckets])
			hash := c.hash(b.value)
			x.values.insert(hash, numbers[i], hash, x.hasher(c))
		}
	}
	for id := range x.single.rows() {
		if r := x.single.ptr(id, 0); r.bucket < many {
			r.bucket = numbers[r.bucket]
		}
	}
	for _, refs := range x.many {
		for i := range refs {
			refs[i].bucket = numbers[refs[i].bucket]
		}
	}
}
