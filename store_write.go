// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"runtime"
	"slices"

	"github.com/informerkit/informer/internal/dense"

	"k8s.io/apimachinery/pkg/types"
)

// Add puts an object in, in the place of the one with its key if there is one. Its
// version is the store's afterwards, unless it is empty or known to be older: that is
// what an event says. Add by hand, as to seed a test, moves it too.
//
// Errors: an *ObjectError if the object is nil, has no key, or cannot be transformed; it
// is not stored then. Errors of index functions, each an *IndexError, come joined; the
// object is stored then.
func (s *Store[T]) Add(_ context.Context, obj T) error { return s.s.put(obj) }

// Update is Add.
func (s *Store[T]) Update(_ context.Context, obj T) error { return s.s.put(obj) }

// Delete removes the object with the key of obj, if it is there; one with another UID is
// another object, and stays. The version advances as with Add.
//
// Errors: an *ObjectError if obj is nil or has no key.
func (s *Store[T]) Delete(_ context.Context, obj T) error {
	c := s.s
	c.w.Lock()
	defer c.w.Unlock()
	r := received[T]{obj: obj}
	if err := c.receive(&r); err != nil {
		return err
	}
	version := c.after(r.version)
	if c.anotherUID(r.key, r.uid) {
		return c.commit(nil, version)
	}
	one := [1]dense.Op[T]{{Key: r.key, Hint: r.id, Delete: true}}
	return c.commit(one[:], version)
}

// lose removes the object under the key of obj, whatever its UID.
func (s *Store[T]) lose(_ context.Context, obj T) error {
	c := s.s
	c.w.Lock()
	defer c.w.Unlock()
	r := received[T]{obj: obj}
	if err := c.receive(&r); err != nil {
		return err
	}
	one := [1]dense.Op[T]{{Key: r.key, Hint: r.id, Delete: true}}
	return c.commit(one[:], c.version)
}

// Apply puts in what the deltas of one key come to, all at once, or removes the object.
// Deltas are used as they are: Key, UID and ResourceVersion count, no KeyFunc and no
// Transform is called. DeltaSync changes nothing. The version advances with deltas that
// a DeltaFIFO handed out; with deltas made by hand, use Bookmark.
//
// Errors: an *ObjectError for a nil object, which is not stored; errors of index
// functions, each an *IndexError, come joined, and the object is stored then.
func (s *Store[T]) Apply(deltas Deltas[T]) error {
	if len(deltas) == 0 {
		return nil
	}
	one := [1]Deltas[T]{deltas}
	return s.applyBatch(batch[T]{keys: one[:], version: deltas.Newest().reached})
}

// listStored is called by a queue when the first list has been processed.
func (s *Store[T]) listStored() { s.s.signal() }

// Bookmark advances the version to resourceVersion, if that is not empty.
func (s *Store[T]) Bookmark(_ context.Context, resourceVersion string) error {
	if resourceVersion == "" {
		return nil
	}
	s.s.w.Lock()
	defer s.s.w.Unlock()
	return s.s.commit(nil, resourceVersion)
}

// applyBatch puts the newest state of each key of a batch into the store and the indexes,
// all at once, advances the version if the batch has one, and signals the sync if the
// batch ends the first list. The error joins an *IndexError for each object that an index
// function failed for; everything else has been applied.
func (s *Store[T]) applyBatch(b batch[T]) error {
	err := s.s.applyBatch(b)
	if b.synced {
		s.s.signal()
	}
	return err
}

func (s *state[T]) applyBatch(b batch[T]) error {
	s.w.Lock()
	defer s.w.Unlock()
	if s.canFill(b) {
		return s.fill(b.whole.table, b.version)
	}
	var failed []error
	ops := slices.Grow(s.scratch.ops[:0], b.len())
	n := 0
	for deltas := range b.all {
		op, ok, err := s.fold(deltas)
		if b.hints != nil {
			op.Hint = b.hints[n]
			n++
		}
		if err != nil {
			failed = append(failed, err)
		} else if ok {
			ops = append(ops, op)
		}
	}
	version := b.version
	if version == "" {
		version = s.version
	}
	if err := s.commit(ops, version); err != nil {
		failed = append(failed, err)
	}
	s.scratch.forgetOps(ops)
	return errors.Join(failed...)
}

// identityOf is Identity by object, for a Reflector.
func (s *Store[T]) identityOf(obj T) (resourceVersion string, uid types.UID, ok bool) {
	s.s.w.Lock()
	defer s.s.w.Unlock()
	r := received[T]{obj: obj}
	if err := s.s.receive(&r); err != nil {
		return "", "", false
	}
	return s.Identity(r.key)
}

// keyedByName reports whether keys are those of KeyOf.
func (s *Store[T]) keyedByName() bool { return s.s.keyFunc == nil }

func (s *Store[T]) identityOfName(namespace, name string) (resourceVersion string, uid types.UID, ok bool) {
	return s.Identity(s.internKey(namespace, name))
}

