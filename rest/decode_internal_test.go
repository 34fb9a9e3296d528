// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// sample has fields of every sort that API types have.
type sample struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Bytes             []byte               `json:"bytes"`
	Int               int32                `json:"int"`
	Long              *int64               `json:"long"`
	Float             float64              `json:"float"`
	Bool              *bool                `json:"bool"`
	String            string               `json:"string"`
	Strings           []string             `json:"strings"`
	Map               map[string]string    `json:"map"`
	Maps              map[string][]byte    `json:"maps"`
	Port              intstr.IntOrString   `json:"port"`
	Raw               runtime.RawExtension `json:"raw"`
	Any               any                  `json:"any"`
	Time              metav1.Time          `json:"time"`
	Micro             *metav1.MicroTime    `json:"micro"`
	Duration          metav1.Duration      `json:"duration"`
	Quantity          resource.Quantity    `json:"quantity"`

	Quantities map[string]resource.Quantity `json:"quantities"`
	Inner      struct{ A, B int }           `json:"inner"`
}

func (s *sample) DeepCopyObject() runtime.Object { out := *s; return &out }

// odd inputs, each the members of an object.
var odd = []string{
	``, `"int":1`, `"int":1.0`, `"int":1e2`, `"int":2147483648`, `"int":-0`, `"int":"1"`, `"int":null`, `"int":1,"int":null`, `"int":1,"int":2`,
	`"Int":3`, `"INT":3,"int":4`, `"long":9223372036854775807`, `"long":9223372036854775808`, `"long":null`,
	`"float":1`, `"float":1e400`, `"float":123456789012345678901234567890`, `"float":-0.0`,
	`"bytes":"aGk="`, `"bytes":""`, `"bytes":null`, `"bytes":"aG\nk="`, `"bytes":"aGk"`, `"bytes":"!"`, `"bytes":[104,105]`,
	`"string":"\u00e9\ud83d\ude00\ud800x"`, "\"string\":\"a\xffb\"", `"string":1`, `"string":"a\/b\\\"c"`,
	`"strings":[]`, `"strings":null`, `"strings":["a",null,"b"]`, `"strings":["a"],"strings":["b","c"]`,
	`"map":{}`, `"map":null`, `"map":{"a":"1"},"map":{"b":"2"}`, `"map":{"a":"1","a":"2"}`, `"map":{"a":null}`, `"map":["a"]`,
	`"maps":{"a":"aGk=","b":null,"c":""}`, `"port":80`, `"port":"http"`, `"port":null`, `"port":{}`,
	`"raw":{"a": [1,2 ]}`, `"raw":null`, `"raw":"x"`, `"any":1`, `"any":1.5`, `"any":-0`, `"any":9223372036854775808`, `"any":1e400`, `"any":{"a":[1,2.0,"x",null,true,{}],"a":{"b":[]}}`,
	`"any":null`, `"any":"x\u0041"`, `"time":"2020-01-01T00:00:00Z"`, `"time":null`, `"time":"x"`, `"time":5`, `"micro":"2020-01-01T00:00:00.000001Z"`, `"micro":null`,
	`"duration":"5s"`, `"duration":5`, `"inner":{"A":1,"b":2,"B":3}`, `"inner":{"A":1},"inner":{"B":2}`, `"inner":null`, `"inner":[]`,
	`"bool":true`, `"bool":false,"bool":null`, `"bool":"true"`, `"quoted":"5"`, `"quoted":5`, `"unknown":{"a":[{"b":null}]}`,
	`"metadata":null`, `"metadata":{}`, `"metadata":{"labels":{"a":"b"},"annotations":null,"ownerReferences":[{"uid":"u","controller":true}],"finalizers":["x"],"deletionGracePeriodSeconds":30}`,
	`"metadata":{"managedFields":[{"manager":"m","fieldsType":"FieldsV1","fieldsV1":{"f:a":{ }},"time":"2020-01-01T00:00:00Z"}],"creationTimestamp":null,"generation":3}`,
	`"quantity":"100m"`, `"quantity":"128Mi"`, `"quantity":"128Mi","quantity":"1"`, `"quantity":"1","quantity":null`, `"quantity":1.5`, `"quantity":-0`, `"quantity":" 5 "`, `"quantity":""`,
	`"quantity":"\u0031"`, `"quantity":"x"`, `"quantity":{}`, `"quantity":true`, `"quantity":"123456789012345678901234567890"`, `"quantity":"1e3"`, `"quantity":"1e-999"`, `"quantity":1e+0999`, `"quantities":{"cpu":"100m","memory":"128Mi","other":"100m","none":null}`,
	`"kind":"K","apiVersion":"g/v1"`, `"kind":null`, `"":1`, ` "int" : 1 , "any" : [ 1 , { "a" : 2 } ] `,
}

