// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"context"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/informerkit/informer/rest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/util/framer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// encodings are those of apimachinery that are not JSON.
var encodings = map[rest.Encoding]interface {
	runtime.Encoder
	runtime.Decoder
}{
	rest.Protobuf: protobuf.NewSerializer(scheme.Scheme, scheme.Scheme),
	rest.CBOR:     cbor.NewSerializer(scheme.Scheme, scheme.Scheme),
}

// listOf makes a list of objects, nil if the type has none.
func listOf(t *testing.T, s subject, objects []runtime.Object) runtime.Object {
	t.Helper()
	gvk := s.gvk.GroupVersion().WithKind(s.gvk.Kind + "List")
	list, err := scheme.Scheme.New(gvk)
	if err != nil {
		return nil // of the kind of TokenReview
	}
	if err := meta.SetList(list, objects); err != nil {
		t.Fatal(err)
	}
	list.(metav1.ListInterface).SetResourceVersion("7")
	list.GetObjectKind().SetGroupVersionKind(gvk)
	return list
}

func TestTypedBinary(t *testing.T) {
	for encoding, serializer := range encodings {
		compared := 0
		for _, s := range subjects {
			list := listOf(t, s, values(s)[:20])
			if list == nil {
				continue
			}
			var body bytes.Buffer
			if err := serializer.Encode(list, &body); err != nil {
				t.Fatalf("%v: %v", s.gvk, err)
			}
			decoded, _, err := serializer.Decode(body.Bytes(), nil, nil)
			if err != nil {
				t.Fatalf("%v: apimachinery: %v", s.gvk, err)
			}
			want, err := meta.ExtractList(decoded)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.items(t.Context(), answer{encoding.String(), body.Bytes()}, rest.Config{Encoding: encoding})
			if err != nil || len(got) != len(want) {
				t.Errorf("%s of %v: %d objects, %v", encoding, s.gvk, len(got), err)
				continue
			}
			for i := range want {
				want[i].GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Errorf("%s of %v:\n got %#v\nwant %#v", encoding, s.gvk, got[i], want[i])
					break
				}
			}
			compared++
		}
		if compared < 100 {
			t.Errorf("only %d types have lists", compared)
		}
	}
}

// TestBoundlessQuantity has a pod that any server may store where a schema says no more than
// "quantity", and that apimachinery would read for hours.
func TestBoundlessQuantity(t *testing.T) {
	s := subjectOf[*corev1.Pod](corev1.SchemeGroupVersion.WithKind("Pod"))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	// As long as the one that takes its place below.
	pod.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1e+2000000001")}
	list := listOf(t, s, []runtime.Object{pod})
	bodies := map[rest.Encoding][]byte{}
	bodies[rest.JSON], _ = listJSON(t, s.gvk, []runtime.Object{pod})
	for encoding, serializer := range encodings {
		var body bytes.Buffer
		if err := serializer.Encode(list, &body); err != nil {
			t.Fatal(err)
		}
		bodies[encoding] = body.Bytes()
	}
	for encoding, body := range bodies {
		body = bytes.ReplaceAll(body, []byte("1e+2000000001"), []byte("1e-2000000000"))
		if !bytes.Contains(body, []byte("e-2000000000")) {
			t.Fatalf("%s: the quantity is written in another way: %q", encoding, body)
		}
		_, err := s.items(t.Context(), answer{encoding.String(), body}, rest.Config{Encoding: encoding})
		if err == nil || !strings.Contains(err.Error(), "a quantity whose exponent is beyond") {
			t.Errorf("%s: %v", encoding, err)
		}
	}
}

