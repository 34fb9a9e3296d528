// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/rest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
)

// protoField appends a field with a length.
func protoField(to []byte, number int, value []byte) []byte {
	to = binary.AppendUvarint(to, uint64(number)<<3|2)
	return append(binary.AppendUvarint(to, uint64(len(value))), value...)
}

// protoList is a list in its envelope.
func protoList(kind string, names ...string) []byte {
	var list []byte
	meta, _ := (&metav1.ListMeta{ResourceVersion: "7"}).Marshal()
	list = protoField(list, 1, meta)
	for _, name := range names {
		item, _ := (&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u"}}).Marshal()
		list = protoField(list, 2, item)
	}
	typeMeta := protoField(protoField(nil, 1, []byte("v1")), 2, []byte(kind))
	return protoField(protoField([]byte("k8s\x00"), 1, typeMeta), 2, list)
}

func cborList(t testing.TB, value any) []byte {
	t.Helper()
	data, err := direct.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func as(contentType string, body []byte) http.HandlerFunc {
	return answer(200, contentType, string(body))
}

type meta = *metav1.PartialObjectMetadata

func TestBinaryThatIsNoList(t *testing.T) {
	good := protoList("PodList", "a", "b")
	typeMeta := protoField(protoField(nil, 1, []byte("v1")), 2, []byte("PodList"))
	lies := protoField(protoField([]byte("k8s\x00"), 1, typeMeta), 2, []byte{0x12, 0x7f, 'a'})
	cborGood := cborList(t, map[string]any{"kind": "PodList", "apiVersion": "v1", "items": []any{map[string]any{"metadata": map[string]any{"name": "a"}}}})
	for name, row := range map[string]struct {
		encoding rest.Encoding
		body     []byte
		want     error
	}{
		"protobuf nothing":     {rest.Protobuf, nil, io.ErrUnexpectedEOF},
		"protobuf no magic":    {rest.Protobuf, []byte("hello " + marker), rest.ErrMalformed},
		"protobuf magic alone": {rest.Protobuf, []byte("k8s\x00"), informer.ErrNotAList},
		"protobuf truncated":   {rest.Protobuf, good[:len(good)-3], io.ErrUnexpectedEOF},
		"protobuf object":      {rest.Protobuf, protoList("Pod", marker), informer.ErrNotAList},
		"protobuf Table":       {rest.Protobuf, protoList("Table"), informer.ErrTable},
		"protobuf Status":      {rest.Protobuf, protoList("Status"), informer.ErrNotAList},
		"protobuf no name":     {rest.Protobuf, protoList("PodList", ""), rest.ErrNoIdentity},
		"protobuf large":       {rest.Protobuf, protoList("PodList", strings.Repeat(marker, 10000)), rest.ErrItemTooLarge},
		"protobuf lies":        {rest.Protobuf, lies, rest.ErrMalformed},
		"protobuf overflow":    {rest.Protobuf, append([]byte("k8s\x00"), bytes.Repeat([]byte{0xff}, 20)...), rest.ErrMalformed},
		"cbor nothing":         {rest.CBOR, nil, io.ErrUnexpectedEOF},
		"cbor string":          {rest.CBOR, cborList(t, marker), informer.ErrNotAList},
		"cbor truncated":       {rest.CBOR, cborGood[:len(cborGood)-1], io.ErrUnexpectedEOF},
		"cbor twice":           {rest.CBOR, append(cborGood[:len(cborGood):len(cborGood)], cborGood...), rest.ErrMalformed},
		"cbor object":          {rest.CBOR, cborList(t, map[string]any{"kind": "Pod", "metadata": map[string]any{"name": marker}}), informer.ErrNotAList},
		"cbor no name":         {rest.CBOR, cborList(t, map[string]any{"kind": "PodList", "items": []any{map[string]any{"a": marker}}}), rest.ErrNoIdentity},
		"cbor items no array":  {rest.CBOR, cborList(t, map[string]any{"kind": "PodList", "items": marker}), informer.ErrNotAList},
		"cbor lies":            {rest.CBOR, []byte{0xa1, 0x5b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, rest.ErrItemTooLarge},
		"cbor nested":          {rest.CBOR, append([]byte{0xa1, 0x41, 'a'}, bytes.Repeat([]byte{0x81}, 90_000)...), rest.ErrMalformed},
		"cbor reserved":        {rest.CBOR, []byte{0xa1, 0x41, 'a', 0x1c}, rest.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			server := serve(t, as(row.encoding.String(), row.body))
			_, _, err := collect(t.Context(), newClient[meta](t, rest.Config{BaseURL: server.URL, Encoding: row.encoding, MaxItemSize: 100_000}))
			if !errors.Is(err, row.want) {
				t.Errorf("want %v: %v", row.want, err)
			}
			wantDiscreet(t, err)
		})
	}
}

// A server that refuses an encoding is asked for JSON, and not again for the other.
func TestNegotiation(t *testing.T) {
	var refused atomic.Int32
	server := serve(t, func(w http.ResponseWriter, req *http.Request) {
		if strings.Contains(req.Header.Get("Accept"), "protobuf") {
			refused.Add(1)
			answer(406, "text/plain", "")(w, req)
			return
		}
		answerJSON(typed)(w, req)
	})
	client := newClient[meta](t, rest.Config{BaseURL: server.URL, Encoding: rest.Protobuf})
	for range 3 {
		if objects, _, err := collect(t.Context(), client); err != nil || len(objects) == 0 {
			t.Fatal(len(objects), err)
		}
	}
	if refused.Load() != 1 {
		t.Errorf("asked %d times", refused.Load())
	}
}

func TestEncoding(t *testing.T) {
	for encoding, want := range map[rest.Encoding]string{
		{}: "application/json", rest.Protobuf: "application/vnd.kubernetes.protobuf", rest.CBOR: "application/cbor",
	} {
		if got := encoding.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if (rest.Encoding{}) != rest.JSON {
		t.Error("the zero value is not JSON")
	}
}

// What has no Protobuf is asked for in JSON, and a server without CBOR answers with it.
func TestOtherEncodingThanAsked(t *testing.T) {
	var accept atomic.Value
	server := serve(t, func(w http.ResponseWriter, req *http.Request) {
		accept.Store(req.Header.Get("Accept"))
		answerJSON(typed)(w, req)
	})
	for encoding, want := range map[rest.Encoding]string{rest.Protobuf: "application/json", rest.CBOR: "application/cbor,application/json"} {
		client := newClient[*unstructured.Unstructured](t, rest.Config{BaseURL: server.URL, Encoding: encoding})
		if objects, _, err := collect(t.Context(), client); err != nil || len(objects) == 0 || accept.Load() != want {
			t.Error(encoding, accept.Load(), len(objects), err)
		}
	}
}

// large is a list of n items that are much larger together than what is decoded at once.
func large(n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = fmt.Sprintf(`{"metadata":{"name":"item-%d"},"free":{"text":%q}}`, i, strings.Repeat("x", 1000))
	}
	return list(strings.Join(items, ","))
}

// Items come in order, whoever decodes them.
func TestOrder(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(4))
	const n = 5000
	server := serve(t, answerJSON(large(n)))
	objects, _, err := collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: server.URL}))
	if err != nil || len(objects) != n {
		t.Fatal(len(objects), err)
	}
	for i, obj := range objects {
		if want := fmt.Sprint("item-", i); obj.(*Secret).Name != want {
			t.Fatalf("%s, want %s", obj.(*Secret).Name, want)
		}
	}
	stop := errors.New("enough")
	seen := 0
	_, err = newClient[*Secret](t, rest.Config{BaseURL: server.URL}).ListStream(t.Context(), metav1.ListOptions{}, nil, func(runtime.Object) error {
		if seen++; seen == n/2 {
			return stop
		}
		return nil
	})
	if err != stop || seen != n/2 {
		t.Errorf("after %d: %v", seen, err)
	}
}

