// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// DeltaType says what a Delta does.
type DeltaType string

// The types of deltas.
const (
	DeltaAdded    DeltaType = "Added"    // the watch said so
	DeltaUpdated  DeltaType = "Updated"  // the watch said so
	DeltaDeleted  DeltaType = "Deleted"  // the watch said so, or a list no longer has it
	DeltaReplaced DeltaType = "Replaced" // a list has it
	DeltaSync     DeltaType = "Sync"     // Resync: nothing happened
)

// Delta is one step of one object through a DeltaFIFO.
type Delta[T any] struct {
	Type              DeltaType // what happened
	Key               string    // of the object, also where Object is zero
	Object            T         // after the transform; zero if FinalStateUnknown and nothing is known
	ResourceVersion   string    // as the source sent it, before the transform
	UID               types.UID // as the source sent it, before the transform
	Cause             Cause     // CauseInitial: part of the first list
	FinalStateUnknown bool      // deleted while nobody watched: Object is the last known state

	// What is known while the delta is in a queue.
	own  bool   // the object says itself which version and UID it has
	hash uint32 // of the key; 0: not known
	hint uint32 // the place that an object with the key may have in the store

	source string // of a union, that sent it; otherwise ""

	// reached is the version of the collection that the consumer has reached once this
	// delta is processed, set by Pop where there is one.
	reached string
}

// Deltas are the steps of one key, oldest first. They are never empty.
type Deltas[T any] []Delta[T]

// Key returns the key of all of them.
func (d Deltas[T]) Key() string { return d[0].Key }

// Oldest returns the first delta.
func (d Deltas[T]) Oldest() Delta[T] { return d[0] }

// Newest returns the last delta.
func (d Deltas[T]) Newest() Delta[T] { return d[len(d)-1] }

// KnownObjects are the objects that the consumer of a DeltaFIFO holds: a Store or a View.
// What the queue hands out and is processed without an error is expected to be in them.
//
// If they are a Bookmarker too, it hears of each version that Pop completes.
//
// Concurrency: called under the queue's lock, so they must not call the queue, nor wait
// for somebody who does. Bookmark is called outside the lock, but one call at a time, and
// must not call the queue either.
type KnownObjects[T any] interface {
	// Keys returns all keys.
	Keys() []string
	// Get returns the object with the key.
	Get(key string) (T, bool)
	// Identity returns version and UID of the object with the key, as the source sent
	// them, before the transform.
	Identity(key string) (resourceVersion string, uid types.UID, ok bool)
}

// TransformFunc changes an object before it is queued and stored.
type TransformFunc[T any] func(obj T) (T, error)

// DeltaFIFOOptions configures a DeltaFIFO. The zero value is ready to use.
type DeltaFIFOOptions[T any] struct {
	KeyFunc      KeyFunc[T]       // nil: KeyOf; NewDeltaFIFO panics if T cannot have metadata
	KnownObjects KnownObjects[T]  // nil: none; a Replace then finds deletes in the queue alone
	Transform    TransformFunc[T] // nil: none
	Limit        int              // writers wait while so many deltas are queued, lists aside; 0: no bound; negative: NewDeltaFIFO panics
}

