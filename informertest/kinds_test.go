// SPDX-License-Identifier: Apache-2.0

package informertest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/informertest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// What a user compares a collection with.
var (
	_ informertest.Mirror[*note] = informer.View[*note]{}
	_ informertest.Mirror[*note] = (*informer.Store[*note])(nil)
	_ informer.ListerWatcher     = (*informertest.Collection[*note])(nil)
)

func thing(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"size": int64(1 << 60)},
	}}
}

// first returns the events up to the first bookmark.
func first(t *testing.T, lw informer.ListerWatcher) (objects []any, bookmark any) {
	w, err := lw.Watch(t.Context(), metav1.ListOptions{AllowWatchBookmarks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if e.Type == watch.Bookmark {
			return objects, e.Object
		}
		objects = append(objects, e.Object)
	}
	t.Fatal("no bookmark")
	return nil, nil
}

func TestKinds(t *testing.T) {
	bubble(t, "mixed", func(t *testing.T) {
		c := informertest.NewCollection[informer.Object](t, thing("a"), newNote("b", "one"))
		objects, bookmark := first(t, c)
		if _, is := objects[0].(*unstructured.Unstructured); !is || len(objects) != 2 {
			t.Errorf("objects are %T", objects)
		}
		if _, is := objects[1].(*note); !is {
			t.Errorf("objects are %T", objects)
		}
		if _, is := bookmark.(*metav1.PartialObjectMetadata); !is {
			t.Errorf("bookmark is %T", bookmark)
		}
	})
	bubble(t, "unstructured", func(t *testing.T) {
		c := informertest.NewCollection(t, thing("a"))
		_, bookmark := first(t, c)
		want := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Thing",
			"metadata": map[string]any{
				"resourceVersion": "2", "annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"},
			},
		}}
		if got, is := bookmark.(*unstructured.Unstructured); !is || got.GetKind() != want.GetKind() || len(got.Object) != 3 ||
			got.GetResourceVersion() != "2" || got.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
			t.Errorf("bookmark is %v; want %v", bookmark, want)
		}
		list, err := c.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, "kind of the list", list.GetObjectKind().GroupVersionKind().String(), "example.com/v1, Kind=ThingList")
	})
	bubble(t, "metadata", func(t *testing.T) {
		meta := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		meta.SetGroupVersionKind(thing("a").GroupVersionKind())
		objects, _ := first(t, informertest.NewCollection(t, meta))
		if got, is := objects[0].(*metav1.PartialObjectMetadata); !is || got.Kind != "Thing" {
			t.Errorf("object is %v", objects[0])
		}
	})
}

// TestKindsOverHTTP: kind and apiVersion are the resource's, metadata comes first, and numbers
// stay what they are, whichever face wrote the object.
func TestKindsOverHTTP(t *testing.T) {
	bubble(t, "typed with a kind of its own", func(t *testing.T) {
		w := newWeb(t, informertest.ServerOptions{})
		odd := newNote("a", "one")
		odd.SetGroupVersionKind(thing("a").GroupVersionKind())
		w.must(w.Create(t.Context(), odd))
		_, body := w.answer("GET", notesPath+"/a", "")
		if strings.Count(body, `"kind"`) != 1 || !strings.HasPrefix(body, `{"kind":"Note"`) {
			t.Errorf("object is %s", body)
		}
	})
	bubble(t, "unstructured", func(t *testing.T) {
		server := informertest.NewServer(informertest.ServerOptions{})
		things := server.Add(informertest.Resource{Group: "example.com", Version: "v1", Resource: "things", Kind: "Thing"})
		w := web{kit: kit{T: t}, client: serve(t, server)}
		if err := things.LoadJSON(slices.Values([][]byte{[]byte(`{"a":1,"metadata":{"name":"loaded"},"spec":{"size":1152921504606846976}}`)})); err != nil {
			t.Fatal(err)
		}
		if _, err := things.Create(t.Context(), thing("created")); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"loaded", "created"} {
			_, body := w.answer("GET", "/apis/example.com/v1/things/"+name, "")
			if !strings.HasPrefix(body, `{"kind":"Thing","apiVersion":"example.com/v1","metadata":{`) || !strings.Contains(body, `"spec":{"size":1152921504606846976}`) {
				t.Errorf("object is %s", body)
			}
			got, err := things.Get(t.Context(), "", name)
			if err != nil {
				t.Fatal(err)
			}
			if size, _, err := unstructured.NestedInt64(got.Object, "spec", "size"); err != nil || size != 1<<60 || got.GetKind() != "Thing" {
				t.Errorf("object is %v: %v", got, err)
			}
		}
		code, body := w.answer("PUT", "/apis/example.com/v1/things/loaded", `{"metadata":{"name":"loaded"},"spec":{"size":2}}`)
		if code != 200 || !strings.Contains(body, `"size":2`) {
			t.Errorf("update: %d %s", code, body)
		}
		if code, body := w.answer("POST", "/apis/example.com/v1/things", `null`); code != 400 && code != 422 {
			t.Errorf("null: %d %s", code, body)
		}
	})
}
