// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// sourced is implemented by known objects that know which source of a union each came from.
type sourced interface {
	sourceOf(key string) string
	keysOf(source string) []string
}

// feed is the Sink of one source of a union: the DeltaFIFO with the source's prefix before
// each key, its own version and its own first list. What it replaces and deletes is what
// it has put in.
//
// A key belongs to the source that was there first. What another one has under it is kept
// aside, and takes the key when its owner has let go of it.
type feed[T any] struct {
	f        *DeltaFIFO[T]
	name     string
	prefix   string
	collided func(ctx context.Context, collisions []collision) // called without a lock

	// Guarded by f.mu.
	closed   bool
	listed   bool                // a first list was committed
	reported bool                // that was said in a batch
	pending  bool                // in f.progressed
	written  string              // version of the last write that had one
	aside    map[string]Delta[T] // by key
}

// collision is a key that two sources hold.
type collision struct {
	key     string
	version string
	uid     types.UID
	owner   string // name of the source that holds it
}

// progress is how far a source has come with a batch.
type progress[T any] struct {
	feed    *feed[T]
	version string // "": as before
	listed  bool   // its first list ends in this batch
}

// newFeed adds a source. The name is not that of another one.
func (f *DeltaFIFO[T]) newFeed(name, prefix string) *feed[T] {
	s := &feed[T]{f: f, name: name, prefix: prefix, aside: map[string]Delta[T]{}}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.union = true
	f.feeds = append(f.feeds, s)
	return s
}

func (f *DeltaFIFO[T]) takeProgressLocked() []progress[T] {
	var all []progress[T]
	for _, s := range f.progressed {
		all = append(all, progress[T]{feed: s, version: s.written, listed: s.listed && !s.reported})
		s.pending, s.reported = false, s.listed
	}
	f.progressed = f.progressed[:0]
	return all
}

// claim makes a delta the source's. Errors about an object come before, and have the key
// as the source knows it. A nil feed claims nothing.
func (s *feed[T]) claim(d *Delta[T]) {
	if s != nil {
		d.Key, d.source = s.prefix+d.Key, s.name
	}
}

// Add queues DeltaAdded.
func (s *feed[T]) Add(ctx context.Context, obj T) error { return s.upsert(ctx, DeltaAdded, obj) }

// Update queues DeltaUpdated.
func (s *feed[T]) Update(ctx context.Context, obj T) error { return s.upsert(ctx, DeltaUpdated, obj) }

func (s *feed[T]) upsert(ctx context.Context, typ DeltaType, obj T) error {
	d, err := s.f.prepare(obj, s)
	if err != nil {
		return err
	}
	d.Type, d.Cause = typ, CauseWatch
	if err := s.lock(ctx, &d); err != nil {
		return err
	}
	var collisions []collision
	if c, ok := s.putLocked(d); ok {
		collisions = append(collisions, c)
	}
	s.unlock(s.newerLocked(d.ResourceVersion))
	s.report(ctx, collisions)
	return nil
}

// putLocked queues an object, or keeps it aside; ok: that is news.
func (s *feed[T]) putLocked(d Delta[T]) (c collision, ok bool) {
	last := s.f.newestLocked(d.Key)
	if !last.present || last.source == s.name {
		s.f.pushLocked(d)
		return c, false
	}
	_, known := s.aside[d.Key]
	s.aside[d.Key] = d
	return collision{key: d.Key, version: d.ResourceVersion, uid: d.UID, owner: last.source}, !known
}

// Delete queues DeltaDeleted if the key is the source's own.
func (s *feed[T]) Delete(ctx context.Context, obj T) error {
	f := s.f
	d, m, err := f.identify(obj)
	if err != nil {
		return err
	}
	d.Type, d.Cause = DeltaDeleted, CauseWatch
	if f.transformDelta(&d, m) != nil {
		var zero T
		d.Object, d.FinalStateUnknown = zero, true
	}
	return s.delete(ctx, d)
}

