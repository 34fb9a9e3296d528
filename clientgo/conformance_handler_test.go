// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"slices"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// handlerBehaviours are about what handlers are told, and when.
var handlerBehaviours = []behaviour{
	{id: "H01", says: "a handler that was there before Run is told of the first list, as initial", check: func(e *env) {
		r := e.handler()
		e.want(r)
		e.start()
		e.wantSet(r, "add a initial", "add b initial")
		e.create("c")
		e.want(r, "add c")
	}},
	{id: "H02", says: "a late handler gets a startup batch of what is in the cache", check: func(e *env) {
		e.start()
		r := e.handler()
		e.wantSet(r, "add a initial", "add b initial")
	}},
	{id: "H03", says: "every change of an object arrives, in order", check: func(e *env) {
		e.start()
		r := e.handler()
		r.take()
		e.create("c")
		e.update("c", "1")
		e.update("c", "2")
		e.delete("c")
		e.want(r, "add c", "update c >1", "update c 1>2", "delete c")
	}},
	{id: "H04", says: "so it does for a handler that takes its time", check: func(e *env) {
		e.start()
		e.delete("a")
		e.delete("b")
		r := e.handler()
		r.block = make(chan struct{})
		e.create("c")
		e.update("c", "1")
		e.update("c", "2")
		e.delete("c")
		close(r.block)
		e.want(r, "add c", "update c >1", "update c 1>2", "delete c")
	}},
	{id: "H05", says: "a handler that takes its time holds up no other", check: func(e *env) {
		slow, quick := e.handler(), e.handler()
		slow.block = make(chan struct{})
		e.start()
		e.create("c")
		e.wantSet(quick, "add a initial", "add b initial", "add c")
		e.want(slow)
		close(slow.block)
		e.wantSet(slow, "add a initial", "add b initial", "add c")
	}},
	{id: "H06", says: "the cache and its indexes hold an object before its notification", check: func(e *env) {
		_, err := e.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			_, ok, err := e.informer.GetStore().Get(obj)
			keys, _ := e.informer.GetIndexer().IndexKeys(cache.NamespaceIndex, "ns")
			if !ok || err != nil || !slices.Contains(keys, "ns/"+name(obj)) {
				e.errorf("%s is not there yet: %v", name(obj), err)
			}
		}})
		e.noError(err)
		e.start()
		e.create("c", "d", "e")
	}},
	{id: "H07", says: "a delete exposes the last state, with a version in which it is absent", check: func(e *env) {
		e.start()
		r := e.handler()
		e.update("a", "1")
		e.delete("a")
		last, ok := r.last.(*corev1.ConfigMap)
		if !ok || value(last) != "1" || last.ResourceVersion != e.source.ResourceVersion() {
			e.errorf("the last call was with %T %s", r.last, value(r.last))
		}
	}},
	{id: "H08", says: "a delete that was missed comes as DeletedFinalStateUnknown, with the last known state", check: func(e *env) {
		e.start()
		e.update("a", "1")
		r := e.handler()
		e.delete("b")
		r.take()
		e.away(func() { e.delete("a") })
		e.want(r, "lost ns/a 1")
	}},
	{id: "H09", says: "an object that was deleted and made again unseen is an update", check: func(e *env) {
		e.start()
		r := e.handler()
		e.delete("b")
		r.take()
		e.away(func() { e.delete("a"); e.create("a"); e.update("a", "new") })
		e.want(r, "update a >new")
	}},
	{id: "H10", says: "a relist tells nothing of objects that have not changed",
		fails: "without a period of resyncs, every handler counts as one that wants them", check: func(e *env) {
			e.start()
			r := e.handler()
			r.take()
			e.away(func() { e.update("b", "1") })
			e.want(r, "update b >1")
		}},
	{id: "H11", says: "a registration has synced when the handler has seen the first list", check: checkRegistrationSync},
	{id: "H12", says: "a late registration has synced when the handler has seen the cache", check: func(e *env) {
		e.start()
		r := e.handler()
		if !r.registration.HasSynced() || !cache.IsDone(r.registration.HasSyncedChecker()) {
			e.errorf("it has not synced")
		}
	}},
	{id: "H13", says: "a removed handler hears nothing more, and can be removed again", check: func(e *env) {
		e.start()
		r, other := e.handler(), e.handler()
		r.take()
		other.take()
		for range 2 {
			if err := e.informer.RemoveEventHandler(r.registration); err != nil {
				e.errorf("remove: %v", err)
			}
		}
		e.create("c")
		e.want(r)
		e.want(other, "add c")
	}},
	{id: "H14", says: "what was queued is delivered after a removal, and ShutDownEventHandler waits for it",
		fails: "what has not reached the goroutine of the handler is dropped", check: checkShutDown},
	{id: "H15", says: "ShutDownEventHandler works before Run, and after", check: func(e *env) {
		before, after := e.handler(), e.handler()
		if err := cache.ShutDownEventHandler(e.informer, before.registration); err != nil {
			e.errorf("before Run: %v", err)
		}
		e.start()
		e.stop()
		if err := cache.ShutDownEventHandler(e.informer, after.registration); err != nil {
			e.errorf("after Run: %v", err)
		}
		e.want(before)
	}},
	{id: "H16", says: "a handler can remove itself", check: func(e *env) {
		var self cache.ResourceEventHandlerRegistration
		calls := 0
		self, err := e.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) {
			calls++
			e.noError(e.informer.RemoveEventHandler(self))
		}})
		e.noError(err)
		e.start()
		e.update("a", "1")
		e.update("a", "2")
		synctest.Wait()
		if calls != 1 {
			e.errorf("it was called %d times", calls)
		}
	}},
	{id: "H17", says: "a registration of another kind is an error", check: func(e *env) {
		if err := e.informer.RemoveEventHandler(nil); err == nil {
			e.errorf("nil is no error")
		}
	}},
	{id: "H18", says: "a handler can add a handler", check: func(e *env) {
		inner := &recorder{env: e}
		_, err := e.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) {
			_, err := e.informer.AddEventHandler(inner)
			e.noError(err)
		}})
		e.noError(err)
		e.start()
		e.update("a", "1")
		e.wantSet(inner, "add a initial", "add b initial")
	}},
	{id: "H19", says: "typed handlers and indexes get typed objects", check: checkTyped},
	{id: "H20", says: "handlers get nothing after Run has returned", check: func(e *env) {
		r := e.handler()
		e.start()
		r.take()
		e.stop()
		e.create("c")
		time.Sleep(time.Minute)
		e.want(r)
	}},
}

