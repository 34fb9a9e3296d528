// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/informerkit/informer/internal/dense"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errReplacementEnded is what a replacement returns after Commit or Abort.
var errReplacementEnded = errors.New("informer: replacement was committed or aborted before")

// BeginReplace starts a list. Its Commit queues, all at once and whatever the Limit, for
// each item that differs from the newest state of its key DeltaReplaced, in order of first
// arrival; then for each key that is not in the list but present DeltaDeleted with its
// newest object and FinalStateUnknown, sorted by key; then the version. An item with the
// version, the UID and the content of the newest state queues nothing.
//
// Ownership: an object put in belongs to the queue.
//
// Concurrency: a replacement is for one goroutine at a time. Put keys, transforms and
// compares on it, outside the queue's lock. Other writes, and other replacements, may
// happen meanwhile: the list is then compared with what they left, and wins.
//
// Errors: Put and Remove return an *ObjectError for an object that is nil or cannot be
// keyed or transformed; what was staged of its key before stays. Keep takes the key
// by KeyFunc if its object is a T, and as namespace/name otherwise. All return ErrClosed after
// Close, and an error after Commit or Abort; Abort may be called again, and after Commit.
func (f *DeltaFIFO[T]) BeginReplace(ctx context.Context) (Replacement[T], error) {
	return f.beginReplace(ctx, "")
}

// beginRescoped begins a list of another part of the collection.
func (f *DeltaFIFO[T]) beginRescoped(ctx context.Context, scope *rescope) (Replacement[T], error) {
	r, err := f.beginReplace(ctx, "")
	if err != nil {
		return nil, err
	}
	r.scope = scope
	return r, nil
}

