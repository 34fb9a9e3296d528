// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type partial = *metav1.PartialObjectMetadata

// fullMetadata has a value in every field of metadata.
func fullMetadata() partial {
	now := metav1.NewTime(time.Unix(1_700_000_000, 0))
	yes, grace := true, int64(-30)
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		//lint:ignore SA1019 every field is compared, also what is deprecated
		SelfLink: "/x",
		Name:     "name", GenerateName: "na", Namespace: "space", UID: "u-1", ResourceVersion: "7", Generation: 3,
		CreationTimestamp: now, DeletionTimestamp: &now, DeletionGracePeriodSeconds: &grace,
		Labels:          map[string]string{"a": "1", "b": "", "": "c"},
		Annotations:     map[string]string{"long": string(bytes.Repeat([]byte("x"), 300))},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "K", Name: "o", UID: "u-2", Controller: &yes}, {Name: "p", BlockOwnerDeletion: new(bool)}},
		Finalizers:      []string{"f/1", "", "f/2"},
		ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "m", Operation: "Update", APIVersion: "v1", Time: &now, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:a":{}}`), Subresource: "status"},
			{Manager: "n"},
		},
	}}
}

// usualMetadata has values where nearly all objects have some.
func usualMetadata() partial {
	m := fullMetadata()
	//lint:ignore SA1019 every field is compared, also what is deprecated
	m.SelfLink, m.DeletionTimestamp, m.DeletionGracePeriodSeconds = "", nil, nil
	return m
}

func marshalled(t testing.TB, m partial) []byte {
	t.Helper()
	raw, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// protoPart appends a field with a length.
func protoPart(to []byte, number int, value []byte) []byte {
	to = binary.AppendUvarint(to, uint64(number)<<3|2)
	return append(binary.AppendUvarint(to, uint64(len(value))), value...)
}

// compareWithUnmarshal decodes with a plan and with the generated code, with and without
// managed fields, and wants the same of both.
func compareWithUnmarshal(t *testing.T, decoders [2]decodeFunc[partial], raw []byte) {
	t.Helper()
	input := bytes.Clone(raw)
	for n, decode := range decoders {
		want := &metav1.PartialObjectMetadata{}
		wantErr := want.Unmarshal(bytes.Clone(raw))
		got, err := decode(raw)
		if n == 1 { // what is dropped is not even looked at
			want.ManagedFields = nil
			if wantErr != nil && err == nil {
				continue
			}
		}
		if !bytes.Equal(raw, input) {
			t.Fatalf("the input was written to")
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%x\n got %v\nwant %v", raw, err, wantErr)
		}
		want.TypeMeta = metadataType
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%x\n got %+v\nwant %+v", raw, got, want)
		}
	}
}

func metadataDecoders() [2]decodeFunc[partial] {
	gvk := metadataType.GroupVersionKind()
	return [2]decodeFunc[partial]{decoderOf[partial](protoDecoder, gvk, false), decoderOf[partial](protoDecoder, gvk, true)}
}

