// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"hash/maphash"
	"slices"
)

// run is a row of events on its way into a queue: they are keyed together and queued under
// one lock. It is the writer's memory, used again for the next row.
type run[T any] struct {
	deltas []Delta[T]
	text   []byte // keys that are not worth a string yet, one behind the other
	ends   []int  // in text, of each delta's key
}

// add adds an event, written where it lies: what is behind the deltas is zero.
func (r *run[T]) add(typ DeltaType, obj T) {
	n := len(r.deltas)
	r.deltas = slices.Grow(r.deltas, 1)[:n+1]
	d := &r.deltas[n]
	d.Type, d.Object, d.Cause = typ, obj, CauseWatch
}

// reset empties the run and keeps its memory.
func (r *run[T]) reset() {
	clear(r.deltas)
	r.deltas, r.text, r.ends = r.deltas[:0], r.text[:0], r.ends[:0]
}

// key returns the text of a delta's key; empty if the delta has its key already.
func (r *run[T]) key(n int) []byte {
	if n == 0 {
		return r.text[:r.ends[0]]
	}
	return r.text[r.ends[n-1]:r.ends[n]]
}

// keyPlaces are known objects with a hash table by the keys of KeyOf. The queue has another
// one with the same hashes, so that a key is hashed once.
type keyPlaces[T any] interface {
	keySeed() maphash.Seed
	// locate gives each delta of a run the hash of its key and, if there is an object with it,
	// the place of that, and the key without a new string.
	locate(r *run[T])
}

// takeRun is Add, Update and Delete of many objects. It returns how many were queued, and
// the error of the one behind them.
func (f *DeltaFIFO[T]) takeRun(ctx context.Context, r *run[T]) (done int, err error) {
	n, failed := f.prepareRun(r)
	if done, err = f.queueRun(ctx, r.deltas[:n]); err != nil {
		return done, err
	}
	return n, failed
}

// prepareRun completes the deltas, and returns how many of them are ready, and the error of
// the one behind them.
func (f *DeltaFIFO[T]) prepareRun(r *run[T]) (n int, failed error) {
	all := r.deltas
	for n = 0; n < len(all) && failed == nil; n++ {
		failed = f.identifyRun(r, &all[n])
	}
	if failed != nil {
		n--
	}
	clear(all[n:]) // reset does not see them
	r.deltas = all[:n]
	if f.places != nil {
		f.places.locate(r)
		r.makeKeys()
	}
	for i := range n {
		if f.transform == nil {
			break
		}
		if err := f.transformRun(&all[i]); err != nil {
			return i, err
		}
	}
	return n, failed
}

// identifyRun is identify, but that it may leave the key as text.
func (f *DeltaFIFO[T]) identifyRun(r *run[T], d *Delta[T]) error {
	m, err := accessor(d.Object)
	if f.places == nil || err != nil || m.GetName() == "" || m.GetNamespace() == "" {
		full, _, err := f.identify(d.Object)
		d.Key, d.UID, d.ResourceVersion = full.Key, full.UID, full.ResourceVersion
		r.ends = append(r.ends, len(r.text))
		return err
	}
	d.UID, d.ResourceVersion, d.own = m.GetUID(), m.GetResourceVersion(), f.transform == nil
	r.text = appendKey(r.text, m.GetNamespace(), m.GetName())
	r.ends = append(r.ends, len(r.text))
	return nil
}

// transformRun transforms an object. One that cannot be is deleted all the same.
func (f *DeltaFIFO[T]) transformRun(d *Delta[T]) error {
	m, err := accessor(d.Object)
	if err != nil {
		m = nil // a type without metadata, for which there is a KeyFunc
	}
	if err = f.transformDelta(d, m); err != nil && d.Type == DeltaDeleted {
		var zero T
		d.Object, d.FinalStateUnknown, err = zero, true, nil
	}
	return err
}

// keyBlock is how many bytes of new keys share an allocation, so many keys or so. A key that
// stays when its neighbours have gone holds as much, less than any object takes.
const keyBlock = 256

// makeKeys makes strings of the keys that nobody has.
func (r *run[T]) makeKeys() {
	var buf [keyBlock]byte
	block, first := buf[:0], 0
	for n := range r.deltas {
		if r.deltas[n].Key != "" {
			continue
		}
		if text := r.key(n); len(block)+len(text) <= keyBlock {
			block = append(block, text...)
			continue
		}
		r.cutKeys(string(block), first, n)
		block, first = append(buf[:0], r.key(n)...), n
	}
	r.cutKeys(string(block), first, len(r.deltas))
}

// cutKeys gives the deltas from first to end that have no key theirs.
func (r *run[T]) cutKeys(block string, first, end int) {
	for n := first; n < end; n++ {
		if d := &r.deltas[n]; d.Key == "" {
			size := len(r.key(n))
			d.Key, block = block[:size], block[size:]
		}
	}
}

// queueRun queues deltas, as many at once as there is room for.
func (f *DeltaFIFO[T]) queueRun(ctx context.Context, deltas []Delta[T]) (done int, err error) {
	for done < len(deltas) {
		if err := f.lockForRoom(ctx, &deltas[done]); err != nil {
			return done, err
		}
		for ; done < len(deltas) && f.hasRoomLocked(); done++ {
			d := &deltas[done]
			f.position++
			if d.Type == DeltaDeleted {
				f.deleteLocked(*d)
			} else {
				f.changes++
				f.queueLocked(d)
			}
			f.reachLocked(f.newerLocked(d.ResourceVersion))
		}
		if err := f.endWrite(ctx, ""); err != nil {
			return done - 1, err
		}
	}
	return done, nil
}
