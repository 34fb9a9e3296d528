// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"encoding/json"
	"hash/maphash"
	"sync"
)

// mutationGuard finds who changes the objects that he was given to read. It keeps a hash
// of a sample of the objects in the store: of a key always or never, which of them is
// another draw in each process. The hash is that of the JSON of an object, so it misses
// what that leaves out.
type mutationGuard struct {
	every uint64
	seed  maphash.Seed

	mu      sync.Mutex
	guarded map[string]guarded
}

// guarded is what an object was like as it was stored.
type guarded struct {
	obj  any
	hash uint64
}

func newMutationGuard(every int) *mutationGuard {
	if every <= 0 {
		return nil
	}
	return &mutationGuard{every: uint64(every), seed: maphash.MakeSeed(), guarded: map[string]guarded{}}
}

// samples reports whether the object with the key is guarded.
func (g *mutationGuard) samples(key string) bool {
	return g != nil && maphash.String(g.seed, key)%g.every == 0
}

// hash returns the hash of what an object holds; false: it cannot be told.
func (g *mutationGuard) hash(obj any) (uint64, bool) {
	text, err := json.Marshal(obj)
	return maphash.Bytes(g.seed, text), err == nil
}

// store guards an object from now on, in the place of what had its key.
func (g *mutationGuard) store(key string, obj any) {
	hash, ok := g.hash(obj)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !ok {
		delete(g.guarded, key)
		return
	}
	g.guarded[key] = guarded{obj, hash}
}

func (g *mutationGuard) forget(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.guarded, key)
}

// changed reports whether an object, if it is guarded, is not as it was. It says so once.
func (g *mutationGuard) changed(key string, obj any) bool {
	g.mu.Lock()
	was, ok := g.guarded[key]
	g.mu.Unlock()
	if !ok || !sameReference(was.obj, obj) {
		return false
	}
	now, ok := g.hash(obj)
	if !ok || now == was.hash {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.guarded[key].hash != was.hash {
		return false // somebody else was faster
	}
	g.guarded[key] = guarded{obj, now}
	return true
}

// guardBatch looks at what a batch replaces, and guards what it brings.
func (i *Informer[T]) guardBatch(ctx context.Context, records []record[T]) {
	if i.guard == nil {
		return
	}
	for n := range records {
		r := &records[n]
		if !i.guard.samples(r.Key) {
			continue
		}
		i.checkMutation(ctx, r.Key, r.Old, "")
		if r.Type == Deleted {
			i.guard.forget(r.Key)
		} else {
			i.guard.store(r.Key, r.New)
		}
	}
}

// checkMutation reports an object that somebody has changed; handler: "" if it is not
// known to be one.
func (i *Informer[T]) checkMutation(ctx context.Context, key string, obj T, handler string) {
	if !i.guard.samples(key) || !i.guard.changed(key, obj) {
		return
	}
	err := &MutationError{Informer: i.name, Handler: handler, Key: key}
	logger(ctx, i.name).Error(errMutated, "Shared object was changed", "key", key, "handler", handler)
	i.reportError(ctx, err)
}

// guardCall looks at what a handler was given, after it has returned.
func (d *delivery[T]) guardCall(changes ...Change[T]) {
	if d.informer.guard == nil {
		return
	}
	for n := range changes {
		c := &changes[n]
		d.informer.checkMutation(d.ctx, c.Key, c.Old, d.name)
		d.informer.checkMutation(d.ctx, c.Key, c.New, d.name)
	}
}