// DeltaFIFO is a queue of keys in order of arrival, each with its deltas. It is a Sink, a
// Bookmarker and an Identifier. It has synced when the last item of the first replacement,
// and whatever was queued before it, has been processed.
//
// The newest state of a key is what is queued for it, then what a Pop is processing, then
// what the KnownObjects hold. Deletes are judged and lists compared by it.
//
// Ownership: an object put in belongs to the queue, and to its consumer after that.
//
// Concurrency: safe for concurrent use. KeyFunc and Transform run on the goroutine of the
// writer, outside the lock. Writers, and replacements, that run at the same time take
// effect one after the other. Concurrent Pops are safe, and never process one key at the
// same time; changes of different keys then are no longer in order.
//
// Errors: writers return an *ObjectError for an object that is nil or cannot be keyed or
// transformed, and queue nothing; ErrClosed after Close; the cause of ctx, with key and
// Limit, if that ends while they wait for room. A panic of KeyFunc or Transform passes through.
//
// Lifetime: until Close. It starts no goroutine.
type DeltaFIFO[T any] struct {
	*syncSignal

	keyFunc    KeyFunc[T]
	defaultKey bool // keyFunc is KeyOf
	known      KnownObjects[T]
	bookmarker Bookmarker   // known, if it is one
	interner   keyInterner  // known, if it is one
	places     keyPlaces[T] // known, if it is one; nil with a KeyFunc
	seed       maphash.Seed // of the hashes of keys
	sourced    sourced      // known, if it is one
	transform  TransformFunc[T]
	limit      int
	wholeFrom  int // items that a first list has at least if it is queued whole

	// Tokens: whoever takes one and leaves something over passes it on.
	ready  chan struct{} // something may be there to take
	room   chan struct{} // there may be room to write
	closed chan struct{}

	telling sync.Mutex // held over a call of bookmarker, so that versions reach it in order

	mu         sync.Mutex
	queue      *deltaPile[T]
	spare      *deltaPile[T]        // emptied memory for the next queue; nil: none
	taken      *deltaPile[T]        // by takeBatch, until batchDone
	whole      *wholeList[T]        // a first list, queued before everything in queue; nil: none
	flights    map[string]flight[T] // by Pop, until its process returns
	isClosed   bool
	rest       chan struct{} // closed when nothing is queued; nil: nobody waits
	batching   bool          // takeBatch is the consumer, which moves the version itself
	wholeTaken *wholeList[T] // by takeBatch, until batchDone; nil: none

	position  uint64 // of the last write
	created   uint64 // of the last write that queued a key anew
	changes   uint64 // writes that changed the newest state of a key
	marks     versionMarks
	written   string // version of the last write that had one
	completed string // version up to which everything was processed
	told      string // the last version that bookmarker took
	delivered string // the last version that a batch had
	inBatch   string // written, when taken was taken

	firstReplace uint64 // position of the first replacement; 0: not yet
	syncTaken    bool   // a batch has said so

	union      bool       // there have been feeds
	feeds      []*feed[T] // of a union, in the order in which they were added
	progressed []*feed[T] // since the last batch
}

// flight is what a Pop is processing.
type flight[T any] struct {
	deltas   Deltas[T]
	position uint64
}

// keyInterner is implemented by known objects that do what JoinKey does without a new string
// for a key that they have.
type keyInterner interface {
	internKey(namespace, name string) string
}

// NewDeltaFIFO returns an empty queue. It panics if Limit is negative, and if there is no
// KeyFunc for a type without metadata.
func NewDeltaFIFO[T any](options DeltaFIFOOptions[T]) *DeltaFIFO[T] {
	if options.Limit < 0 {
		panic(fmt.Sprintf("informer: NewDeltaFIFO: Limit is %d, want 0 or more", options.Limit))
	}
	f := &DeltaFIFO[T]{
		syncSignal: newSyncSignal(),
		keyFunc:    keyFuncOr(options.KeyFunc, "NewDeltaFIFO"),
		defaultKey: options.KeyFunc == nil,
		known:      options.KnownObjects,
		transform:  options.Transform,
		limit:      options.Limit,
		wholeFrom:  wholeFrom,
		ready:      make(chan struct{}, 1),
		room:       make(chan struct{}, 1),
		closed:     make(chan struct{}),
		seed:       maphash.MakeSeed(),
		flights:    map[string]flight[T]{},
	}
	f.bookmarker, _ = options.KnownObjects.(Bookmarker)
	f.interner, _ = options.KnownObjects.(keyInterner)
	f.sourced, _ = options.KnownObjects.(sourced)
	if places, ok := options.KnownObjects.(keyPlaces[T]); ok {
		f.seed = places.keySeed()
		if f.defaultKey {
			f.places = places
		}
	}
	f.queue = newDeltaPile[T](f.seed)
	return f
}

// Add queues DeltaAdded. It waits for room.
func (f *DeltaFIFO[T]) Add(ctx context.Context, obj T) error {
	return f.upsert(ctx, DeltaAdded, obj)
}

// Update queues DeltaUpdated. It waits for room.
func (f *DeltaFIFO[T]) Update(ctx context.Context, obj T) error {
	return f.upsert(ctx, DeltaUpdated, obj)
}

