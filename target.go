// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// target is a Sink with its type erased, at the place where the type of what a source
// sends has to be asserted anyway. Its errors are an *ObjectError (one object, which may
// be set aside), ErrWrongType (not of this collection), errUnappliable (without an
// identity, or no object at all), a *sinkError, or an *indexFailure (it was applied).
type target interface {
	apply(ctx context.Context, event watch.EventType, obj runtime.Object) error
	applyRun(ctx context.Context, events []arrival) (done int, err error)
	begin(ctx context.Context, scope *rescope) (staging, error)
	beginVerify(ctx context.Context) (staging, error)
	bookmark(ctx context.Context, resourceVersion string) error
	lose(ctx context.Context, obj metav1.Object) error
	identity(obj metav1.Object) (resourceVersion string, uid types.UID, ok bool)
	keyless() bool // an identity alone does not give the sink's key
}

// staging is a Replacement with its type erased.
type staging interface {
	put(obj runtime.Object) error
	remove(obj runtime.Object) error
	keep(obj metav1.Object)
	repaired() []*ObjectError // of beginVerify, after commit
	commit(resourceVersion string) error
	abort()
}

// resyncer is a Sink that can redeliver what it knows.
type resyncer interface {
	Resync(ctx context.Context) error
}

// typedTarget is the target over a Sink[T].
type typedTarget[T Object] struct {
	sink    Sink[T]
	example Object // nil: T decides alone
	kind    schema.GroupVersionKind
	// identify is nil where the sink does not know what it holds.
	identify func(obj T) (resourceVersion string, uid types.UID, ok bool)
	// byName is the same by name; nil where the sink has other keys.
	byName func(namespace, name string) (resourceVersion string, uid types.UID, ok bool)
	// ownKeys says that the sink's keys cannot be told from an object's identity alone.
	ownKeys bool
	lean    bool // the sink is of this package, and to keep an object needs its name alone
	exact   bool // whatever is a T, and has a name, is an object of the collection

	runs runTaker[T] // nil where the sink takes events one by one
	run  run[T]      // memory of applyRun
}

// nameKeeper is a Sink that can be asked by name. Where its keys are not those of KeyOf, an
// object of which nothing but its identity is known has no place in it.
type nameKeeper interface {
	keyedByName() bool
	identityOfName(namespace, name string) (resourceVersion string, uid types.UID, ok bool)
}

func newTarget[T Object](sink Sink[T], example Object) *typedTarget[T] {
	t := &typedTarget[T]{sink: sink, example: example}
	if u, ok := example.(*unstructured.Unstructured); ok {
		t.kind = u.GroupVersionKind()
	}
	t.runs, _ = sink.(runTaker[T])
	t.exact = exactly(reflect.TypeFor[T]())
	switch s := sink.(type) {
	case Identifier[T]:
		t.identify = s.Identity
	case interface {
		identityOf(obj T) (string, types.UID, bool)
	}: // the Store, whose Identity is by key
		t.identify = s.identityOf
	}
	if s, ok := sink.(nameKeeper); ok {
		if t.ownKeys = !s.keyedByName(); !t.ownKeys {
			t.byName = s.identityOfName
		}
	}
	switch sink.(type) {
	case *Store[T], *DeltaFIFO[T], *feed[T]: // one that embeds one of them has a Keep of its own
		t.lean = t.byName != nil
	}
	return t
}

// exactly reports whether the type alone says that something is an object of a collection.
func exactly(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[*unstructured.Unstructured](), reflect.TypeFor[*metav1.Table](),
		reflect.TypeFor[*metav1.Status](), reflect.TypeFor[*Undecodable]():
		return false
	}
	return t.Kind() == reflect.Pointer
}

// name is the default name of a reflector: the type that it expects.
func (t *typedTarget[T]) name() string {
	if t.example != nil {
		if t.kind.Kind != "" {
			return t.kind.GroupKind().String()
		}
		return fmt.Sprintf("%T", t.example)
	}
	return reflect.TypeFor[T]().String()
}

func (t *typedTarget[T]) apply(ctx context.Context, event watch.EventType, obj runtime.Object) error {
	if u, ok := obj.(*Undecodable); ok && u != nil && event == watch.Deleted && t.byName != nil {
		if sink, ok := t.sink.(interface {
			deleteNamed(ctx context.Context, m metav1.Object) error
		}); ok {
			return sinkFailure(sink.deleteNamed(ctx, u))
		}
	}
	typed, err := t.typed(obj)
	if event == watch.Deleted {
		// A DELETED is applied whatever its content: the identity is all it takes.
		typed, err = t.tombstone(obj, typed, err)
	}
	if err != nil {
		return err
	}
	switch event {
	case watch.Added:
		return sinkFailure(t.sink.Add(ctx, typed))
	case watch.Modified:
		return sinkFailure(t.sink.Update(ctx, typed))
	case watch.Deleted:
		return sinkFailure(t.sink.Delete(ctx, typed))
	}
	return fmt.Errorf("%w: event of unknown type %q", errUnappliable, event)
}

