// SPDX-License-Identifier: Apache-2.0

package informer

import "errors"

// fillChunk is how many objects of a first list are put in at once: their ops and values are
// all the memory that it takes beside the table.
const fillChunk = 256

// fill puts a first list into an empty store. The table is a new one, so that readers see all
// of the list or nothing, and an index function that ends its goroutine leaves nothing behind.
func (s *state[T]) fill(b batch[T]) error {
	var failed []error
	table := s.table.Renew(b.len())
	ops := s.scratch.ops[:0]
	put := func() {
		if err := s.fillValues(ops); err != nil {
			failed = append(failed, err)
		}
		table.Apply(ops)
		clear(ops)
		ops = ops[:0]
	}
	for deltas := range b.all {
		op, ok, err := s.fold(deltas)
		if err != nil {
			failed = append(failed, err)
		} else if ok {
			ops = append(ops, op)
		}
		if len(ops) == fillChunk {
			put()
		}
	}
	put()
	version := b.version
	if version == "" {
		version = s.version
	}
	s.lock()
	s.table, s.version = table, version
	s.list.Store(nil)
	s.mu.Unlock()
	s.scratch.forgetValues()
	s.scratch.forgetOps(ops)
	return errors.Join(failed...)
}
