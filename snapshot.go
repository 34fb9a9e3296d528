// SPDX-License-Identifier: Apache-2.0

package informer

import "github.com/informerkit/informer/internal/dense"

// snapshot is what a store held at one moment, to be read once. Taking it takes as long
// as one Get; it pins what the store replaces afterwards until it has been read.
type snapshot[T any] struct {
	keys    dense.Frozen[string]
	objects dense.Frozen[T]
	notes   dense.Frozen[*dense.Note] // empty, or one for each object
	read    int
}

func snapshotOf[T any](v view[T]) snapshot[T] {
	defer v.s.mu.enter(0).leave()
	return snapshot[T]{keys: v.s.table.Keys(), objects: v.s.table.Objects(), notes: v.s.table.Notes()}
}

// snapped is an object of a snapshot.
type snapped[T any] struct {
	key    string
	object T
	source string // of a union; otherwise ""
}

// next returns the next object, in no order.
func (s *snapshot[T]) next() (obj snapped[T], ok bool) {
	if s.len() == 0 {
		return obj, false
	}
	obj.key, obj.object = s.keys.At(s.read), s.objects.At(s.read)
	if s.notes.Len() > 0 {
		obj.source = sourceIn(s.notes.At(s.read))
	}
	s.read++
	return obj, true
}

// len returns how many objects are left.
func (s *snapshot[T]) len() int { return s.keys.Len() - s.read }