// received is an object on its way into the store, and what the source said of it.
type received[T any] struct {
	key     string // "": that of namespace and name, which has not been looked up
	hash    uint32 // of the key; 0: not known
	own     bool   // the object says version and UID itself
	version string
	uid     types.UID
	source  string // of a union; otherwise ""
	obj     T

	// id is where the table has the key, if it is known. It is not beside the hash: both would
	// be read as one, and that waits until all before the writes is done.
	id uint32

	namespace, name string
}

// put is Add. What it looks at is all over the memory, and waiting for that takes longer than
// all else. So the longest chain of waits, object, name, cell of the key, begins first, and
// other waits, with the index functions, go on beside it; only then is the key looked up.
func (s *state[T]) put(obj T) error {
	s.w.Lock()
	defer s.w.Unlock()
	r := received[T]{obj: obj}
	err := s.look(&r)
	if err == nil && s.transform != nil {
		s.find(&r) // for the errors of the transform
		err = s.change(&r)
	}
	if err != nil {
		return err
	}
	fetch(r.version)
	s.spell(&r)
	version := s.after(r.version)
	one := [1]dense.Op[T]{{Object: r.obj, Note: s.note(&r)}} // in its place: a copy costs as much as a lock
	op, failed := &one[0], []error(nil)
	op.Values = s.scratch.room(len(s.indexers))
	s.indexers.valuesOf(op.Values, r.obj, r.fullKey, &failed)
	for _, values := range op.Values {
		if len(values) > 0 {
			fetch(values[0])
		}
	}
	s.find(&r)
	op.Key, op.Hash, op.Hint = r.key, r.hash, r.id
	s.commitFilled(one[:], version)
	return errors.Join(failed...)
}

// fetch asks for a text, so that there is less to wait for when it is read.
func fetch(text string) {
	if text != "" {
		runtime.KeepAlive(text[0])
	}
}

// receive takes key, version and UID from an object as it came.
func (s *state[T]) receive(r *received[T]) error {
	if err := s.look(r); err != nil {
		return err
	}
	s.find(r)
	return nil
}

// look is receive, but leaves a key of namespace and name to find, so that there is no new
// string for a key that the store has.
func (s *state[T]) look(r *received[T]) error {
	m, err := accessor(r.obj)
	if err == errNilObject {
		return &ObjectError{Err: err}
	}
	if err == nil {
		r.version, r.uid = m.GetResourceVersion(), m.GetUID()
		r.namespace, r.name = m.GetNamespace(), m.GetName()
	}
	r.own = true
	switch {
	case s.keyFunc != nil:
		if r.key, err = s.keyFunc(r.obj); err == nil && r.key == "" {
			err = errEmptyKey
		}
	case r.name == "":
		_, err = KeyOf(r.obj) // for its error
	case r.namespace == "":
		r.key = r.name
	}
	if err != nil {
		return r.failure(err)
	}
	return nil
}

// spell spells a key of namespace and name, and asks for its place in the table.
func (s *state[T]) spell(r *received[T]) {
	if r.key == "" {
		s.scratch.key = appendKey(s.scratch.key[:0], r.namespace, r.name)
		r.hash = s.table.HashBytes(s.scratch.key)
		s.table.Fetch(r.hash)
	}
}

// find looks up a key of namespace and name.
func (s *state[T]) find(r *received[T]) {
	if r.key != "" {
		return
	}
	if r.hash == 0 {
		s.spell(r)
	}
	if id, ok := s.table.FindToWrite(s.scratch.key, r.hash); ok {
		r.key, r.id = s.table.Key(id), id
	} else {
		r.key = string(s.scratch.key)
	}
}

// fullKey returns the key, found or not.
func (r *received[T]) fullKey() string {
	if r.key != "" {
		return r.key
	}
	return JoinKey(r.namespace, r.name)
}

func (r *received[T]) failure(err error) error {
	return &ObjectError{Key: r.key, UID: r.uid, ResourceVersion: r.version, Err: err}
}

// change runs the transform, which may change the object in its place.
func (s *state[T]) change(r *received[T]) error {
	if s.transform == nil {
		return nil
	}
	var namespace, name string
	before, err := accessor(r.obj)
	if err == nil {
		namespace, name = before.GetNamespace(), before.GetName()
	}
	obj, err := s.transform(r.obj)
	if err != nil {
		return r.failure(err)
	}
	after, err := accessor(obj)
	if err == errNilObject {
		return r.failure(err)
	}
	if before != nil && after != nil && (after.GetNamespace() != namespace || after.GetName() != name) {
		return r.failure(errRenamed)
	}
	r.obj, r.own = obj, false
	return nil
}

func (s *state[T]) op(r *received[T]) dense.Op[T] {
	return dense.Op[T]{Key: r.key, Hash: r.hash, Hint: r.id, Object: r.obj, Note: s.note(r)}
}

