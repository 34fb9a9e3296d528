// SPDX-License-Identifier: Apache-2.0

package informer

// CheckStore returns the first broken invariant of the store's memory.
func CheckStore[T any](s *Store[T]) error {
	s.s.w.Lock()
	defer s.s.w.Unlock()
	return s.s.table.Check()
}

// StoreBuckets returns how many buckets an index has memory for, and how many are free.
func StoreBuckets[T any](s *Store[T], index int) (all, free int) {
	return s.s.table.Buckets(index)
}
