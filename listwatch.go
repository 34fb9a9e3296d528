// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"net/http"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Object is an API object: *corev1.Pod, *unstructured.Unstructured,
// *metav1.PartialObjectMetadata, or Object itself for a collection of mixed types.
type Object interface {
	metav1.Object
	runtime.Object
}

// ListerWatcher is the source of a collection: it answers lists and watches in the
// manner of the Kubernetes API.
//
// A source that cannot stream its first list also has the method
// IsWatchListSemanticsUnSupported() bool, and is then never asked to; a wrapper passes
// that method on.
//
// Ownership: what List and Watch return belongs to the caller.
//
// Concurrency: a Reflector makes one call at a time, and none while a stream is open but
// for a page that is fetched ahead.
//
// Errors: as apierrors.APIStatus where the server sent one, so that recovery can tell
// them apart. Both functions must return when ctx ends.
type ListerWatcher interface {
	// List returns a list of the objects, or a page of it.
	List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)
	// Watch opens a stream of events. One that calls code of others in a goroutine of its
	// own, such as the decoders of types, may have a method Rethrow(), which panics as that
	// code did, if it did: it is called at each event of type ERROR.
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// StreamLister is implemented by a ListerWatcher that can hand a list over one object at
// a time, so that it is never held whole.
type StreamLister interface {
	// ListStream lists as List does, and calls yield for each object, in the order of the
	// list, as soon as it is decoded. The error of yield ends the list and is returned.
	//
	// known, if it is not nil, is asked for each item before the item is decoded, with
	// its metadata (at least namespace, name, UID and version) and a hash of its bytes
	// (64 bits, equal for equal bytes as long as the process lives): true, and the item
	// is skipped as unchanged.
	//
	// An item whose identity could be read and whose content could not is yielded as an
	// *Undecodable. The metadata returned is that of the list: version, continue token
	// and number of remaining items.
	ListStream(ctx context.Context, options metav1.ListOptions, known func(item metav1.Object, hash uint64) bool, yield func(obj runtime.Object) error) (metav1.ListMeta, error)
}

// Undecodable stands for an object whose identity could be read and whose content could
// not, in lists and in watch events.
type Undecodable struct {
	metav1.PartialObjectMetadata
	Err error // why; it must not hold content of the object
}

// DeepCopyObject copies the identity and shares Err.
func (u *Undecodable) DeepCopyObject() runtime.Object {
	return &Undecodable{PartialObjectMetadata: *u.PartialObjectMetadata.DeepCopy(), Err: u.Err}
}

// ObjectList is a list for sources whose objects have no list type of their own.
type ObjectList[T Object] struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []T `json:"items"` // the objects, in the order of the list
}

// DeepCopyObject copies the list and its objects.
func (l *ObjectList[T]) DeepCopyObject() runtime.Object {
	out := &ObjectList[T]{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy(), Items: make([]T, len(l.Items))}
	for i, obj := range l.Items {
		out.Items[i] = obj.DeepCopyObject().(T)
	}
	return out
}

// ListWatch makes a ListerWatcher of two functions.
type ListWatch struct {
	// ListFunc answers List; required.
	ListFunc func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)
	// WatchFunc answers Watch; required.
	WatchFunc func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
	// NoWatchList says that the source cannot stream the first list; it is never asked to.
	NoWatchList bool
}

// List calls ListFunc.
func (l *ListWatch) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return l.ListFunc(ctx, options)
}

// Watch calls WatchFunc.
func (l *ListWatch) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return l.WatchFunc(ctx, options)
}

// IsWatchListSemanticsUnSupported reports NoWatchList, under the name that client-go gave it.
func (l *ListWatch) IsWatchListSemanticsUnSupported() bool { return l.NoWatchList }

// FromClient makes a ListerWatcher of any typed, dynamic or metadata client of client-go,
// for example clientset.CoreV1().Pods("").
//
// client-go's fake clients do not serve initial events. They are found out by their
// watcher, and listed at once; a *watch.FakeWatcher, often the only one that a test has, is
// kept for the watch that follows.
func FromClient[L runtime.Object](client interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}) *ListWatch {
	var kept atomic.Pointer[watch.FakeWatcher]
	return &ListWatch{
		ListFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := client.List(ctx, options)
			if err != nil {
				return nil, err // not a nil L in a runtime.Object that is not nil
			}
			return list, nil
		},
		WatchFunc: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			if fake := kept.Swap(nil); fake != nil {
				return fake, nil
			}
			w, err := client.Watch(ctx, options)
			if err != nil {
				return nil, err
			}
			if options.SendInitialEvents == nil {
				return w, nil
			}
			// The fakes have a method that says so, but on the clientset, which is out of
			// sight here.
			switch fake := w.(type) {
			case *watch.RaceFreeFakeWatcher:
				fake.Stop()
				return nil, errNoWatchList
			case *watch.FakeWatcher:
				kept.Store(fake)
				return nil, errNoWatchList
			}
			return w, nil
		},
	}
}

// errNoWatchList is a refusal, and remembered as one.
var errNoWatchList = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status:  metav1.StatusFailure,
	Code:    http.StatusMethodNotAllowed,
	Reason:  metav1.StatusReasonMethodNotAllowed,
	Message: "a fake client does not send initial events",
}}
