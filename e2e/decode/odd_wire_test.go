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
