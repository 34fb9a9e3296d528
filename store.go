// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"hash/maphash"
	"iter"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/informerkit/informer/internal/dense"

	"k8s.io/apimachinery/pkg/types"
)

// view is the read side, written once; View and Store promote it.
type view[T any] struct{ s *state[T] }

// state is what a store and its views share. The table is dense columns in chunks that
// the writer copies only if a reader froze them since: a list of any size takes the
// readers' lock for no longer than one Get does, and as a rule not at all.
type state[T any] struct {
	*syncSignal
	keyFunc   KeyFunc[T] // nil: KeyOf, without a new string for each look
	transform TransformFunc[T]
	seed      maphash.Seed // of the hashes of keys, in each table that there will be

	// w serialises writers, over keys, transforms and index functions too. Who holds it
	// reads what mu guards without mu.
	w        sync.Mutex
	indexers indexerList[T] // in the order of the table's indexes
	scratch  scratch[T]
	notes    map[string]*dense.Note // of the sources of a union, shared by their objects; nil: none

	mu      readersLock // for readers; writers hold it for the change alone
	table   *dense.Table[T]
	indexes []string // names, by number of the index; replaced, never changed
	version string

	list    atomic.Pointer[list[T]] // of the present state, if there is one; changed under mu
	listers listers
}

// list is what List copies. A reader leaves the memory of the next one in it, and a writer that
// finds it there publishes that with its change, so that lists without pause take no lock and
// hold up no writer.
type list[T any] struct {
	objects dense.Frozen[T]
	spare   dense.Spare[T] // for the write that publishes this list
	next    atomic.Pointer[list[T]]
}

// View is a read-only view of a Store. It is a small value; copy it. It comes from
// Store.View or Informer.Store, and the zero View cannot be used.
//
// Ownership: the objects that it hands out are shared with everybody and must not be
// changed; slices are the caller's.
//
// Concurrency: all methods may be called from any goroutine, in handlers, in index
// functions and in loops over All too. None waits for a handler or an index function, none
// for a lock that is held for a list, and none makes the writer wait noticeably. Goroutines that get
// slices of 32,768 rows or more of one store at the same time, by any method but Keys, let other
// goroutines run after each, as runtime.Gosched does, for half of their time at most; in an index
// function, the writer waits meanwhile.
type View[T any] struct{ view[T] }

// StoreOptions configures a Store. The zero value is ready to use for objects with metadata.
type StoreOptions[T any] struct {
	KeyFunc   KeyFunc[T]       // nil: KeyOf; NewStore panics if T cannot have metadata
	Indexers  Indexers[T]      // copied; nil: none, AddIndexers can add some
	Transform TransformFunc[T] // of what Add, Update and a Replacement put in; nil: none
}

// Store is an indexed set of objects. It is a Sink and a Bookmarker: a Reflector can
// feed it directly. It promotes the reading methods of a View, and everything said there
// holds for them.
//
// Ownership: objects put in are the store's and must not be changed any more.
//
// Concurrency: meant for one writer. Writing methods may be called from any goroutine,
// and are done one after the other; a KeyFunc, Transform or IndexFunc must not call them.
type Store[T any] struct{ view[T] }

// NewStore returns an empty store. It panics if T has no metadata and there is no
// KeyFunc, and if an index has no function.
func NewStore[T any](options StoreOptions[T]) *Store[T] {
	keyFuncOr(options.KeyFunc, "NewStore") // panics
	table := dense.New[T]()
	s := &state[T]{
		syncSignal: newSyncSignal(),
		keyFunc:    options.KeyFunc,
		transform:  options.Transform,
		seed:       table.Seed(),
		table:      table,
		listers:    listers{began: time.Now()},
	}
	store := &Store[T]{view[T]{s}}
	if err := store.AddIndexers(options.Indexers); err != nil {
		panic(fmt.Sprintf("informer: NewStore[%v]: %v", reflect.TypeFor[T](), err))
	}
	return store
}

// View returns the store without its writing methods; there is no way back.
func (s *Store[T]) View() View[T] { return View[T]{s.view} }

// Get returns the object with the key.
func (v view[T]) Get(key string) (obj T, ok bool) {
	s := v.s
	hash := uint32(maphash.String(s.seed, key)) // the table's, without the lock, and without a call more
	r := s.mu.at(hash)
	if !r.tryEnter() {
		r.wait()
	}
	id, ok := s.table.FindHashed(key, hash)
	if ok {
		obj = s.table.Object(id)
	}
	r.leave()
	return obj, ok
}

