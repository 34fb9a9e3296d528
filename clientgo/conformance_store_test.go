// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"errors"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

var errAway = errors.New("away")

// storeBehaviours are about the local cache.
var storeBehaviours = []behaviour{
	{id: "S01", says: "the cache starts out empty and is filled by Run", check: func(e *env) {
		e.wantKeys()
		e.start()
		e.wantKeys("ns/a", "ns/b")
	}},
	{id: "S02", says: "the cache becomes an exact copy of the collection", check: func(e *env) {
		e.start()
		e.create("c")
		e.update("a", "1")
		e.delete("b")
		e.wantKeys("ns/a", "ns/c")
		e.wantCopy()
	}},
	{id: "S03", says: "so it does after an outage in which the history was lost", check: func(e *env) {
		e.start()
		e.away(func() { e.create("c"); e.update("a", "1"); e.delete("b") })
		e.wantKeys("ns/a", "ns/c")
		e.wantCopy()
	}},
	{id: "S04", says: "HasSynced is true once there was a full list", check: func(e *env) {
		checker := e.informer.HasSyncedChecker()
		e.source.FailNext(2, errAway)
		if e.informer.HasSynced() || cache.IsDone(checker) {
			e.errorf("it has synced before Run")
		}
		e.start()
		time.Sleep(time.Minute)
		if !e.informer.HasSynced() || !cache.IsDone(checker) || !e.informer.GetController().HasSynced() {
			e.errorf("it has not synced")
		}
		if checker.Name() == "" || !cache.WaitFor(e.t.Context(), "", checker, e.informer.HasSyncedChecker()) {
			e.errorf("the checker has no name, or waits")
		}
	}},
	{id: "S05", says: "HasSynced takes no notice of what was written by hand", check: func(e *env) {
		e.noError(e.informer.GetStore().Replace([]any{configMap("x")}, "1"))
		if e.informer.HasSynced() || e.informer.LastSyncResourceVersion() != "" {
			e.errorf("it has synced before Run")
		}
		e.start()
		e.wantKeys("ns/a", "ns/b")
	}},
	{id: "S06", says: "the store can be written, as tests do", check: checkWrites},
	{id: "S07", says: "indexes answer by value, by object and by their values", check: func(e *env) {
		e.start()
		e.wantIndexed(cache.NamespaceIndex, "ns", "ns/a", "ns/b")
		found, err := e.informer.GetIndexer().Index(cache.NamespaceIndex, &metav1.ObjectMeta{Namespace: "ns"})
		e.noError(err)
		if len(found) != 2 {
			e.errorf("Index found %d objects", len(found))
		}
		if values := e.informer.GetIndexer().ListIndexFuncValues(cache.NamespaceIndex); !slices.Equal(values, []string{"ns"}) {
			e.errorf("the values are %q", values)
		}
	}},
	{id: "S08", says: "an index of many values has each object once", check: func(e *env) {
		e.noError(e.informer.AddIndexers(cache.Indexers{"many": func(any) ([]string, error) { return []string{"x", "y"}, nil }}))
		e.start()
		found, err := e.informer.GetIndexer().Index("many", configMap("q"))
		e.noError(err)
		if len(found) != 2 {
			e.errorf("Index found %d objects", len(found))
		}
		e.delete("a")
		e.wantIndexed("many", "y", "ns/b")
	}},
	{id: "S09", says: "an unknown index is an error, and has no values", check: func(e *env) {
		indexer := e.informer.GetIndexer()
		_, byIndex := indexer.ByIndex("none", "x")
		_, keys := indexer.IndexKeys("none", "x")
		_, index := indexer.Index("none", configMap("x"))
		if byIndex == nil || keys == nil || index == nil || len(indexer.ListIndexFuncValues("none")) != 0 {
			e.errorf("no error: %v, %v, %v", byIndex, keys, index)
		}
	}},
	{id: "S10", says: "indexes can be added while it runs", check: func(e *env) {
		e.start()
		byValue := cache.Indexers{"value": func(obj any) ([]string, error) { return []string{value(obj)}, nil }}
		e.noError(e.informer.AddIndexers(byValue))
		e.update("a", "1")
		e.wantIndexed("value", "1", "ns/a")
		e.wantIndexed("value", "", "ns/b")
		if err := e.informer.AddIndexers(byValue); err == nil {
			e.errorf("a second index of one name is no error")
		}
		if n := len(e.informer.GetIndexer().GetIndexers()); n != 2 {
			e.errorf("there are %d indexes", n)
		}
	}},
	{id: "S11", says: "LastSyncResourceVersion follows the collection", check: func(e *env) {
		e.start()
		e.create("c")
		if got := e.informer.LastSyncResourceVersion(); got != e.source.ResourceVersion() {
			e.errorf("it is %q, want %q", got, e.source.ResourceVersion())
		}
		if got := e.informer.GetController().LastSyncResourceVersion(); got != e.source.ResourceVersion() {
			e.errorf("the controller's is %q", got)
		}
	}},
	{id: "S12", says: "LastStoreSyncResourceVersion is what the store has seen, bookmarks included", check: func(e *env) {
		e.start()
		e.create("c")
		if got := e.informer.GetStore().LastStoreSyncResourceVersion(); got != e.source.ResourceVersion() {
			e.errorf("it is %q, want %q", got, e.source.ResourceVersion())
		}
		e.informer.GetStore().Bookmark("900")
		if got := e.informer.GetStore().LastStoreSyncResourceVersion(); got != "900" {
			e.errorf("after a bookmark it is %q", got)
		}
	}},
	{id: "S13", says: "objects of another type are not stored", check: func(e *env) {
		e.informer = e.make(e.lw, &corev1.Secret{}, 0, cache.Indexers{})
		e.start()
		e.create("c")
		e.wantKeys()
	}},
	{id: "S14", says: "without an example there is no check", check: func(e *env) {
		e.informer = e.make(e.lw, nil, 0, cache.Indexers{})
		e.start()
		e.wantKeys("ns/a", "ns/b")
	}},
	{id: "S15", says: "a query is answered from one state, also while everything is replaced", check: func(e *env) {
		e.start()
		e.away(func() {
			for i := range 50 {
				e.create("n" + strconv.Itoa(i))
			}
		})
		e.wantCopy()
	}},
}

