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
// it. Called before Run, it waits for that too. What has synced stays so: a handler that is
// added afterwards is waited for by the Synced of its Registration.
//
// Errors: none once it has synced. A *WaitError, of ctx, or of ErrStopped if Run has
// returned before; with the last failure of the source, and with the names of the source or
// of the handlers that are late. ErrInHandler if ctx is that of a handler that has yet to be
// told.
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
	i.mu.Lock()
	defer i.mu.Unlock()
	var names []string
	if !i.listed.HasSynced() {
		for _, m := range i.unlistedLocked() {
			names = append(names, m.name)
		}
		if len(names) == 0 {
			return []string{i.name} // Run has not begun
		}
		return names
	}
	for d := range i.unsynced {
		names = append(names, d.name)
	}
	slices.Sort(names)
	return names
}

// WaitForResourceVersion waits until the store has reached the version, as a write to
// this resource of this source returned it; "" and "0" stand for the first list. Of a
// union, it waits for the named sources, or for all that there are as it is called; one
// that is removed meanwhile is waited for no more.
//
// Versions are compared as numbers. If one is none, as some sources have them, the wait
// ends when the source's version, or that of an event that the store took, is equal to the
// wanted one, or when an object with that version is in the store as the wait begins; it
// never ends early, and may not end by itself if all that had been replaced by then.
//
// A store that does not get there in a second asks the server for a bookmark, by a short
// watch, at most every 5 seconds. Where that has brought nothing, because nothing of the
// resource was written meanwhile, it lists the collection, at most once a minute.
//
// Errors: a *WaitError, of ctx, of ErrStopped once Run has returned, or of
// ErrHistoryBreak if a source was restored to an older state meanwhile; with the last
// failure of the source, and with the names of the sources that are late. ErrInHandler if
// ctx is that of a handler with a Limit, which would hold up the store. A source that there
// is not, with those that there are.
func (i *Informer[T]) WaitForResourceVersion(ctx context.Context, resourceVersion string, sources ...string) error {
	wait := &WaitError{Name: i.name, For: "resource version " + strconv.Quote(resourceVersion)}
	if resourceVersion == "0" {
		resourceVersion = ""
	}
	w := &versionWait[T]{want: resourceVersion, end: make(chan error, 1)}
	if reached, err := i.addVersionWait(w, sources); reached || err != nil {
		return i.endWait(wait, err)
	}
	defer i.removeVersionWait(w)
	err := i.awaitVersion(ctx, w)
	if err != nil {
		i.mu.Lock()
		wait.Late = w.lateLocked()
		if len(w.pending) == 1 {
			wait.For += " (at " + strconv.Quote(i.versionLocked(w.pending[0])) + ")"
		}
		i.mu.Unlock()
	}
	return i.endWait(wait, err)
}

func (i *Informer[T]) awaitVersion(ctx context.Context, w *versionWait[T]) error {
	if i.holdsUp(ctx) {
		return ErrInHandler
	}
	timer := time.NewTimer(drawAfter)
	defer timer.Stop()
	for {
		select {
		case err := <-w.end:
			return err
		case <-timer.C:
			i.drawVersions(w)
			timer.Reset(drawAgain)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-i.stopped:
			return i.stopCause(ctx)
		}
	}
}

// versionWait is a WaitForResourceVersion under way.
type versionWait[T Object] struct {
	want    string       // "": the first list
	end     chan error   // nil: reached
	pending []*member[T] // guarded by Informer.mu
}

func (w *versionWait[T]) lateLocked() []string {
	var names []string
	for _, m := range w.pending {
		names = append(names, m.name)
	}
	return names
}