// TestManagedFields drops them while decoding, and nothing else.
func TestManagedFields(t *testing.T) {
	s := subjectOf[*corev1.Pod](corev1.SchemeGroupVersion.WithKind("Pod"))
	for encoding, serializer := range encodings {
		var body bytes.Buffer
		if err := serializer.Encode(listOf(t, s, values(s)), &body); err != nil {
			t.Fatal(err)
		}
		transport := answer{encoding.String(), body.Bytes()}
		whole, err := s.items(t.Context(), transport, rest.Config{Encoding: encoding})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.items(t.Context(), transport, rest.Config{Encoding: encoding, DropManagedFields: true})
		if err != nil || len(got) != len(whole) {
			t.Fatal(len(got), err)
		}
		for i, obj := range whole {
			obj.(metav1.Object).SetManagedFields(nil)
			if !reflect.DeepEqual(got[i], obj) {
				t.Errorf("%s:\n got %#v\nwant %#v", encoding, got[i], obj)
				break
			}
		}
	}
}

// TestWatchProtobuf reads frames as a server writes them.
func TestWatchProtobuf(t *testing.T) {
	s := subjectOf[*corev1.Pod](corev1.SchemeGroupVersion.WithKind("Pod"))
	serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	raw := protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme)
	var body bytes.Buffer
	encoder := streaming.NewEncoder(framer.NewLengthDelimitedFrameWriter(&body), raw)
	objects := values(s)
	for _, obj := range objects {
		obj.GetObjectKind().SetGroupVersionKind(s.gvk)
		data, err := runtime.Encode(serializer, obj)
		if err != nil {
			t.Fatal(err)
		}
		if err := encoder.Encode(&metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Raw: data}}); err != nil {
			t.Fatal(err)
		}
	}
	status := apiStatus()
	data, err := runtime.Encode(serializer, status)
	if err != nil {
		t.Fatal(err)
	}
	if err := encoder.Encode(&metav1.WatchEvent{Type: "ERROR", Object: runtime.RawExtension{Raw: data}}); err != nil {
		t.Fatal(err)
	}
	got := events(t, rest.Protobuf, "application/vnd.kubernetes.protobuf;stream=watch", body.Bytes())
	wantEvents(t, got, objects, serializer, status)
}

func apiStatus() *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: 410, Message: "too old",
	}
}

// TestWatchCBOR reads a sequence as a server writes it.
func TestWatchCBOR(t *testing.T) {
	s := subjectOf[*corev1.Pod](corev1.SchemeGroupVersion.WithKind("Pod"))
	serializer := cbor.NewSerializer(scheme.Scheme, scheme.Scheme, cbor.Transcode(false))
	var body bytes.Buffer
	encoder := streaming.NewEncoder(&body, serializer)
	objects := values(s)
	write := func(kind string, obj runtime.Object) {
		data, err := runtime.Encode(serializer, obj)
		if err != nil {
			t.Fatal(err)
		}
		if err := encoder.Encode(&metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: data}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, obj := range objects {
		obj.GetObjectKind().SetGroupVersionKind(s.gvk)
		write("MODIFIED", obj)
	}
	status := apiStatus()
	write("ERROR", status)
	got := events(t, rest.CBOR, "application/cbor-seq", body.Bytes())
	wantEvents(t, got, objects, serializer, status)
}

func wantEvents(t *testing.T, got []watch.Event, objects []runtime.Object, serializer interface {
	runtime.Encoder
	runtime.Decoder
}, status *metav1.Status) {
	t.Helper()
	if len(got) != len(objects)+1 {
		t.Fatalf("%d events, want %d; the last is %v", len(got), len(objects)+1, got[len(got)-1])
	}
	for i, obj := range objects {
		data, err := runtime.Encode(serializer, obj)
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := serializer.Decode(data, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		want.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		if got[i].Type != watch.Modified || !reflect.DeepEqual(got[i].Object, want) {
			t.Fatalf("%s\n got %#v\nwant %#v", got[i].Type, got[i].Object, want)
		}
	}
	if last := got[len(got)-1]; last.Type != watch.Error || !reflect.DeepEqual(last.Object, status) {
		t.Errorf("%v, want %v", last, status)
	}
}

// events reads a whole watch.
func events(t *testing.T, encoding rest.Encoding, contentType string, body []byte) []watch.Event {
	t.Helper()
	client, err := rest.New[*corev1.Pod](rest.Config{
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
	var out []watch.Event
	for event := range stream.ResultChan() {
		out = append(out, event)
	}
	return out
}