// Typed objects are those that apimachinery's decoder makes, or both fail.
func TestTypedEqualsApimachinery(t *testing.T) {
	decode := structDecoder[*sample](metadataType.GroupVersionKind(), false)
	for _, members := range odd {
		body := []byte("{" + members + "}")
		want := &sample{}
		wantErr := utiljson.Unmarshal(body, want)
		got, err := decode(body)
		want.TypeMeta = metadataType
		if (err != nil) != (wantErr != nil) {
			t.Errorf("%s: error %v, apimachinery's %v", body, err, wantErr)
		} else if err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v", body, got, want)
		}
	}
}

// A tag that go-json-experiment does not accept and everybody else overlooks.
type oddTag struct {
	sample
	Odd string `json:"oddity,format:x"`
}

// Equal quantities share the text that the decimal ones keep, but never the number of a big one.
func TestQuantitiesAreShared(t *testing.T) {
	decode := structDecoder[*sample](metadataType.GroupVersionKind(), false)
	for text, shared := range map[string]bool{"100m": true, "128Mi": false, "123456789012345678901234567890": false} {
		body := fmt.Appendf(nil, `{"quantity":%q}`, text)
		one, err := decode(body)
		if err != nil {
			t.Fatal(err)
		}
		two, err := decode(body)
		if err != nil {
			t.Fatal(err)
		}
		if shared && unsafe.StringData(one.Quantity.String()) != unsafe.StringData(two.Quantity.String()) {
			t.Errorf("two texts of %s", text)
		}
		one.Quantity.Add(resource.MustParse("1"))
		if two.Quantity.Cmp(resource.MustParse(text)) != 0 {
			t.Errorf("%s: a change of one quantity changed another one", text)
		}
	}
}

func TestTypeWithAnOddTag(t *testing.T) {
	got, err := structDecoder[*oddTag](metadataType.GroupVersionKind(), false)([]byte(`{"metadata":{"name":"a"},"oddity":"x"}`))
	if err != nil || got.Odd != "x" || got.Name != "a" {
		t.Error(got, err)
	}
}

func TestUnstructuredEqualsApimachinery(t *testing.T) {
	decode := unstructuredDecoder[*unstructured.Unstructured](false)
	for _, members := range odd {
		body := []byte("{" + members + "}")
		var want map[string]any
		wantErr := utiljson.Unmarshal(body, &want)
		got, err := decode(body)
		if (err != nil) != (wantErr != nil) {
			t.Errorf("%s: error %v, apimachinery's %v", body, err, wantErr)
		} else if err == nil && !reflect.DeepEqual(got.Object, want) {
			t.Errorf("%s\n got %#v\nwant %#v", body, got.Object, want)
		}
	}
}

func FuzzUnstructuredEqualsApimachinery(f *testing.F) {
	for _, members := range odd {
		f.Add([]byte("{" + members + "}"))
	}
	decode := unstructuredDecoder[*unstructured.Unstructured](false)
	f.Fuzz(func(t *testing.T, data []byte) {
		raw, err := firstValue(data)
		if err != nil || len(raw) == 0 || raw[0] != '{' {
			return
		}
		var want map[string]any
		wantErr := utiljson.Unmarshal(raw, &want)
		got, err := decode(raw)
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("%q: error %v, apimachinery's %v", raw, err, wantErr)
		}
		if err == nil && !reflect.DeepEqual(got.Object, want) {
			t.Fatalf("%q\n got %#v\nwant %#v", raw, got.Object, want)
		}
	})
}

