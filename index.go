// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"errors"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/informerkit/informer/internal/dense"
)

// IndexFunc returns the values under which an index files an object; none is fine, and
// one that comes twice counts once.
//
// Concurrency: it is called by the writer of the store, outside the readers' lock. It
// must not keep the returned slice or change the object. It may read the store, which is
// then as it was before the change, and must not write it.
//
// Errors: an error, or a panic, leaves the object out of this one index until it changes
// again, and is reported as an *IndexError. That of a panic wraps a *PanicError.
type IndexFunc[T any] func(obj T) ([]string, error)

// Indexers are index functions by the name of their index.
type Indexers[T any] map[string]IndexFunc[T]

// NamespaceIndex is the usual name of an index by namespace.
const NamespaceIndex = "namespace"

// IndexByNamespace files an object under its namespace.
func IndexByNamespace[T Object](obj T) ([]string, error) { return []string{obj.GetNamespace()}, nil }

var errNoIndexFunc = errors.New("informer: no index function")

// indexerList is the indexes of a store.
type indexerList[T any] []indexer[T]

// indexer is an index of a store.
type indexer[T any] struct {
	name   string
	values IndexFunc[T]
}

// AddIndexers adds indexes over what the store holds: readers see all of them, complete,
// or none.
//
// Ownership: the map stays the caller's.
//
// Errors: an *IndexError that wraps ErrExists if there is an index of one of the names,
// or that says that a function is nil; nothing is added then. Errors of index functions
// come joined, an *IndexError for each object; the indexes are added without these objects.
func (s *Store[T]) AddIndexers(indexers Indexers[T]) error {
	s.s.w.Lock()
	defer s.s.w.Unlock()
	if err := s.s.checkNew(indexers); err != nil || len(indexers) == 0 {
		return err
	}
	return s.s.addIndexers(indexers)
}

func (s *state[T]) checkNew(indexers Indexers[T]) error {
	for _, name := range slices.Sorted(maps.Keys(indexers)) {
		switch {
		case slices.Contains(s.indexes, name):
			return indexError(name, s.indexes, ErrExists)
		case indexers[name] == nil:
			return indexError(name, s.indexes, errNoIndexFunc)
		}
	}
	return nil
}

func indexError(index string, known []string, err error) error {
	return &IndexError{Index: index, Known: slices.Sorted(slices.Values(known)), Err: err}
}

// addIndexers fills the indexes in a fork of the table and lets it take the table's place.
func (s *state[T]) addIndexers(indexers Indexers[T]) error {
	var failed []error
	table, indexes, all := s.table.Fork(), slices.Clone(s.indexes), slices.Clone(s.indexers)
	for name, values := range indexers {
		x := indexer[T]{name, values}
		indexes, all = append(indexes, name), append(all, x)
		one, found := indexerList[T]{x}, make([][]string, 1)
		table.AddIndex(func(id uint32) []string {
			one.valuesOf(found, table.Object(id), func() string { return table.Key(id) }, &failed)
			return found[0]
		})
	}
	s.indexers = all
	s.mu.Lock()
	s.table, s.indexes = table, indexes
	s.mu.Unlock()
	table.Settle()
	return errors.Join(failed...)
}

// valuesOf calls the index functions for one object; a failure is added to failed, and leaves it
// without values. The key is asked for in a failure alone.
func (x indexerList[T]) valuesOf(values [][]string, obj T, key func() string, failed *[]error) {
	for len(values) > 0 {
		values = x.call(values, obj, key, failed)
	}
}

// call does so for the last of them, as many as values, and returns what a panic leaves to do.
// One defer serves them all.
func (x indexerList[T]) call(values [][]string, obj T, key func() string, failed *[]error) (rest [][]string) {
	fail := func(err error) {
		rest[0] = nil
		*failed = append(*failed, &IndexError{Index: x[len(x)-len(rest)].name, Key: key(), Err: err})
	}
	defer func() {
		if v := recover(); len(rest) > 0 { // v may be nil: GODEBUG has panicnil
			fail(&PanicError{Handler: "index function", Key: key(), Value: v, Stack: debug.Stack()})
			rest = rest[1:]
		}
	}()
	for rest = values; len(rest) > 0; rest = rest[1:] {
		var err error
		if rest[0], err = x[len(x)-len(rest)].values(obj); err != nil {
			fail(err)
		}
	}
	return rest
}

// scratch is memory that writes use again.
type scratch[T any] struct {
	ops    []dense.Op[T]
	values [][]string
	key    []byte
	peak   peak // ops that the last batches needed
}

// fillValues calls the index functions for what the ops put. It comes before any change,
// so that a function that ends its goroutine leaves no half of one.
func (s *state[T]) fillValues(ops []dense.Op[T]) error {
	n := len(s.indexers)
	if n == 0 {
		return nil
	}
	var failed []error
	values := s.scratch.room(n * len(ops))
	for i := range ops {
		op := &ops[i]
		op.Values = values[i*n : (i+1)*n : (i+1)*n]
		if !op.Delete {
			s.indexers.valuesOf(op.Values, op.Object, func() string { return op.Key }, &failed)
		}
	}
	return errors.Join(failed...)
}

// room returns memory for what n calls of index functions return.
func (c *scratch[T]) room(n int) [][]string {
	c.values = slices.Grow(c.values[:0], n)[:n]
	return c.values
}

// forgetValues lets go of values.
func (c *scratch[T]) forgetValues() { clear(c.values) }

// forgetOps lets go of the ops of a batch, and of more memory than is to be kept.
func (c *scratch[T]) forgetOps(ops []dense.Op[T]) {
	clear(ops)
	c.ops = ops[:0]
	if !c.peak.keeps(len(ops), cap(ops)) {
		c.ops, c.values = nil, nil
	}
}

// giveUp implements idler. A writer that is at it does so later.
func (s *Store[T]) giveUp() {
	if s.s.w.TryLock() {
		s.s.scratch = scratch[T]{}
		s.s.w.Unlock()
	}
}
