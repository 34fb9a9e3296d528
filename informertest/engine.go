// SPDX-License-Identifier: Apache-2.0

package informertest

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/informerkit/informer"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// engine is one collection with its history: what both faces answer from. It knows neither
// the type of the objects nor HTTP.
type engine struct {
	// revision counts the writes of all collections of a server, as etcd does. It is only
	// advanced under mu of the collection that is written to, so whoever holds mu and reads
	// N holds all writes of this collection up to N.
	revision  *atomic.Uint64
	newObject func() informer.Object

	mu       sync.Mutex
	kind     schema.GroupVersionKind // learned from the first object that has one, or set
	resource schema.GroupResource
	objects  map[string]*entry
	keys     []string            // sorted; replaced, never changed, so that a list can go on reading it
	fresh    []string            // created since keys was made
	dead     map[string]struct{} // deleted since keys was made
	log      history
	seen     uint64        // the version that the watch cache has reached
	advanced chan struct{} // closed, and replaced, when seen moves or the history is compacted
	streams  map[*stream]struct{}
	idle     chan struct{} // closed, and replaced, when the last stream ends
	faults   faults
}

// firstRevision is that of an empty etcd.
const firstRevision = 1

func newRevision() *atomic.Uint64 {
	revision := new(atomic.Uint64)
	revision.Store(firstRevision)
	return revision
}

func newEngine(revision *atomic.Uint64, kind schema.GroupVersionKind, newObject func() informer.Object) *engine {
	now := revision.Load()
	e := &engine{
		revision:  revision,
		newObject: newObject,
		objects:   map[string]*entry{},
		dead:      map[string]struct{}{},
		log:       history{floor: now, trimmed: now},
		seen:      now,
		advanced:  make(chan struct{}),
		streams:   map[*stream]struct{}{},
		idle:      make(chan struct{}),
	}
	e.setKindLocked(kind)
	return e
}

// setKindLocked learns the kind, and guesses the resource of it that errors name.
func (e *engine) setKindLocked(kind schema.GroupVersionKind) {
	e.kind = kind
	if kind.Kind != "" {
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		e.resource = plural.GroupResource()
	}
}

// groupResource returns the resource that errors name.
func (e *engine) groupResource() schema.GroupResource {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.resource
}

// adoptLocked takes the kind over from an object where it is not known yet, and gives it to
// one that has to carry it and does not.
func (e *engine) adoptLocked(obj informer.Object) {
	kind := obj.GetObjectKind().GroupVersionKind()
	if kind.Kind != "" && e.kind.Version == "" {
		e.setKindLocked(kind)
	}
	if kind.Kind == "" && e.kind.Version != "" && isUnstructured(obj) {
		obj.GetObjectKind().SetGroupVersionKind(e.kind)
	}
}

// bookmarkObject returns an object with nothing but a kind.
func (e *engine) bookmarkObject() informer.Object {
	obj := e.newObject()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.kind.Version != "" {
		obj.GetObjectKind().SetGroupVersionKind(e.kind)
	}
	return obj
}

// commitLocked makes a change the newest one. One of before and after may be nil.
func (e *engine) commitLocked(before, after *entry, version uint64) {
	key := ""
	switch {
	case after == nil:
		key = before.key
		delete(e.objects, key)
		e.dead[key] = struct{}{}
	case before == nil:
		key = after.key
		e.objects[key] = after
		if _, listed := e.dead[key]; listed {
			delete(e.dead, key)
		} else {
			e.fresh = append(e.fresh, key)
		}
	default:
		key = after.key
		e.objects[key] = after
	}
	e.log.add(change{version: version, key: key, before: before, after: after}, e.faults.historyLimit())
	e.log.trim(e.slowestLocked(), e.faults.historyLimit())
	e.advanceLocked(version)
}

// advanceLocked moves the version that the cache has reached, and wakes who waits for it.
func (e *engine) advanceLocked(version uint64) {
	if version <= e.seen {
		return
	}
	e.seen = version
	e.wakeLocked()
}

func (e *engine) wakeLocked() {
	close(e.advanced)
	e.advanced = make(chan struct{})
}

// catchUpLocked is what a consistent read does to the cache: it asks etcd for its revision
// and waits until the cache is there.
func (e *engine) catchUpLocked() uint64 {
	e.advanceLocked(e.revision.Load())
	return e.seen
}

// slowestLocked returns the version up to which every open stream has read.
func (e *engine) slowestLocked() uint64 {
	slowest := ^uint64(0)
	for s := range e.streams {
		slowest = min(slowest, s.position)
	}
	return slowest
}

// keysLocked returns the keys of all objects in order.
func (e *engine) keysLocked() []string {
	if len(e.fresh) == 0 && len(e.dead) == 0 {
		return e.keys
	}
	slices.Sort(e.fresh)
	keys := make([]string, 0, len(e.objects))
	old, fresh := e.keys, e.fresh
	for len(old) > 0 || len(fresh) > 0 {
		from := &old
		if len(old) == 0 || len(fresh) > 0 && fresh[0] < old[0] {
			from = &fresh
		}
		if _, gone := e.dead[(*from)[0]]; !gone {
			keys = append(keys, (*from)[0])
		}
		*from = (*from)[1:]
	}
	e.keys, e.fresh = keys, nil
	clear(e.dead)
	return keys
}

// cutStreams ends all open streams.
func (e *engine) cutStreams() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for s := range e.streams {
		s.cancel(errCut)
	}
}

// snapshot returns the collection as it is.
func (e *engine) snapshot() *Snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	return &Snapshot{version: e.revision.Load(), objects: maps.Clone(e.objects)}
}

// restore goes back to a snapshot.
func (e *engine) restore(s *Snapshot) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for stream := range e.streams {
		stream.cancel(errCut)
	}
	e.objects = maps.Clone(s.objects)
	e.keys, e.fresh = slices.Sorted(maps.Keys(e.objects)), nil
	clear(e.dead)
	e.log = history{floor: s.version, trimmed: s.version}
	e.seen = s.version
	e.revision.Store(s.version)
	e.wakeLocked()
}

// compact forgets the history. Streams that are open do not notice.
func (e *engine) compact() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log.compact(e.revision.Load())
	e.log.trim(e.slowestLocked(), e.faults.historyLimit())
}
