// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"testing"

	"github.com/informerkit/informer"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// selector is what the mirrors of these tests ask for.
const selector = "tier=front"

// live leads a mirror through everything that can happen to a collection.
func live[T informer.Object](t *testing.T, objects *collection, source informer.ListerWatcher, fresh lister) {
	liveFrom(t, objects, source, fresh, informer.Options[T]{})
}

func liveFrom[T informer.Object](t *testing.T, objects *collection, source informer.ListerWatcher, fresh lister, options informer.Options[T]) {
	t.Helper()
	for name, tier := range map[string]string{"a": "front", "b": "back", "c": "front"} {
		objects.create(t, name, tier)
	}
	options.LabelSelector = selector
	m := startMirror(t, source, fresh, options)
	m.sync(t)

	key := func(name string) string { return informer.JoinKey(objects.namespace, name) }
	m.reach(t, objects.create(t, "d", "front"), "a creation")
	m.reach(t, objects.update(t, "a", "one"), "an update")
	m.reach(t, objects.update(t, "a", "two"), "another update")
	objects.delete(t, "d")
	m.gone(t, key("d"), "a deletion")
	objects.relabel(t, "c", "back")
	m.gone(t, key("c"), "an object left the selector")
	m.reach(t, objects.relabel(t, "b", "front"), "an object entered the selector")
	objects.delete(t, "a")
	m.reach(t, objects.create(t, "a", "front"), "an object was deleted and created again")
	objects.deleteNamespace(t)
	m.gone(t, key("a"), "the deletion of the namespace")
	m.gone(t, key("b"), "the deletion of the namespace")
}

// TestMirrorConfigMaps mirrors ConfigMaps in every form and through every client.
func TestMirrorConfigMaps(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(t *testing.T, objects *collection){
		"typed, client-go": func(t *testing.T, objects *collection) {
			client := clientset(t).CoreV1().ConfigMaps(objects.namespace)
			live[*corev1.ConfigMap](t, objects, informer.FromClient(client), asLister(client.List))
		},
		"unstructured, client-go": func(t *testing.T, objects *collection) {
			live[*unstructured.Unstructured](t, objects, informer.FromClient(objects), asLister(objects.List))
		},
		"metadata, client-go": func(t *testing.T, objects *collection) {
			client := metadataClient(t).Resource(configMapResource).Namespace(objects.namespace)
			live[*metav1.PartialObjectMetadata](t, objects, informer.FromClient(client), asLister(client.List))
		},
		"typed, rest": func(t *testing.T, objects *collection) {
			client := clientset(t).CoreV1().ConfigMaps(objects.namespace)
			source := restClient[*corev1.ConfigMap](t, configMapResource, objects.namespace)
			live[*corev1.ConfigMap](t, objects, source, asLister(client.List))
		},
		"unstructured, rest": func(t *testing.T, objects *collection) {
			source := restClient[*unstructured.Unstructured](t, configMapResource, objects.namespace)
			live[*unstructured.Unstructured](t, objects, source, asLister(objects.List))
		},
		"metadata, rest": func(t *testing.T, objects *collection) {
			client := metadataClient(t).Resource(configMapResource).Namespace(objects.namespace)
			source := restClient[*metav1.PartialObjectMetadata](t, configMapResource, objects.namespace)
			live[*metav1.PartialObjectMetadata](t, objects, source, asLister(client.List))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, configMaps(t, cluster.Namespace(t)))
		})
	}
}

// TestMirrorWithoutWatchList does the same with a list and a watch, and with small pages.
func TestMirrorWithoutWatchList(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]informer.ReflectorOptions{
		"cached":      {InitialEventsTimeout: -1},
		"consistent":  {InitialEventsTimeout: -1, MostRecent: true, PageSize: 1},
		"watch-list":  {MostRecent: true},
		"not a page":  {InitialEventsTimeout: -1, MostRecent: true, PageSize: -1},
		"the default": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := configMaps(t, cluster.Namespace(t))
			source := restClient[*unstructured.Unstructured](t, configMapResource, objects.namespace)
			liveFrom(t, objects, source, asLister(objects.List),
				informer.Options[*unstructured.Unstructured]{ReflectorOptions: options})
		})
	}
}