// checkWrites is a test of a controller that brings its own objects.
func checkWrites(e *env) {
	store := e.informer.GetIndexer()
	e.noError(store.Add(configMap("x")))
	e.noError(store.Add(configMap("y")))
	changed := configMap("x")
	changed.UID, changed.ResourceVersion, changed.Data = "u", "5", map[string]string{"value": "1"}
	e.noError(store.Update(changed))
	e.wantIndexed(cache.NamespaceIndex, "ns", "ns/x", "ns/y")
	got, ok, err := store.Get(configMap("x"))
	if !ok || err != nil || value(got) != "1" {
		e.errorf("Get: %v, %v, %v", got, ok, err)
	}
	if got, ok, err := store.Get(cache.ExplicitKey("ns/x")); !ok || err != nil || value(got) != "1" {
		e.errorf("Get by ExplicitKey: %v, %v, %v", got, ok, err)
	}
	if got, ok, err := store.GetByKey("ns/none"); got != nil || ok || err != nil {
		e.errorf("GetByKey: %v, %v, %v", got, ok, err)
	}
	other := configMap("x")
	other.UID = "another"
	e.noError(store.Delete(other)) // by key: the UID is no part of an identity
	e.noError(store.Delete(cache.DeletedFinalStateUnknown{Key: "ns/y"}))
	e.wantKeys()
	e.noError(store.Replace([]any{configMap("z")}, "7"))
	e.noError(store.Resync())
	e.wantKeys("ns/z")
	if len(store.List()) != 1 {
		e.errorf("List has %d objects", len(store.List()))
	}
	for name, err := range map[string]error{
		"add": store.Add("text"), "update": store.Update(1), "delete": store.Delete(1.5), "replace": store.Replace([]any{"text"}, "8"),
	} {
		if err == nil {
			e.errorf("%s of what has no key is no error", name)
		}
	}
	if _, _, err := store.Get("text"); err == nil {
		e.errorf("Get of what has no key is no error")
	}
}

func (e *env) wantIndexed(index, of string, want ...string) {
	keys, err := e.informer.GetIndexer().IndexKeys(index, of)
	e.noError(err)
	slices.Sort(keys)
	objs, err := e.informer.GetIndexer().ByIndex(index, of)
	e.noError(err)
	if !slices.Equal(keys, want) || len(objs) != len(want) {
		e.errorf("index %s has %q and %d objects under %q, want %q", index, keys, len(objs), of, want)
	}
}

// wantCopy compares with the collection, object by object.
func (e *env) wantCopy() {
	if diff := e.source.Diff(storeOf{e.informer.GetStore()}); diff != "" {
		e.errorf("the store differs: %s", diff)
	}
}

// storeOf is a cache.Store as the collection compares with.
type storeOf struct{ cache.Store }

func (s storeOf) List() []*corev1.ConfigMap {
	var out []*corev1.ConfigMap
	for _, obj := range s.Store.List() {
		out = append(out, obj.(*corev1.ConfigMap))
	}
	return out
}
