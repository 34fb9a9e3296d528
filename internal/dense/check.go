// SPDX-License-Identifier: Apache-2.0

package dense

import (
	"fmt"
	"slices"
)

// Check returns the first broken invariant. Tests call it after every step; it reads
// everything.
func (t *Table[T]) Check() error {
	n := t.objects.len()
	if t.keys.len() != n || t.ids.n != n {
		return fmt.Errorf("%d objects, %d keys, %d ids", n, t.keys.len(), t.ids.n)
	}
	if t.notes.len() != 0 && t.notes.len() != n {
		return fmt.Errorf("%d objects, %d notes", n, t.notes.len())
	}
	for id := range t.IDs() {
		key := t.keys.at(id)
		if got, ok := t.Find(key); !ok || got != id {
			return fmt.Errorf("key %q is at %d, found: %v at %d", key, id, ok, got)
		}
	}
	if err := t.ids.check(t.hashOf); err != nil {
		return fmt.Errorf("ids: %w", err)
	}
	for _, err := range []error{checkVector(&t.objects), checkVector(&t.keys), checkVector(&t.notes)} {
		if err != nil {
			return err
		}
	}
	for i, x := range t.indexes {
		if err := x.check(&t.clock, n); err != nil {
			return fmt.Errorf("index %d: %w", i, err)
		}
	}
	return nil
}

func checkVector[E any](v *vector[E]) error {
	for i, c := range v.chunks {
		if full := len(c.items) == chunkRows; len(c.items) == 0 || len(c.items) > chunkRows || !full && i < len(v.chunks)-1 {
			return fmt.Errorf("chunk %d of %d has %d rows", i, len(v.chunks), len(c.items))
		}
	}
	return nil
}

func (c *cells) check(of hasher) error {
	n := 0
	for at, x := range c.cells {
		if x == 0 {
			continue
		}
		n++
		id, mask := c.id(uint32(at)), uint32(len(c.cells)-1)
		hash := of(id)
		if far := min((uint32(at)-hash)&mask, tooFar); uint32(c.far[at]) != far || c.hash(uint32(at), of) != hash {
			return fmt.Errorf("cell %d of id %d is %d from its home, noted %d", at, id, far, c.far[at])
		}
	}
	if n != c.n || n > 0 && n == len(c.cells) {
		return fmt.Errorf("%d cells of %d are used, counted %d", n, len(c.cells), c.n)
	}
	return nil
}

func (x *index) check(c *clock, objects int) error {
	if x.single.len() != objects {
		return fmt.Errorf("%d refs, %d objects", x.single.len(), objects)
	}
	filed, several := 0, 0
	for id := range x.single.rows() {
		var buf [1]ref
		refs := x.of(id, &buf)
		if x.single.at(id).bucket == many {
			several++
			if len(refs) < 2 {
				return fmt.Errorf("%d has %d refs in the list of many", id, len(refs))
			}
		}
		for _, r := range refs {
			if b := x.buckets.at(r.bucket); b.list == nil && (b.one != id || r.pos != 0) ||
				b.list != nil && (b.list.row(r.pos) == nil || b.list.at(r.pos) != id) {
				return fmt.Errorf("%d is not at %d of bucket %d", id, r.pos, r.bucket)
			}
		}
		filed += len(refs)
	}
	if several != len(x.many) {
		return fmt.Errorf("%d lists of many refs, %d used", len(x.many), several)
	}
	return x.checkBuckets(c, filed)
}

func (x *index) checkBuckets(c *clock, filed int) error {
	if err := x.values.check(x.hasher(c)); err != nil {
		return fmt.Errorf("values: %w", err)
	}
	used, members := 0, 0
	for b := range x.buckets.rows() {
		n := x.size(b)
		if n == 0 {
			if !slices.Contains(x.free, b) {
				return fmt.Errorf("bucket %d is empty", b)
			}
			continue
		}
		if got, ok := x.find(c, x.buckets.at(b).value); !ok || got != b {
			return fmt.Errorf("value of bucket %d: found: %v at %d", b, ok, got)
		}
		used++
		members += n
	}
	if used != x.values.n || used+len(x.free) != x.buckets.len() || members != filed {
		return fmt.Errorf("%d of %d buckets used, %d free, %d values, %d members, %d refs",
			used, x.buckets.len(), len(x.free), x.values.n, members, filed)
	}
	return nil
}

func (x *index) size(b uint32) int {
	found := x.buckets.at(b)
	switch {
	case found.list != nil:
		return found.list.len()
	case found.one != none:
		return 1
	}
	return 0
}

// Buckets returns how many buckets an index has memory for, and how many of them are free.
func (t *Table[T]) Buckets(index int) (all, free int) {
	return t.indexes[index].buckets.len(), len(t.indexes[index].free)
}