// beginReplace sets the cause of all that is queued; "": CauseInitial for the first
// replacement committed, CauseRelist or CauseScope for later ones.
func (f *DeltaFIFO[T]) beginReplace(ctx context.Context, cause Cause) (*fifoReplacement[T], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isClosed {
		return nil, ErrClosed
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	known := f.knownLocked()
	r := &fifoReplacement[T]{f: f, ctx: ctx, cause: cause, items: stagedItems[T]{seed: f.seed}, began: f.changes}
	r.blank = known == 0 && f.restedLocked()
	if !f.union {
		r.items.expect = max(known, 0)
	}
	r.beginWholeLocked()
	return r, nil
}

// knownLocked returns the number of known objects, -1 if only their keys would tell.
func (f *DeltaFIFO[T]) knownLocked() int {
	if f.known == nil {
		return 0
	}
	if known, ok := f.known.(interface{ Len() int }); ok {
		return known.Len()
	}
	return -1
}

// Replace is BeginReplace, Put for each item, Commit.
//
// Errors: those of BeginReplace. The first item that fails aborts.
func (f *DeltaFIFO[T]) Replace(ctx context.Context, items []T, resourceVersion string) error {
	r, err := f.BeginReplace(ctx)
	if err != nil {
		return err
	}
	defer r.Abort()
	for _, item := range items {
		if err := r.Put(item); err != nil {
			return err
		}
	}
	return r.Commit(resourceVersion)
}

type fifoReplacement[T any] struct {
	f     *DeltaFIFO[T]
	ctx   context.Context // of BeginReplace, for the Bookmark at the end
	cause Cause
	from  *feed[T]        // source of a union; nil: the only one
	scope *rescope        // the list is of another part of the collection; nil: it is not
	whole *dense.Table[T] // a first list, instead of items; nil: none, or not any more
	items stagedItems[T]
	blank bool   // when it began nothing was queued or known
	began uint64 // changes of the queue at that time
	ended bool
	// repaired is what a Commit has changed because of CauseVerify.
	repaired []*ObjectError
}

func (r *fifoReplacement[T]) Put(obj T) error {
	if r.ended {
		return errReplacementEnded
	}
	d, err := r.f.prepare(obj, r.from)
	if err != nil {
		return err
	}
	if r.whole != nil {
		return r.putWhole(&d)
	}
	item := stagedItem[T]{key: d.Key, object: d.Object, version: d.ResourceVersion, uid: d.UID}
	base, err := r.look(&item)
	if err != nil {
		return err
	}
	item.judge(base)
	r.items.put(item)
	return nil
}

// look returns the newest state of an item's key.
func (r *fifoReplacement[T]) look(item *stagedItem[T]) (newestState[T], error) {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	if r.closedLocked() {
		return newestState[T]{}, ErrClosed
	}
	item.changes = r.f.changes
	if r.blank && r.f.changes == r.began {
		return newestState[T]{}, nil // without a look: most first lists are into nothing
	}
	return r.newestLocked(item.key), nil
}

func (r *fifoReplacement[T]) closedLocked() bool {
	return r.f.isClosed || r.from != nil && r.from.closed
}

// newestLocked returns the newest state as far as it is the list's source's own.
func (r *fifoReplacement[T]) newestLocked(key string) newestState[T] {
	if last := r.f.newestLocked(key); r.from == nil || last.source == r.from.name {
		return last
	}
	return newestState[T]{}
}

func (r *fifoReplacement[T]) Remove(obj T) error {
	if r.ended {
		return errReplacementEnded
	}
	d, _, err := r.f.identify(obj)
	if err != nil {
		return err
	}
	r.from.claim(&d)
	r.takeApart()
	if r.items.holds(d.Key) {
		r.items.put(stagedItem[T]{key: d.Key})
	}
	return nil
}

func (r *fifoReplacement[T]) Keep(obj metav1.Object) {
	if key := r.keptKey(obj); key != "" && !r.ended {
		r.takeApart()
		r.items.keep(key)
	}
}

func (r *fifoReplacement[T]) keptKey(obj metav1.Object) string {
	if _, err := accessor(obj); err != nil {
		return ""
	}
	if own, ok := obj.(T); ok && !r.f.defaultKey {
		if key, err := r.f.keyFunc(own); err == nil {
			return r.prefix() + key
		}
	}
	return r.prefix() + r.f.keyOfName(obj.GetNamespace(), obj.GetName())
}

func (r *fifoReplacement[T]) prefix() string {
	if r.from == nil {
		return ""
	}
	return r.from.prefix
}

func (r *fifoReplacement[T]) Abort() { r.end() }

func (r *fifoReplacement[T]) end() { r.ended, r.whole, r.items = true, nil, stagedItems[T]{} }

// commitRounds bounds how often Commit compares again because somebody else wrote
// meanwhile. What is still open then counts as changed, which is never wrong.
const commitRounds = 3

func (r *fifoReplacement[T]) Commit(resourceVersion string) error {
	if r.ended {
		return errReplacementEnded
	}
	defer r.end()
	if done, err := r.commitWhole(resourceVersion); done || err != nil {
		return err
	}
	f := r.f
	for round := 0; ; round++ {
		f.mu.Lock()
		if r.closedLocked() {
			f.mu.Unlock()
			return ErrClosed
		}
		doubts := r.reviewLocked()
		if len(doubts) == 0 || round == commitRounds {
			break
		}
		f.mu.Unlock()
		for _, doubt := range doubts {
			item := r.items.at(doubt.item)
			item.judge(doubt.base)
			item.firm = true
		}
	}
	if r.from != nil {
		return r.from.endCommit(r, resourceVersion)
	}
	r.queueLocked()
	return f.endWrite(r.ctx, resourceVersion)
}

// stagedDoubt is an item whose content has to be compared again.
type stagedDoubt[T any] struct {
	item int
	base newestState[T]
}

// reviewLocked brings the verdicts up to date with what was written, or processed, since
// they were given, and returns those that need more than a look. Until these are judged
// they count as changed.
func (r *fifoReplacement[T]) reviewLocked() []stagedDoubt[T] {
	var doubts []stagedDoubt[T]
	for i := range r.items.n {
		item := r.items.at(i)
		if item.settled(r.f.changes) {
			continue
		}
		base := r.newestLocked(item.key)
		item.changes = r.f.changes
		was := item.verdict
		item.verdict = itemChanged
		switch {
		case !base.identical(item.version, item.uid):
		case was == itemSame && sameReference(base.object, item.object):
			item.verdict = itemSame
		default:
			doubts = append(doubts, stagedDoubt[T]{i, base})
		}
	}
	return doubts
}

func (r *fifoReplacement[T]) queueLocked() {
	f := r.f
	gone := r.goneLocked()
	first := f.firstReplace == 0
	f.position++
	f.queue.grow(r.items.changed() + len(gone))
	for i := range r.items.n {
		if item := r.items.at(i); item.verdict == itemChanged {
			r.pushLocked(r.replaced(item, first))
		}
	}
	for i := range gone {
		r.pushLocked(r.gone(&gone[i], first))
	}
	if first {
		f.firstReplace = f.position
	}
}

// replaced is the delta of an item.
func (r *fifoReplacement[T]) replaced(item *stagedItem[T], first bool) Delta[T] {
	d := Delta[T]{
		Type: DeltaReplaced, Key: item.key, Object: item.object,
		ResourceVersion: item.version, UID: item.uid,
	}
	d.Cause = r.causeOf(&d, first)
	return d
}

// gone completes the delta of what is not in the list. What left the scope was not
// deleted: its state is known to the end.
func (r *fifoReplacement[T]) gone(d *Delta[T], first bool) Delta[T] {
	d.Cause = r.causeOf(d, first)
	d.FinalStateUnknown = d.Cause != CauseScope
	return *d
}

func (r *fifoReplacement[T]) causeOf(d *Delta[T], first bool) Cause {
	switch {
	case r.cause != "":
		return r.cause
	case first:
		return CauseInitial
	case r.scope != nil && r.scope.moved(namespaceOf(d.Object), d.UID):
		return CauseScope
	}
	return CauseRelist
}

func namespaceOf(obj any) string {
	if m, err := accessor(obj); err == nil {
		return m.GetNamespace()
	}
	return ""
}

// pushLocked queues a delta.
func (r *fifoReplacement[T]) pushLocked(d Delta[T]) {
	r.mend(&d)
	r.f.pushLocked(d)
}

// mend writes down what is repaired.
func (r *fifoReplacement[T]) mend(d *Delta[T]) {
	if d.Cause == CauseVerify {
		r.repaired = append(r.repaired, &ObjectError{
			Key: strings.TrimPrefix(d.Key, r.prefix()), UID: d.UID, ResourceVersion: d.ResourceVersion, Err: ErrRepaired,
		})
	}
}

// goneLocked returns a delete for each key that is present and not in the list.
func (r *fifoReplacement[T]) goneLocked() []Delta[T] {
	f := r.f
	var keys []string
	consider := func(key string) {
		if !r.items.holds(key) {
			keys = append(keys, key)
		}
	}
	f.queue.eachKey(consider)
	for key := range f.flights {
		consider(key)
	}
	if f.taken != nil {
		f.taken.eachKey(consider)
	}
	f.whole.keys(consider)
	f.wholeTaken.keys(consider)
	for _, key := range r.knownKeys() {
		consider(key)
	}
	slices.Sort(keys)
	var gone []Delta[T]
	for _, key := range slices.Compact(keys) {
		if last := r.newestLocked(key); last.present {
			gone = append(gone, last.deleted(key))
		}
	}
	return gone
}

func (r *fifoReplacement[T]) knownKeys() []string {
	switch {
	case r.f.known == nil:
		return nil
	case r.from != nil:
		return r.f.sourced.keysOf(r.from.name)
	}
	return r.f.known.Keys()
}

// deleted is the end of what is known of a key.
func (n newestState[T]) deleted(key string) Delta[T] {
	return Delta[T]{
		Type: DeltaDeleted, Key: key, Object: n.object,
		ResourceVersion: n.version, UID: n.uid, source: n.source,
	}
}