func (f *DeltaFIFO[T]) upsert(ctx context.Context, typ DeltaType, obj T) error {
	d, err := f.prepare(obj, nil)
	if err != nil {
		return err
	}
	d.Type, d.Cause = typ, CauseWatch
	if err := f.lockForRoom(ctx, &d); err != nil {
		return err
	}
	f.position++
	f.pushLocked(d)
	return f.endWrite(ctx, f.newerLocked(d.ResourceVersion))
}

// Delete queues DeltaDeleted, unless the newest state of the key is that it is gone, or
// that it has another UID (neither empty); the version of obj counts all the same. Without
// KnownObjects, a key of which the queue holds nothing may exist. Two deletes in a row
// become one: the newer, unless only the older knows the final state. It waits for room.
//
// Errors: as all writers, but an object that cannot be transformed is deleted: the delta
// then has the last known object, or the zero one, and FinalStateUnknown.
func (f *DeltaFIFO[T]) Delete(ctx context.Context, obj T) error {
	d, m, err := f.identify(obj)
	if err != nil {
		return err
	}
	d.Type, d.Cause = DeltaDeleted, CauseWatch
	if f.transformDelta(&d, m) != nil {
		var zero T
		d.Object, d.FinalStateUnknown = zero, true
	}
	if err := f.lockForRoom(ctx, &d); err != nil {
		return err
	}
	f.position++
	f.deleteLocked(d)
	return f.endWrite(ctx, f.newerLocked(d.ResourceVersion))
}

// deleteNamed is Delete for an object of which nothing but its identity is known: the
// delta has the last known object.
func (f *DeltaFIFO[T]) deleteNamed(ctx context.Context, m metav1.Object) error {
	d := tombstoneOf[T](m)
	if err := f.lockForRoom(ctx, &d); err != nil {
		return err
	}
	f.position++
	f.deleteLocked(d)
	return f.endWrite(ctx, f.newerLocked(d.ResourceVersion))
}

func tombstoneOf[T any](m metav1.Object) Delta[T] {
	return Delta[T]{
		Type: DeltaDeleted, Key: JoinKey(m.GetNamespace(), m.GetName()), UID: m.GetUID(),
		ResourceVersion: m.GetResourceVersion(), Cause: CauseWatch, FinalStateUnknown: true,
	}
}

// lose queues the end of the object that is known under the key of obj, whatever its UID:
// obj has taken its name, and cannot be applied.
func (f *DeltaFIFO[T]) lose(ctx context.Context, obj T) error {
	d, _, err := f.identify(obj)
	if err != nil {
		return err
	}
	d.Type = DeltaDeleted
	if err := f.lockForRoom(ctx, &d); err != nil {
		return err
	}
	f.position++
	if last := f.newestLocked(d.Key); last.present {
		gone := last.deleted(d.Key)
		gone.Cause, gone.FinalStateUnknown = CauseWatch, true
		f.pushLocked(gone)
	}
	return f.endWrite(ctx, "")
}

func (f *DeltaFIFO[T]) deleteLocked(d Delta[T]) {
	last := f.newestLocked(d.Key)
	switch {
	case !last.found && f.known != nil:
		return
	case last.found && last.uid != "" && d.UID != "" && last.uid != d.UID:
		return
	case last.found && !last.present && f.queue.get(d.Key) == nil:
		return // its delete is being processed
	}
	if d.FinalStateUnknown && last.present {
		d.Object = last.object
	}
	f.pushLocked(d)
}

// Bookmark says that the collection has come to the version without an event. It counts
// once everything queued before it has been processed, and at once if there is nothing.
//
// Errors: ErrClosed; and that of the KnownObjects' own Bookmark.
func (f *DeltaFIFO[T]) Bookmark(ctx context.Context, resourceVersion string) error {
	f.mu.Lock()
	if f.isClosed {
		f.mu.Unlock()
		return ErrClosed
	}
	f.position++
	return f.endWrite(ctx, resourceVersion)
}

// Identity returns version and UID, as the source sent them, of the newest state of obj's
// key; ok is false if that is not there, or obj has no key.
func (f *DeltaFIFO[T]) Identity(obj T) (resourceVersion string, uid types.UID, ok bool) {
	d, _, err := f.identify(obj)
	if err != nil {
		return "", "", false
	}
	return f.identityOfKey(d.Key)
}