// tombstone returns what Delete needs for an object that cannot be decoded: an object of
// the type with nothing but its identity.
func (t *typedTarget[T]) tombstone(obj runtime.Object, typed T, err error) (T, error) {
	u, ok := obj.(*Undecodable)
	if !ok {
		return typed, err
	}
	if t.ownKeys {
		return typed, fmt.Errorf("%w: %w", errUnappliable, err)
	}
	of := reflect.TypeFor[T]()
	if t.example != nil {
		of = reflect.TypeOf(t.example)
	}
	if of.Kind() != reflect.Pointer {
		return typed, err
	}
	bare := reflect.New(of.Elem()).Interface().(T)
	bare.SetNamespace(u.GetNamespace())
	bare.SetName(u.GetName())
	bare.SetUID(u.GetUID())
	bare.SetResourceVersion(u.GetResourceVersion())
	return bare, nil
}

// typed asserts the type, and checks that the object can be told from others.
func (t *typedTarget[T]) typed(obj runtime.Object) (typed T, err error) {
	if err := notAnObject(obj); err != nil {
		return typed, err
	}
	if u, ok := obj.(*Undecodable); ok {
		return typed, objectError(u, u.Err)
	}
	typed, ok := obj.(T)
	if !ok || t.example != nil && reflect.TypeOf(obj) != reflect.TypeOf(t.example) {
		return typed, fmt.Errorf("%w: %T", ErrWrongType, obj)
	}
	if t.kind.Kind != "" {
		if kind := obj.GetObjectKind().GroupVersionKind(); kind.GroupKind() != t.kind.GroupKind() {
			return typed, fmt.Errorf("%w: %s", ErrWrongType, kind.GroupKind())
		}
	}
	if typed.GetName() == "" {
		return typed, fmt.Errorf("%w: %w", errUnappliable, errNoName)
	}
	return typed, nil
}

// notAnObject knows what servers send in the place of an object.
func notAnObject(obj runtime.Object) error {
	if isNil(obj) {
		return fmt.Errorf("%w: %w", errUnappliable, errNilObject)
	}
	switch kind := kindOf(obj); {
	case isTable(obj, kind):
		return fmt.Errorf("%w: %w", errUnappliable, ErrTable)
	case isStatus(obj, kind):
		return fmt.Errorf("%w: a Status in the place of an object", errUnappliable)
	}
	return nil
}

// isNil reports whether there is no object, or a nil pointer to one.
func isNil(obj runtime.Object) bool {
	v := reflect.ValueOf(obj)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// kindOf is the kind of an object that carries it, and has no Go type that would tell.
func kindOf(obj runtime.Object) schema.GroupVersionKind {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.GroupVersionKind()
	}
	return schema.GroupVersionKind{}
}

func isTable(obj runtime.Object, kind schema.GroupVersionKind) bool {
	_, typed := obj.(*metav1.Table)
	return typed || kind.Kind == "Table" && kind.Group == metav1.GroupName
}

func isStatus(obj runtime.Object, kind schema.GroupVersionKind) bool {
	_, typed := obj.(*metav1.Status)
	return typed || kind.Kind == "Status" && kind.Group == "" && kind.Version == "v1"
}

// rescoper is a Sink that tells what left the scope of a list from what was deleted.
type rescoper[T any] interface {
	beginRescoped(ctx context.Context, scope *rescope) (Replacement[T], error)
}

func (t *typedTarget[T]) begin(ctx context.Context, scope *rescope) (staging, error) {
	begin := t.sink.BeginReplace
	if sink, ok := t.sink.(rescoper[T]); ok && scope != nil {
		begin = func(ctx context.Context) (Replacement[T], error) { return sink.beginRescoped(ctx, scope) }
	}
	replacement, err := begin(ctx)
	if err != nil {
		return nil, &sinkError{err}
	}
	return &typedStaging[T]{target: t, replacement: replacement}, nil
}

func (t *typedTarget[T]) bookmark(ctx context.Context, resourceVersion string) error {
	if b, ok := t.sink.(Bookmarker); ok {
		return sinkFailure(b.Bookmark(ctx, resourceVersion))
	}
	return nil
}

