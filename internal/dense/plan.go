// SPDX-License-Identifier: Apache-2.0

package dense

import "runtime"

// plan is what a writer does for its next ops before it takes the lock: all that waits
// for memory, and nearly all that allocates.
type plan[T any] struct {
	list   []chunk[T] // copy of the list of chunks; nil: need not be copied
	copies []chunk[T] // by number of the chunk; without items: none
	which  []uint32   // that there are copies of
}

// Plan looks up the keys of the ops, copies the chunks of objects that they change and
// that are frozen, and reports whether they only put objects in the place of others:
// Swap can do them then, otherwise Apply. The writer calls it without the lock: nobody
// else writes, and freezing changes no content. Where it copies the list of chunks, it takes what
// spare has, if that is of the present state; nil: there is none.
func (t *Table[T]) Plan(ops []Op[T], spare *Spare[T]) (swaps bool) {
	swaps = true
	for i := range ops {
		known := t.locate(&ops[i])
		swaps = swaps && known && !ops[i].Delete
	}
	epoch := t.epochs[objects] + uint64(t.frozen.Load()>>objects&1)
	for i := range ops {
		op := &ops[i]
		known := op.Hint != none
		if swaps = swaps && t.swaps(op); known {
			t.plan.copy(&t.objects, op.Hint, epoch, spare)
		}
		switch {
		case known && op.Delete: // the last object takes the place
			t.plan.copy(&t.objects, t.objects.last(), epoch, spare)
		case !known && !op.Delete:
			t.plan.copyList(&t.objects, epoch, spare)
		}
	}
	return swaps
}

// locate gives the op the id of its key, none if there is none.
func (t *Table[T]) locate(op *Op[T]) (ok bool) {
	if t.hasKey(op.Hint, op.Key) {
		return true
	}
	if op.Hash == 0 {
		op.Hash = t.hash(op.Key)
	}
	if op.Hint, ok = t.find(op.Key, op.Hash); !ok {
		op.Hint = none
	}
	return ok
}

// swaps reports whether an op changes nothing but the object.
func (t *Table[T]) swaps(op *Op[T]) bool {
	runtime.KeepAlive(t.objects.at(op.Hint)) // fetches the row that Swap writes
	if t.Note(op.Hint) != op.Note {
		return false
	}
	for i, x := range t.indexes {
		if !x.filed(op.Hint, op.Values[i]) {
			return false
		}
	}
	return true
}

// Swap does ops for which Plan has returned true, with nothing in between.
func (t *Table[T]) Swap(ops []Op[T]) {
	t.advance()
	t.plan.install(&t.objects, t.epochs[objects])
	for i := range ops {
		t.objects.set(ops[i].Hint, ops[i].Object, t.epochs[objects])
	}
}

// copy copies the chunk of a row, and the list, unless they are of that epoch.
func (p *plan[T]) copy(v *vector[T], id uint32, epoch uint64, spare *Spare[T]) {
	n := id >> chunkBits
	c := &v.chunks[n]
	if c.epoch == epoch {
		return // and so is the list
	}
	if len(p.copies) < len(v.chunks) {
		p.copies = make([]chunk[T], cap(v.chunks))
	}
	if p.copies[n].items != nil {
		return
	}
	rows := p.copyList(v, epoch, spare)
	if cap(rows) < cap(c.items) {
		rows = make([]T, 0, cap(c.items))
	}
	rows = rows[:len(c.items)]
	copyRows(rows, c.items)
	p.copies[n].items = rows
	p.which = append(p.which, n)
}

// copyList copies the list of chunks, unless it is of that epoch. It returns memory for
// the copy of a chunk, if there is some.
func (p *plan[T]) copyList(v *vector[T], epoch uint64, spare *Spare[T]) (rows []T) {
	if v.epoch == epoch || p.list != nil {
		return nil
	}
	p.list, rows = spare.take(v.chunks)
	return rows
}

// install puts the copies into their places. That they are copies of a frozen state, if
// a reader has frozen it since, makes no difference: it is the same one.
func (p *plan[T]) install(v *vector[T], epoch uint64) {
	if p.list != nil {
		v.epoch, v.chunks, p.list = epoch, p.list, nil
	}
	for _, n := range p.which {
		v.ownList(epoch)
		v.chunks[n] = chunk[T]{epoch, p.copies[n].items}
		p.copies[n].items = nil
	}
	p.which = p.which[:0]
}
