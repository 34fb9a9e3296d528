// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

var errNoIndexFunc = errors.New("no index function")

// indexer is a store of this library as a cache.Indexer. What client-go's readers promise holds:
// each answer is of one state.
type indexer struct {
	store *informer.Store[informer.Object]

	adding sync.Mutex                     // held while indexes are filled
	funcs  atomic.Pointer[cache.Indexers] // as they were given; replaced, never changed
}

var _ cache.Indexer = (*indexer)(nil)

func newIndexer(indexers cache.Indexers) *indexer {
	x := &indexer{store: informer.NewStore(informer.StoreOptions[informer.Object]{})}
	x.funcs.Store(&cache.Indexers{})
	if err := x.AddIndexers(indexers); err != nil {
		panic(fmt.Sprintf("clientgo: New: %v", err)) // of a nil function: there is no object yet
	}
	return x
}

// objectOf returns what was put in by hand as what the store holds.
func objectOf(obj any) (informer.Object, error) {
	typed, ok := obj.(informer.Object)
	if !ok {
		return nil, fmt.Errorf("%T is not an API object", obj)
	}
	return typed, nil
}

func (x *indexer) Add(obj any) error {
	typed, err := objectOf(obj)
	if err != nil {
		return keyError("add", err)
	}
	return x.store.Add(context.Background(), typed)
}

func (x *indexer) Update(obj any) error { return x.Add(obj) }

// Delete removes by key, as client-go does, whatever the UID.
func (x *indexer) Delete(obj any) error {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return keyError("delete", err)
	}
	namespace, name, ok := strings.Cut(key, "/")
	if !ok {
		namespace, name = "", key
	}
	if name == "" {
		return nil // nothing is stored without a name
	}
	bare := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if typed, ok := obj.(metav1.Object); ok {
		bare.ResourceVersion = typed.GetResourceVersion()
	}
	return x.store.Delete(context.Background(), bare)
}

func (x *indexer) Replace(objs []any, resourceVersion string) error {
	items := make([]informer.Object, 0, len(objs))
	for _, obj := range objs {
		typed, err := objectOf(obj)
		if err != nil {
			return keyError("replace", err)
		}
		items = append(items, typed)
	}
	return x.store.Replace(context.Background(), items, resourceVersion)
}

// keyError names what was tried. client-go's KeyError would print the whole object.
func keyError(operation string, err error) error {
	return fmt.Errorf("%s in store: %w", operation, err)
}

// Resync has no meaning for a store, in client-go neither.
func (x *indexer) Resync() error { return nil }

func (x *indexer) Bookmark(resourceVersion string) {
	_ = x.store.Bookmark(context.Background(), resourceVersion) // a Store never fails in this
}

func (x *indexer) LastStoreSyncResourceVersion() string { return x.store.ResourceVersion() }

func (x *indexer) List() []any {
	out := make([]any, 0, x.store.Len())
	for _, obj := range x.store.All() {
		out = append(out, obj)
	}
	return out
}

func (x *indexer) ListKeys() []string { return x.store.Keys() }

func (x *indexer) Get(obj any) (any, bool, error) {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return nil, false, keyError("get", err)
	}
	return x.GetByKey(key)
}

func (x *indexer) GetByKey(key string) (any, bool, error) {
	obj, ok := x.store.Get(key)
	if !ok {
		return nil, false, nil // and not a nil Object in an any that is not nil
	}
	return obj, true, nil
}

// Index calls the function with what it is given, which need not be an object: generated
// listers come with metadata alone.
func (x *indexer) Index(name string, obj any) ([]any, error) {
	fn := (*x.funcs.Load())[name]
	if fn == nil {
		return x.ByIndex(name, "") // for its error
	}
	values, err := fn(obj)
	if err != nil {
		return nil, err
	}
	if len(values) == 1 {
		return x.ByIndex(name, values[0])
	}
	found, err := x.store.ByIndexValues(name, values...)
	return anys(found), err
}

// IndexKeys returns the keys in order, as client-go does.
func (x *indexer) IndexKeys(name, value string) ([]string, error) {
	keys, err := x.store.IndexKeys(name, value)
	if err != nil {
		return nil, err
	}
	if keys == nil {
		return []string{}, nil
	}
	slices.Sort(keys)
	return keys, nil
}

// ListIndexFuncValues has no error to return: an unknown index has no values.
func (x *indexer) ListIndexFuncValues(name string) []string {
	values, err := x.store.IndexValues(name)
	if err != nil {
		return []string{}
	}
	return values
}

func (x *indexer) ByIndex(name, value string) ([]any, error) {
	found, err := x.store.ByIndex(name, value)
	if err != nil {
		return nil, err
	}
	return anys(found), nil
}

func anys(objects []informer.Object) []any {
	out := make([]any, len(objects))
	for i, obj := range objects {
		out[i] = obj
	}
	return out
}

// GetIndexers returns a copy: client-go hands out the map that it goes on using.
func (x *indexer) GetIndexers() cache.Indexers { return maps.Clone(*x.funcs.Load()) }

func (x *indexer) AddIndexers(indexers cache.Indexers) error {
	x.adding.Lock()
	defer x.adding.Unlock()
	all, add := x.GetIndexers(), informer.Indexers[informer.Object]{}
	for name, fn := range indexers {
		if fn == nil {
			return &informer.IndexError{Index: name, Err: errNoIndexFunc}
		}
		all[name] = fn
		add[name] = func(obj informer.Object) ([]string, error) { return fn(obj) }
	}
	err := x.store.AddIndexers(add)
	if errors.Is(err, informer.ErrExists) {
		return err
	}
	x.funcs.Store(&all) // also where a function failed for an object, which is then left out
	return err
}
