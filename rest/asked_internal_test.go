// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Whichever way somebody asks, it is about the item at hand.
func TestAsked(t *testing.T) {
	var a asked
	for _, name := range []string{"one", "two"} {
		for way, get := range map[string]func() metav1.Object{
			"methods":   func() metav1.Object { return &a },
			"metadata":  func() metav1.Object { return a.GetObjectMeta() },
			"deep copy": func() metav1.Object { return a.DeepCopyObject().(metav1.Object) },
		} {
			id, err := identify([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"ns","name":"`+name+`","uid":"u`+name+`","resourceVersion":"7"}}`), true)
			if err != nil {
				t.Fatal(err)
			}
			a.begin(id)
			m := get()
			if m.GetNamespace() != "ns" || m.GetName() != name || m.GetUID() != types.UID("u"+name) || m.GetResourceVersion() != "7" {
				t.Errorf("%s: %s/%s %s %s", way, m.GetNamespace(), m.GetName(), m.GetUID(), m.GetResourceVersion())
			}
			a.begin(id)
			if kind := a.GetObjectKind().GroupVersionKind(); kind.Kind != "Pod" || kind.Version != "v1" {
				t.Errorf("%s: %v", way, kind)
			}
		}
	}
}
