// SPDX-License-Identifier: Apache-2.0

package informertest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// entry is one object at one version. It never changes, so it is shared by the state, the
// history and the answers on their way.
type entry struct {
	key       string
	namespace string
	name      string
	labels    labels.Set
	version   uint64

	// obj is nil for an object that was loaded as JSON and is only ever copied as bytes.
	obj       informer.Object
	newObject func() informer.Object

	// encoded is the JSON without kind and apiVersion, made when it is first asked for.
	encoded atomic.Pointer[[]byte]
}

// newEntry takes obj over.
func newEntry(obj informer.Object, version uint64, newObject func() informer.Object) *entry {
	obj.SetResourceVersion(strconv.FormatUint(version, 10))
	return &entry{
		key:       informer.JoinKey(obj.GetNamespace(), obj.GetName()),
		namespace: obj.GetNamespace(),
		name:      obj.GetName(),
		labels:    obj.GetLabels(),
		version:   version,
		obj:       obj,
		newObject: newObject,
	}
}

// newEntryOf makes an entry of an object that is only answered with.
func newEntryOf(obj informer.Object) *entry {
	return &entry{
		key:  informer.JoinKey(obj.GetNamespace(), obj.GetName()),
		name: obj.GetName(), namespace: obj.GetNamespace(), labels: obj.GetLabels(), obj: obj,
	}
}

// copy returns the object for the caller to keep, at the given version; 0 means its own.
func (e *entry) copy(version uint64) informer.Object {
	var obj informer.Object
	if e.obj != nil {
		obj = e.obj.DeepCopyObject().(informer.Object)
	} else {
		obj = e.newObject()
		if err := decodeInto(*e.encoded.Load(), obj); err != nil {
			panic(fmt.Sprintf("informertest: %s does not decode into %T: %v", e.key, obj, err)) // loadJSON tried it
		}
	}
	if version != 0 {
		obj.SetResourceVersion(strconv.FormatUint(version, 10))
	}
	return obj
}

// view returns the object to look at.
func (e *entry) view() informer.Object {
	if e.obj != nil {
		return e.obj
	}
	return e.copy(0)
}

// decodeInto decodes JSON that may lack kind and apiVersion, which unstructured's own
// decoder demands.
func decodeInto(data []byte, obj informer.Object) error {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		gvk := u.GroupVersionKind()
		content := map[string]any{}
		if err := utiljson.Unmarshal(data, &content); err != nil { // integers stay integers
			return err
		}
		u.Object = content
		if u.GetKind() == "" && gvk.Kind != "" {
			u.SetGroupVersionKind(gvk)
		}
		return nil
	}
	return json.Unmarshal(data, obj)
}

// json returns the encoded object without kind and apiVersion, which differ between the
// places where an object is served. The bytes are shared.
func (e *entry) json() ([]byte, error) {
	if data := e.encoded.Load(); data != nil {
		return *data, nil
	}
	data, err := encodeBare(e.obj)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", e.key, err)
	}
	e.encoded.Store(&data)
	return data, nil
}

// jsonAt is json at another version than the object's own; 0 means its own.
func (e *entry) jsonAt(version uint64) ([]byte, error) {
	if version == 0 {
		return e.json()
	}
	return encodeBare(e.copy(version))
}

// encodeBare encodes obj without kind and apiVersion.
func encodeBare(obj informer.Object) ([]byte, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		content := make(map[string]any, len(u.Object))
		for name, value := range u.Object {
			if name != "kind" && name != "apiVersion" && name != "metadata" {
				content[name] = value
			}
		}
		return joinJSON(u.Object["metadata"], content)
	}
	if obj.GetObjectKind().GroupVersionKind() != (schema.GroupVersionKind{}) {
		obj = obj.DeepCopyObject().(informer.Object)
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return json.Marshal(obj)
}

// metadata returns the object reduced to its metadata.
func (e *entry) metadata(version uint64) *metav1.PartialObjectMetadata {
	obj := e.view()
	text := obj.GetResourceVersion()
	if version != 0 {
		text = strconv.FormatUint(version, 10)
	}
	meta := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name:                       obj.GetName(),
		GenerateName:               obj.GetGenerateName(),
		Namespace:                  obj.GetNamespace(),
		UID:                        obj.GetUID(),
		ResourceVersion:            text,
		Generation:                 obj.GetGeneration(),
		CreationTimestamp:          obj.GetCreationTimestamp(),
		DeletionTimestamp:          obj.GetDeletionTimestamp(),
		DeletionGracePeriodSeconds: obj.GetDeletionGracePeriodSeconds(),
		Labels:                     obj.GetLabels(),
		Annotations:                obj.GetAnnotations(),
		OwnerReferences:            obj.GetOwnerReferences(),
		Finalizers:                 obj.GetFinalizers(),
		ManagedFields:              obj.GetManagedFields(),
	}}
	meta.SetGroupVersionKind(partialKind)
	return meta
}

var partialKind = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")