func checkRegistrationSync(e *env) {
	r := e.handler()
	r.block = make(chan struct{})
	if r.registration.HasSynced() || r.registration.HasSyncedChecker().Name() == "" {
		e.errorf("it has synced before Run, or has no name")
	}
	e.start()
	if r.registration.HasSynced() || !e.informer.HasSynced() {
		e.errorf("with the handler waiting: registration %v, informer %v", r.registration.HasSynced(), e.informer.HasSynced())
	}
	close(r.block)
	synctest.Wait()
	time.Sleep(time.Second)
	if !r.registration.HasSynced() || !cache.IsDone(r.registration.HasSyncedChecker()) {
		e.errorf("it has not synced")
	}
}

func checkShutDown(e *env) {
	e.start()
	e.delete("a")
	e.delete("b")
	r := e.handler()
	r.block = make(chan struct{})
	e.create("c", "d")
	over := make(chan error, 1)
	go func() { over <- cache.ShutDownEventHandler(e.informer, r.registration) }()
	synctest.Wait()
	select {
	case <-over:
		e.errorf("it did not wait for the handler")
		over <- nil
	default:
	}
	e.create("e")
	close(r.block)
	if err := <-over; err != nil {
		e.errorf("shut down: %v", err)
	}
	e.want(r, "add c", "add d")
}

func checkTyped(e *env) {
	typed := cache.NewTypedSharedIndexInformer[*corev1.ConfigMap](e.informer)
	r := &typedRecorder{}
	_, err := typed.AddTypedEventHandler(r)
	e.noError(err)
	e.noError(typed.AddTypedIndexers(cache.TypedIndexers[*corev1.ConfigMap]{
		"value": func(obj *corev1.ConfigMap) ([]string, error) { return []string{obj.Data["value"]}, nil },
	}))
	e.start()
	e.delete("b")
	e.away(func() { e.delete("a"); e.create("c"); e.update("c", "1") })
	synctest.Wait()
	if r.added != 3 || r.deleted != 2 || r.unknown != 1 {
		e.errorf("added %d, deleted %d, of unknown state %d", r.added, r.deleted, r.unknown)
	}
	found, err := typed.GetTypedIndexer().ByTypedIndex("value", "1")
	e.noError(err)
	if len(found) != 1 || found[0].Name != "c" {
		e.errorf("by typed index: %d objects", len(found))
	}
}

type typedRecorder struct{ added, deleted, unknown int }

func (r *typedRecorder) OnAdd(*corev1.ConfigMap, bool)                 { r.added++ }
func (r *typedRecorder) OnUpdate(*corev1.ConfigMap, *corev1.ConfigMap) {}
func (r *typedRecorder) OnDelete(d cache.DeletedObject[*corev1.ConfigMap]) {
	r.deleted++
	if d.FinalStateUnknown != nil {
		r.unknown++
	}
}
