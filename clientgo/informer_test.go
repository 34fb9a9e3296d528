// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/clientgo"
	"github.com/informerkit/informer/informertest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/tools/cache"
)

// inBubble runs a test of the bridge on fake time.
func inBubble(t *testing.T, title string, check func(e *env)) {
	t.Run(title, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := newEnv(t, clientgo.NewSharedIndexInformer, 0)
			check(e)
			e.stop()
			for _, failure := range e.failures {
				t.Error(failure)
			}
		})
	})
}

// panicOf returns what f panics with, as text; "" if it does not.
func panicOf(f func()) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text, _ = v.(string)
		}
	}()
	f()
	return ""
}

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	lw := &cache.ListWatch{}
	text := panicOf(func() { clientgo.NewSharedIndexInformer(lw, &corev1.PodList{}, 0, nil) })
	if !strings.Contains(text, "*v1.PodList") {
		t.Errorf("with a list as the example: %q", text)
	}
	text = panicOf(func() { clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, cache.Indexers{"none": nil}) })
	if !strings.Contains(text, `"none"`) {
		t.Errorf("with a nil index function: %q", text)
	}
	pods := clientgo.NewSharedIndexInformer(nil, &corev1.Pod{}, 0, nil)
	if err := pods.GetStore().Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x"}}); err != nil {
		t.Errorf("seeding an informer without a source: %v", err)
	}
	text = panicOf(func() { pods.RunWithContext(t.Context()) })
	if !strings.Contains(text, "nil ListerWatcher") || !pods.IsStopped() {
		t.Errorf("running it: %q, stopped %v", text, pods.IsStopped())
	}
	typed := clientgo.NewSharedIndexInformer((*cache.ListWatch)(nil), nil, 0, nil)
	if text = panicOf(func() { typed.RunWithContext(t.Context()) }); !strings.Contains(text, "nil ListerWatcher") {
		t.Errorf("running without a source in it: %q", text)
	}
	if text = panicOf(func() { clientgo.FromListerWatcher(nil) }); !strings.Contains(text, "nil ListerWatcher") {
		t.Errorf("a source of nothing: %q", text)
	}
	if text = panicOf(func() { clientgo.ToListerWatcher((*informer.ListWatch)(nil)) }); !strings.Contains(text, "nil source") {
		t.Errorf("a source of client-go of nothing: %q", text)
	}
	if _, err := clientgo.NewSharedIndexInformer(nil, nil, -time.Second, nil).AddEventHandler(nil); err == nil {
		t.Error("a nil handler is no error")
	}
	if err := pods.AddIndexers(cache.Indexers{}); !errors.Is(err, informer.ErrStopped) {
		t.Errorf("indexers after it has stopped: %v", err)
	}
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	inBubble(t, "seeded objects are told as initial", func(e *env) {
		e.noError(e.informer.GetStore().Add(configMap("a")))
		r := e.handler()
		e.start()
		lines := r.take()
		if !slices.Contains(lines, "add a initial") || !slices.Contains(lines, "add b initial") {
			e.errorf("the handler heard %q", lines)
		}
	})
	inBubble(t, "a handler gets the resyncs that it asks for", func(e *env) {
		r := &recorder{env: e}
		_, err := e.informer.AddEventHandlerWithResyncPeriod(r, time.Minute)
		e.noError(err)
		e.start()
		r.take()
		time.Sleep(70 * time.Second)
		e.wantSet(r, "update a >", "update b >")
	})
	inBubble(t, "a period of resyncs is a second at least", func(e *env) {
		r := &recorder{env: e}
		_, err := e.informer.AddEventHandlerWithResyncPeriod(r, time.Millisecond)
		e.noError(err)
		e.start()
		r.take()
		time.Sleep(1200 * time.Millisecond)
		synctest.Wait()
		if n := len(r.take()); n < 2 || n > 4 {
			e.errorf("%d resyncs of two objects in 1.2 s", n)
		}
	})
	inBubble(t, "a registration of another informer is an error", func(e *env) {
		r := e.handler()
		e.renew(0)
		if err := e.informer.RemoveEventHandler(r.registration); err == nil {
			e.errorf("there is none")
		}
	})
	inBubble(t, "an index function that fails leaves its object out", func(e *env) {
		heard := e.watchErrors()
		e.noError(e.informer.AddIndexers(cache.Indexers{"odd": func(obj any) ([]string, error) {
			if name(obj) == "a" {
				return nil, errAway
			}
			return []string{"x"}, nil
		}}))
		e.start()
		e.wantKeys("ns/a", "ns/b")
		e.wantIndexed("odd", "x", "ns/b")
		if !heard.any(func(err error) bool { return errors.Is(err, errAway) }) {
			e.errorf("nobody heard of it")
		}
		if err := e.informer.AddIndexers(cache.Indexers{"late": func(any) ([]string, error) { return nil, errAway }}); !errors.Is(err, errAway) {
			e.errorf("adding another one: %v", err)
		}
		if len(e.informer.GetIndexer().GetIndexers()) != 3 {
			e.errorf("there are %d indexes", len(e.informer.GetIndexer().GetIndexers()))
		}
	})
	inBubble(t, "a transform that returns no object is an error", func(e *env) {
		heard := e.watchErrors()
		e.noError(e.informer.SetTransform(func(any) (any, error) { return "text", nil }))
		e.start()
		if !heard.any(func(err error) bool { return strings.Contains(err.Error(), "string is not an API object") }) {
			e.errorf("nobody heard of it")
		}
		e.wantKeys()
	})
	inBubble(t, "the watch error handler has one call at a time, also where an index fails", func(e *env) {
		calls := 0 // without a lock: the race detector sees two at once
		e.noError(e.informer.SetWatchErrorHandler(func(*cache.Reflector, error) { calls++ }))
		e.noError(e.informer.AddIndexers(cache.Indexers{"odd": func(any) ([]string, error) { return nil, errAway }}))
		e.start()
		for i := range 20 {
			e.source.FailNext(1, errAway)
			_, err := e.source.Create(e.t.Context(), configMap("n"+strconv.Itoa(i)))
			e.noError(err)
			e.source.CutStreams()
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		if calls < 20 {
			e.errorf("it was called %d times", calls)
		}
	})
	inBubble(t, "a handler that changes an object is found out", func(e *env) {
		e.make = clientgo.NewInformerFunc(clientgo.Options{MutationGuard: 1})
		e.renew(0)
		heard := e.watchErrors()
		_, err := e.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
			obj.(*corev1.ConfigMap).Data = map[string]string{"value": "changed"}
		}})
		e.noError(err)
		e.start()
		if !heard.any(func(err error) bool { return strings.Contains(err.Error(), "ns/a") }) {
			e.errorf("nobody heard of it")
		}
	})
	inBubble(t, "handlers have the names of their functions", func(e *env) {
		add := cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) {}}
		for _, handler := range []cache.ResourceEventHandler{
			add, &add,
			cache.ResourceEventHandlerDetailedFuncs{AddFunc: func(any, bool) {}},
			&cache.ResourceEventHandlerDetailedFuncs{DeleteFunc: func(any) {}},
			cache.FilteringResourceEventHandler{Handler: add}, &cache.FilteringResourceEventHandler{Handler: &add},
		} {
			_, err := e.informer.AddEventHandler(handler)
			e.noError(err)
		}
		_, err := e.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
		e.noError(err)
		handlers := e.informer.(*clientgo.SharedIndexInformer).Informer().Status().Handlers
		for i, handler := range handlers {
			if i < len(handlers)-1 != strings.Contains(handler.Name, "clientgo_test.TestDifferences") {
				e.errorf("handler %d is %q", i, handler.Name)
			}
		}
	})
	inBubble(t, "waits say what the source answered", func(e *env) {
		e.source.FailNext(1000, errAway)
		e.start()
		ctx, cancel := context.WithTimeout(e.t.Context(), time.Minute)
		defer cancel()
		err := e.informer.(*clientgo.SharedIndexInformer).Informer().WaitForSync(ctx)
		if !errors.Is(err, errAway) || !errors.Is(err, context.DeadlineExceeded) {
			e.errorf("the wait ended with %v", err)
		}
	})
}

