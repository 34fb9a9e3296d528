// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// When a version that is waited for does not come by itself, a bookmark is asked for.
const (
	drawAfter = time.Second
	drawAgain = 5 * time.Second
)

// signal wakes one waiter; the channel has room for one.
type signal chan struct{}

// WaitForSync waits until the first list is in the store and every handler was told of
// it. Called before Run, it waits for that too.
//
// Errors: a *WaitError, of ctx, or of ErrStopped once Run has returned; with the last
// failure of the source, and with the names of the source or of the handlers that are
// late. ErrInHandler if ctx is that of a handler that has yet to be told.
func (i *Informer[T]) WaitForSync(ctx context.Context) error {
	if i.HasSynced() {
		return nil
	}
	wait := &WaitError{Name: i.name, For: "sync"}
	if d := i.deliveryOf(ctx); d != nil && !d.registration.HasSynced() {
		wait.Late = []string{d.name}
		return i.endWait(wait, ErrInHandler)
	}
	err := i.await(ctx, i.Synced(), wait)
	if err != nil {
		wait.Late = i.late()
	}
	return err
}

// late returns who holds up the sync.
func (i *Informer[T]) late() []string {
	if !i.listed.HasSynced() {
		return []string{i.name}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	var names []string
	for d := range i.unsynced {
		names = append(names, d.name)
	}
	slices.Sort(names)
	return names
}

// WaitForResourceVersion waits until the store has reached the version, as a write to
// this resource of this source returned it; "" and "0" stand for the first list.
//
// Versions are compared as numbers. If one is none, as some sources have them, the wait
// ends when the store's version, or that of an event that it took, is equal to the wanted
// one, or when an object with that version is in the store as the wait begins; it never
// ends early, and may not end by itself if all that had been replaced by then.
//
// A store that does not get there in a second asks the server for a bookmark, by a short
// watch, at most every 5 seconds. Where that has brought nothing, because nothing of the
// resource was written meanwhile, it lists the collection, at most once a minute.
//
// Errors: a *WaitError, of ctx, of ErrStopped once Run has returned, or of
// ErrHistoryBreak if the source was restored to an older state meanwhile; with the last
// failure of the source. ErrInHandler if ctx is that of a handler with a Limit, which
// would hold up the store.
func (i *Informer[T]) WaitForResourceVersion(ctx context.Context, resourceVersion string) error {
	wait := &WaitError{Name: i.name, For: "resource version " + strconv.Quote(resourceVersion), Late: []string{i.name}}
	if resourceVersion == "" || resourceVersion == "0" {
		return i.awaitListed(ctx, wait)
	}
	w := &versionWait{want: resourceVersion, end: make(chan error, 1)}
	if i.addVersionWait(w) {
		return nil
	}
	defer i.removeVersionWait(w)
	if i.holdsUp(ctx) {
		return i.endWait(wait, ErrInHandler)
	}
	timer := time.NewTimer(drawAfter)
	defer timer.Stop()
	for {
		select {
		case err := <-w.end:
			return i.endWait(wait, err)
		case <-timer.C:
			if i.listed.HasSynced() {
				i.reflector.drawBookmark(resourceVersion)
			}
			timer.Reset(drawAgain)
		case <-ctx.Done():
			return i.endWait(wait, context.Cause(ctx))
		case <-i.stopped:
			return i.endWait(wait, i.stopCause(ctx))
		}
	}
}

// versionWait is a WaitForResourceVersion under way.
type versionWait struct {
	want string
	end  chan error // nil: reached
}

// addVersionWait reports that the version is reached, or has the wait woken.
func (i *Informer[T]) addVersionWait(w *versionWait) (reached bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	at := i.store.ResourceVersion()
	if reachedVersion(at, w.want) || opaque(at, w.want) && i.holdsVersion(w.want) {
		return true
	}
	i.versions = append(i.versions, w)
	return false
}

func (i *Informer[T]) removeVersionWait(w *versionWait) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.versions = slices.DeleteFunc(i.versions, func(other *versionWait) bool { return other == w })
}

// wakeVersionsLocked ends the waits that a batch has answered.
func (i *Informer[T]) wakeVersionsLocked(b batch[T], before string) {
	if len(i.versions) == 0 {
		return
	}
	at := i.store.ResourceVersion()
	broke := wentBack(before, at)
	i.versions = slices.DeleteFunc(i.versions, func(w *versionWait) bool {
		switch {
		case reachedVersion(at, w.want) || opaque(at, w.want) && broughtVersion(b, w.want):
			w.end <- nil
		case broke:
			w.end <- ErrHistoryBreak
		default:
			return false
		}
		return true
	})
}

// reachedVersion reports whether a store at one version holds what another one says.
func reachedVersion(at, want string) bool {
	order, err := resourceversion.CompareResourceVersion(at, want)
	return err == nil && order >= 0 || at == want
}

// opaque reports whether the versions have no order. A store without a version has
// nothing to compare yet.
func opaque(at, want string) bool {
	_, err := resourceversion.CompareResourceVersion(at, want)
	return err != nil && at != ""
}

