// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What Kubernetes writes around and into Protobuf:
// https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding-idl and the
// generated.proto files of apimachinery.
const (
	protoMagic = "k8s\x00"

	unknownTypeMeta, unknownRaw   = 1, 2 // of runtime.Unknown
	typeMetaVersion, typeMetaKind = 1, 2

	objectMetadata, listItems = 1, 2 // of every object, of every list

	metaName, metaNamespace, metaUID, metaVersion, metaManaged = 1, 3, 5, 6, 17

	eventType, eventObject = 1, 2 // of metav1.WatchEvent
)

// protoMessage is implemented by the types that have a Protobuf form.
type protoMessage interface{ Unmarshal(data []byte) error }

// Protobuf is what servers of Kubernetes have for built-in types. It is for types with a method
// Unmarshal.
var Protobuf = Encoding{&format{
	media: "application/vnd.kubernetes.protobuf", streamed: ";stream=watch",
	reads: hasProto, identify: identifyProto, decoder: protoDecoder, list: readProtoList, watch: newProtoEvents,
}}

func hasProto(t reflect.Type) bool { return t.Implements(reflect.TypeFor[protoMessage]()) }

var errProto = fmt.Errorf("%w: invalid Protobuf", ErrMalformed)

// field is a field of a message: of those that have a length, the others are left out.
type field struct {
	number     int
	start, end int // with its key
	value      []byte
}

// fields calls a function for each field of a message that has a length, and reports
// whether the message is sound, as far as it was read: false from the function ends it. Unlike
// message it tells where a field begins, and unlike generated it refuses groups.
func fields(message []byte, each func(f field) bool) bool {
	for at := 0; at < len(message); {
		f := field{start: at}
		key, n := binary.Uvarint(message[at:])
		if n <= 0 {
			return false
		}
		at += n
		size, skipped := 0, false
		switch key & 7 {
		case 0:
			_, size = binary.Uvarint(message[at:])
			skipped = size > 0
		case 1:
			size, skipped = 8, true
		case 5:
			size, skipped = 4, true
		case 2:
			length, n := binary.Uvarint(message[at:])
			if n <= 0 || length > uint64(len(message)-at-n) {
				return false
			}
			f.number, f.value, f.end = int(key>>3), message[at+n:at+n+int(length)], at+n+int(length)
			size = n + int(length)
		}
		if f.value == nil && (!skipped || size > len(message)-at) {
			return false
		}
		at += size
		if f.value != nil && !each(f) {
			return true
		}
	}
	return true
}

// identifyProto is identify for a message, which does not say its kind.
func identifyProto(raw []byte, _ bool) (identity, error) {
	var id identity
	sound := true
	for in := (message{b: raw}); in.i < len(in.b) && sound && !id.hasMetadata; {
		switch key, p := in.next(); key {
		case 0:
			sound = false
		case objectMetadata<<3 | wireBytes:
			id.hasMetadata = true
			sound = id.readProto(p.data)
		}
	}
	switch {
	case !sound:
		return id, fmt.Errorf("%w: invalid Protobuf", ErrNoIdentity)
	case !id.hasMetadata:
		return id, fmt.Errorf("%w: no metadata", ErrNoIdentity)
	case len(id.name) == 0:
		return id, ErrNoIdentity
	}
	return id, nil
}

// readProto reads what names an object, as far as it comes before what does not: fields are
// in order. It reports whether that is sound.
func (id *identity) readProto(metadata []byte) bool {
	for in := (message{b: metadata}); in.i < len(in.b); {
		key, p := in.next()
		switch key {
		case 0:
			return false
		case metaName<<3 | wireBytes:
			id.name = p.data
		case metaNamespace<<3 | wireBytes:
			id.namespace = p.data
		case metaUID<<3 | wireBytes:
			id.uid = p.data
		case metaVersion<<3 | wireBytes:
			id.version = p.data
		}
		if key>>3 > metaVersion {
			break
		}
	}
	return true
}

// unwrap opens the envelope that a whole object comes in.
func unwrap(data []byte) (typeMeta metav1.TypeMeta, raw []byte, err error) {
	rest, ok := bytes.CutPrefix(data, []byte(protoMagic))
	if !ok {
		return typeMeta, nil, errProto
	}
	ok = fields(rest, func(f field) bool {
		switch f.number {
		case unknownTypeMeta:
			typeMeta = protoTypeMeta(f.value)
		case unknownRaw:
			raw = f.value
		}
		return true
	})
	if !ok {
		return typeMeta, nil, errProto
	}
	return typeMeta, raw, nil
}

func protoTypeMeta(data []byte) (out metav1.TypeMeta) {
	fields(data, func(f field) bool {
		switch f.number {
		case typeMetaVersion:
			out.APIVersion = string(f.value)
		case typeMetaKind:
			out.Kind = string(f.value)
		}
		return true
	})
	return out
}

// protoDecoder reads messages into structs. What the plan of the type leaves open goes to its
// Unmarshal, unless it is unfit.
func protoDecoder(of decoded) decodeFunc[informer.Object] {
	t := of.elem
	planner, plan := newProtoPlan(t, of.dropManaged)
	general := generalProtoDecoder(of, plan == nil, planner.unfitFor(t))
	return func(raw []byte) (informer.Object, error) {
		v := reflect.New(t)
		planner.strings.begin()
		if planner.depth = 0; plan == nil || !planner.message(plan, raw, v.Elem()) {
			obj, err := general(raw)
			if err != nil {
				return nil, err
			}
			v = reflect.ValueOf(obj)
		}
		obj := v.Interface().(informer.Object)
		setKind(obj, of.gvk)
		return obj, nil
	}
}

// generalProtoDecoder has messages read by Unmarshal. If that is usual, managed fields that are
// to be dropped are not even shown to it. What a plan has left over is odd: there, bytes that
// are missing may change what others mean.
func generalProtoDecoder(of decoded, usual bool, unfit func(raw []byte) error) decodeFunc[informer.Object] {
	t, dropManaged := of.elem, of.dropManaged
	var scratch []byte
	return func(raw []byte) (informer.Object, error) {
		if dropManaged && usual {
			scratch = withoutManaged(scratch[:0], raw)
			raw = scratch
		}
		if err := unfit(raw); err != nil {
			return nil, fmt.Errorf("%w %v: %w", errSchema, t, err)
		}
		obj := reflect.New(t).Interface().(informer.Object)
		err := obj.(protoMessage).Unmarshal(raw)
		if cap(scratch) > maxScratch {
			scratch = nil
		}
		if dropManaged {
			obj.SetManagedFields(nil)
		}
		if err != nil { // its text may quote nothing, but who knows
			err = fmt.Errorf("%w %v: invalid Protobuf", errSchema, t)
		}
		return obj, err
	}
}

// withoutManaged appends a message without the managed fields in its metadata: they are
// half of it, and would only be decoded to be dropped.
func withoutManaged(to, raw []byte) []byte {
	last := 0
	fields(raw, func(f field) bool {
		if f.number != objectMetadata {
			return true
		}
		to = append(to, raw[last:f.start]...)
		last = f.end
		var bare []byte
		kept := 0
		fields(f.value, func(inner field) bool {
			if inner.number == metaManaged {
				bare = append(bare, f.value[kept:inner.start]...)
				kept = inner.end
			}
			return true
		})
		bare = append(bare, f.value[kept:]...)
		to = binary.AppendUvarint(append(to, objectMetadata<<3|2), uint64(len(bare)))
		to = append(to, bare...)
		return true
	})
	return append(to, raw[last:]...)
}