func TestMergeChanges(t *testing.T) {
	t.Parallel()
	inBubble(t, "merged", func(e *env) {
		e.make = clientgo.NewInformerFunc(clientgo.Options{
			MergeChanges: true,
			Indexers:     cache.Indexers{"all": func(any) ([]string, error) { return []string{"x"}, nil }},
		})
		e.renew(0)
		r := &recorder{env: e, block: make(chan struct{})}
		_, err := e.informer.AddEventHandler(r)
		e.noError(err)
		e.start()
		for _, value := range []string{"1", "2", "3"} {
			e.update("a", value)
			e.update("b", value)
		}
		close(r.block)
		synctest.Wait()
		if n := len(r.take()); n > 3 {
			e.errorf("the handler was called %d times for two objects", n)
		}
		e.wantIndexed("all", "x", "ns/a", "ns/b")
		e.wantIndexed(cache.NamespaceIndex, "ns", "ns/a", "ns/b")
	})
}

// TestEverythingAtOnce calls all methods from many goroutines, while it starts, runs and stops.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, "all methods", func(e *env) {
		i := e.informer
		calls := []func(n int){
			func(int) { _, _ = i.AddEventHandlerWithResyncPeriod(&recorder{env: e}, time.Second) },
			func(int) {
				if r, err := i.AddEventHandler(&recorder{env: e}); err == nil {
					e.noError(cache.ShutDownEventHandler(i, r))
				}
			},
			func(n int) { _ = i.AddIndexers(cache.Indexers{strconv.Itoa(n): cache.MetaNamespaceIndexFunc}) },
			func(int) { _, _ = i.GetIndexer().Index(cache.NamespaceIndex, configMap("a")) },
			func(n int) {
				_ = len(i.GetIndexer().GetIndexers()) + len(i.GetIndexer().ListIndexFuncValues(strconv.Itoa(n)))
			},
			func(n int) { _ = i.GetStore().Add(configMap("w" + strconv.Itoa(n))) },
			func(n int) { _ = i.GetStore().Delete(configMap("w" + strconv.Itoa(n))) },
			func(int) { _, _ = i.GetStore().List(), i.GetStore().ListKeys() },
			func(int) { i.GetStore().Bookmark("1"); _ = i.GetStore().LastStoreSyncResourceVersion() },
			func(int) { _ = i.HasSynced() || i.IsStopped() || i.LastSyncResourceVersion() == "" },
			func(int) { _ = i.SetTransform(nil) },
			func(int) { _ = i.SetWatchErrorHandler(func(*cache.Reflector, error) {}) },
			func(int) { i.RunWithContext(e.t.Context()) }, // returns, but for the first
		}
		var group sync.WaitGroup
		e.start()
		for _, call := range calls {
			group.Go(func() {
				for n := range 50 {
					call(n)
					time.Sleep(time.Millisecond)
				}
			})
		}
		for n := range 40 {
			e.create("n" + strconv.Itoa(n))
			if n == 10 {
				e.source.CutStreams()
			}
			time.Sleep(time.Millisecond)
		}
		e.cancel()
		group.Wait()
		<-e.returned
		if !i.IsStopped() {
			e.errorf("it is not stopped")
		}
	})
}

