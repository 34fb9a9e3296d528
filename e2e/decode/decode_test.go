// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/rest"

	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/randfill"
)

// rounds is how many random values of each type are compared.
const rounds = 60

// subject is a type of the API, and how a client of this project reads a list of it.
type subject struct {
	gvk   schema.GroupVersionKind
	typ   reflect.Type
	items func(ctx context.Context, body http.RoundTripper, config rest.Config) ([]runtime.Object, error)
}

func subjectOf[T informer.Object](gvk schema.GroupVersionKind) subject {
	return subject{gvk: gvk, typ: reflect.TypeFor[T]().Elem(), items: items[T]}
}

// items reads the list that a transport answers with.
func items[T informer.Object](ctx context.Context, body http.RoundTripper, config rest.Config) ([]runtime.Object, error) {
	config.BaseURL, config.HTTPClient = "http://server", &http.Client{Transport: body}
	client, err := rest.New[T](config, rest.Resource{Version: "v1", Resource: "things"})
	if err != nil {
		return nil, err
	}
	var out []runtime.Object
	_, err = client.ListStream(ctx, metav1.ListOptions{}, nil, func(obj runtime.Object) error {
		if u, ok := obj.(*informer.Undecodable); ok {
			return fmt.Errorf("undecodable: %w", u.Err)
		}
		out = append(out, obj)
		return nil
	})
	return out, err
}

// answer is a transport that answers everything with one body.
type answer struct {
	contentType string
	body        []byte
}

func (a answer) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {a.contentType}},
		Body: io.NopCloser(bytes.NewReader(a.body)), Request: req,
	}, nil
}

// TestSubjects fails when k8s.io/api has a type that is not compared.
func TestSubjects(t *testing.T) {
	have := map[schema.GroupVersionKind]bool{}
	for _, s := range subjects {
		have[s.gvk] = true
	}
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		object := reflect.PointerTo(typ).Implements(reflect.TypeFor[metav1.Object]())
		if strings.HasPrefix(typ.PkgPath(), "k8s.io/api/") && object && !have[gvk] {
			t.Errorf("%v is not among the subjects", gvk)
		}
	}
}

// values makes random objects of a type, each with a name.
func values(s subject) []runtime.Object {
	fill := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, rawFuncs), rand.NewSource(1), scheme.Codecs)
	var out []runtime.Object
	for i := range rounds {
		obj := reflect.New(s.typ).Interface().(runtime.Object)
		fill.Fill(obj)
		obj.(metav1.Object).SetName(fmt.Sprint("name-", i))
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		out = append(out, obj)
	}
	return out
}

// rawFuncs fills what random values would make invalid JSON of.
func rawFuncs(serializer.CodecFactory) []any {
	return []any{
		func(r *runtime.RawExtension, c randfill.Continue) {
			r.Raw = []byte(fmt.Sprintf(`{"kind":"K","a":%d}`, c.Int31()))
		},
	}
}

func listJSON(t *testing.T, gvk schema.GroupVersionKind, objects []runtime.Object) ([]byte, [][]byte) {
	t.Helper()
	var all [][]byte
	for _, obj := range objects {
		data, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data)
	}
	return fmt.Appendf(nil, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"1"},"items":[%s]}`,
		gvk.Kind, gvk.GroupVersion(), bytes.Join(all, []byte(","))), all
}

// withKind is an object's JSON as it is outside of a list.
func withKind(gvk schema.GroupVersionKind, item []byte) []byte {
	return fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,%s`, gvk.Kind, gvk.GroupVersion(), item[1:])
}

func TestTypedJSON(t *testing.T) {
	decoder := scheme.Codecs.UniversalDeserializer()
	for _, s := range subjects {
		body, all := listJSON(t, s.gvk, values(s))
		got, err := s.items(t.Context(), answer{"application/json", body}, rest.Config{})
		if err != nil || len(got) != len(all) {
			t.Fatalf("%v: %d objects, %v", s.gvk, len(got), err)
		}
		for i, item := range all {
			want, _, err := decoder.Decode(withKind(s.gvk, item), nil, nil)
			if err != nil {
				t.Fatalf("%v: apimachinery: %v", s.gvk, err)
			}
			want.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
			if !reflect.DeepEqual(got[i], want) {
				t.Errorf("%v: %s\n got %#v\nwant %#v", s.gvk, item, got[i], want)
				break
			}
		}
	}
}

func TestUnstructuredJSON(t *testing.T) {
	for _, s := range subjects {
		body, all := listJSON(t, s.gvk, values(s))
		got, err := items[*unstructured.Unstructured](t.Context(), answer{"application/json", body}, rest.Config{})
		if err != nil || len(got) != len(all) {
			t.Fatalf("%v: %d objects, %v", s.gvk, len(got), err)
		}
		for i, item := range all {
			want, _, err := unstructured.UnstructuredJSONScheme.Decode(withKind(s.gvk, item), nil, nil)
			if err != nil {
				t.Fatalf("%v: apimachinery: %v", s.gvk, err)
			}
			if !reflect.DeepEqual(got[i], want) {
				t.Errorf("%v: %s\n got %#v\nwant %#v", s.gvk, item, got[i], want)
				break
			}
		}
	}
}
