// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
)

// edgeBehaviours are about the rims: what comes at once, too early, too late or twice.
var edgeBehaviours = []behaviour{
	{id: "E01", says: "a run whose context has ended stops at once, and for good", check: func(e *env) {
		ctx, cancel := context.WithCancel(e.t.Context())
		cancel()
		e.informer.RunWithContext(ctx)
		if !e.informer.IsStopped() || e.informer.HasSynced() {
			e.errorf("stopped %v, synced %v", e.informer.IsStopped(), e.informer.HasSynced())
		}
		if _, err := e.informer.AddEventHandler(&recorder{env: e}); err == nil {
			e.errorf("it takes a handler")
		}
	}},
	{id: "E02", says: "waits for a sync that never comes end with their context", check: func(e *env) {
		e.source.FailNext(1000, errAway)
		r := e.handler()
		e.start()
		ctx, cancel := context.WithTimeout(e.t.Context(), time.Minute)
		defer cancel()
		if cache.WaitFor(ctx, "", e.informer.HasSyncedChecker(), r.registration.HasSyncedChecker()) {
			e.errorf("WaitFor is content")
		}
		if cache.WaitForCacheSync(ctx.Done(), e.informer.HasSynced, r.registration.HasSynced) {
			e.errorf("WaitForCacheSync is content")
		}
	}},
	{id: "E03", says: "waits end with the sync", check: func(e *env) {
		r := e.handler()
		e.start()
		ctx := e.t.Context()
		if !cache.WaitFor(ctx, "sync", e.informer.HasSyncedChecker(), r.registration.HasSyncedChecker()) ||
			!cache.WaitForCacheSync(ctx.Done(), e.informer.HasSynced, r.registration.HasSynced) ||
			!cache.WaitForNamedCacheSyncWithContext(ctx, e.informer.HasSynced) {
			e.errorf("a wait is not content")
		}
	}},
	{id: "E04", says: "a handler has synced only if its informer has", check: func(e *env) {
		handlers := []*recorder{e.handler(), e.handler()}
		for _, r := range handlers {
			go func() {
				<-r.registration.HasSyncedChecker().Done()
				if !e.informer.HasSynced() || e.informer.LastSyncResourceVersion() == "" {
					e.errorf("the handler was faster than the informer")
				}
			}()
		}
		e.start()
	}},
	{id: "E05", says: "a handler of an empty collection has synced", check: func(e *env) {
		e.delete("a")
		e.delete("b")
		r := e.handler()
		e.start()
		late := e.handler()
		if !r.registration.HasSynced() || !late.registration.HasSynced() || !e.informer.HasSynced() {
			e.errorf("it has not")
		}
	}},
	{id: "E06", says: "an informer is stopped, although a handler is still at it", check: func(e *env) {
		r := &recorder{env: e, block: make(chan struct{})}
		_, err := e.informer.AddEventHandler(r)
		e.noError(err)
		e.start()
		e.cancel()
		e.settle()
		if !e.informer.IsStopped() {
			e.errorf("it is not")
		}
		if _, err := e.informer.AddEventHandler(&recorder{env: e}); err == nil {
			e.errorf("it takes a handler")
		}
		close(r.block)
	}},
	{id: "E07", says: "handlers may come and go while objects do, from everywhere", check: checkCrowd},
	{id: "E08", says: "a handler can add and remove others, and indexes", check: func(e *env) {
		other := e.handler()
		inner := &recorder{env: e}
		_, err := e.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) {
			e.noError(e.informer.RemoveEventHandler(other.registration))
			e.noError(e.informer.AddIndexers(cache.Indexers{"late": func(obj any) ([]string, error) { return []string{value(obj)}, nil }}))
			_, err := e.informer.AddEventHandler(inner)
			e.noError(err)
		}})
		e.noError(err)
		e.start()
		other.take()
		e.update("a", "1")
		other.take()
		e.create("c")
		e.want(other)
		e.wantSet(inner, "add a initial", "add b initial", "add c")
		e.wantIndexed("late", "1", "ns/a")
	}},
	{id: "E09", says: "a filtering handler makes adds and deletes of updates", check: func(e *env) {
		r := &recorder{env: e}
		_, err := e.informer.AddEventHandler(cache.FilteringResourceEventHandler{
			FilterFunc: func(obj any) bool {
				if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
					obj = unknown.Obj
				}
				return value(obj) == "in"
			},
			Handler: r,
		})
		e.noError(err)
		e.start()
		e.update("a", "in")
		e.update("a", "out")
		e.update("a", "in")
		e.away(func() { e.delete("a") })
		e.want(r, "add a", "delete a", "add a", "lost ns/a in")
	}},
	{id: "E10", says: "a handler that was removed before Run is never called", check: func(e *env) {
		r := e.handler()
		e.noError(e.informer.RemoveEventHandler(r.registration))
		e.start()
		e.create("c")
		e.want(r)
	}},
	{id: "E11", says: "handlers can be removed twice at once, and waited for", check: func(e *env) {
		e.start()
		r := e.handler()
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if err := cache.ShutDownEventHandler(e.informer, r.registration); err != nil {
					e.errorf("shut down: %v", err)
				}
			})
		}
		group.Wait()
	}},
	{id: "E12", says: "generic listers read by namespace, and say what is not there", check: func(e *env) {
		e.start()
		lister := cache.NewGenericLister(e.informer.GetIndexer(), corev1.Resource("configmaps"))
		found, err := lister.ByNamespace("ns").List(labels.Everything())
		if err != nil || len(found) != 2 {
			e.errorf("it lists %d, %v", len(found), err)
		}
		if got, err := lister.ByNamespace("ns").Get("a"); err != nil || name(got) != "a" {
			e.errorf("a: %v, %v", got, err)
		}
		if none, err := lister.ByNamespace("other").List(labels.Everything()); err != nil || len(none) != 0 {
			e.errorf("another namespace: %d, %v", len(none), err)
		}
		if _, err := lister.ByNamespace("ns").Get("none"); !apierrors.IsNotFound(err) {
			e.errorf("none: %v", err)
		}
	}},
	{id: "E13", says: "what is not there is no error to Delete, whatever its key", check: func(e *env) {
		store := e.informer.GetStore()
		for _, obj := range []any{configMap("none"), cache.ExplicitKey("a/b/c"), cache.DeletedFinalStateUnknown{Key: "x/y/z"}, &metav1.ObjectMeta{Name: "bare"}} {
			if err := store.Delete(obj); err != nil {
				e.errorf("delete %T: %v", obj, err)
			}
		}
	}},
	{id: "E14", says: "an index has nothing under other values, and that is a list", check: func(e *env) {
		keys, err := e.informer.GetIndexer().IndexKeys(cache.NamespaceIndex, "none")
		objs, failed := e.informer.GetIndexer().ByIndex(cache.NamespaceIndex, "none")
		if err != nil || failed != nil || keys == nil || objs == nil || len(keys)+len(objs) != 0 {
			e.errorf("%v %v, %v %v", keys, err, objs, failed)
		}
		if values := e.informer.GetIndexer().ListIndexFuncValues("none"); values == nil {
			e.errorf("the values of no index are nil")
		}
	}},
	{id: "E15", says: "the keys of an index come in order", check: func(e *env) {
		e.start()
		for i := range 30 {
			e.create("n" + strconv.Itoa(100-i))
		}
		keys, err := e.informer.GetIndexer().IndexKeys(cache.NamespaceIndex, "ns")
		e.noError(err)
		if !slices.IsSorted(keys) || len(keys) != 32 {
			e.errorf("they are %q", keys)
		}
	}},
	{id: "E16", says: "of indexes that are added together, all are or none", check: func(e *env) {
		err := e.informer.AddIndexers(cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, "new": cache.MetaNamespaceIndexFunc})
		if _, there := e.informer.GetIndexer().GetIndexers()["new"]; err == nil || there {
			e.errorf("error %v, there %v", err, there)
		}
	}},
	{id: "E17", says: "a query for several values is answered from one state", check: checkOneState},
	{id: "E18", says: "the watch error handler has one call at a time, and the context of Run", check: func(e *env) {
		type key struct{}
		calls := 0 // without a lock: the race detector sees a second goroutine
		e.source.FailNext(3, errAway)
		e.noError(e.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, _ error) {
			calls++
			if ctx.Value(key{}) != "of Run" {
				e.errorf("the context is another one")
			}
		}))
		ctx, cancel := context.WithCancel(context.WithValue(e.t.Context(), key{}, "of Run"))
		over := make(chan struct{})
		go func() { e.informer.RunWithContext(ctx); close(over) }()
		time.Sleep(time.Minute)
		cancel()
		<-over
		if calls == 0 {
			e.errorf("it was not called")
		}
	}},
	{id: "E19", says: "what somebody writes into the store is put right by the next event", check: func(e *env) {
		e.start()
		e.noError(e.informer.GetStore().Delete(configMap("a")))
		wrong := configMap("b")
		wrong.Data = map[string]string{"value": "wrong"}
		e.noError(e.informer.GetStore().Update(wrong))
		e.update("a", "1")
		e.update("b", "2")
		e.wantCopy()
	}},
	{id: "E20", says: "a factory's Shutdown waits for the informer", check: checkFactory},
}