// deleteNamed is Delete for an object of which nothing but its identity is known.
func (s *feed[T]) deleteNamed(ctx context.Context, m metav1.Object) error {
	return s.delete(ctx, tombstoneOf[T](m))
}

func (s *feed[T]) delete(ctx context.Context, d Delta[T]) error {
	f := s.f
	s.claim(&d)
	if err := s.lock(ctx, &d); err != nil {
		return err
	}
	if kept, ok := s.aside[d.Key]; ok {
		if !differ(kept.UID, d.UID) {
			delete(s.aside, d.Key)
		}
	} else if f.newestLocked(d.Key).source == s.name {
		f.deleteLocked(d)
		s.releaseLocked(d.Key)
	}
	s.unlock(s.newerLocked(d.ResourceVersion))
	return nil
}

// lose queues the end of what the source has under the key of obj, whatever its UID.
func (s *feed[T]) lose(ctx context.Context, obj T) error {
	d, _, err := s.f.identify(obj)
	if err != nil {
		return err
	}
	s.claim(&d)
	d.Type = DeltaDeleted
	if err := s.lock(ctx, &d); err != nil {
		return err
	}
	delete(s.aside, d.Key)
	if last := s.f.newestLocked(d.Key); last.present && last.source == s.name {
		gone := last.deleted(d.Key)
		gone.Cause, gone.FinalStateUnknown = CauseWatch, true
		s.f.pushLocked(gone)
		s.releaseLocked(d.Key)
	}
	s.unlock("")
	return nil
}

// releaseLocked gives a key that is free to the first source that has something aside for it.
func (s *feed[T]) releaseLocked(key string) {
	if s.f.newestLocked(key).present {
		return
	}
	for _, other := range s.f.feeds {
		if d, ok := other.aside[key]; ok {
			delete(other.aside, key)
			d.Type, d.Cause = DeltaAdded, CauseScope
			s.f.pushLocked(d)
			return
		}
	}
}

// Bookmark notes the version of the source.
func (s *feed[T]) Bookmark(_ context.Context, resourceVersion string) error {
	s.f.mu.Lock()
	if s.closedLocked() {
		s.f.mu.Unlock()
		return ErrClosed
	}
	s.f.position++
	s.unlock(resourceVersion)
	return nil
}

// Identity returns what the source has under the key of obj, aside or not.
func (s *feed[T]) Identity(obj T) (resourceVersion string, uid types.UID, ok bool) {
	d, _, err := s.f.identify(obj)
	if err != nil {
		return "", "", false
	}
	return s.identityOfKey(d.Key)
}

func (s *feed[T]) identityLocked(key string) (resourceVersion string, uid types.UID, ok bool) {
	if kept, ok := s.aside[key]; ok {
		return kept.ResourceVersion, kept.UID, true
	}
	last := s.f.newestLocked(key)
	if !last.present || last.source != s.name {
		return "", "", false
	}
	return last.version, last.uid, true
}

// keyedByName reports whether keys, prefixes aside, are those of KeyOf.
func (s *feed[T]) keyedByName() bool { return s.f.keyedByName() }

func (s *feed[T]) identityOfName(namespace, name string) (resourceVersion string, uid types.UID, ok bool) {
	return s.identityOfKey(s.f.keyOfName(namespace, name))
}

func (s *feed[T]) identityOfKey(key string) (resourceVersion string, uid types.UID, ok bool) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	return s.identityLocked(s.prefix + key)
}

// BeginReplace begins a list of the source.
func (s *feed[T]) BeginReplace(ctx context.Context) (Replacement[T], error) {
	return s.beginRescoped(ctx, nil)
}

// beginVerify begins a list of the source that the mirror is repaired by, once everything
// queued is in the store.
func (s *feed[T]) beginVerify(ctx context.Context) (Replacement[T], error) {
	r, err := s.f.beginRepair(ctx)
	if err != nil {
		return nil, err
	}
	r.from = s
	return r, nil
}

