// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/informerkit/informer/internal/quantity"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// prepare takes an object as it came apart, then transforms it. It came from a source of a
// union, or from is nil.
func (f *DeltaFIFO[T]) prepare(obj T, from *feed[T]) (Delta[T], error) {
	d, m, err := f.identify(obj)
	if err != nil {
		return d, err
	}
	err = f.transformDelta(&d, m)
	from.claim(&d)
	return d, err
}

// identify returns a delta with key, UID and version of an object as it came, and its
// metadata, nil if it has none. The error is an *ObjectError.
func (f *DeltaFIFO[T]) identify(obj T) (Delta[T], metav1.Object, error) {
	d := Delta[T]{Object: obj}
	m, err := accessor(obj)
	switch {
	case err == nil:
		d.UID, d.ResourceVersion = m.GetUID(), m.GetResourceVersion()
	case errors.Is(err, errNilObject):
		return d, nil, &ObjectError{Err: err}
	default:
		m = nil // a type without metadata, for which there is a KeyFunc
	}
	d.Key, err = f.keyOf(obj, m)
	if err == nil && d.Key == "" {
		err = errEmptyKey
	}
	if err != nil {
		return d, nil, &ObjectError{UID: d.UID, ResourceVersion: d.ResourceVersion, Err: err}
	}
	return d, m, nil
}

func (f *DeltaFIFO[T]) keyOf(obj T, m metav1.Object) (string, error) {
	if f.defaultKey && m != nil && m.GetName() != "" {
		return f.keyOfName(m.GetNamespace(), m.GetName()), nil
	}
	return f.keyFunc(obj)
}

// keyOfName is JoinKey, by the known objects where they can.
func (f *DeltaFIFO[T]) keyOfName(namespace, name string) string {
	if f.interner != nil {
		return f.interner.internKey(namespace, name)
	}
	return JoinKey(namespace, name)
}

func (f *DeltaFIFO[T]) identityOfName(namespace, name string) (resourceVersion string, uid types.UID, ok bool) {
	return f.identityOfKey(f.keyOfName(namespace, name))
}

// transformDelta transforms the object of a delta; m is its metadata, nil if it has none.
// The error is an *ObjectError.
func (f *DeltaFIFO[T]) transformDelta(d *Delta[T], m metav1.Object) error {
	if f.transform == nil {
		return nil
	}
	var namespace, name string
	if m != nil { // read now: the transform may work in place
		namespace, name = m.GetNamespace(), m.GetName()
	}
	obj, err := f.transform(d.Object)
	if err == nil {
		err = checkTransformed(obj, m != nil, types.NamespacedName{Namespace: namespace, Name: name})
	}
	if err != nil {
		return &ObjectError{
			Key: d.Key, UID: d.UID, ResourceVersion: d.ResourceVersion,
			Err: fmt.Errorf("transform: %w", err),
		}
	}
	d.Object = obj
	return nil
}

// checkTransformed reports an object that went missing or got another name.
func checkTransformed(obj any, named bool, was types.NamespacedName) error {
	m, err := accessor(obj)
	switch {
	case errors.Is(err, errNilObject):
		return err
	case err != nil || !named:
		return nil // no metadata, before or after
	case m.GetNamespace() != was.Namespace || m.GetName() != was.Name:
		return errRenamed
	}
	return nil
}

// newestState is what is known of a key, from wherever that is newest.
type newestState[T any] struct {
	found   bool // somebody knows of the key
	present bool // and it is not deleted
	known   bool // it is the known objects who do
	object  T
	version string
	uid     types.UID
	source  string // of a union; otherwise ""
}

// newestLocked looks into the queue, then at what is being processed, then into the known
// objects.
func (f *DeltaFIFO[T]) newestLocked(key string) newestState[T] {
	deltas := f.queue.get(key)
	if deltas == nil {
		deltas = f.flights[key].deltas
	}
	if deltas == nil {
		deltas = f.whole.get(key)
	}
	if deltas == nil && f.taken != nil {
		deltas = f.taken.get(key)
	}
	if deltas == nil {
		deltas = f.wholeTaken.get(key)
	}
	if deltas != nil {
		d := deltas.Newest()
		return newestState[T]{
			found: true, present: d.Type != DeltaDeleted,
			object: d.Object, version: d.ResourceVersion, uid: d.UID, source: d.source,
		}
	}
	if f.known == nil {
		return newestState[T]{}
	}
	version, uid, ok := f.known.Identity(key)
	if !ok {
		return newestState[T]{}
	}
	obj, ok := f.known.Get(key)
	last := newestState[T]{found: ok, present: ok, known: ok, object: obj, version: version, uid: uid}
	if f.union && f.sourced != nil {
		last.source = f.sourced.sourceOf(key)
	}
	return last
}

// identical reports whether an object with this version and UID is, content aside, the
// newest state.
func (n newestState[T]) identical(version string, uid types.UID) bool {
	return n.present && n.version == version && n.uid == uid
}

// sameContent compares by value. DeepEqual settles nearly all; what differs by it may
// still mean the same to the API: nil and empty slices, quantities in another notation.
func sameContent(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	_, aIs := a.(runtime.Object)
	_, bIs := b.(runtime.Object)
	return aIs && bIs && semanticallyEqual(a, b)
}

// semanticallyEqual takes types that are only half an API's, with unexported fields, for
// different: the comparison panics at these.
func semanticallyEqual(a, b any) (equal bool) {
	defer func() {
		if recover() != nil {
			equal = false
		}
	}()
	return quantity.DeepEqual(a, b)
}

// sameReference reports whether a and b are one and the same pointer.
func sameReference(a, b any) bool {
	va, vb := reflect.ValueOf(a), reflect.ValueOf(b)
	return va.Kind() == reflect.Pointer && vb.Kind() == reflect.Pointer && va.Pointer() == vb.Pointer()
}