// checkCrowd has handlers added and removed by several goroutines while objects change. Each
// handler gets a sequence that makes sense, and those that stay end with what there is.
func checkCrowd(e *env) {
	e.start()
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				t := &tracker{env: e, there: map[string]bool{}}
				registration, err := e.informer.AddEventHandler(t)
				if err != nil {
					e.errorf("add: %v", err)
					return
				}
				time.Sleep(time.Millisecond)
				select {
				case <-stop:
					time.Sleep(time.Second)
					if got := t.keys(); !slices.Equal(got, []string{"a", "b", "n38", "n39"}) {
						e.errorf("a handler ends with %q", got)
					}
					return
				default:
				}
				if err := e.informer.RemoveEventHandler(registration); err != nil {
					e.errorf("remove: %v", err)
				}
			}
		})
	}
	for i := range 40 {
		_, err := e.source.Create(e.t.Context(), configMap("n"+strconv.Itoa(i)))
		e.noError(err)
		if i >= 2 {
			e.noError(e.source.Delete(e.t.Context(), "ns", "n"+strconv.Itoa(i-2)))
		}
		time.Sleep(300 * time.Microsecond)
	}
	time.Sleep(time.Second)
	close(stop)
	group.Wait()
}

// tracker is a handler that checks the order of what it is told.
type tracker struct {
	env *env

	mu    sync.Mutex
	there map[string]bool
}

