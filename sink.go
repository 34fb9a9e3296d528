// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Sink takes what a Reflector receives: a DeltaFIFO, a Store, or an embedder's own. It
// may be a Bookmarker and an Identifier too. The transform belongs to the sink, which
// takes key, UID and version from the object as it came.
//
// A sink that has the method Resync(ctx) error is asked for it in the period that the
// ReflectorOptions give, from another goroutine.
//
// Ownership: the objects are the sink's.
//
// Concurrency: a Reflector calls one of the methods at a time.
//
// Errors: an *ObjectError concerns the object, any other error the sink. Every method
// may wait (for room in a queue), until ctx ends.
type Sink[T any] interface {
	// Add takes the object of an ADDED, which may be there already.
	Add(ctx context.Context, obj T) error
	// Update takes the object of a MODIFIED, which may not be there yet.
	Update(ctx context.Context, obj T) error
	// Delete takes the object of a DELETED, which may not be there, or have its identity alone.
	Delete(ctx context.Context, obj T) error
	// BeginReplace begins a list.
	BeginReplace(ctx context.Context) (Replacement[T], error)
}

// Replacement is a list on its way into a Sink: any number of Put, Remove and Keep, then
// Commit or Abort, once. Until Commit the sink stays as it was. An object that is put
// twice counts once, as it came last.
type Replacement[T any] interface {
	Put(obj T) error                     // the list holds obj; an *ObjectError concerns obj, any other error the sink
	Remove(obj T) error                  // a DELETED among the initial events
	Keep(obj metav1.Object)              // the list holds this object, unchanged or quarantined: keep what there is
	Commit(resourceVersion string) error // the list is complete
	Abort()                              // the list broke off: the sink stays as it was
}

// Bookmarker is implemented by a Sink that wants to know how far the collection has come
// without an event.
type Bookmarker interface {
	// Bookmark says that the collection has come to the version.
	Bookmark(ctx context.Context, resourceVersion string) error
}

// Identifier is implemented by a Sink that knows what it holds: version and UID as the
// source sent them, the queue's newest state before the store's.
type Identifier[T any] interface {
	// Identity returns what the sink holds under the key of obj.
	Identity(obj T) (resourceVersion string, uid types.UID, ok bool)
}
