// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
)

// boundlessTexts are quantities that apimachinery would read for hours, or fill the memory with.
var boundlessTexts = []string{"1e-2000000000", " 1E-2000000000 ", "12345678901234567890123e2000000000", "-.5e-0002000000000"}

// A quantity that would be read for hours is an object that does not fit its type, however it
// is read, and whatever else is wrong with it.
func TestBoundlessQuantities(t *testing.T) {
	odd := structDecoder[*oddTag](metadataType.GroupVersionKind(), false)
	for _, text := range boundlessTexts {
		for _, member := range []string{
			`"quantity":%q`, `"quantities":{"cpu":"1","memory":%q}`, `"quantity":"1","quantity":%q`, `"qu\u0061ntity":%q`, `"int":"x","quantity":%q`,
		} {
			body := fmt.Appendf(nil, "{"+member+"}", text)
			_, planned := structDecoder[*sample](metadataType.GroupVersionKind(), false)(body)
			_, general := structDecoder[*quoted](metadataType.GroupVersionKind(), false)(body)
			_, last := odd(body)
			for name, err := range map[string]error{"planned": planned, "general": general, "apimachinery's own": last} {
				if !errors.Is(err, errQuantity) || !errors.Is(err, errSchema) || strings.Contains(err.Error(), text) {
					t.Errorf("%s: %s: %v", body, name, err)
				}
			}
		}
	}
	if _, err := odd([]byte(`{"quantity":1e-2000000000}`)); !errors.Is(err, errQuantity) {
		t.Error(err)
	}
	body := []byte(`{"string":"1e-2000000000","map":{"quantity":"node1234"},"unknown":"1e-2000000000","raw":{"quantities":["1e-2000000000"]},` +
		`"metadata":{"name":"1e-2000000000","labels":{"quantity":"node1234"}},"quantity":"1","quantity":"2"}`)
	if _, err := odd(body); err != nil {
		t.Errorf("what is no quantity: %v", err)
	}
	if _, err := structDecoder[*sample](metadataType.GroupVersionKind(), false)(body); err != nil {
		t.Errorf("what is no quantity, in general: %v", err)
	}
}