// Identity returns version and UID of the object with the key, as the source sent them,
// before the transform.
func (v view[T]) Identity(key string) (resourceVersion string, uid types.UID, ok bool) {
	s := v.s
	hash := uint32(maphash.String(s.seed, key))
	r := s.mu.enter(hash)
	id, ok := s.table.FindHashed(key, hash)
	if !ok {
		r.leave()
		return "", "", false
	}
	obj, note := s.table.Object(id), s.table.Note(id)
	r.leave()
	resourceVersion, uid = identity(obj, note)
	return resourceVersion, uid, true
}

// Len returns the number of objects.
func (v view[T]) Len() int {
	defer v.s.mu.enter(0).leave()
	return v.s.table.Len()
}

// Keys returns all keys, in no order.
func (v view[T]) Keys() []string {
	r := v.s.mu.enter(0)
	keys := v.s.table.Keys()
	r.leave()
	return keys.Collect()
}

// List returns all objects, in no order. The slice is the caller's, the objects are shared.
func (v view[T]) List() []T {
	l := v.s.list.Load()
	if l == nil {
		l = &list[T]{}
		r := v.s.mu.enter(0)
		l.objects = v.s.table.Objects()
		v.s.list.Store(l)
		r.leave()
	}
	if l.next.Load() == nil {
		l.next.CompareAndSwap(nil, &list[T]{spare: l.objects.Spare()})
	}
	defer v.s.listers.begin(l.objects.Len()).end()
	return l.objects.Collect()
}

// All yields keys and objects, in no order, as they were when the loop began. No lock is
// held meanwhile: the loop may take its time, and write to the store.
func (v view[T]) All() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		r := v.s.mu.enter(0)
		keys, objects := v.s.table.Keys(), v.s.table.Objects()
		r.leave()
		for i := range keys.Len() {
			if !yield(keys.At(i), objects.At(i)) {
				return
			}
		}
	}
}

// ByIndex returns the objects that the index files under the value, in no order.
//
// Errors: an *IndexError that wraps ErrUnknownIndex and lists the indexes that there are.
func (v view[T]) ByIndex(index, value string) ([]T, error) {
	number, r, err := v.s.enterIndex(index, value)
	if err != nil {
		return nil, err
	}
	found := v.s.table.ObjectsOf(number, value)
	return collect(&v.s.listers, r, &found), nil
}

// ByIndexValues returns the objects that the index files under any of the values, each once,
// in no order. Calls of ByIndex, one after the other, may miss an object that moves from one
// value to another meanwhile.
//
// Errors: as ByIndex.
func (v view[T]) ByIndexValues(index string, values ...string) ([]T, error) {
	number, r, err := v.s.enterIndex(index, "")
	if err != nil {
		return nil, err
	}
	found := v.s.table.UnionOf(number, values)
	r.leave()
	defer v.s.listers.begin(found.Len()).end()
	return found.Collect(), nil
}

// IndexKeys returns the keys of the objects that the index files under the value, in no order.
//
// Errors: as ByIndex.
func (v view[T]) IndexKeys(index, value string) ([]string, error) {
	number, r, err := v.s.enterIndex(index, value)
	if err != nil {
		return nil, err
	}
	found := v.s.table.KeysOf(number, value)
	return collect(&v.s.listers, r, &found), nil
}

// IndexValues returns the values under which the index files at least one object, in no order.
//
// Errors: as ByIndex.
func (v view[T]) IndexValues(index string) ([]string, error) {
	number, r, err := v.s.enterIndex(index, "")
	if err != nil {
		return nil, err
	}
	values := v.s.table.Values(number)
	r.leave()
	defer v.s.listers.begin(values.Len()).end()
	return values.Collect(), nil
}

// enterIndex enters mu for a reader of a value, or of all values for "", and returns the number of
// the index. After an error the reader is out. The last byte of a value chooses the slot: numbered
// nodes and namespaces differ there, and a whole hash would cost more than it wins.
func (s *state[T]) enterIndex(index, value string) (number int, r reader, err error) {
	var slot uint32
	if value != "" {
		slot = uint32(value[len(value)-1])
	}
	r = s.mu.enter(slot)
	if number = slices.Index(s.indexes, index); number >= 0 {
		return number, r, nil
	}
	known := s.indexes
	r.leave()
	return 0, reader{}, indexError(index, known, ErrUnknownIndex)
}