func (t *typedTarget[T]) identity(obj metav1.Object) (resourceVersion string, uid types.UID, ok bool) {
	if t.byName != nil {
		return t.byName(obj.GetNamespace(), obj.GetName())
	}
	if t.identify == nil {
		return "", "", false
	}
	typed, ok := t.metadata(obj)
	if !ok {
		return "", "", false
	}
	return t.identify(typed)
}

// metadata returns obj as a T, if it is one, or if a T is metadata alone and obj is that of an
// object, as a list asks about: it then is a T of its own.
func (t *typedTarget[T]) metadata(obj metav1.Object) (typed T, ok bool) {
	typed, ok = obj.(T)
	if _, broken := obj.(*Undecodable); !ok && !broken && reflect.TypeFor[T]() == reflect.TypeFor[*metav1.PartialObjectMetadata]() {
		partial := identityOnly(obj)
		typed, ok = any(&partial).(T)
	}
	return typed, ok
}

func (t *typedTarget[T]) keyless() bool { return t.ownKeys }

// named returns an object of the type with the identity of obj, which may be of another.
func (t *typedTarget[T]) named(obj metav1.Object) (typed T, err error) {
	if typed, ok := t.metadata(obj); ok {
		return typed, nil
	}
	return t.tombstone(&Undecodable{PartialObjectMetadata: identityOnly(obj)}, typed, ErrWrongType)
}

// loser is a Sink that can let go of the object under a key whatever its UID.
type loser[T any] interface {
	lose(ctx context.Context, obj T) error
}

// lose has the sink let go of what it holds under the key of obj.
func (t *typedTarget[T]) lose(ctx context.Context, obj metav1.Object) error {
	sink, ok := t.sink.(loser[T])
	if !ok {
		return nil
	}
	typed, err := t.named(obj)
	if err != nil {
		return err
	}
	return sinkFailure(sink.lose(ctx, typed))
}

// identityOnly copies what a key function may need.
func identityOnly(obj metav1.Object) metav1.PartialObjectMetadata {
	return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace:       obj.GetNamespace(),
		Name:            obj.GetName(),
		UID:             obj.GetUID(),
		ResourceVersion: obj.GetResourceVersion(),
	}}
}

// typedStaging is the staging over a Replacement[T].
type typedStaging[T Object] struct {
	target      *typedTarget[T]
	replacement Replacement[T]
	differs     func(obj T) (resourceVersion string, uid types.UID, ok bool) // of beginVerify; nil: not needed
	found       []*ObjectError                                               // by it
	inside      bool                                                         // a call of the replacement has not returned
}

func (s *typedStaging[T]) put(obj runtime.Object) error {
	typed, err := s.target.typed(obj)
	if err != nil {
		return err
	}
	s.look(typed)
	s.inside = true
	err = s.replacement.Put(typed)
	s.inside = false
	return sinkFailure(err)
}

func (s *typedStaging[T]) remove(obj runtime.Object) error {
	typed, err := s.target.typed(obj)
	if typed, err = s.target.tombstone(obj, typed, err); err != nil {
		return err
	}
	s.inside = true
	err = s.replacement.Remove(typed)
	s.inside = false
	return sinkFailure(err)
}

// keep gives a sink with keys of its own, or an embedder's, an object of its type where it
// can, so that a KeyFunc finds the key: what a streamed list knows of an item is its metadata.
// The others need nothing but the name, and an object for each unchanged item would be more
// than all else that a relist takes.
func (s *typedStaging[T]) keep(obj metav1.Object) {
	if !s.target.lean {
		if typed, err := s.target.named(obj); err == nil {
			obj = typed
		}
	}
	s.inside = true
	s.replacement.Keep(obj)
	s.inside = false
}

// abort leaves a replacement alone that panicked: it may hold its own lock.
func (s *typedStaging[T]) abort() {
	if !s.inside {
		s.replacement.Abort()
	}
}

func (s *typedStaging[T]) commit(resourceVersion string) error {
	return sinkFailure(s.replacement.Commit(resourceVersion))
}

// sinkFailure tells the errors of the sink from those that concern one object.
func sinkFailure(err error) error {
	if err == nil {
		return nil
	}
	if onlyIndexErrors(err) {
		return &indexFailure{err}
	}
	if object, ok := errors.AsType[*ObjectError](err); ok {
		return object
	}
	return &sinkError{err}
}

// objectError names the object by its metadata.
func objectError(m metav1.Object, err error) *ObjectError {
	return &ObjectError{
		Key:             JoinKey(m.GetNamespace(), m.GetName()),
		UID:             m.GetUID(),
		ResourceVersion: m.GetResourceVersion(),
		Err:             err,
	}
}
