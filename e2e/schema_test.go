// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"testing"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var gadgetResource = schema.GroupVersionResource{Group: "e2e.example.com", Version: "v1", Resource: "gadgets"}

const gadgetCRD = `{
	"apiVersion": "apiextensions.k8s.io/v1",
	"kind": "CustomResourceDefinition",
	"metadata": {"name": "gadgets.e2e.example.com"},
	"spec": {
		"group": "e2e.example.com",
		"scope": "Namespaced",
		"names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
		"versions": [{
			"name": "v1", "served": true, "storage": true,
			"schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
				"type": "object", "default": {}, "properties": {"size": {"type": "string"}}
			}}}}
		}]
	}
}`

// TestSchemaGainsDefault: the objects that are stored get another content without being written. The
// watch ends, and what comes has the versions and UIDs that the mirror knows; the handlers are told
// all the same.
func TestSchemaGainsDefault(t *testing.T) {
	t.Parallel()
	define(t, gadgetResource, gadgetCRD)
	namespace := cluster.Namespace(t)
	objects := &collection{
		ResourceInterface: dynamicClient(t).Resource(gadgetResource).Namespace(namespace),
		kind:              gadgetResource.GroupVersion().WithKind("Gadget"),
		namespace:         namespace,
	}
	objects.create(t, "a", "front")
	objects.create(t, "b", "front")
	options := informer.Options[*unstructured.Unstructured]{}
	mirrors := map[string]*mirror[*unstructured.Unstructured]{
		"rest":      startMirror(t, restClient[*unstructured.Unstructured](t, gadgetResource, namespace), asLister(objects.List), options),
		"client-go": startMirror(t, informer.FromClient(objects), asLister(objects.List), options),
	}
	updates := map[string]chan informer.Change[*unstructured.Unstructured]{}
	for name, m := range mirrors {
		m.sync(t)
		updates[name] = updatesOf(t, m)
	}
	addDefault(t)
	for name, m := range mirrors {
		for seen := map[string]bool{}; len(seen) < 2; {
			select {
			case change := <-updates[name]:
				seen[change.Key] = true
				checkDefaulted(t, name, change)
			case <-patience(t).Done():
				t.Fatalf("%s: the handler was told of %v; want of all\n%s", name, seen, m.story)
			}
		}
		m.converge(t, "a default, "+name)
	}
	objects.update(t, "a", "still followed")
	objects.delete(t, "b")
	for name, m := range mirrors {
		m.converge(t, "the default, "+name)
		m.story.short(t)
	}
}

// updatesOf hands on what a handler is told to be updated.
func updatesOf[T informer.Object](t *testing.T, m *mirror[T]) chan informer.Change[T] {
	t.Helper()
	updates := make(chan informer.Change[T], 100)
	handler := informer.HandlerFunc[T](func(_ context.Context, change informer.Change[T]) {
		if change.Type == informer.Updated {
			updates <- change
		}
	})
	if _, err := m.AddHandler(handler, informer.HandlerOptions{}); err != nil {
		t.Fatal(err)
	}
	return updates
}

func checkDefaulted(t *testing.T, name string, change informer.Change[*unstructured.Unstructured]) {
	t.Helper()
	if change.Old.GetResourceVersion() != change.New.GetResourceVersion() || change.Old.GetUID() != change.New.GetUID() {
		t.Errorf("%s: %s was written; this test is to show what comes without", name, change.Key)
	}
	old, _, _ := unstructured.NestedString(change.Old.Object, "spec", "color")
	got, _, _ := unstructured.NestedString(change.New.Object, "spec", "color")
	if old != "" || got != "blue" {
		t.Errorf("%s: %s went from color %q to %q; want the default", name, change.Key, old, got)
	}
}

// addDefault has the schema fill in a field from now on.
func addDefault(t *testing.T) {
	t.Helper()
	patch := `[{
		"op": "add",
		"path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/color",
		"value": {"type": "string", "default": "blue"}
	}]`
	_, err := dynamicClient(t).Resource(crdResource).Patch(t.Context(), "gadgets.e2e.example.com",
		"application/json-patch+json", []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatalf("patch of the definition: %v", err)
	}
}
