// SPDX-License-Identifier: Apache-2.0

package transform_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/transform"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

const applied = "kubectl.kubernetes.io/last-applied-configuration"

type pod struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              *spec           `json:"spec,omitempty"`
	Nodes             map[string]spec `json:"nodes,omitempty"`
	hidden            map[string]string
}

type spec struct {
	Node  string   `json:"node,omitempty"`
	Args  []string `json:"args,omitempty"`
	Image any      `json:"image,omitempty"`
	Raw   []byte   `json:"raw,omitempty"`
}

func (p *pod) DeepCopyObject() runtime.Object { out := *p; return &out }

// fresh returns strings that are no constants.
func fresh(s string) string { return strings.Clone(s) }

func newPod() *pod {
	return &pod{
		TypeMeta: metav1.TypeMeta{Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: fresh("a"), Namespace: fresh("team"), UID: "u", ResourceVersion: "7",
			Labels: map[string]string{fresh("app"): fresh("web")}, Annotations: map[string]string{applied: "{}", "b.c/d": "e"},
		},
		Spec:   &spec{Node: fresh("node-1"), Args: []string{fresh("one")}, Image: fresh("image"), Raw: []byte("raw")},
		Nodes:  map[string]spec{"x": {Node: fresh("node-2")}},
		hidden: map[string]string{"a": "b"},
	}
}

func newMaps() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"kind": "Pod", "apiVersion": "v1", "spec": map[string]any{"node": fresh("node-1"), "args": []any{fresh("one")}},
		"metadata": map[string]any{"name": "a", "uid": "u", "annotations": map[string]any{applied: "{}"}},
	}}
}

func TestDropLastApplied(t *testing.T) {
	typed, err := transform.DropLastApplied(newPod())
	if err != nil || !reflect.DeepEqual(typed.Annotations, map[string]string{"b.c/d": "e"}) {
		t.Error(typed.Annotations, err)
	}
	maps, err := transform.DropLastApplied(newMaps())
	if _, ok, _ := unstructured.NestedMap(maps.Object, "metadata", "annotations"); err != nil || ok || maps.GetName() != "a" {
		t.Error(maps, err)
	}
}

func TestKeepMetadata(t *testing.T) {
	typed, err := transform.KeepMetadata(newPod())
	if err != nil || typed.Spec != nil || typed.Nodes != nil || typed.Kind != "Pod" || typed.Labels["app"] != "web" {
		t.Error(typed, err)
	}
	maps, err := transform.KeepMetadata(newMaps())
	if err != nil || len(maps.Object) != 3 || maps.GetUID() != "u" {
		t.Error(maps, err)
	}
}

func TestDropFields(t *testing.T) {
	drop := transform.DropFields[*pod]("spec.args", "metadata.annotations.b.c/d", "nodes.x.node", "spec.image")
	got, err := drop(newPod())
	want := newPod()
	want.Spec.Args, want.Spec.Image = nil, nil
	delete(want.Annotations, "b.c/d")
	want.Nodes["x"] = spec{}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v; %v", got, want, err)
	}
	if got, err := drop(&pod{}); err != nil || !reflect.DeepEqual(got, &pod{}) {
		t.Error(got, err)
	}
	maps, err := transform.DropFields[*unstructured.Unstructured]("spec.args", "status", "metadata.annotations")(newMaps())
	if err != nil || len(maps.Object["spec"].(map[string]any)) != 1 || len(maps.GetAnnotations()) != 0 || maps.GetName() != "a" {
		t.Error(maps, err)
	}
}

func TestDropFieldsThatCannotBe(t *testing.T) {
	for _, path := range []string{"", "kind", "metadata", "metadata.name", "metadata.uid", "spec..args", "spec.nothing", "hidden"} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.HasPrefix(text, "informer: ") {
					t.Errorf("%q: %s", path, text)
				}
			}()
			transform.DropFields[*pod](path)
		}()
	}
}

func TestIntern(t *testing.T) {
	a, b := newPod(), newPod()
	for _, p := range []*pod{a, b} {
		if got, err := transform.Intern(p); err != nil || got != p || !reflect.DeepEqual(got, newPod()) {
			t.Fatal(got, err)
		}
	}
	same := func(what, x, y string, want bool) {
		if got := unsafe.StringData(x) == unsafe.StringData(y); got != want {
			t.Errorf("%s shared: %t", what, got)
		}
	}
	same("namespace", a.Namespace, b.Namespace, true)
	same("label", a.Labels["app"], b.Labels["app"], true)
	same("node", a.Spec.Node, b.Spec.Node, true)
	same("node in a map", a.Nodes["x"].Node, b.Nodes["x"].Node, true)
	same("argument", a.Spec.Args[0], b.Spec.Args[0], true)
	same("image", a.Spec.Image.(string), b.Spec.Image.(string), true)
	same("name", a.Name, b.Name, false)

	x, y := newMaps(), newMaps()
	for _, u := range []*unstructured.Unstructured{x, y} {
		if got, err := transform.Intern(u); err != nil || !reflect.DeepEqual(got, newMaps()) {
			t.Fatal(got, err)
		}
	}
	node := func(u *unstructured.Unstructured) string { return u.Object["spec"].(map[string]any)["node"].(string) }
	same("node of maps", node(x), node(y), true)
}

var _ = []informer.TransformFunc[*pod]{transform.DropLastApplied[*pod], transform.KeepMetadata[*pod], transform.Intern[*pod]}
