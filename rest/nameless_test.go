// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/rest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// An object whose name is taken back by what comes later is one that cannot be decoded, and is
// reported under the name that it began with: nothing without a name is handed over. A null
// takes nothing back in a struct, as in apimachinery.
func TestNameTakenBack(t *testing.T) {
	const begin = `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"1"`
	var twice []byte
	for _, name := range []string{"a", ""} {
		twice = protoField(protoField(protoField(twice, 1, []byte(name)), 5, []byte("u")), 6, []byte("1"))
		twice = append(twice, 7<<3, 2) // the generation, which comes after all that names an object
	}
	object := protoField(nil, 1, twice)
	typeMeta := func(kind string) []byte { return protoField(protoField(nil, 1, []byte("v1")), 2, []byte(kind)) }
	wrap := func(kind string, raw []byte) []byte {
		return protoField(protoField([]byte("k8s\x00"), 1, typeMeta(kind)), 2, raw)
	}
	event := wrap("Pod", object)
	frame := protoField(protoField(nil, 1, []byte("ADDED")), 2, protoField(nil, 1, event))
	for name, row := range map[string]struct {
		encoding    rest.Encoding
		list, event []byte
	}{
		"name twice":       {rest.JSON, []byte(begin + `,"name":""}}`), nil},
		"name of null":     {rest.JSON, []byte(begin + `,"name":null}}`), nil},
		"metadata twice":   {rest.JSON, []byte(begin + `},"metadata":{"name":""}}`), nil},
		"metadata of null": {rest.JSON, []byte(begin + `},"metadata":null}`), nil},
		"Protobuf":         {rest.Protobuf, wrap("PodList", protoField(nil, 2, object)), append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)},
	} {
		t.Run(name, func(t *testing.T) {
			if row.encoding == rest.JSON {
				row.list, row.event = []byte(`{"kind":"PodList","apiVersion":"v1","items":[`+string(row.list)+`]}`), []byte(`{"type":"ADDED","object":`+string(row.list)+`}`)
			}
			t.Run("metadata", func(t *testing.T) { nameTakenBack[meta](t, row.encoding, row.list, row.event) })
			if row.encoding == rest.JSON {
				t.Run("typed", func(t *testing.T) { nameTakenBack[*Secret](t, row.encoding, row.list, row.event) })
				t.Run("unstructured", func(t *testing.T) {
					nameTakenBack[*unstructured.Unstructured](t, row.encoding, row.list, row.event)
				})
			}
		})
	}
}

func nameTakenBack[T informer.Object](t *testing.T, encoding rest.Encoding, list, event []byte) {
	server := serve(t, as(encoding.String(), list))
	objects, _, err := collect(t.Context(), newClient[T](t, rest.Config{BaseURL: server.URL, Encoding: encoding}))
	if err != nil {
		t.Fatal(err)
	}
	server = serve(t, as(encoding.String(), event))
	stream, err := newClient[T](t, rest.Config{BaseURL: server.URL, Encoding: encoding}).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range drain(stream) {
		objects = append(objects, e.Object)
	}
	for _, obj := range objects {
		m, _ := obj.(metav1.Object)
		if u, ok := obj.(*informer.Undecodable); m == nil || m.GetName() != "a" || ok && !errors.Is(u.Err, rest.ErrNoIdentity) {
			t.Errorf("%T: %+v", obj, obj)
		}
	}
	if len(objects) != 2 {
		t.Errorf("%d objects", len(objects))
	}
}
