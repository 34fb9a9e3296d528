// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/informerkit/informer"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// What is asked of a server for metadata alone. It falls back to whole objects, of which
// the rest is then ignored: https://kubernetes.io/docs/reference/using-api/api-concepts/
const (
	asMetadata     = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	asMetadataList = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// metadataType is the type of every object that is metadata alone, whichever way the
// server sent it.
var metadataType = metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}

// form is how objects of type T are asked for and read.
type form[T informer.Object] struct {
	asList, asWatch string // parameters of what is asked for
	inherits        bool   // items of a list take their kind from the list
	kinds           *kinds
	codecs          map[Encoding]*codec[T]
}

// decodeFunc makes an object of its bytes, which stay the caller's. JSON is known to be valid. It
// is used by one goroutine at a time.
type decodeFunc[T informer.Object] func(raw []byte) (T, error)

// newForm finds the form that T asks for, in JSON and, if T has it, in another encoding. With
// dropManaged it leaves managedFields out.
func newForm[T informer.Object](encoding Encoding, dropManaged bool) (*form[T], error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("%v is no pointer to a struct", t)
	}
	f := &form[T]{codecs: map[Encoding]*codec[T]{}}
	var gvk schema.GroupVersionKind
	newJSON := func() decodeFunc[T] { return structDecoder[T](gvk, dropManaged) }
	switch t {
	case reflect.TypeFor[*unstructured.Unstructured]():
		f.inherits = true
		newJSON = func() decodeFunc[T] { return unstructuredDecoder[T](dropManaged) }
	case reflect.TypeFor[*metav1.PartialObjectMetadata]():
		f.asList, f.asWatch = asMetadataList, asMetadata
		gvk = metadataType.GroupVersionKind()
	default:
		f.kinds = &kinds{name: t.Elem().Name()}
	}
	f.codecs[JSON] = newCodec(identify, newJSON)
	if other := encoding.format; other != nil && other.reads(t) {
		f.codecs[encoding] = newCodec(other.identify, func() decodeFunc[T] { return decoderOf[T](other.decoder, gvk, dropManaged) })
	}
	return f, nil
}

// accept is what to ask for so that one of two encodings comes.
func (f *form[T]) accept(encoding Encoding, operation string) string {
	as := f.asList
	if operation == "watch" {
		as = f.asWatch
	}
	var all []string
	for _, media := range slices.Compact([]Encoding{encoding, JSON}) {
		name := media.String()
		if operation == "watch" {
			name = media.stream()
		}
		if as != "" {
			all = append(all, name+as)
		}
		all = append(all, name)
	}
	return strings.Join(all, ",")
}

// unstructuredDecoder reads objects as maps.
func unstructuredDecoder[T informer.Object](dropManaged bool) decodeFunc[T] {
	w := newWalker()
	w.dropManaged = dropManaged
	return func(raw []byte) (T, error) {
		object, err := w.object(raw)
		if err != nil {
			var none T
			return none, err
		}
		return any(&unstructured.Unstructured{Object: object}).(T), nil
	}
}

// structDecoder reads objects into the structs that T points to, and says of each that
// its kind is gvk, as typed clients say of all that it is empty. What the plan of the type
// leaves open goes to a general decoder.
func structDecoder[T informer.Object](gvk schema.GroupVersionKind, dropManaged bool) decodeFunc[T] {
	t := reflect.TypeFor[T]().Elem()
	general := generalDecoder[T](t)
	plan := newPlan(t, dropManaged)
	return func(raw []byte) (T, error) {
		v := reflect.New(t)
		if plan == nil || !plan.fill(&cursor{b: raw}, v.Elem()) {
			obj, err := general(raw)
			if err != nil {
				return obj, err
			}
			v = reflect.ValueOf(obj)
		}
		obj := v.Interface().(T)
		if dropManaged {
			obj.SetManagedFields(nil)
		}
		setKind(obj, gvk)
		return obj, nil
	}
}

// setKind says the kind that all objects of a type have. For metadata alone that is no new
// string each time.
func setKind(obj informer.Object, gvk schema.GroupVersionKind) {
	if m, ok := obj.(*metav1.PartialObjectMetadata); ok {
		m.TypeMeta = metadataType
		return
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
}

// generalDecoder reads whatever a struct may be.
func generalDecoder[T informer.Object](t reflect.Type) decodeFunc[T] {
	options := lenient()
	if holdsAny(t, map[reflect.Type]bool{}) {
		options = json.JoinOptions(options, json.WithUnmarshalers(anyUnmarshaler()))
	}
	places := measuredIn(t)
	return func(raw []byte) (T, error) {
		obj := reflect.New(t).Interface().(T)
		if places.inJSON(raw) {
			return obj, errBoundless(t)
		}
		if err := json.Unmarshal(raw, obj, options); err != nil {
			// apimachinery's decoder has the last word. It also overlooks what is wrong
			// with the type itself, such as a tag that nobody has ever noticed.
			obj = reflect.New(t).Interface().(T)
			if utiljson.Unmarshal(raw, obj) != nil {
				return obj, discreet(t, err)
			}
		}
		return obj, nil
	}
}

// lenient makes the decoder do as encoding/json does but for the case of names, which is
// what apimachinery does. Errors end the decoding at once, which saves reading all input
// twice.
func lenient() json.Options {
	return json.JoinOptions(jsonv1.DefaultOptionsV1(),
		json.MatchCaseInsensitiveNames(false), jsonv1.ReportErrorsWithLegacySemantics(false))
}

// anyUnmarshaler reads an any as apimachinery does, with integers as int64. Options with
// it cost a look-up for each value, so only types that need it get it.
func anyUnmarshaler() *json.Unmarshalers {
	w := newWalker()
	return json.UnmarshalFromFunc(func(d *jsontext.Decoder, out *any) error {
		raw, err := d.ReadValue()
		if err != nil {
			return err
		}
		value, err := w.value(raw)
		if err == nil {
			*out = value
		}
		return err
	})
}

// holdsAny reports whether a value of type t may hold an empty interface that the decoder
// fills.
func holdsAny(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holdsAny(t.Elem(), seen)
	case reflect.Struct:
		for field := range t.Fields() {
			if (field.IsExported() || field.Anonymous) && holdsAny(field.Type, seen) {
				return true
			}
		}
	}
	return false
}

// kinds tells the objects of a typed collection from those of another kind, which a
// decoder would force into T. The Go type's name is the kind by convention; where it is
// not, the first kind seen is taken.
type kinds struct {
	name string

	mu     sync.Mutex
	strict bool   // name has been seen to be the kind
	other  string // another kind, seen first
}

// confirm takes note of the kind that a list is of.
func (k *kinds) confirm(kind string) {
	if k != nil && kind == k.name {
		k.mu.Lock()
		k.strict = true
		k.mu.Unlock()
	}
}

// foreign reports whether an object of a kind belongs to another collection.
func (k *kinds) foreign(kind []byte) bool {
	if k == nil || len(kind) == 0 {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case string(kind) == k.name:
		k.strict = true
		return false
	case k.strict:
		return true
	case k.other == "":
		k.other = string(kind)
	}
	return string(kind) != k.other
}
