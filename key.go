// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KeyFunc returns the key of an object, the same one for as long as the object lives.
//
// Concurrency: it is called by one goroutine at a time for one queue or store, outside
// their locks, and must not keep or change the object.
//
// Errors: an error concerns that one object, which then counts as one that cannot be applied.
type KeyFunc[T any] func(obj T) (string, error)

// KeyOf is the key function where none is given: namespace/name, or name for an
// object without a namespace.
//
// Errors: an object without metadata, or with an empty name.
func KeyOf[T any](obj T) (string, error) {
	m, err := accessor(obj)
	if err != nil {
		return "", fmt.Errorf("key of %T: %w", obj, err)
	}
	if m.GetName() == "" {
		return "", fmt.Errorf("key of %T: %w", obj, errNoName)
	}
	return JoinKey(m.GetNamespace(), m.GetName()), nil
}

// accessor is meta.Accessor without its detour over any for what is an Object already,
// and with an error instead of a panic for a nil pointer.
func accessor(obj any) (metav1.Object, error) {
	if v := reflect.ValueOf(obj); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errNilObject
	}
	if m, ok := obj.(metav1.Object); ok {
		return m, nil
	}
	return meta.Accessor(obj)
}

// JoinKey returns the key of a namespace and a name: the name alone where the
// namespace is empty.
func JoinKey(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// SplitKey is the inverse of JoinKey.
//
// Errors: a key with more than one slash, as those of a union's source with a key
// prefix may be.
func SplitKey(key string) (namespace, name string, err error) {
	namespace, name, found := strings.Cut(key, "/")
	if !found {
		return "", key, nil
	}
	if strings.Contains(name, "/") {
		return "", "", fmt.Errorf("split key %q: more than one slash", key)
	}
	return namespace, name, nil
}

// keyFuncOr is the one place where the default applies. A type that can never have
// metadata fails in the constructor, not at the first object.
func keyFuncOr[T any](keyFunc KeyFunc[T], constructor string) KeyFunc[T] {
	if keyFunc != nil {
		return keyFunc
	}
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Interface && !t.Implements(reflect.TypeFor[metav1.Object]()) &&
		!t.Implements(reflect.TypeFor[metav1.ObjectMetaAccessor]()) {
		panic(fmt.Sprintf("informer: %s[%v]: KeyFunc is required, %v has no metadata", constructor, t, t))
	}
	return KeyOf[T]
}
