// SPDX-License-Identifier: Apache-2.0

package informertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/informerkit/informer"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

// LoadJSON creates an object of each piece of JSON and keeps it encoded: serving it over
// HTTP copies its bytes, and nothing is held decoded. That is for collections of very many
// objects; a List of this face decodes each object anew. UID and creation time are kept if
// an object has them.
//
// Errors: JSON that is no object of this collection, a name that is missing or taken. What
// came before it is stored.
func (c *Collection[T]) LoadJSON(objects iter.Seq[[]byte]) error {
	n := 0
	for data := range objects {
		if err := c.engine.load(data); err != nil {
			return fmt.Errorf("load object %d: %w", n, err)
		}
		n++
	}
	return nil
}

// load stores an encoded object.
func (e *engine) load(data []byte) error {
	meta, content, err := e.readJSON(data)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	key := informer.JoinKey(meta.Namespace, meta.Name)
	if _, exists := e.objects[key]; exists {
		return apierrors.NewAlreadyExists(e.resource, meta.Name)
	}
	version := e.revision.Add(1)
	meta.ResourceVersion = strconv.FormatUint(version, 10)
	encoded, err := joinJSON(meta, content)
	if err != nil {
		return err
	}
	after := &entry{
		key: key, namespace: meta.Namespace, name: meta.Name, labels: labels.Set(meta.Labels),
		version: version, newObject: e.newObject,
	}
	after.encoded.Store(&encoded)
	e.commitLocked(nil, after, version)
	return nil
}

// readJSON reads the metadata of an encoded object, completes it, and returns the fields
// beside it but for kind and apiVersion.
func (e *engine) readJSON(data []byte) (meta metav1.ObjectMeta, content map[string]json.RawMessage, err error) {
	if err := json.Unmarshal(data, &content); err != nil {
		return meta, nil, err
	}
	if err := json.Unmarshal(content["metadata"], &meta); err != nil {
		return meta, nil, fmt.Errorf("decode metadata: %w", err)
	}
	if meta.Name == "" {
		return meta, nil, errors.New("metadata.name is empty")
	}
	if obj := e.newObject(); !isUnstructured(obj) {
		if err := decodeInto(data, obj); err != nil {
			return meta, nil, err
		}
	}
	for _, name := range []string{"kind", "apiVersion", "metadata"} {
		delete(content, name)
	}
	if meta.UID == "" {
		meta.UID = newUID()
	}
	if meta.CreationTimestamp.IsZero() {
		meta.CreationTimestamp = metav1.Now().Rfc3339Copy()
	}
	return meta, content, nil
}

func isUnstructured(obj informer.Object) bool {
	_, is := obj.(*unstructured.Unstructured)
	return is
}

// joinJSON writes an object with its metadata first, as the servers of built-in resources do.
func joinJSON[V any](metadata any, content map[string]V) ([]byte, error) {
	first, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	rest, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(`{"metadata":,`)+len(first)+len(rest))
	out = append(append(out, `{"metadata":`...), first...)
	if len(content) > 0 {
		out, rest = append(out, ','), rest[1:] // without its brace
	} else {
		rest = rest[len(rest)-1:]
	}
	return append(out, rest...), nil
}