// TestGates is not parallel: feature gates are the process's.
func TestGates(t *testing.T) {
	for _, on := range []bool{true, false} {
		featurestesting.SetFeatureDuringTest(t, features.WatchListClient, on)
		inBubble(t, fmt.Sprintf("WatchListClient %v", on), func(e *env) {
			e.start()
			streamed := slices.ContainsFunc(e.source.Requests(), func(r informertest.Request) bool { return r.Options.SendInitialEvents != nil })
			if streamed != on {
				e.errorf("initial events were asked for: %v", streamed)
			}
		})
	}
}

// TestPanics is not parallel: how panics are handled is a variable of apimachinery.
func TestPanics(t *testing.T) {
	utilruntime.ReallyCrash = false
	defer func() { utilruntime.ReallyCrash = true }()
	inBubble(t, "a handler that panics is called again, where utilruntime is told so", func(e *env) {
		calls := 0
		_, err := e.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {
			calls++
			panic("of a test")
		}})
		e.noError(err)
		e.start()
		if calls != 2 {
			e.errorf("it was called %d times", calls)
		}
	})
}

// TestKinds mirrors what controller-runtime caches beside typed objects.
func TestKinds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := clientgo.ToListerWatcher(&informer.ListWatch{
			ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				list := &metav1.PartialObjectMetadataList{Items: []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "x"}}}}
				list.ResourceVersion = "1"
				return list, nil
			},
			WatchFunc:   openSilent,
			NoWatchList: true,
		})
		metas := clientgo.NewSharedIndexInformer(source, &metav1.PartialObjectMetadata{}, 0, nil)
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() { metas.RunWithContext(ctx); close(over) }()
		synctest.Wait()
		if _, ok, _ := metas.GetStore().GetByKey("x"); !ok || !metas.HasSynced() {
			t.Errorf("the store has %q", metas.GetStore().ListKeys())
		}
		cancel()
		<-over
	})
}