func firstValue(data []byte) ([]byte, error) {
	in := newInput(1 << 20)
	in.reset(bytes.NewReader(data))
	return in.value()
}

// What is identified without decoding is what decoding finds.
func FuzzIdentity(f *testing.F) {
	for _, body := range []string{
		`{"kind":"K","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"5"}}`,
		`{"metadata":{"labels":{"name":"x"},"name":"a\u0041\"","managedFields":[{"name":"x"}]},"spec":{"metadata":{"name":"b"}},"kind":"K"}`,
		`{"metadata":null}`, `{"metadata":{"name":null}}`, `{"metadata":{"name":5}}`, `{"a":"\\","metadata":{"name":"\\\""}}`, `[]`, `{}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		raw, err := firstValue(data)
		if err != nil || len(raw) == 0 {
			return
		}
		id, err := identify(raw, true)
		var want metav1.PartialObjectMetadata
		if err != nil || repeats(raw) || utiljson.Unmarshal(raw, &want) != nil {
			return // of repeated names the walk takes the first metadata
		}
		got := id.object()
		if got.Name != want.Name || got.Namespace != want.Namespace || got.UID != want.UID || got.ResourceVersion != want.ResourceVersion || got.Kind != want.Kind {
			t.Fatalf("%q: %+v, want %+v", raw, got, want)
		}
	})
}

// repeats reports whether a name is repeated within an object.
func repeats(raw []byte) bool {
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowInvalidUTF8(true))
	_, err := d.ReadValue()
	return err != nil
}

func TestInterner(t *testing.T) {
	n := newInterner()
	same := func(text string) bool {
		a, b := n.share([]byte(text)), n.share([]byte(text))
		return a == text && unsafe.StringData(a) == unsafe.StringData(b)
	}
	if !same("a name") || same(strings.Repeat("x", maxInternLen+1)) {
		t.Error("not shared, or too long to be")
	}
	for i := range 3 * internSlots {
		if text := fmt.Sprint(i); n.share([]byte(text)) != text {
			t.Fatal(text)
		}
	}
}

// A field that a plan does not know has the whole type read in general.
type quoted struct {
	sample
	Quoted int `json:"quoted,string"`
}

func TestPlan(t *testing.T) {
	for _, members := range []string{
		`"int":1`, `"string":"a"`, `"port":80`, `"time":"2020-01-01T00:00:00Z"`, `"any":{"a":1}`, `"raw":{}`, `"unknown":[{}]`,
		`"metadata":{"labels":{"a":"b"},"managedFields":[{"manager":"m"}]}`, `"maps":{"a":"aGk="}`,
	} {
		if !newPlan(reflect.TypeFor[sample](), false).fill(&cursor{b: []byte("{" + members + "}")}, reflect.New(reflect.TypeFor[sample]()).Elem()) {
			t.Errorf("%s is not as planned", members)
		}
	}
	if newPlan(reflect.TypeFor[quoted](), false) != nil || newPlan(reflect.TypeFor[oddTag](), false) != nil {
		t.Error("there is a plan for what only some decoders know")
	}
	got, err := structDecoder[*quoted](metadataType.GroupVersionKind(), false)([]byte(`{"quoted":"5","metadata":{"name":"a"}}`))
	if err != nil || got.Quoted != 5 || got.Name != "a" {
		t.Error(got, err)
	}
}

// A type that holds itself, at several depths at once.
type nested struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Name              string            `json:"name"`
	Parts             []nested          `json:"parts"`
	Named             map[string]nested `json:"named"`
	Next              *nested           `json:"next"`
}

func (n *nested) DeepCopyObject() runtime.Object { out := *n; return &out }

func TestNestedType(t *testing.T) {
	decode := structDecoder[*nested](metadataType.GroupVersionKind(), false)
	for range 3 { // with the memory of the one before
		for _, body := range []string{
			`{"name":"a","parts":[{"name":"b","parts":[{"name":"c"},{"name":"d","parts":[]}]},{"next":{"parts":[null,{"name":"e"}]}}],"named":{"x":{"parts":[{"name":"f"}]},"y":null}}`,
			`{"parts":[{},{"parts":[{}]}]}`,
			`{"parts":[{"name":"g"},{"name":5}]}`,
		} {
			want := &nested{}
			wantErr := utiljson.Unmarshal([]byte(body), want)
			got, err := decode([]byte(body))
			if want.TypeMeta = metadataType; (err != nil) != (wantErr != nil) || err == nil && !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, want %+v; %v", body, got, want, err)
			}
		}
	}
}

func TestManagedFieldsAreLeftOut(t *testing.T) {
	body := []byte(`{"managedFields":[1],"metadata":{"name":"a","managedFields":[{"manager":"m"}],"uid":"u"},"any":{"metadata":{"managedFields":[]}}}`)
	typed, err := structDecoder[*sample](metadataType.GroupVersionKind(), true)(body)
	if err != nil || typed.ManagedFields != nil || typed.UID != "u" {
		t.Error(typed, err)
	}
	general, err := structDecoder[*quoted](metadataType.GroupVersionKind(), true)(body)
	if err != nil || general.ManagedFields != nil || general.UID != "u" {
		t.Error(general, err)
	}
	maps, err := unstructuredDecoder[*unstructured.Unstructured](true)(body)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"managedFields": []any{int64(1)}, "metadata": map[string]any{"name": "a", "uid": "u"},
		"any": map[string]any{"metadata": map[string]any{"managedFields": []any{}}},
	}
	if !reflect.DeepEqual(maps.Object, want) {
		t.Errorf("%v, want %v", maps.Object, want)
	}
}

var hugeExponent = regexp.MustCompile(`[eE][+-]?0*[1-9][0-9]{3}`)

func FuzzTypedEqualsApimachinery(f *testing.F) {
	for _, members := range odd {
		f.Add([]byte("{" + members + "}"))
	}
	decode := structDecoder[*sample](metadataType.GroupVersionKind(), false)
	f.Fuzz(func(t *testing.T, data []byte) {
		raw, err := firstValue(data)
		if err != nil || len(raw) == 0 || raw[0] != '{' {
			return
		}
		got, err := decode(raw)
		if errors.Is(err, errQuantity) { // which apimachinery would be at for hours
			if len(raw) < 1024 && !hugeExponent.Match(raw) {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		want := &sample{}
		wantErr := utiljson.Unmarshal(raw, want)
		want.TypeMeta = metadataType
		if err == nil && wantErr == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q\n got %+v\nwant %+v", raw, got, want)
		}
		if err != nil && wantErr == nil {
			t.Fatalf("%q: %v", raw, err)
		}
	})
}

// A failure leaves nothing for the next object.
func TestWalkerAfterAnError(t *testing.T) {
	w := newWalker()
	if _, err := w.object([]byte(`{"a":[1,2,{"b":1e999}]}`)); err == nil {
		t.Fatal("no error")
	}
	got, err := w.object([]byte(`{"c":[1]}`))
	if err != nil || !reflect.DeepEqual(got, map[string]any{"c": []any{int64(1)}}) {
		t.Error(got, err)
	}
}

// What a large object needed is let go of.
func TestWalkerKeepsLittle(t *testing.T) {
	w := newWalker()
	for _, body := range []string{
		`{"a":[` + strings.Repeat("1,", 2*maxKept) + `1]}`,
		`{` + strings.Repeat(`"a":1,`, 2*maxKept) + `"b":1}`,
		`{"a":[` + strings.Repeat("1,", 2*maxKept) + `1e999]}`,
	} {
		_, err := w.object([]byte(body))
		if (err != nil) != strings.Contains(body, "e999") || cap(w.members) > maxKept || cap(w.values) > maxKept {
			t.Errorf("%d members, %d values, %v", cap(w.members), cap(w.values), err)
		}
	}
}

// The input never holds much more than the largest piece.
func TestInputIsBounded(t *testing.T) {
	const limit = 1 << 20
	in := newInput(limit)
	in.reset(&endlessString{})
	if _, err := in.value(); err == nil {
		t.Fatal("no error")
	}
	if held := cap(in.decoder.UnreadBuffer()); held > 3*limit {
		t.Errorf("%d bytes are held", held)
	}
}

type endlessString struct{ begun bool }

func (e *endlessString) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	if !e.begun {
		p[0], e.begun = '"', true
	}
	return len(p), nil
}

func TestStatusWithoutKind(t *testing.T) {
	for body, want := range map[string]bool{
		`{"kind":"Status"}`: true, `{"reason":"x"}`: true, `{"code":5}`: true, `{}`: false, `{"kind":"Pod","code":5}`: false, `[]`: false, ``: false,
	} {
		if _, ok := parseStatus([]byte(body)); ok != want {
			t.Errorf("%s: %t", body, ok)
		}
	}
}

// The strings that only one object has share its memory, and nobody else's.
func TestOwnStrings(t *testing.T) {
	n := newInterner()
	keep := func(texts ...string) (kept []string) {
		n.begin()
		for _, text := range texts {
			kept = append(kept, n.keep([]byte(text)))
		}
		return kept
	}
	together := func(a, b string) bool {
		return unsafe.Pointer(unsafe.StringData(b)) == unsafe.Add(unsafe.Pointer(unsafe.StringData(a)), len(a))
	}
	// Of a length that leaves a gap where each has memory of its own.
	name, uid, long := "a-name-of-20-letters", "a-uid--of-20-letters", strings.Repeat("x", maxMine-6)
	for i, test := range []struct {
		texts  []string
		joined bool // the first two
	}{
		{[]string{name, uid}, false}, // nothing is known yet
		{[]string{name, uid}, true},
		{[]string{name, uid, long}, true},
		{[]string{name, uid, long}, true},
		{[]string{long, name}, false},
		{[]string{name}, false},
		{nil, false},
		{[]string{name, uid}, false},
	} {
		got := keep(test.texts...)
		if !slices.Equal(got, test.texts) {
			t.Errorf("object %d has %q, want %q", i, got, test.texts)
		}
		if joined := len(got) > 1 && together(got[0], got[1]); joined != test.joined {
			t.Errorf("object %d: joined %t, want %t", i, joined, test.joined)
		}
	}
}

// What was there before is found again, and what is long is kept by nobody else.
func TestHabit(t *testing.T) {
	n := newInterner()
	var h habit
	share := func(text string) string { return n.shareAs(&h, []byte(text)) }
	first := share("node-1")
	if again := share("node-1"); unsafe.StringData(again) != unsafe.StringData(first) {
		t.Error("a string is not shared with the one before")
	}
	other := "node-2"
	for slot := func(text string) uint64 { return maphash.String(n.seed, text) % internSlots }; slot(other) == slot("node-1"); {
		other += "+" // one of 4096 seeds has both in one slot
	}
	share(other)
	if again := share("node-1"); unsafe.StringData(again) != unsafe.StringData(first) {
		t.Error("a string is not shared with an earlier one")
	}
	long := strings.Repeat("x", maxInternLen+1)
	if share(long) != long || h.last == long {
		t.Error("a long string is kept")
	}
	for i := range own {
		share(fmt.Sprint("uid-", i))
	}
	before := h.last
	if share("uid-x") != "uid-x" || h.last != before {
		t.Error("a string of an object's own is kept")
	}
	if got := share(""); got != "" {
		t.Error(got)
	}
	for range 1<<16 - own {
		share("uid-y")
	}
	share("node-3")
	if again := share("node-3"); again != "node-3" || h.last != "node-3" {
		t.Error("what repeats again is not noticed")
	}
	if got := n.quotedAs(&h, []byte(`"a\\b"`)); got != `a\b` {
		t.Error(got)
	}
	if got := n.quotedAs(&h, []byte(`"a\b"`)); got != "a\b" { // as it was written, it is the last
		t.Error(got)
	}
}