// wentBack reports whether the store went to an older version, which it does only when
// the source did.
func wentBack(before, at string) bool {
	order, err := resourceversion.CompareResourceVersion(at, before)
	return err == nil && order < 0
}

func broughtVersion[T any](b batch[T], version string) bool {
	for _, deltas := range b.keys {
		for n := range deltas {
			if deltas[n].ResourceVersion == version {
				return true
			}
		}
	}
	return false
}

func (i *Informer[T]) holdsVersion(version string) bool {
	for _, key := range i.store.Keys() {
		if at, _, ok := i.store.Identity(key); ok && at == version {
			return true
		}
	}
	return false
}

// WaitFor waits until the object with the key, or its absence, meets the condition, and
// returns it. The condition is first asked when the first list is in the store, and again
// when the object has changed; several changes may come as one.
//
// Concurrency: the condition is called by the caller's goroutine, with a shared object.
//
// Errors: a *WaitError, of ctx, or of ErrStopped once Run has returned; with the last
// failure of the source. Of an *ObjectError if the object was set aside because it
// cannot be applied. ErrInHandler if ctx is that of a handler with a Limit, which would
// hold up the store.
func (i *Informer[T]) WaitFor(ctx context.Context, key string, condition func(obj T, ok bool) bool) (T, error) {
	wait := &WaitError{Name: i.name, For: "object " + key, Late: []string{i.name}}
	var none T
	if err := i.awaitListed(ctx, wait); err != nil {
		return none, err
	}
	woken := i.addKeyWait(key)
	defer i.removeKeyWait(key, woken)
	for {
		failure, _ := i.reflector.lastFailure() // before the looks, so that none is missed
		obj, ok := i.store.Get(key)
		if condition(obj, ok) {
			return obj, nil
		}
		if i.holdsUp(ctx) {
			return none, i.endWait(wait, ErrInHandler)
		}
		if err := i.setAside(key); err != nil {
			return none, i.endWait(wait, err)
		}
		select {
		case <-woken:
		case <-failure:
		case <-ctx.Done():
			return none, i.endWait(wait, context.Cause(ctx))
		case <-i.stopped:
			return none, i.endWait(wait, i.stopCause(ctx))
		}
	}
}

func (i *Informer[T]) addKeyWait(key string) signal {
	woken := make(signal, 1)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys[key] = append(i.keys[key], woken)
	return woken
}

func (i *Informer[T]) removeKeyWait(key string, woken signal) {
	i.mu.Lock()
	defer i.mu.Unlock()
	left := slices.DeleteFunc(i.keys[key], func(other signal) bool { return other == woken })
	if len(left) == 0 {
		delete(i.keys, key)
		return
	}
	i.keys[key] = left
}

// wakeKeysLocked wakes those who wait for an object of the batch.
func (i *Informer[T]) wakeKeysLocked(b batch[T]) {
	if len(i.keys) == 0 {
		return
	}
	for _, deltas := range b.keys {
		for _, woken := range i.keys[deltas.Key()] {
			select {
			case woken <- struct{}{}:
			default: // about to look anyway
			}
		}
	}
}

// setAside returns why the object with the key is not in the store as it is.
func (i *Informer[T]) setAside(key string) error {
	for _, q := range i.reflector.quarantined() {
		if q.Key == key {
			return &ObjectError{
				Source: q.Source, Key: q.Key, UID: q.UID, ResourceVersion: q.ResourceVersion, Err: errors.New(q.Error),
			}
		}
	}
	return nil
}

// deliveryOf returns the handler of this informer that was given ctx, or nil.
func (i *Informer[T]) deliveryOf(ctx context.Context) *delivery[T] {
	if r := RegistrationFromContext(ctx); r != nil {
		if d, ok := r.place.(*delivery[T]); ok && d.informer == i {
			return d
		}
	}
	return nil
}

// holdsUp reports whether ctx is that of a handler that the store waits for.
func (i *Informer[T]) holdsUp(ctx context.Context) bool {
	d := i.deliveryOf(ctx)
	return d != nil && d.options.Limit > 0
}

// awaitListed waits until the first list is in the store.
func (i *Informer[T]) awaitListed(ctx context.Context, wait *WaitError) error {
	return i.await(ctx, i.listed.Synced(), wait)
}

// await waits until done is closed.
func (i *Informer[T]) await(ctx context.Context, done <-chan struct{}, wait *WaitError) error {
	var cause error
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		cause = context.Cause(ctx)
	case <-i.stopped:
		cause = i.stopCause(ctx)
	}
	select {
	case <-done: // at the same time
		return nil
	default:
		return i.endWait(wait, cause)
	}
}

// stopCause is why a wait ends with Run: where both end at once, ctx says more.
func (i *Informer[T]) stopCause(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return ErrStopped
}

// endWait completes the error of a wait.
func (i *Informer[T]) endWait(wait *WaitError, cause error) error {
	if cause == nil {
		return nil
	}
	wait.Cause = cause
	_, wait.Last = i.reflector.lastFailure()
	if wait.Last == nil {
		i.mu.Lock()
		wait.Last = i.failure
		i.mu.Unlock()
	}
	return wait
}