// note returns what the object does not say itself, nil if that is nothing.
func (s *state[T]) note(r *received[T]) *dense.Note {
	var note *dense.Note
	if !r.own {
		note = noteOf(r.obj, r.version, r.uid)
	}
	switch {
	case r.source == "":
	case note != nil:
		note.Source = r.source
	default:
		note = s.noteOfSource(r.source)
	}
	return note
}

// maxNotes is how many sources a store remembers at once. Sources may come and go under ever
// new names; one that is forgotten costs another note, which its next objects share again.
const maxNotes = 1024

// noteOfSource returns the one note of all objects of a source that need none for
// themselves.
func (s *state[T]) noteOfSource(source string) *dense.Note {
	note, ok := s.notes[source]
	if !ok {
		if s.notes == nil {
			s.notes = map[string]*dense.Note{}
		}
		if len(s.notes) == maxNotes {
			clear(s.notes)
		}
		note = &dense.Note{Own: true, Source: source}
		s.notes[source] = note
	}
	return note
}

// noteOf returns nil where the object says itself what the source said.
func noteOf[T any](obj T, version string, uid types.UID) *dense.Note {
	if v, u := identity(obj, nil); v == version && u == uid {
		return nil
	}
	return &dense.Note{Version: version, UID: string(uid)}
}

// fold returns what the deltas of one key come to. A delete of another UID than that of
// the state before it is not of this object.
func (s *state[T]) fold(deltas Deltas[T]) (op dense.Op[T], ok bool, err error) {
	var last *Delta[T]
	for i := range deltas {
		d := &deltas[i]
		switch {
		case d.Type == DeltaSync:
		case d.Type != DeltaDeleted, last == nil && !s.anotherUID(d.Key, d.UID):
			last = d
		case last != nil && (last.Type == DeltaDeleted || !differ(last.UID, d.UID)):
			last = d
		}
	}
	if last == nil {
		return op, false, nil
	}
	hash, hint := deltas[0].hash, deltas[0].hint
	if last.Type == DeltaDeleted {
		return dense.Op[T]{Key: last.Key, Delete: true}, true, nil
	}
	if last.own && last.source == "" {
		return dense.Op[T]{Key: last.Key, Hash: hash, Hint: hint, Object: last.Object}, true, nil
	}
	r := received[T]{key: last.Key, id: hint, version: last.ResourceVersion, uid: last.UID, source: last.source, obj: last.Object}
	if _, err := accessor(last.Object); err == errNilObject {
		return op, false, r.failure(err)
	}
	return s.op(&r), true, nil
}

// anotherUID reports whether the store has an object with the key and another UID.
func (s *state[T]) anotherUID(key string, uid types.UID) bool {
	if uid == "" {
		return false
	}
	id, ok := s.table.Find(key)
	if !ok {
		return false
	}
	_, known := identity(s.table.Object(id), s.table.Note(id))
	return differ(known, uid)
}

func differ(a, b types.UID) bool { return a != "" && b != "" && a != b }

// after returns the version that the store has reached after an event of this version.
// An object's own version may be older than the collection's, as in a DELETED of some
// servers; versions that cannot be compared are believed.
func (s *state[T]) after(event string) string {
	if event == "" || older(event, s.version) {
		return s.version
	}
	return event
}

const (
	// Readers wait for so many changes at most, about 0.1 ms, or for one change in every
	// chunk if there are more chunks; what is more is done in a fork of the table.
	maxInPlace = 256
	perChunk   = 512
)

// commit changes the table, and the version with it. The error is that of index
// functions; the change is done all the same.
func (s *state[T]) commit(ops []dense.Op[T], version string) error {
	err := s.fillValues(ops)
	s.commitFilled(ops, version)
	return err
}

// commitFilled is commit of ops whose values are known.
func (s *state[T]) commitFilled(ops []dense.Op[T], version string) {
	table := s.table
	next, spare := s.nextList()
	large := len(ops) > max(maxInPlace, table.Len()/perChunk)
	swaps := !large && table.Plan(ops, spare)
	aside := large || !swaps && table.NeedsRoom(ops)
	if aside {
		table = table.Fork()
		if !large {
			table.MakeRoom(ops)
		}
		table.Apply(ops)
	}
	s.mu.Lock()
	switch {
	case swaps:
		table.Swap(ops)
	case !aside:
		table.Apply(ops)
	}
	s.table, s.version = table, version
	if next != nil {
		next.objects, next.spare = table.Objects(), dense.Spare[T]{}
	}
	if next != nil || s.list.Load() != nil { // to write an atomic waits for all writes before it
		s.list.Store(next)
	}
	s.mu.Unlock()
	if aside {
		table.Settle()
	}
	s.scratch.forgetValues()
}

// nextList returns the list of the next state, which has no objects yet, and its spare; nil, nil if
// nobody has listed the present one.
func (s *state[T]) nextList() (next *list[T], spare *dense.Spare[T]) {
	if l := s.list.Load(); l != nil {
		next = l.next.Load()
	}
	if next != nil {
		spare = &next.spare
	}
	return next, spare
}