// keyedByName reports whether keys are those of KeyOf.
func (f *DeltaFIFO[T]) keyedByName() bool { return f.defaultKey }

func (f *DeltaFIFO[T]) identityOfKey(key string) (resourceVersion string, uid types.UID, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.newestLocked(key)
	if !last.present {
		return "", "", false
	}
	return last.version, last.uid, true
}

// Resync queues DeltaSync for each known key of which nothing is queued or being
// processed. It does not wait for room.
//
// Errors: ErrClosed.
func (f *DeltaFIFO[T]) Resync(ctx context.Context) error {
	f.mu.Lock()
	if f.isClosed {
		f.mu.Unlock()
		return ErrClosed
	}
	f.position++
	if f.known == nil {
		return f.endWrite(ctx, "")
	}
	for _, key := range f.known.Keys() {
		last := f.newestLocked(key)
		if !last.present || !last.known {
			continue
		}
		f.queueLocked(&Delta[T]{
			Type: DeltaSync, Key: key, Object: last.object,
			ResourceVersion: last.version, UID: last.uid, Cause: CauseResync, source: last.source,
		})
	}
	return f.endWrite(ctx, "")
}

// ResourceVersion returns the version up to which everything was processed: that of the
// newest write all of whose predecessors have been, too. "" before the first.
func (f *DeltaFIFO[T]) ResourceVersion() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.completed
}

// Len returns the number of keys with deltas, those being processed aside.
func (f *DeltaFIFO[T]) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.queue.len() + f.whole.len()
}

// Close ends every wait, and every later call, of Pop and of the writers with ErrClosed.
// What is queued stays so and is not handed out. It may be called again.
func (f *DeltaFIFO[T]) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.isClosed {
		f.isClosed = true
		close(f.closed)
	}
}

// lockForRoom returns with the lock held, as soon as there is room for d, or with an error
// and without it.
func (f *DeltaFIFO[T]) lockForRoom(ctx context.Context, d *Delta[T]) error {
	for {
		f.mu.Lock()
		switch {
		case f.isClosed:
			f.mu.Unlock()
			return ErrClosed
		case f.hasRoomLocked():
			return nil
		}
		f.mu.Unlock()
		select {
		case <-f.room:
		case <-f.closed:
		case <-ctx.Done():
			return fmt.Errorf("%s %q: no room in a queue with a Limit of %d: %w", d.Type, d.Key, f.limit, context.Cause(ctx))
		}
	}
}

func (f *DeltaFIFO[T]) hasRoomLocked() bool {
	return f.limit == 0 || f.queue.deltas < f.limit
}

// pushLocked queues a delta that changes the newest state of its key.
func (f *DeltaFIFO[T]) pushLocked(d Delta[T]) {
	f.changes++
	f.queueLocked(&d)
}

func (f *DeltaFIFO[T]) queueLocked(d *Delta[T]) {
	if f.queue.add(d, f.position) {
		f.created = f.position
	}
}

// newerLocked is the version of an event, or "" if it is an older one, as per-object
// counters and some DELETED have: that leaves the collection's where it is.
func (f *DeltaFIFO[T]) newerLocked(version string) string {
	if older(version, f.written) {
		return ""
	}
	return version
}

// reachLocked notes the version of the write at f.position, if it has one.
func (f *DeltaFIFO[T]) reachLocked(version string) {
	if version == "" {
		return
	}
	f.written = version
	if !f.batching {
		f.marks.note(versionMark{f.position, version}, f.created)
	}
}

// endWrite notes the version of the write at f.position, unlocks and wakes whom it concerns.
func (f *DeltaFIFO[T]) endWrite(ctx context.Context, version string) error {
	f.reachLocked(version)
	moved := f.settleLocked()
	f.passLocked()
	f.mu.Unlock()
	if !moved {
		return nil
	}
	return f.tell(ctx)
}

// passLocked puts the tokens where they may be wanted. One too many costs its taker a look.
func (f *DeltaFIFO[T]) passLocked() {
	if f.whole != nil || f.queue.len() > 0 || f.versionDueLocked() {
		offer(f.ready)
	}
	if f.limit > 0 && f.hasRoomLocked() {
		offer(f.room)
	}
}

func offer(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}