// oddMessages are messages that no encoder writes, and that have a meaning all the same, or none.
func oddMessages(t testing.TB) map[string][]byte {
	name := protoPart(nil, metaName, []byte("a"))
	label := func(parts ...[]byte) []byte { return protoPart(nil, 11, slices.Concat(parts...)) }
	key, value := protoPart(nil, 1, []byte("k")), protoPart(nil, 2, []byte("v"))
	metadata := func(parts ...[]byte) []byte { return protoPart(nil, objectMetadata, slices.Concat(parts...)) }
	return map[string][]byte{
		"empty":                  {},
		"all":                    marshalled(t, fullMetadata()),
		"usual":                  marshalled(t, usualMetadata()),
		"owners apart":           metadata(protoPart(nil, 13, protoPart(nil, 3, []byte("o"))), name, protoPart(nil, 13, nil)),
		"owner with more":        metadata(name, protoPart(nil, 13, protoPart(nil, 9, []byte("x")))),
		"owner says it twice":    metadata(protoPart(nil, 13, []byte{7 << 3, 1, 6 << 3, 1, 7 << 3, 0})),
		"metadata twice":         append(metadata(name), metadata(protoPart(nil, metaNamespace, []byte("n")))...),
		"name twice":             metadata(name, protoPart(nil, metaName, []byte("b"))),
		"name is a number":       metadata([]byte{metaName << 3, 1}),
		"labels apart":           metadata(label(key, value), name, label(protoPart(nil, 1, []byte("l")))),
		"label twice":            metadata(label(key, value), label(key)),
		"label of nothing":       metadata(label()),
		"label in other order":   metadata(label(value, key)),
		"label with more":        metadata(label(key, value, protoPart(nil, 3, []byte("x")))),
		"label is a number":      metadata(label([]byte{1 << 3, 5}, value)),
		"finalizers apart":       metadata(protoPart(nil, 14, []byte("f")), name, protoPart(nil, 14, []byte("g"))),
		"time twice":             metadata(protoPart(nil, 8, []byte{8, 5}), protoPart(nil, 8, []byte{8, 6})),
		"time of nothing":        metadata(protoPart(nil, 8, nil)),
		"time without seconds":   metadata(protoPart(nil, 8, []byte{16, 9})),
		"time with a text":       metadata(protoPart(nil, 8, protoPart(nil, 1, []byte("x")))),
		"generation twice":       metadata([]byte{7 << 3, 1, 7 << 3, 2}),
		"generation of 10 bytes": metadata([]byte{7 << 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}),
		"generation of 11 bytes": metadata([]byte{7 << 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}),
		"boolean of 2":           metadata(protoPart(nil, 13, []byte{6 << 3, 2})),
		"unknown fields":         metadata(name, protoPart(nil, 99, []byte("x")), protoPart(nil, 4000, []byte("y")), []byte{50<<3&0x7f | 0x80, 3, 1}),
		"fixed of 8 and 4 bytes": metadata(name, []byte{20<<3&0x7f | 0x81, 1, 1, 2, 3, 4, 5, 6, 7, 8, 20<<3&0x7f | 0x85, 1, 1, 2, 3, 4}),
		"a group":                metadata(name, []byte{15<<3 | 3, 15<<3 | 4}),
		"a group without end":    metadata(name, []byte{15<<3 | 3}),
		"an end without group":   metadata([]byte{15<<3 | 4}, name),
		"field 0":                metadata([]byte{2, 1, 'a'}),
		"truncated":              metadata(name)[:3],
		"a length that lies":     {objectMetadata<<3 | 2, 0xff, 0xff, 0xff, 0xff, 0x0f, 1},
		"a length of 2^63":       {objectMetadata<<3 | 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		"managed fields broken":  metadata(name, protoPart(nil, metaManaged, []byte{1})),
	}
}

// A plan does what the generated code does, whatever is in its way.
func TestProtoPlanAgreesWithUnmarshal(t *testing.T) {
	for name, raw := range oddMessages(t) {
		t.Run(name, func(t *testing.T) { compareWithUnmarshal(t, metadataDecoders(), raw) })
	}
	t.Run("cut anywhere", func(t *testing.T) {
		decoders := metadataDecoders()
		for _, m := range []partial{fullMetadata(), usualMetadata()} {
			whole := marshalled(t, m)
			for n := range whole {
				compareWithUnmarshal(t, decoders, whole[:n])
			}
		}
	})
}

func FuzzProtoMetadata(f *testing.F) {
	for _, raw := range oddMessages(f) {
		f.Add(raw)
	}
	decoders := metadataDecoders()
	f.Fuzz(func(t *testing.T, raw []byte) { compareWithUnmarshal(t, decoders, raw) })
}

// What a decoder keeps for the next object is none of the last one's memory.
func TestProtoPlanSharesNothing(t *testing.T) {
	decode := metadataDecoders()[0]
	raw := marshalled(t, fullMetadata())
	first, err := decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	first.Labels["a"], first.Finalizers[0], first.OwnerReferences[0].Name = "changed", "changed", "changed"
	*first.OwnerReferences[0].Controller = false
	clear(raw)
	second, err := decode(marshalled(t, fullMetadata()))
	if err != nil {
		t.Fatal(err)
	}
	want := fullMetadata()
	want.TypeMeta = metadataType
	if !reflect.DeepEqual(second, want) {
		t.Errorf("got %+v\nwant %+v", second, want)
	}
	if cap(second.Finalizers) != 3 || cap(second.OwnerReferences) != 2 {
		t.Errorf("room for %d and %d more than there is", cap(second.Finalizers)-3, cap(second.OwnerReferences)-2)
	}
}

// tree holds itself, as schemas of custom resources do.
type tree struct {
	Name string           `protobuf:"bytes,1,opt,name=name"`
	Left *tree            `protobuf:"bytes,2,opt,name=left"`
	Many map[string]*tree `protobuf:"bytes,3,rep,name=many"`
}

// Unmarshal implements protoMessage, and is not called by a plan.
func (t *tree) Unmarshal([]byte) error { return errors.New("called") }

func TestProtoPlanDepth(t *testing.T) {
	nest := func(depth int) (raw []byte) {
		for range depth {
			raw = protoPart(nil, 2, raw)
		}
		return raw
	}
	for _, row := range []struct {
		name string
		raw  []byte
		deep bool
	}{
		{"shallow", nest(1000), false},
		{"deep", nest(maxProtoDepth + 1), true},
		{"deep in maps", func() (raw []byte) {
			for range maxProtoDepth {
				raw = protoPart(nil, 3, protoPart(protoPart(nil, 1, nil), 2, raw))
			}
			return raw
		}(), true},
	} {
		t.Run(row.name, func(t *testing.T) {
			planner, _ := newProtoPlan(reflect.TypeFor[metav1.PartialObjectMetadata](), false)
			plan := planner.plan(reflect.TypeFor[tree]())
			if filled := planner.message(plan, row.raw, reflect.ValueOf(new(tree)).Elem()); filled == row.deep {
				t.Errorf("filled: %v", filled)
			}
			if err := planner.unfit(plan, row.raw, maxProtoDepth); errors.Is(err, errTooDeep) != row.deep {
				t.Errorf("unfit: %v", err)
			}
		})
	}
}

// A quantity that was read before is another's to change.
func TestQuantities(t *testing.T) {
	var q quantities
	for _, text := range []string{"0", "1", "100m", "128Mi", "1.5", "1e3", "123456789012345678901234567890", "0.123456789123456789123456789Gi"} {
		want := resource.MustParse(text)
		for range 2 {
			got, ok := q.read([]byte(text))
			if !ok || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %#v, %v; want %#v", text, got, ok, want)
			}
			got.Add(resource.MustParse("7"))
			got.AsDec().SetScale(3)
		}
	}
	for _, text := range []string{"", "x", "1Qi"} {
		if got, ok := q.read([]byte(text)); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}