// collect collects a selection, and leaves, before it if that takes long.
func collect[E any](l *listers, r reader, found *dense.Selection[E]) []E {
	if !found.Small() {
		r.leave()
		defer l.begin(found.Len()).end()
		return found.Collect()
	}
	all := found.Collect()
	r.leave()
	return all
}

// ResourceVersion returns the version of the collection that the store has reached; ""
// before it has one. It advances after objects and indexes have.
func (v view[T]) ResourceVersion() string {
	defer v.s.mu.enter(0).leave()
	return v.s.version
}

// HasSynced reports whether Synced is closed.
func (v view[T]) HasSynced() bool { return v.s.HasSynced() }

// Synced returns a channel that is closed once a whole list has been stored, whatever
// handlers have seen of it.
func (v view[T]) Synced() <-chan struct{} { return v.s.Synced() }

// seek returns the object with the key of a delta, its UID as the source sent it, and its
// place; without one, the place is the delta's. The caller holds w. The delta may be read by
// the queue meanwhile, so nothing is noted in it.
func (s *state[T]) seek(d *Delta[T]) (obj T, uid types.UID, id uint32, ok bool) {
	hash := d.hash
	if hash == 0 {
		hash = s.table.Hash(d.Key)
	}
	if id, ok = s.table.FindHinted(d.Key, hash, d.hint); !ok {
		return obj, "", d.hint, false
	}
	obj = s.table.Object(id)
	_, uid = identity(obj, s.table.Note(id))
	return obj, uid, id, true
}

// sourceOf returns the source of the object with the key; "" if there is but one.
func (v view[T]) sourceOf(key string) string {
	defer v.s.mu.enter(0).leave()
	if id, ok := v.s.table.Find(key); ok {
		return sourceIn(v.s.table.Note(id))
	}
	return ""
}

// keysOf returns the keys of the objects of one source, in no order.
func (v view[T]) keysOf(source string) []string {
	r := v.s.mu.enter(0)
	keys, notes := v.s.table.Keys(), v.s.table.Notes()
	r.leave()
	var own []string
	for i := range notes.Len() {
		if sourceIn(notes.At(i)) == source {
			own = append(own, keys.At(i))
		}
	}
	return own
}

func sourceIn(note *dense.Note) string {
	if note == nil {
		return ""
	}
	return note.Source
}

// internKey implements keyInterner.
func (v view[T]) internKey(namespace, name string) string {
	if namespace == "" {
		return name
	}
	var buf [256]byte
	text := appendKey(buf[:0], namespace, name)
	s, key := v.s, ""
	r := s.mu.enter(0)
	if s.table.Len() > 0 { // in a first list there is nothing to look up
		hash := uint32(maphash.Bytes(s.seed, text)) // the table's, as in Get
		if id, ok := s.table.FindHashedBytes(text, hash); ok {
			key = s.table.Key(id)
		}
	}
	r.leave()
	if key == "" {
		key = string(text)
	}
	return key
}

// keySeed implements keyPlaces.
func (v view[T]) keySeed() maphash.Seed { return v.s.seed }

// locate implements keyPlaces. The lock is taken once a run, and one look at the table waits
// for memory while the next is under way.
func (v view[T]) locate(r *run[T]) {
	s := v.s
	defer s.mu.enter(0).leave()
	for n := range r.deltas {
		d, ok := &r.deltas[n], false
		if d.Key != "" {
			d.hash = s.table.Hash(d.Key)
			d.hint, _ = s.table.FindHashed(d.Key, d.hash)
			continue
		}
		text := r.key(n)
		d.hash = s.table.HashBytes(text)
		if d.hint, ok = s.table.FindHashedBytes(text, d.hash); ok {
			d.Key = s.table.Key(d.hint)
		}
	}
}

// appendKey is JoinKey without a new string.
func appendKey(to []byte, namespace, name string) []byte {
	to = append(to, namespace...)
	to = append(to, '/')
	return append(to, name...)
}

// identity returns version and UID as the source sent them: the object's own, unless the
// transform changed them. That way they take no memory.
func identity[T any](obj T, note *dense.Note) (resourceVersion string, uid types.UID) {
	if note != nil && !note.Own {
		return note.Version, types.UID(note.UID)
	}
	m, err := accessor(obj)
	if err != nil {
		return "", ""
	}
	return m.GetResourceVersion(), m.GetUID()
}
