// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"reflect"

	"github.com/informerkit/informer/internal/dense"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var errReplaced = errors.New("informer: replacement has ended")

// BeginReplace starts a list; its Commit puts it in the place of everything there was,
// all at once. Readers see the old state until then, and wait for no part of it.
//
// An item that the store has with the same version, UID and content is unchanged, and
// the object in the store stays. The first Commit is the store's sync. What was written
// to the store since BeginReplace is replaced too.
//
// Errors: of Put and Remove as of Add and Delete. Commit returns the joined errors of
// index functions, each an *IndexError; the list is in the store then. Put, Remove and
// Commit after Commit or Abort: an error, and nothing is changed.
func (s *Store[T]) BeginReplace(context.Context) (Replacement[T], error) {
	r := &storeReplacement[T]{s: s.s, staged: dense.New[staged[T]]()}
	if s.Len() == 0 {
		r.whole = dense.NewSeeded[T](s.s.seed)
	}
	return r, nil
}

// Replace is BeginReplace, Put for each item, Commit. After an error of Put the store is
// as it was.
//
// Ownership: the objects are the store's, the slice stays the caller's.
//
// Errors: as BeginReplace says.
func (s *Store[T]) Replace(ctx context.Context, items []T, resourceVersion string) error {
	r, err := s.BeginReplace(ctx)
	if err != nil {
		return err
	}
	for _, obj := range items {
		if err := r.Put(obj); err != nil {
			r.Abort()
			return err
		}
	}
	return r.Commit(resourceVersion)
}

// storeReplacement is a list aside. state.w guards it.
type storeReplacement[T any] struct {
	s      *state[T]
	staged *dense.Table[staged[T]] // nil: ended
	whole  *dense.Table[T]         // of a list into nothing, instead of staged; nil: none, or not any more

	watched  bool           // what changes is noted
	repaired []*ObjectError // by a Commit that was watched
}

// staged is an item of a list.
type staged[T any] struct {
	obj     T // the store's own where it is unchanged, so that the item's memory is free again
	version string
	uid     types.UID
	keep    bool // there is no obj: what the store has stays, if the UID is the same
}

func (r *storeReplacement[T]) Put(obj T) error {
	r.s.w.Lock()
	defer r.s.w.Unlock()
	if r.staged == nil {
		return errReplaced
	}
	item := received[T]{obj: obj}
	err := r.s.receive(&item)
	if err == nil {
		err = r.s.change(&item)
	}
	if err != nil {
		return err
	}
	if r.whole != nil && r.s.table.Len() == 0 {
		r.whole.Put(item.key, item.obj, r.s.note(&item))
		return nil
	}
	r.takeApart()
	next := staged[T]{obj: item.obj, version: item.version, uid: item.uid}
	if id, ok := r.s.table.Find(item.key); ok && r.unchanged(id, &next) {
		next.obj = r.s.table.Object(id)
	}
	r.staged.Put(item.key, next, nil)
	return nil
}

// takeApart stages what was put into a list that is no longer one into nothing, or holds more
// than objects.
func (r *storeReplacement[T]) takeApart() {
	table := r.whole
	if r.whole = nil; table == nil {
		return
	}
	for id := range table.IDs() {
		item := staged[T]{obj: table.Object(id)}
		item.version, item.uid = identity(item.obj, table.Note(id))
		r.staged.Put(table.Key(id), item, nil)
	}
}

func (r *storeReplacement[T]) Remove(obj T) error {
	r.s.w.Lock()
	defer r.s.w.Unlock()
	if r.staged == nil {
		return errReplaced
	}
	item := received[T]{obj: obj}
	if err := r.s.receive(&item); err != nil {
		return err
	}
	r.takeApart()
	if id, ok := r.staged.Find(item.key); ok && !differ(r.staged.Object(id).uid, item.uid) {
		r.staged.Delete(item.key)
	}
	return nil
}

func (r *storeReplacement[T]) Keep(m metav1.Object) {
	r.s.w.Lock()
	defer r.s.w.Unlock()
	if r.staged == nil {
		return
	}
	key := JoinKey(m.GetNamespace(), m.GetName())
	if obj, ok := m.(T); ok {
		known := received[T]{obj: obj}
		if err := r.s.receive(&known); err == nil {
			key = known.key
		}
	}
	r.takeApart()
	r.staged.Put(key, staged[T]{uid: m.GetUID(), keep: true}, nil)
}

func (r *storeReplacement[T]) Commit(resourceVersion string) error {
	err := r.commit(resourceVersion)
	if err != errReplaced {
		r.s.signal()
	}
	return err
}

func (r *storeReplacement[T]) Abort() {
	r.s.w.Lock()
	r.staged, r.whole = nil, nil
	r.s.w.Unlock()
}

func (r *storeReplacement[T]) commit(version string) error {
	r.s.w.Lock()
	defer r.s.w.Unlock()
	if r.staged == nil {
		return errReplaced
	}
	if version == "" { // a list without one
		version = r.s.version
	}
	if whole := r.whole; whole != nil && r.s.table.Len() == 0 && !r.watched {
		r.staged, r.whole = nil, nil
		return r.s.fill(whole, version)
	}
	r.takeApart()
	ops := r.changed()
	r.note(ops)
	r.staged = nil
	err := r.s.commit(ops, version)
	r.s.scratch = scratch[T]{} // events need less than a list did
	return err
}

// note writes down what a commit is about to change.
func (r *storeReplacement[T]) note(ops []dense.Op[T]) {
	if !r.watched {
		return
	}
	for _, op := range ops {
		repaired := &ObjectError{Key: op.Key, Err: ErrRepaired}
		if id, ok := r.staged.Find(op.Key); ok {
			repaired.UID, repaired.ResourceVersion = r.staged.Object(id).uid, r.staged.Object(id).version
		}
		r.repaired = append(r.repaired, repaired)
	}
}

// changed returns what the list changes.
func (r *storeReplacement[T]) changed() []dense.Op[T] {
	ops, known := r.s.scratch.ops[:0], 0
	for i := range r.staged.IDs() {
		key, item := r.staged.Key(i), r.staged.Object(i)
		id, ok := r.s.table.Find(key)
		if ok {
			known++
		}
		switch {
		case ok && item.keep && r.s.anotherUID(key, item.uid):
			ops = append(ops, dense.Op[T]{Key: key, Delete: true})
		case item.keep, ok && r.unchanged(id, &item):
		default:
			ops = append(ops, dense.Op[T]{Key: key, Hint: id, Object: item.obj, Note: noteOf(item.obj, item.version, item.uid)})
		}
	}
	if known < r.s.table.Len() {
		ops = r.missing(ops)
	}
	return ops
}

// missing adds the deletes of what the list does not hold.
func (r *storeReplacement[T]) missing(ops []dense.Op[T]) []dense.Op[T] {
	for id := range r.s.table.IDs() {
		key := r.s.table.Key(id)
		if _, ok := r.staged.Find(key); !ok {
			ops = append(ops, dense.Op[T]{Key: key, Delete: true})
		}
	}
	return ops
}

// unchanged reports whether the item is what the store holds. Equal versions alone do
// not say so: the transform may depend on more, and some sources have no versions.
func (r *storeReplacement[T]) unchanged(id uint32, item *staged[T]) bool {
	obj := r.s.table.Object(id)
	version, uid := identity(obj, r.s.table.Note(id))
	return version == item.version && uid == item.uid && reflect.DeepEqual(obj, item.obj)
}