// explosive panics when it is decoded.
type explosive struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Free              fuse `json:"free"`
}

func (e *explosive) DeepCopyObject() runtime.Object { out := *e; return &out }

type fuse struct{}

func (*fuse) UnmarshalJSON([]byte) error { panic("decoded") }

// A panic reaches the caller of the list, from whichever goroutine.
func TestPanicInDecoder(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(4))
	quiet := strings.ReplaceAll(large(200), `,"free":{"text":`, `,"other":{"text":`)
	server := serve(t, answerJSON(strings.TrimSuffix(quiet, "]}")+`,{"metadata":{"name":"last"},"free":1}]}`))
	defer func() {
		if recover() != "decoded" {
			t.Error("no panic")
		}
	}()
	_, _, _ = collect(t.Context(), newClient[*explosive](t, rest.Config{BaseURL: server.URL}))
}

func fuzzBinary(f *testing.F, encoding rest.Encoding, seeds ...[]byte) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		transport := roundTrip(func(req *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: 200, Header: http.Header{"Content-Type": {encoding.String()}},
				Body: io.NopCloser(bytes.NewReader(body)), Request: req,
			}, nil
		})
		client := newClient[meta](t, rest.Config{BaseURL: "http://server", HTTPClient: &http.Client{Transport: transport}, Encoding: encoding, MaxItemSize: 1 << 16})
		_, err := client.ListStream(t.Context(), metav1.ListOptions{}, nil, func(obj runtime.Object) error {
			return wantNamed(t, obj)
		})
		if err == nil && len(body) < 4 {
			t.Errorf("%q is a list", body)
		}
		stream, err := client.Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wantEvents(t, stream)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

func FuzzProtobuf(f *testing.F) {
	frame := protoField(protoField(nil, 1, []byte("ADDED")), 2, protoField(nil, 1, protoList("Pod", "a")))
	fuzzBinary(f, rest.Protobuf, protoList("PodList", "a", "b"), protoList("Table"), protoList("Status"), nil,
		append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...))
}

func FuzzCBOR(f *testing.F) {
	item := map[string]any{"metadata": map[string]any{"name": "a", "uid": "u"}}
	fuzzBinary(f, rest.CBOR, cborList(f, map[string]any{"kind": "PodList", "metadata": map[string]any{"resourceVersion": "7"}, "items": []any{item}}),
		cborList(f, map[string]any{"type": "ADDED", "object": item}), cborList(f, []any{}), []byte{0xbf, 0xff})
}
