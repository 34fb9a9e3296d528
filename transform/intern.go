// SPDX-License-Identifier: Apache-2.0

package transform

import (
	"reflect"
	"unique"

	"github.com/informerkit/informer"
)

// maxInterned is the longest string that is shared, in bytes: what is longer is hardly
// ever repeated.
const maxInterned = 256

// Intern shares the strings of objects that are equal in all of them: labels and
// annotations, namespaces, images, node names and whatever else is repeated, but for
// name, UID and version, which are each object's own. A string that no object has any
// more is let go.
//
// A client of package rest shares strings in JSON and Protobuf by itself, and needs no
// Intern; it is for other sources, and for CBOR.
//
// It works in place, on structs, maps and slices of any depth.
func Intern[T informer.Object](obj T) (T, error) {
	n := interner{obj.GetName(), string(obj.GetUID()), obj.GetResourceVersion()}
	n.visit(reflect.ValueOf(obj))
	return obj, nil
}

// interner knows the strings that are an object's own.
type interner struct{ name, uid, version string }

// share returns the one copy of a string.
func (n interner) share(s string) string {
	if s == "" || len(s) > maxInterned || s == n.name || s == n.uid || s == n.version {
		return s
	}
	return unique.Make(s).Value()
}

// visit shares the strings in a value that can be set, or is held by a reference.
func (n interner) visit(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(n.share(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			n.visit(v.Elem())
		}
	case reflect.Interface:
		n.visitAny(v)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				n.visit(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		for i := range v.Len() {
			n.visit(v.Index(i))
		}
	case reflect.Map:
		n.visitMap(v)
	}
}

func (n interner) visitAny(v reflect.Value) {
	if v.IsNil() {
		return
	}
	elem := v.Elem()
	if elem.Kind() == reflect.String && v.CanSet() && elem.Type() == reflect.TypeFor[string]() {
		v.Set(reflect.ValueOf(n.share(elem.String())))
		return
	}
	n.visit(elem)
}

// visitMap shares keys and values: a key is shared where the map is made anew.
func (n interner) visitMap(v reflect.Value) {
	switch m := v.Interface().(type) {
	case map[string]string:
		fresh := make(map[string]string, len(m))
		for key, value := range m {
			fresh[n.share(key)] = n.share(value)
		}
		if v.CanSet() && len(m) > 0 {
			v.Set(reflect.ValueOf(fresh))
		}
		return
	case map[string]any:
		for key, value := range m { // keys stay: who decodes maps shares them
			if text, ok := value.(string); ok {
				m[key] = n.share(text)
			} else {
				n.visit(reflect.ValueOf(value))
			}
		}
		return
	}
	value := reflect.New(v.Type().Elem()).Elem()
	for iter := v.MapRange(); iter.Next(); {
		value.Set(iter.Value())
		n.visit(value)
		v.SetMapIndex(iter.Key(), value)
	}
}