// TestWaitOutsideOfTheSelector waits for the version of an object that the mirror does not get to
// see. No event tells of it.
func TestWaitOutsideOfTheSelector(t *testing.T) {
	t.Parallel()
	objects := configMaps(t, cluster.Namespace(t))
	objects.create(t, "a", "front")
	source := restClient[*unstructured.Unstructured](t, configMapResource, objects.namespace)
	options := informer.Options[*unstructured.Unstructured]{}
	options.LabelSelector = selector
	m := startMirror(t, source, asLister(objects.List), options)
	m.sync(t)
	m.reach(t, objects.create(t, "b", "back"), "a creation outside of the selector")
	m.reach(t, objects.update(t, "a", "one"), "an update")
	objects.delete(t, "a")
	m.gone(t, informer.JoinKey(objects.namespace, "a"), "a deletion")
}

var widgetResource = schema.GroupVersionResource{Group: "e2e.example.com", Version: "v1", Resource: "widgets"}

const widgetCRD = `{
	"apiVersion": "apiextensions.k8s.io/v1",
	"kind": "CustomResourceDefinition",
	"metadata": {"name": "widgets.e2e.example.com"},
	"spec": {
		"group": "e2e.example.com",
		"scope": "Namespaced",
		"names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
		"versions": [{
			"name": "v1", "served": true, "storage": true,
			"schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
		}]
	}
}`

// TestMirrorCustomResources mirrors the objects of a resource that did not exist when the server
// started, and waits for it to exist with a mirror of the definitions.
func TestMirrorCustomResources(t *testing.T) {
	t.Parallel()
	define(t, widgetResource, widgetCRD)
	for name, run := range map[string]func(t *testing.T, objects *collection){
		"unstructured, rest": func(t *testing.T, objects *collection) {
			source := restClient[*unstructured.Unstructured](t, widgetResource, objects.namespace)
			live[*unstructured.Unstructured](t, objects, source, asLister(objects.List))
		},
		"unstructured, client-go": func(t *testing.T, objects *collection) {
			example := &unstructured.Unstructured{}
			example.SetGroupVersionKind(objects.kind)
			liveFrom(t, objects, informer.FromClient(objects), asLister(objects.List),
				informer.Options[*unstructured.Unstructured]{ReflectorOptions: informer.ReflectorOptions{Example: example}})
		},
		"metadata, rest": func(t *testing.T, objects *collection) {
			client := metadataClient(t).Resource(widgetResource).Namespace(objects.namespace)
			source := restClient[*metav1.PartialObjectMetadata](t, widgetResource, objects.namespace)
			live[*metav1.PartialObjectMetadata](t, objects, source, asLister(client.List))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace := cluster.Namespace(t)
			run(t, &collection{
				ResourceInterface: dynamicClient(t).Resource(widgetResource).Namespace(namespace),
				kind:              widgetResource.GroupVersion().WithKind("Widget"),
				namespace:         namespace,
			})
		})
	}
}

// define creates the resource and waits until it is served.
func define(t *testing.T, resource schema.GroupVersionResource, definition string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), failSafe)
	defer cancel()
	definitions := informer.New(restClient[*unstructured.Unstructured](t, crdResource, ""),
		informer.Options[*unstructured.Unstructured]{})
	done := make(chan error, 1)
	run, stop := context.WithCancel(ctx)
	go func() { done <- definitions.Run(run) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	if _, err := dynamicClient(t).Resource(crdResource).Create(ctx, decodeJSON(t, definition), metav1.CreateOptions{}); err != nil {
		t.Fatalf("create the definition: %v", err)
	}
	if _, err := definitions.WaitFor(ctx, resource.GroupResource().String(), established); err != nil {
		t.Fatal(err)
	}
	// Established comes before the server's own mirror of the definitions has it.
	for {
		_, err := dynamicClient(t).Resource(resource).List(ctx, metav1.ListOptions{})
		if err == nil {
			return
		}
		if !apierrors.IsNotFound(err) || ctx.Err() != nil {
			t.Fatalf("list of a new resource: %v", err)
		}
	}
}

func established(definition *unstructured.Unstructured, ok bool) bool {
	if !ok {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	for _, condition := range conditions {
		c, _ := condition.(map[string]any)
		if c["type"] == "Established" && c["status"] == "True" {
			return true
		}
	}
	return false
}
