// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var siteVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}

// SiteCRD is the definition of the resource, for a test or for kubectl.
const SiteCRD = `{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "sites.example.com"},
  "spec": {
    "group": "example.com", "scope": "Namespaced",
    "names": {"plural": "sites", "singular": "site", "kind": "Site", "listKind": "SiteList"},
    "versions": [{
      "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
      "schema": {"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
          "pages": {"type": "object", "additionalProperties": {"type": "string"}}}},
        "status": {"type": "object", "properties": {
          "pages": {"type": "integer"}, "observedGeneration": {"type": "integer", "format": "int64"}}}
      }}}
    }]
  }
}`

// Site is a set of pages to publish.
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              SiteSpec   `json:"spec,omitempty"`   // what is wanted
	Status            SiteStatus `json:"status,omitempty"` // what there is
}

// SiteSpec is what is wanted.
type SiteSpec struct {
	Pages map[string]string `json:"pages,omitempty"` // text by name, which is part of the name of an object
}

// SiteStatus is what there is.
type SiteStatus struct {
	Pages              int   `json:"pages"`                        // how many are published
	ObservedGeneration int64 `json:"observedGeneration,omitempty"` // of the site that they were published for
}

// SiteList is a list of sites.
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Site `json:"items"` // in the order of the list
}

// DeepCopyObject copies the site.
func (s *Site) DeepCopyObject() runtime.Object {
	return &Site{
		TypeMeta:   s.TypeMeta,
		ObjectMeta: *s.ObjectMeta.DeepCopy(),
		Spec:       SiteSpec{Pages: maps.Clone(s.Spec.Pages)},
		Status:     s.Status,
	}
}

// DeepCopyObject copies the list and its sites.
func (l *SiteList) DeepCopyObject() runtime.Object {
	out := &SiteList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy(), Items: make([]Site, len(l.Items))}
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*Site)
	}
	return out
}

func addToScheme(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(siteVersion, &Site{}, &SiteList{})
	metav1.AddToGroupVersion(scheme, siteVersion)
}
