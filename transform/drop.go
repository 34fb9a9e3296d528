// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// lastApplied is the annotation in which kubectl apply keeps a copy of the whole object:
// https://kubernetes.io/docs/reference/labels-annotations-taints/
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// DropLastApplied removes the annotation in which kubectl apply keeps a copy of the object.
func DropLastApplied[T informer.Object](obj T) (T, error) {
	annotations := obj.GetAnnotations()
	if _, ok := annotations[lastApplied]; !ok {
		return obj, nil
	}
	delete(annotations, lastApplied)
	if len(annotations) == 0 {
		annotations = nil
	}
	obj.SetAnnotations(annotations)
	return obj, nil
}

// KeepMetadata leaves of an object its kind and its metadata. A client for
// *metav1.PartialObjectMetadata saves the transfer and the decoding of the rest, too.
func KeepMetadata[T informer.Object](obj T) (T, error) {
	if u, ok := any(obj).(*unstructured.Unstructured); ok {
		for name := range u.Object {
			if !isIdentity(name) {
				delete(u.Object, name)
			}
		}
		return obj, nil
	}
	v := reflect.ValueOf(obj)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return obj, fmt.Errorf("keep metadata: %T is no pointer to a struct", obj)
	}
	v = v.Elem()
	for i := range v.NumField() {
		switch v.Type().Field(i).Type {
		case reflect.TypeFor[metav1.TypeMeta](), reflect.TypeFor[metav1.ObjectMeta]():
		default:
			if v.Field(i).CanSet() {
				v.Field(i).SetZero()
			}
		}
	}
	return obj, nil
}

// isIdentity reports whether a member of an object says what it is.
func isIdentity(name string) bool {
	return name == "apiVersion" || name == "kind" || name == "metadata"
}

// kept are the metadata that no transform may touch.
var kept = []string{"name", "namespace", "uid", "resourceVersion"}

// DropFields removes fields by their names in JSON, as in "spec.template" or
// "metadata.annotations". A name does not lead into a list, and one that an object does
// not have is nothing to drop.
//
// It panics if a path is empty, or leads to kind, apiVersion, metadata as a whole, or to
// its name, namespace, uid or resourceVersion; and, but for unstructured objects, if T is
// a struct that cannot have such a field.
func DropFields[T informer.Object](paths ...string) informer.TransformFunc[T] {
	var all [][]string
	for _, path := range paths {
		parts := strings.Split(path, ".")
		whole := len(parts) == 1 && isIdentity(path)
		identity := len(parts) > 1 && parts[0] == "metadata" && slices.Contains(kept, parts[1])
		if slices.Contains(parts, "") || whole || identity {
			panic(fmt.Sprintf("informer: transform.DropFields: %q cannot be dropped", path))
		}
		all = append(all, parts)
	}
	t := reflect.TypeFor[T]()
	if t == reflect.TypeFor[*unstructured.Unstructured]() {
		return func(obj T) (T, error) {
			for _, parts := range all {
				unstructured.RemoveNestedField(any(obj).(*unstructured.Unstructured).Object, parts...)
			}
			return obj, nil
		}
	}
	for _, parts := range all {
		if !hasField(t, parts) {
			panic(fmt.Sprintf("informer: transform.DropFields: %v has no field %q", t, strings.Join(parts, ".")))
		}
	}
	return func(obj T) (T, error) {
		for _, parts := range all {
			dropField(reflect.ValueOf(obj), parts)
		}
		return obj, nil
	}
}

// hasField reports whether a type has the field of a path. A map may have any.
func hasField(t reflect.Type, path []string) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if len(path) == 0 || t.Kind() == reflect.Map || t.Kind() == reflect.Interface {
		return true
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	field, ok := fieldNamed(t, path[0])
	return ok && hasField(field.Type, path[1:])
}

// fieldNamed finds a field by its name in JSON, in what is embedded too.
func fieldNamed(t reflect.Type, name string) (reflect.StructField, bool) {
	for _, field := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.IsExported() && (tag == name || tag == "" && !field.Anonymous && field.Name == name) {
			return field, true
		}
	}
	return reflect.StructField{}, false
}

func dropField(v reflect.Value, path []string) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		field, _ := fieldNamed(v.Type(), path[0])
		to, err := v.FieldByIndexErr(field.Index)
		switch {
		case err != nil: // embedded, and nil
		case len(path) == 1:
			to.SetZero()
		default:
			dropField(to, path[1:])
		}
	case reflect.Map:
		dropKey(v, strings.Join(path, "."), path)
	}
}

// dropKey drops a key of a map: all of the path, for annotations have dots in their
// names, or its first part and what follows in the value.
func dropKey(v reflect.Value, whole string, path []string) {
	if v.Type().Key().Kind() != reflect.String {
		return
	}
	key := func(name string) reflect.Value { return reflect.ValueOf(name).Convert(v.Type().Key()) }
	if !v.MapIndex(key(whole)).IsValid() && len(path) > 1 {
		if value := v.MapIndex(key(path[0])); value.IsValid() {
			changed := reflect.New(value.Type()).Elem() // one in a map cannot be set
			changed.Set(value)
			dropField(changed, path[1:])
			v.SetMapIndex(key(path[0]), changed)
		}
		return
	}
	v.SetMapIndex(key(whole), reflect.Value{})
}