func TestBoundlessCBOR(t *testing.T) {
	decode := cborDecoder(decoded{elem: reflect.TypeFor[sample]()})
	check := func(name string, raw []byte, want bool) {
		t.Helper()
		if _, err := decode(raw); errors.Is(err, errQuantity) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	encode := func(value any) []byte {
		raw, err := direct.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for _, text := range boundlessTexts {
		check("quantity", encode(map[string]any{"metadata": map[string]any{"name": "a"}, "quantity": text}), true)
		check("quantities", encode(map[string]any{"string": text, "quantities": map[string]any{"a": "1", "b": text}}), true)
		check("no quantity", encode(map[string]any{"string": text, "map": map[string]any{"quantity": text}, "raw": map[string]any{"quantity": text}}), false)
		check("tagged", slices.Concat([]byte("\xd9\xd9\xf7\xa1\x68quantity\xd9\xd9\xf7\x78"), []byte{byte(len(text))}, []byte(text)), true)
		var chunks []byte // {"quantity": (_ ...)}, the name too
		chunks = append(chunks, 0xbf, 0x7f, 0x64)
		chunks = append(append(append(chunks, "quan"...), 0x64), "tity"...)
		chunks = append(chunks, 0xff, 0x5f)
		for i := range len(text) {
			chunks = append(chunks, 0x41, text[i])
		}
		check("in chunks", append(chunks, 0xff, 0xff), true)
	}
	// A name and its value, behind what once put the walk out of step.
	quantity := append([]byte("\x68quantity\x6d"), boundlessTexts[0]...)
	for name, before := range map[string]string{
		"after a tag before a name": "\xa2\x63map\xa1\xd9\xd9\xf7\x61x\x61y",
		"after a name in an array":  "\xa2\x63any\xa1\x82\x61a\x61b\x61y",
		"after a number for a name": "\xa2\x07\x61y",
	} {
		check(name, append([]byte(before), quantity...), true)
	}
	// Bytes that are to be written in hexadecimal digits, and what comes out of that: 1e20000000.
	check("hexadecimal", []byte("\xa1\x68quantity\xd7\x45\x1e\x20\x00\x00\x00"), true)
	check("bytes", []byte("\xa1\x68quantity\x45\x1e\x20\x00\x00\x00"), false)
	for _, raw := range []string{"", "\xbf", "\xa1", "\xa1\x68quantity", "\x9b\xff\xff\xff\xff\xff\xff\xff\xff", "\x7f", "\x7b\xff\xff\xff\xff\xff\xff\xff\xffx", "\x7b", "\xc1\xc1", "\xa1\x68quantity\x6d1e-20"} {
		if measuredIn(reflect.TypeFor[sample]()).inCBOR([]byte(raw)) {
			t.Errorf("%x", raw)
		}
	}
}

// measures has quantities in the places that types of the API have them in.
type measures struct {
	One  resource.Quantity            `protobuf:"bytes,1,opt,name=one"`
	Some *resource.Quantity           `protobuf:"bytes,2,opt,name=some"`
	Many map[string]resource.Quantity `protobuf:"bytes,3,rep,name=many"`
	Next *measures                    `protobuf:"bytes,4,opt,name=next"`
	Text string                       `protobuf:"bytes,5,opt,name=text"`
	Held deeper                       `protobuf:"bytes,6,opt,name=held"`
}

// Unmarshal implements protoMessage.
func (m *measures) Unmarshal([]byte) error { return errors.New("called") }

func TestBoundlessProtobuf(t *testing.T) {
	of := func(text string) []byte { return protoPart(nil, 1, []byte(text)) }
	for _, text := range boundlessTexts {
		for name, raw := range map[string][]byte{
			"one":           protoPart(nil, 1, of(text)),
			"of two":        protoPart(nil, 1, append(of("1"), of(text)...)),
			"pointer":       protoPart(nil, 2, of(text)),
			"no wire type":  protoPart(nil, 3, append([]byte{2 << 3, byte(len(of(text)))}, of(text)...)),
			"map":           protoPart(nil, 3, protoPart(protoPart(nil, 1, []byte("cpu")), 2, of(text))),
			"within":        protoPart(nil, 4, protoPart(nil, 1, of(text))),
			"after a fault": protoPart(protoPart(protoPart(nil, 1, of("1")), 1, of("1")), 4, protoPart(nil, 2, of(text))),
		} {
			planner, _ := newProtoPlan(reflect.TypeFor[measures](), false)
			plan := planner.plan(reflect.TypeFor[measures]())
			if planner.message(plan, raw, reflect.ValueOf(new(measures)).Elem()) {
				t.Errorf("%s: it is read", name)
			}
			if err := planner.unfitFor(reflect.TypeFor[measures]())(raw); !errors.Is(err, errQuantity) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	planner, _ := newProtoPlan(reflect.TypeFor[measures](), false)
	unfit := planner.unfitFor(reflect.TypeFor[measures]())
	huge := protoPart(nil, 1, of(boundlessTexts[0]))
	group := []byte{7<<3 | wireGroup, 8<<3 | wireGroup, 9 << 3, 1, 8<<3 | wireGroupEnd, 9<<3 | wire32, 1, 2, 3, 4, 7<<3 | wireGroupEnd}
	for name, row := range map[string]struct {
		raw  []byte
		want error
	}{
		"a text":                 {protoPart(nil, 5, []byte(boundlessTexts[0])), nil},
		"a usual quantity":       {protoPart(nil, 4, protoPart(nil, 1, of("100m"))), nil},
		"truncated":              {huge[:len(huge)-1], nil}, // Unmarshal ends there, too
		"after a group":          {append(group, huge...), errQuantity},
		"after half a group":     {append(group[:3:3], huge...), nil},
		"after an end":           {append([]byte{7<<3 | wireGroupEnd}, huge...), nil},
		"after a lossy number":   {append([]byte{7 << 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, huge...), errQuantity},
		"after an endless one":   {append([]byte{7 << 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, huge...), nil},
		"a number that is lossy": {append([]byte{1<<3 | wireBytes | 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40}, huge[1:]...), errQuantity},
		"an entry's odd wires":   {protoPart(nil, 3, append([]byte{1<<3 | wire64, 1, 'a', 2 << 3, byte(len(of(boundlessTexts[0])))}, of(boundlessTexts[0])...)), errQuantity},
		"beyond its entry":       {append([]byte{3<<3 | wireBytes, 2, 2<<3 | wireBytes, byte(len(of(boundlessTexts[0])))}, of(boundlessTexts[0])...), errQuantity},
		"many beyond":            {bytes.Repeat([]byte{3<<3 | wireBytes, 2, 1<<3 | wireBytes, 1}, maxBeyond+2), errBeyond},
		"a few beyond":           {bytes.Repeat([]byte{3<<3 | wireBytes, 2, 1<<3 | wireBytes, 1}, maxBeyond+1), nil}, // the last is cut
		"groups":                 {bytes.Repeat([]byte{7<<3 | wireGroup}, maxProtoDepth), nil},
		"deep groups":            {bytes.Repeat([]byte{7<<3 | wireGroup}, maxProtoDepth+1), errTooDeep},
		"in a quantity":          {protoPart(nil, 1, bytes.Repeat([]byte{7<<3 | wireGroup}, maxProtoDepth+1)), errTooDeep},
		"in an entry":            {protoPart(nil, 3, bytes.Repeat([]byte{7<<3 | wireGroup}, maxProtoDepth+1)), errTooDeep},
		"an embedded one":        {protoPart(nil, 6, of(boundlessTexts[0])), errQuantity},
		"a cut entry":            {protoPart(nil, 3, []byte{2<<3 | wireBytes, 5}), nil},
		"an empty entry":         {protoPart(nil, 3, nil), nil},
		"half a number":          {protoPart(nil, 3, []byte{0x80}), nil},
		"after numbers":          {append([]byte{7<<3 | wire64, 1, 2, 3, 4, 5, 6, 7, 8, 7<<3 | wire32, 1, 2, 3, 4}, huge...), errQuantity},
	} {
		for range 2 {
			if err := unfit(row.raw); !errors.Is(err, row.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Types that hold themselves by way of slices, maps or pointers alone end, too.
type (
	sliceOf   []sliceOf
	mapOf     map[string]mapOf
	Recursive struct {
		*Recursive
		Slices   sliceOf
		Maps     mapOf
		Embedded struct{ resource.Quantity }
		Lists    map[string][]*resource.Quantity `json:"lists,omitempty"`
		Inner    []struct {
			Limit resource.Quantity `json:"limit"`
		}
		Number  **resource.Quantity
		Skipped resource.Quantity `json:"-"`
		Deep    struct{ deeper }
		Both    resource.Quantity
		hidden
	}
	deeper struct{ *resource.Quantity }
	hidden struct {
		One  resource.Quantity `json:"quantity"`
		Size resource.Quantity `json:"size"`
		Both string
	}
)

func TestMeasured(t *testing.T) {
	m := measuredIn(reflect.TypeFor[Recursive]())
	for path, want := range map[string]bool{
		"Embedded": true, "lists": false, "lists a": false, "lists a 0": true, "Inner": false, "Inner 0 limit": true, "Inner limit": false,
		"limit": false, "Slices 0 0": false, "Maps a b": false, "other": false, "Number": true, "Number other": false, "Skipped": false, "-": false,
		"quantity": true, "Quantity": true, "LISTS a 0": true, "li\u017ft\u017f a 0": true, "Deep": true, "Deep limit": false, "size": true, "Both": true,
	} {
		at := m
		for name := range strings.SplitSeq(path, " ") {
			at = at.member([]byte(name))
		}
		if got := at != nil && at.quantity; got != want {
			t.Errorf("%s: %t, want %t", path, got, want)
		}
	}
	if m := measuredIn(reflect.TypeFor[nested]()); m != nil {
		t.Errorf("a type without quantities: %v", m)
	}
}

// embedding has the methods of what it embeds, and so is a quantity, in another struct too.
type embedding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Limit             struct{ resource.Quantity } `json:"limit"`
	Itself            readsItself                 `json:"itself"`
}

// readsItself does what would be done anyway.
type readsItself struct {
	Limit resource.Quantity `json:"limit"`
	Label string            `json:"label"`
}

func (r *readsItself) UnmarshalJSON(raw []byte) error {
	type plain readsItself
	return stdjson.Unmarshal(raw, (*plain)(r))
}

// DeepCopyObject implements runtime.Object.
func (e *embedding) DeepCopyObject() runtime.Object { out := *e; return &out }

func TestBoundlessEmbedded(t *testing.T) {
	if newPlan(reflect.TypeFor[embedding](), false) == nil {
		t.Fatal("there is no plan")
	}
	decode := structDecoder[*embedding](metadataType.GroupVersionKind(), false)
	for _, text := range boundlessTexts {
		for _, body := range []string{`{"limit":%q}`, `{"itself":{"limit":%q}}`, `{"itself":{"LIMIT":%q}}`} {
			if _, err := decode(fmt.Appendf(nil, body, text)); !errors.Is(err, errQuantity) {
				t.Errorf(body+": %v", text, err)
			}
		}
		if got, err := decode(fmt.Appendf(nil, `{"itself":{"limit":"1","label":%q}}`, text)); err != nil || got.Itself.Label != text {
			t.Errorf("a label of %s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"1", "128Mi", " 1e3 ", strings.Repeat(" ", 2000) + "1"} {
		if got, err := decode(fmt.Appendf(nil, `{"limit":%q}`, text)); err != nil || got.Limit.IsZero() {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// A map knows whether it is within another one, whatever became of those before.
func TestMapsKnowWhereTheyAre(t *testing.T) {
	m := &mapPlan{t: reflect.TypeFor[map[string]int](), strings: newInterner()}
	m.elem = &plan{fill: func(c *cursor, _ reflect.Value) bool {
		if !m.within {
			t.Error("the value of a map is not within it")
		}
		switch c.next() {
		case '0':
			return false
		case '1':
			panic("an UnmarshalJSON")
		}
		inner := m.fill(c, reflect.New(m.t).Elem())
		if !m.within {
			t.Error("no longer after a map within it")
		}
		return inner
	}}
	for _, body := range []string{`{}`, `{"a":{"b":{}},"c":{}}`, `{"a":{"b":0}}`, `{"a":{"b":1}}`} {
		func() {
			defer func() { _ = recover() }()
			m.fill(&cursor{b: []byte(body)}, reflect.New(m.t).Elem())
		}()
		if m.within {
			t.Errorf("after %s", body)
		}
	}
}

// Maps within maps of their kind are filled as others are, though not counted before.
func TestMapsWithinMaps(t *testing.T) {
	plan := newPlan(reflect.TypeFor[nested](), false)
	for range 3 {
		for _, body := range []string{`{"named":{"a":{"named":{"b":{"name":"c"},"d":{}}},"e":{"named":{}}}}`, `{"named":{"a":{"named":{"b":5}}}}`, `{"named":{"a":{"named":{"b":{},"b":{}}}}}`} {
			var to nested
			if ok := plan.fill(&cursor{b: []byte(body)}, reflect.ValueOf(&to).Elem()); ok != strings.Contains(body, `"c"`) {
				t.Errorf("%s: %t", body, ok)
			}
		}
	}
}

// foreign is of a package that is none of Kubernetes, as those of other API servers are: its own
// Unmarshal reads it, and nothing else.
type foreign struct {
	metav1.TypeMeta
	metav1.ObjectMeta `protobuf:"bytes,1,opt,name=metadata"`
	Limit             resource.Quantity `protobuf:"bytes,2,opt,name=limit"`
	Next              *foreign          `protobuf:"bytes,3,opt,name=next"`
}

// DeepCopyObject implements runtime.Object.
func (f *foreign) DeepCopyObject() runtime.Object { out := *f; return &out }

// Unmarshal implements protoMessage.
func (f *foreign) Unmarshal(data []byte) error {
	f.Name = fmt.Sprint(len(data), " bytes were shown")
	return nil
}

func TestUnfitOfAnotherPackage(t *testing.T) {
	decode := protoDecoder(decoded{elem: reflect.TypeFor[foreign]()})
	limit := func(text string) []byte { return protoPart(nil, 2, protoPart(nil, 1, []byte(text))) }
	for _, text := range boundlessTexts {
		for _, raw := range [][]byte{limit(text), protoPart(limit("1"), 3, limit(text))} {
			if got, err := decode(raw); !errors.Is(err, errQuantity) {
				t.Errorf("%q: %v, %v", raw, got, err)
			}
		}
	}
	var deep []byte
	for range maxProtoDepth {
		deep = protoPart(nil, 3, deep)
	}
	if _, err := decode(deep); !errors.Is(err, errTooDeep) {
		t.Error(err)
	}
	if got, err := decode(limit("1")); err != nil || got.GetName() != "5 bytes were shown" {
		t.Errorf("%v, %v", got, err)
	}
}
