// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"errors"

	"github.com/informerkit/informer/internal/dense"
)

// canFill reports whether a batch is a first list that came in a table which can take the
// place of the store's.
func (s *state[T]) canFill(b batch[T]) bool {
	return b.whole != nil && s.table.Len() == 0 && b.whole.table.Seed() == s.seed
}

// fill takes a first list over, so that readers see all of it or nothing. What is done to the
// indexes is done to new ones: an index function that ends its goroutine leaves nothing behind.
func (s *state[T]) fill(list *dense.Table[T], version string) error {
	table := s.table.Adopt(list)
	err := s.fileAll(table)
	if version == "" {
		version = s.version
	}
	s.mu.Lock()
	s.table, s.version = table, version
	s.list.Store(nil)
	s.mu.Unlock()
	s.scratch.forgetValues()
	return err
}

// fileAll files the objects of a table in its indexes.
func (s *state[T]) fileAll(table *dense.Table[T]) error {
	if len(s.indexers) == 0 {
		return nil
	}
	var failed []error
	var now uint32
	key := func() string { return table.Key(now) }
	values := s.scratch.room(len(s.indexers))
	for id := range table.IDs() {
		now = id
		s.indexers.valuesOf(values, table.Object(id), key, &failed)
		table.File(id, values)
	}
	return errors.Join(failed...)
}
