// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"strings"
	"testing"

	"github.com/informerkit/informer/rest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestOddWire has a pod with a quantity in a map, and the wire type of a number before it:
// generated code reads what is in a map whatever its wire type is.
func TestOddWire(t *testing.T) {
	s := subjectOf[*corev1.Pod](corev1.SchemeGroupVersion.WithKind("Pod"))
	for _, text := range []string{"1e-2000000000", "1e+0000000003"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		pod.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("1e+2000000001")}
		var body bytes.Buffer
		if err := encodings[rest.Protobuf].Encode(listOf(t, s, []runtime.Object{pod}), &body); err != nil {
			t.Fatal(err)
		}
		odd := bytes.ReplaceAll(body.Bytes(), []byte("1e+2000000001"), []byte(text))
		odd = bytes.ReplaceAll(odd, []byte("cpu\x12"), []byte("cpu\x10"))
		got, err := s.items(t.Context(), answer{rest.Protobuf.String(), odd}, rest.Config{Encoding: rest.Protobuf})
		switch refused := err != nil && strings.Contains(err.Error(), "a quantity whose exponent is beyond"); {
		case refused != (text == "1e-2000000000"):
			t.Errorf("%s: %v", text, err)
		case !refused && got[0].(*corev1.Pod).Spec.Overhead.Cpu().Value() != 1000:
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestOverlappingEntries has labels each of which holds all that comes after it: generated code
// reads an entry of a map beyond its end, and would copy gigabytes.
func TestOverlappingEntries(t *testing.T) {
	s := subjectOf[*corev1.Pod](corev1.SchemeGroupVersion.WithKind("Pod"))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	pod.Annotations = map[string]string{"place": strings.Repeat("a", 3<<20)}
	var body bytes.Buffer
	if err := encodings[rest.Protobuf].Encode(listOf(t, s, []runtime.Object{pod}), &body); err != nil {
		t.Fatal(err)
	}
	entries := body.Bytes()
	place := bytes.Index(entries, []byte("place")) - 2
	size := len(entries) - place // of the entry with its head, and a little more
	const head = len("\x62\xff\xff\xff\x01")
	const one = len("\x5a\x05\x12\xff\xff\xff\x01")
	entries = entries[place-head : place+3<<20]
	for len(entries) > size/2 {
		left := len(entries) - one - head
		copy(entries, []byte{0x5a, 5, 0x12, byte(left) | 0x80, byte(left>>7) | 0x80, byte(left>>14) | 0x80, byte(left >> 21)})
		entries = entries[one:]
	}
	_, err := s.items(t.Context(), answer{rest.Protobuf.String(), body.Bytes()}, rest.Config{Encoding: rest.Protobuf})
	if err == nil || !strings.Contains(err.Error(), "end before their values do") {
		t.Error(err)
	}
}
