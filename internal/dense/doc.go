// SPDX-License-Identifier: Apache-2.0

// Package dense is the memory of a store: objects by key, and indexes over them, in
// dense columns of chunks that can be frozen at no cost.
//
// An object has an id: the number of its row in every column. A removed row is filled with the last
// one, so that the columns stay dense and a list is a copy of chunks.
//
//	cells: hash of key → id          keys │ objects │ notes │ refs of index 0 │ …
//	index: hash of value → bucket    bucket: value, ids of its objects
//	refs:  id → bucket, and the position of the id in that bucket
//
// A reader freezes columns under the reader's lock and reads them after it; the writer
// then copies a chunk before it changes it for the first time. Each chunk carries the
// epoch in which it was made or copied; freezing ends the epoch of its columns. Plan
// makes the copies that are due before the lock is taken, in memory that readers left.
//
// Concurrency: one writer at a time. Reads of a Table exclude its writer (the lock is
// the caller's), except those of the writer itself; what is frozen needs no lock. A Fork
// is changed without any lock, beside readers of its original, and then takes its place:
// what it adds, it puts where the original has nothing, and only what it changes is copied.
package dense