func (t *tracker) OnAdd(obj any, _ bool) { t.move(name(obj), false, true) }
func (t *tracker) OnUpdate(_, obj any)   { t.move(name(obj), true, true) }
func (t *tracker) OnDelete(obj any)      { t.move(name(obj), true, false) }
func (t *tracker) keys() (names []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, there := range t.there {
		if there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (t *tracker) move(name string, from, to bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.there[name] != from {
		t.env.errorf("%s comes again, or goes without having come", name)
	}
	t.there[name] = to
}

// checkOneState has an object that is always under one of two values.
func checkOneState(e *env) {
	store := e.informer.GetIndexer()
	e.noError(e.informer.AddIndexers(cache.Indexers{"value": func(obj any) ([]string, error) {
		if value(obj) == "both" {
			return []string{"x", "y"}, nil
		}
		return []string{value(obj)}, nil
	}}))
	put := func(value string) {
		obj := configMap("a")
		obj.Data = map[string]string{"value": value}
		e.noError(store.Update(obj))
	}
	put("x")
	both := configMap("query")
	both.Data = map[string]string{"value": "both"}
	var group sync.WaitGroup
	group.Go(func() {
		for range 2000 {
			put("y")
			put("x")
		}
	})
	wrong := 0
	for range 2000 {
		found, err := store.Index("value", both)
		e.noError(err)
		if len(found) != 1 {
			wrong++
		}
	}
	group.Wait()
	if wrong > 0 {
		e.errorf("it was not there, or twice, %d times", wrong)
	}
}