// beginRescoped begins a list of another part of the source's collection.
func (s *feed[T]) beginRescoped(ctx context.Context, scope *rescope) (Replacement[T], error) {
	r, err := s.f.beginReplace(ctx, "")
	if err != nil {
		return nil, err
	}
	r.from, r.scope = s, scope
	return r, nil
}

// endCommit is the end of the Commit of a list of the source, from the lock on.
func (s *feed[T]) endCommit(r *fifoReplacement[T], version string) error {
	f := s.f
	first := !s.listed
	gone := r.goneLocked()
	f.position++
	f.queue.grow(r.items.changed() + len(gone))
	s.forgetLocked(r)
	var collisions []collision
	for i := range r.items.n {
		item := r.items.at(i)
		if item.verdict != itemChanged {
			continue
		}
		d := r.replaced(item, first)
		d.source = s.name
		if kept, ok := s.aside[d.Key]; !ok || kept.ResourceVersion != d.ResourceVersion || kept.UID != d.UID {
			r.mend(&d)
		}
		if c, ok := s.putLocked(d); ok {
			collisions = append(collisions, c)
		}
	}
	for i := range gone {
		d := r.gone(&gone[i], first)
		r.mend(&d)
		f.pushLocked(d)
		s.releaseLocked(gone[i].Key)
	}
	s.listed = true
	s.progressLocked()
	s.unlock(version)
	s.report(r.ctx, collisions)
	return nil
}

// waiting returns what the source has aside, and who holds the keys.
func (s *feed[T]) waiting() []collision {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	all := make([]collision, 0, len(s.aside))
	for key, d := range s.aside {
		all = append(all, collision{key: key, version: d.ResourceVersion, uid: d.UID, owner: s.f.newestLocked(key).source})
	}
	return all
}

// forgetLocked drops what is aside and not in the list.
func (s *feed[T]) forgetLocked(r *fifoReplacement[T]) {
	for key := range s.aside {
		if !r.items.holds(key) {
			delete(s.aside, key)
		}
	}
}

// close ends the source: what it has put in leaves, in order with everything else, and
// what it writes from now on is refused.
func (s *feed[T]) close() {
	f := s.f
	f.mu.Lock()
	s.closed, s.aside = true, nil
	f.feeds = slices.DeleteFunc(f.feeds, func(other *feed[T]) bool { return other == s })
	f.progressed = slices.DeleteFunc(f.progressed, func(other *feed[T]) bool { return other == s })
	f.position++
	all := fifoReplacement[T]{f: f, from: s, items: stagedItems[T]{seed: f.seed}}
	for _, d := range all.goneLocked() {
		d.Cause = CauseScope
		f.pushLocked(d)
		s.releaseLocked(d.Key)
	}
	s.unlock("")
}

// lock is lockForRoom, and begins a write.
func (s *feed[T]) lock(ctx context.Context, d *Delta[T]) error {
	if err := s.f.lockForRoom(ctx, d); err != nil {
		return err
	}
	if s.closed {
		s.f.passLocked()
		s.f.mu.Unlock()
		return ErrClosed
	}
	s.f.position++
	return nil
}

func (s *feed[T]) closedLocked() bool { return s.closed || s.f.isClosed }

// newerLocked is DeltaFIFO.newerLocked for the source's own version.
func (s *feed[T]) newerLocked(version string) string {
	if older(version, s.written) {
		return ""
	}
	return version
}

// unlock ends a write.
func (s *feed[T]) unlock(version string) {
	if version != "" && version != s.written && !s.closed {
		s.written = version
		s.progressLocked()
	}
	s.f.passLocked()
	s.f.mu.Unlock()
}

// progressLocked has the next batch say how far the source has come.
func (s *feed[T]) progressLocked() {
	if !s.pending {
		s.pending = true
		s.f.progressed = append(s.f.progressed, s)
	}
}

func (s *feed[T]) report(ctx context.Context, collisions []collision) {
	if len(collisions) > 0 && s.collided != nil {
		s.collided(ctx, collisions)
	}
}
