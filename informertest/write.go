// SPDX-License-Identifier: Apache-2.0

package informertest

import (
	"crypto/rand"
	"fmt"
	"strconv"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/internal/quantity"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
)

// create stores obj, which the engine takes over. A seed keeps the UID and the time that it has.
func (e *engine) create(obj informer.Object, seed bool) (*entry, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.adoptLocked(obj)
	if !seed {
		if version := obj.GetResourceVersion(); version != "" && version != "0" {
			return nil, errInternal("resourceVersion should not be set on objects to be created")
		}
		obj.SetUID("")
		obj.SetCreationTimestamp(metav1.Time{})
		obj.SetDeletionTimestamp(nil)
	}
	if obj.GetName() == "" {
		if obj.GetGenerateName() == "" {
			return nil, errNoName(e.kind.GroupKind())
		}
		obj.SetName(obj.GetGenerateName() + utilrand.String(5))
	}
	if _, exists := e.objects[informer.JoinKey(obj.GetNamespace(), obj.GetName())]; exists {
		return nil, apierrors.NewAlreadyExists(e.resource, obj.GetName())
	}
	if obj.GetUID() == "" {
		obj.SetUID(newUID())
	}
	if created := obj.GetCreationTimestamp(); created.IsZero() {
		obj.SetCreationTimestamp(metav1.Now().Rfc3339Copy())
	}
	after := newEntry(obj, e.revision.Add(1), e.newObject)
	e.commitLocked(nil, after, after.version)
	return after, nil
}

// update replaces the object with the key of obj, which the engine takes over.
func (e *engine) update(obj informer.Object) (*entry, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.adoptLocked(obj)
	before, exists := e.objects[informer.JoinKey(obj.GetNamespace(), obj.GetName())]
	if !exists {
		return nil, apierrors.NewNotFound(e.resource, obj.GetName())
	}
	stored := before.view()
	if err := e.checkLocked(before, stored, metav1.Preconditions{
		UID:             pointerUnlessEmpty(obj.GetUID()),
		ResourceVersion: pointerUnlessEmpty(obj.GetResourceVersion()),
	}); err != nil {
		return nil, err
	}
	obj.SetUID(stored.GetUID())
	obj.SetCreationTimestamp(stored.GetCreationTimestamp())
	obj.SetDeletionTimestamp(stored.GetDeletionTimestamp())
	obj.SetResourceVersion(stored.GetResourceVersion())
	if quantity.DeepEqual(obj, stored) {
		return before, nil // a write that changes nothing is no write
	}
	after := newEntry(obj, e.revision.Add(1), e.newObject)
	if obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0 {
		e.commitLocked(before, nil, after.version)
		return after, nil
	}
	e.commitLocked(before, after, after.version)
	return after, nil
}

// remove deletes an object and returns its last state; one with finalizers is only marked.
func (e *engine) remove(namespace, name string, conditions metav1.Preconditions) (informer.Object, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before, exists := e.objects[informer.JoinKey(namespace, name)]
	if !exists {
		return nil, apierrors.NewNotFound(e.resource, name)
	}
	stored := before.view()
	if err := e.checkLocked(before, stored, conditions); err != nil {
		return nil, err
	}
	if len(stored.GetFinalizers()) == 0 {
		version := e.revision.Add(1)
		e.commitLocked(before, nil, version)
		return before.copy(version), nil
	}
	if stored.GetDeletionTimestamp() != nil {
		return before.copy(0), nil
	}
	marked := before.copy(0)
	now := metav1.Now().Rfc3339Copy()
	marked.SetDeletionTimestamp(&now)
	after := newEntry(marked, e.revision.Add(1), e.newObject)
	e.commitLocked(before, after, after.version)
	return after.copy(0), nil
}

// checkLocked refuses a write to another object, or another version, than was meant.
func (e *engine) checkLocked(before *entry, stored informer.Object, want metav1.Preconditions) error {
	if want.UID != nil && *want.UID != stored.GetUID() {
		return apierrors.NewConflict(e.resource, before.name, fmt.Errorf(
			"precondition failed: UID in precondition: %s, UID in object meta: %s", *want.UID, stored.GetUID()))
	}
	if want.ResourceVersion != nil && *want.ResourceVersion != strconv.FormatUint(before.version, 10) {
		return apierrors.NewConflict(e.resource, before.name, fmt.Errorf(
			"the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

func pointerUnlessEmpty[S ~string](s S) *S {
	if s == "" || s == "0" {
		return nil
	}
	return &s
}

// get returns an object.
func (e *engine) get(namespace, name string) (*entry, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	found, exists := e.objects[informer.JoinKey(namespace, name)]
	if !exists {
		return nil, apierrors.NewNotFound(e.resource, name)
	}
	return found, nil
}

// newUID returns a random UUID of version 4.
func newUID() types.UID {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}