// addVersionWait reports that the version is reached, or has the wait woken.
func (i *Informer[T]) addVersionWait(w *versionWait[T], sources []string) (reached bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	w.pending = slices.Clone(i.members)
	if len(sources) > 0 {
		w.pending = nil
	}
	for _, name := range sources {
		m := i.memberLocked(name)
		if m == nil {
			return false, i.unknownSourceLocked(name)
		}
		w.pending = append(w.pending, m)
	}
	w.pending = slices.DeleteFunc(w.pending, func(m *member[T]) bool {
		at := i.versionLocked(m)
		return i.reachedLocked(m, w.want) || w.want != "" && opaque(at, w.want) && i.holdsVersion(m, w.want)
	})
	if len(w.pending) == 0 {
		return true, nil
	}
	i.versions = append(i.versions, w)
	return false, nil
}

// versionLocked returns the version of a source that the store has reached.
func (i *Informer[T]) versionLocked(m *member[T]) string {
	if i.union {
		return m.version
	}
	return i.store.ResourceVersion()
}

func (i *Informer[T]) reachedLocked(m *member[T], want string) bool {
	if want == "" {
		return m.listed
	}
	return reachedVersion(i.versionLocked(m), want)
}

// drawVersions asks the sources that are late for a sign.
func (i *Informer[T]) drawVersions(w *versionWait[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, m := range w.pending {
		if m.listed && w.want != "" {
			m.reflector.drawBookmark(w.want)
		}
	}
}

func (i *Informer[T]) removeVersionWait(w *versionWait[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.versions = slices.DeleteFunc(i.versions, func(other *versionWait[T]) bool { return other == w })
}

// wakeVersionsLocked ends the waits that a batch has answered.
func (i *Informer[T]) wakeVersionsLocked(b batch[T]) {
	i.versions = slices.DeleteFunc(i.versions, func(w *versionWait[T]) bool {
		broke := false
		w.pending = slices.DeleteFunc(w.pending, func(m *member[T]) bool {
			if i.reachedLocked(m, w.want) || w.want != "" && opaque(i.versionLocked(m), w.want) && broughtVersion(b, m, w.want) {
				return true
			}
			broke = broke || m.broke
			return false
		})
		switch {
		case len(w.pending) == 0:
			w.end <- nil
		case broke:
			w.end <- ErrHistoryBreak
		default:
			return false
		}
		return true
	})
	for _, m := range i.members {
		m.broke = false
	}
}

// historyBroke has the next batch end the waits for a version of a source that was restored
// to an older state: what they wait for may never come, and something else may come under
// its version.
func (i *Informer[T]) historyBroke(m *member[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	m.breaking = true
}

// endVersionsLocked lets the waits go on without a source that was removed.
func (i *Informer[T]) endVersionsLocked(removed *member[T]) {
	i.versions = slices.DeleteFunc(i.versions, func(w *versionWait[T]) bool {
		w.pending = slices.DeleteFunc(w.pending, func(m *member[T]) bool { return m == removed })
		if len(w.pending) > 0 {
			return false
		}
		w.end <- nil
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

func broughtVersion[T Object](b batch[T], m *member[T], version string) bool {
	for deltas := range b.all {
		for n := range deltas {
			if deltas[n].ResourceVersion == version && m.sent(deltas[n].source) {
				return true
			}
		}
	}
	return false
}

// sent reports whether what has this source is from the member.
func (m *member[T]) sent(source string) bool { return m.feed == nil || m.name == source }

func (i *Informer[T]) holdsVersion(m *member[T], version string) bool {
	for _, key := range i.store.Keys() {
		if at, _, ok := i.store.Identity(key); ok && at == version && m.sent(i.store.sourceOf(key)) {
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
		wait.Late = i.late()
		return none, err
	}
	woken := i.addKeyWait(key)
	defer i.removeKeyWait(key, woken)
	for {
		failure, _ := i.lastFailure() // before the looks, so that none is missed
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
	for deltas := range b.all {
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
	for _, q := range i.quarantined() {
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
	_, wait.Last = i.lastFailure()
	if wait.Last == nil {
		i.mu.Lock()
		wait.Last = i.failure
		i.mu.Unlock()
	}
	return wait
}
