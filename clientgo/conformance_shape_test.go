// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer/informertest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/tools/cache"
)

// shapeBehaviours are about transforms, resyncs, and the types of objects.
var shapeBehaviours = []behaviour{
	{id: "F01", says: "a transform that fails holds up the first list, and the watch error handler hears why", check: func(e *env) {
		heard := e.watchErrors()
		var failing atomic.Bool
		failing.Store(true)
		e.noError(e.informer.SetTransform(func(obj any) (any, error) {
			if failing.Load() && name(obj) == "a" {
				return nil, errAway
			}
			return obj, nil
		}))
		e.withoutInitialEvents() // client-go leaves such an object out of these, and syncs
		e.start()
		if e.informer.HasSynced() || !heard.any(func(err error) bool { return strings.Contains(err.Error(), errAway.Error()) }) {
			e.errorf("synced %v", e.informer.HasSynced())
		}
		failing.Store(false)
		time.Sleep(10 * time.Minute)
		e.wantKeys("ns/a", "ns/b")
	}},
	{id: "F02", says: "a transform may return an object of another type", check: func(e *env) {
		e.noError(e.informer.SetTransform(func(obj any) (any, error) {
			m, ok := obj.(*corev1.ConfigMap)
			if !ok {
				return obj, nil
			}
			return &metav1.PartialObjectMetadata{ObjectMeta: m.ObjectMeta}, nil
		}))
		r := e.handler()
		e.start()
		if got, _, _ := e.informer.GetStore().GetByKey("ns/a"); fmt.Sprintf("%T", got) != "*v1.PartialObjectMetadata" {
			e.errorf("the store has a %T", got)
		}
		e.wantSet(r, "add a initial", "add b initial")
		e.delete("a")
		e.wantKeys("ns/b")
		e.want(r, "delete a")
	}},
	{id: "F03", says: "a transform sees an object once for each of its versions",
		fails: "initial events are transformed as they come, and again as the list that they make", check: func(e *env) {
			var calls atomic.Int32
			e.renew(time.Minute)
			e.noError(e.informer.SetTransform(func(obj any) (any, error) { calls.Add(1); return obj, nil }))
			e.start()
			e.update("a", "1")
			time.Sleep(5 * time.Minute) // with resyncs
			if n := calls.Load(); n != 3 {
				e.errorf("it was called %d times for 3 versions", n)
			}
		}},
	{id: "F04", says: "a resync tells the same object as old and new", check: func(e *env) {
		e.renew(time.Minute)
		var calls, differ atomic.Int32
		_, err := e.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
			calls.Add(1)
			if before != after {
				differ.Add(1)
			}
		}})
		e.noError(err)
		e.start()
		time.Sleep(3 * time.Minute)
		if calls.Load() < 4 || differ.Load() > 0 {
			e.errorf("%d calls, with different objects in %d", calls.Load(), differ.Load())
		}
	}},
	{id: "F05", says: "a handler that comes late is resynced like the others", check: func(e *env) {
		e.renew(time.Minute)
		e.start()
		r := e.handler()
		r.take()
		time.Sleep(150 * time.Second)
		synctest.Wait()
		if n := len(r.take()); n < 2 || n > 6 {
			e.errorf("%d calls in 150 s, of two objects", n)
		}
	}},
	{id: "F06", says: "a name without a namespace is a key", check: func(e *env) {
		obj := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "alone"}}
		e.noError(e.informer.GetStore().Add(obj))
		if got, ok, err := e.informer.GetStore().GetByKey("alone"); !ok || err != nil || got != any(obj) {
			e.errorf("%v, %v, %v", got, ok, err)
		}
		e.noError(e.informer.GetStore().Delete(obj))
		e.wantKeys()
	}},
	{id: "F07", says: "unstructured objects are mirrored as they come", check: func(e *env) {
		client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{sites: "SiteList"}, site("a"))
		e.informer = e.make(mirror(client, client.Resource(sites)), site(""), 0, cache.Indexers{})
		e.start()
		e.wantKeys("ns/a")
		_, err := client.Resource(sites).Namespace("ns").Create(e.t.Context(), site("b"), metav1.CreateOptions{})
		e.noError(err)
		e.noError(client.Resource(sites).Namespace("ns").Delete(e.t.Context(), "a", metav1.DeleteOptions{}))
		synctest.Wait()
		e.wantKeys("ns/b")
	}},
	{id: "F08", says: "metadata is mirrored as it comes", check: func(e *env) {
		scheme := metadatafake.NewTestScheme()
		e.noError(metav1.AddMetaToScheme(scheme))
		obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}
		obj.SetGroupVersionKind(sites.GroupVersion().WithKind("Site"))
		client := metadatafake.NewSimpleMetadataClient(scheme, obj)
		e.informer = e.make(mirror(client, client.Resource(sites)), &metav1.PartialObjectMetadata{}, 0, cache.Indexers{})
		e.start()
		e.wantKeys("ns/a")
		e.noError(client.Resource(sites).Namespace("ns").Delete(e.t.Context(), "a", metav1.DeleteOptions{}))
		synctest.Wait()
		e.wantKeys()
	}},
}

var sites = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "sites"}

func site(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Site", "metadata": map[string]any{"namespace": "ns", "name": name},
	}}
}

// mirror returns the source of a client as the generated informers have it.
func mirror[L runtime.Object](client any, resource interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return resource.List(ctx, o)
		},
		WatchFuncWithContext: resource.Watch,
	}, client)
}

// withoutInitialEvents has the collection refuse to send them.
func (e *env) withoutInitialEvents() {
	refusal := apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil)
	e.source.FailWhile(func(r informertest.Request) bool { return r.Options.SendInitialEvents != nil }, refusal)
}
