// SPDX-License-Identifier: Apache-2.0

package rest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// asked is the metadata of an item that has not been decoded. Its strings are made when
// somebody wants one of them: of a hash that is new nobody does, and so of no item of a first
// list.
type asked struct {
	metav1.PartialObjectMetadata
	id        identity
	described bool
}

// begin makes it the metadata of another item, as long as that one's bytes are valid.
func (a *asked) begin(id identity) { a.id, a.described = id, false }

func (a *asked) describe() *metav1.PartialObjectMetadata {
	if !a.described {
		a.id.describe(&a.PartialObjectMetadata)
		a.described = true
	}
	return &a.PartialObjectMetadata
}

func (a *asked) GetNamespace() string             { return a.describe().Namespace }
func (a *asked) GetName() string                  { return a.describe().Name }
func (a *asked) GetUID() types.UID                { return a.describe().UID }
func (a *asked) GetResourceVersion() string       { return a.describe().ResourceVersion }
func (a *asked) GetObjectMeta() metav1.Object     { return a.describe() }
func (a *asked) GetObjectKind() schema.ObjectKind { return a.describe() }
func (a *asked) DeepCopyObject() runtime.Object   { return a.describe().DeepCopyObject() }
