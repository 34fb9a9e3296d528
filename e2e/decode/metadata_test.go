// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"context"
	"net/http"
	"reflect"
	"testing"

	"github.com/informerkit/informer/rest"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/util/framer"
	"k8s.io/apimachinery/pkg/watch"
)

var metadataKind = schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadata"}

// metadataSerializers are apimachinery's, for metadata alone.
func metadataSerializers(t *testing.T) map[rest.Encoding]runtime.Serializer {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return map[rest.Encoding]runtime.Serializer{
		rest.JSON:     json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{}),
		rest.Protobuf: protobuf.NewSerializer(scheme, scheme),
		rest.CBOR:     cbor.NewSerializer(scheme, scheme),
	}
}

// metadataValues is the metadata of random objects of every type.
func metadataValues() []metav1.PartialObjectMetadata {
	var out []metav1.PartialObjectMetadata
	for _, s := range subjects {
		for _, obj := range values(s)[:5] {
			m := obj.(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
			out = append(out, metav1.PartialObjectMetadata{
				TypeMeta:   metav1.TypeMeta{Kind: metadataKind.Kind, APIVersion: metadataKind.GroupVersion().String()},
				ObjectMeta: *m,
			})
		}
	}
	return out
}

// TestMetadata compares lists of metadata in every encoding with apimachinery's decoder, with
// managed fields and without.
func TestMetadata(t *testing.T) {
	list := &metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{Kind: metadataKind.Kind + "List", APIVersion: metadataKind.GroupVersion().String()},
		ListMeta: metav1.ListMeta{ResourceVersion: "7"},
		Items:    metadataValues(),
	}
	for encoding, serializer := range metadataSerializers(t) {
		t.Run(encoding.String(), func(t *testing.T) {
			var body bytes.Buffer
			if err := serializer.Encode(list, &body); err != nil {
				t.Fatal(err)
			}
			decoded, _, err := serializer.Decode(body.Bytes(), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, drop := range []bool{false, true} {
				want := decoded.(*metav1.PartialObjectMetadataList).Items
				got, err := items[*metav1.PartialObjectMetadata](t.Context(), answer{encoding.String(), body.Bytes()}, rest.Config{Encoding: encoding, DropManagedFields: drop})
				if err != nil || len(got) != len(want) || len(want) < 500 {
					t.Fatalf("%d objects of %d, %v", len(got), len(want), err)
				}
				for i := range want {
					want := want[i].DeepCopy()
					if drop {
						want.ManagedFields = nil
					}
					want.SetGroupVersionKind(metadataKind) // those of a list in Protobuf say none
					if !reflect.DeepEqual(got[i], want) {
						t.Fatalf("drop %v:\n got %#v\nwant %#v", drop, got[i], want)
					}
				}
			}
		})
	}
}

// TestMetadataEvents does the same with a watch.
func TestMetadataEvents(t *testing.T) {
	all := metadataValues()
	for encoding, serializer := range metadataSerializers(t) {
		t.Run(encoding.String(), func(t *testing.T) {
			contentType, body := metadataStream(t, encoding, serializer, all)
			client, err := rest.New[*metav1.PartialObjectMetadata](rest.Config{
				BaseURL: "http://server", HTTPClient: &http.Client{Transport: answer{contentType, body}}, Encoding: encoding,
			}, rest.Resource{Version: "v1", Resource: "pods"})
			if err != nil {
				t.Fatal(err)
			}
			stream, err := client.Watch(context.Background(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Stop()
			n := 0
			for event := range stream.ResultChan() {
				data, err := runtime.Encode(serializer, &all[n])
				if err != nil {
					t.Fatal(err)
				}
				want, _, err := serializer.Decode(data, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				if event.Type != watch.Modified || !reflect.DeepEqual(event.Object, want) {
					t.Fatalf("event %d, %s:\n got %#v\nwant %#v", n, event.Type, event.Object, want)
				}
				n++
			}
			if n != len(all) {
				t.Errorf("%d events of %d", n, len(all))
			}
		})
	}
}

// metadataStream is a watch as a server writes it.
func metadataStream(t *testing.T, encoding rest.Encoding, serializer runtime.Serializer, all []metav1.PartialObjectMetadata) (contentType string, body []byte) {
	t.Helper()
	var out bytes.Buffer
	scheme := runtime.NewScheme()
	encoder := streaming.NewEncoder(&out, serializer)
	contentType = encoding.String()
	switch encoding {
	case rest.Protobuf:
		encoder = streaming.NewEncoder(framer.NewLengthDelimitedFrameWriter(&out), protobuf.NewRawSerializer(scheme, scheme))
		contentType += ";stream=watch"
	case rest.CBOR:
		serializer = cbor.NewSerializer(scheme, scheme, cbor.Transcode(false))
		encoder = streaming.NewEncoder(&out, serializer)
		contentType += "-seq"
	}
	for i := range all {
		data, err := runtime.Encode(serializer, &all[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := encoder.Encode(&metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Raw: data}}); err != nil {
			t.Fatal(err)
		}
	}
	return contentType, out.Bytes()
}

// TestDeepProtobuf reads schemas that hold themselves: one that is nested deeper than any server
// would write it is an object that cannot be decoded, and not the end of the process.
func TestDeepProtobuf(t *testing.T) {
	crd := subjectOf[*apiextensionsv1.CustomResourceDefinition](apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	for depth, sound := range map[int]bool{100: true, 5000: true, 50_000: false} {
		schema := &apiextensionsv1.JSONSchemaProps{Type: "object"}
		for range depth {
			schema = &apiextensionsv1.JSONSchemaProps{Not: schema}
		}
		var object apiextensionsv1.CustomResourceDefinition
		object.Name = "deep"
		object.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema}}}
		raw, err := (&apiextensionsv1.CustomResourceDefinitionList{Items: []apiextensionsv1.CustomResourceDefinition{object}}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinitionList"}, Raw: raw}
		body, err := envelope.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		got, err := crd.items(t.Context(), answer{rest.Protobuf.String(), append([]byte("k8s\x00"), body...)}, rest.Config{Encoding: rest.Protobuf})
		switch {
		case (err == nil) != sound:
			t.Errorf("depth %d: %v", depth, err)
		case sound && !reflect.DeepEqual(got[0], &object):
			t.Errorf("depth %d: another object", depth)
		}
	}
}
