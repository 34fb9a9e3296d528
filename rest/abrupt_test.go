// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	goruntime "runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/rest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"
)

// touchy reads itself, in every encoding. What it is told in an annotation makes it panic,
// or end its goroutine.
type touchy struct{ metav1.PartialObjectMetadata }

const (
	explode = "explode-" + marker
	vanish  = "vanish"
)

func (t *touchy) DeepCopyObject() runtime.Object { out := *t; return &out }

func (t *touchy) UnmarshalJSON(raw []byte) error {
	return t.read(raw, func() error { return json.Unmarshal(raw, &t.PartialObjectMetadata) })
}

func (t *touchy) UnmarshalCBOR(raw []byte) error {
	return t.read(raw, func() error { return direct.Unmarshal(raw, &t.PartialObjectMetadata) })
}

func (t *touchy) Unmarshal(raw []byte) error {
	return t.read(raw, func() error { return t.PartialObjectMetadata.Unmarshal(raw) })
}

func (t *touchy) read(raw []byte, decode func() error) error {
	switch {
	case bytes.Contains(raw, []byte(explode)):
		panic(explode)
	case bytes.Contains(raw, []byte(vanish)):
		goruntime.Goexit()
	}
	return decode()
}

// bare is touchy's embedded type as the tests send it.
func bare(name, note string) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, ResourceVersion: "5", Annotations: map[string]string{"note": note}},
	}
	if name == "" { // a bookmark
		m.Namespace = ""
	}
	return m
}

// wording is how lists and events are written in an encoding.
type wording struct {
	encoding    rest.Encoding
	list, watch string // content types
	event       func(kind watch.EventType, m *metav1.PartialObjectMetadata) []byte
	whole       func(items []*metav1.PartialObjectMetadata) []byte
}

// worded is the wording of an encoding without a schema.
func worded(encoding rest.Encoding, stream string, marshal func(v any) ([]byte, error)) wording {
	must := func(v any) []byte {
		raw, err := marshal(v)
		if err != nil {
			panic(err)
		}
		return raw
	}
	return wording{
		encoding: encoding, list: encoding.String(), watch: stream,
		event: func(kind watch.EventType, m *metav1.PartialObjectMetadata) []byte {
			return must(map[string]any{"type": kind, "object": m})
		},
		whole: func(items []*metav1.PartialObjectMetadata) []byte {
			return must(map[string]any{"kind": "SecretList", "metadata": map[string]any{"resourceVersion": "4"}, "items": items})
		},
	}
}

var wordings = map[string]wording{
	"json": worded(rest.JSON, "application/json", func(v any) ([]byte, error) {
		raw, err := json.Marshal(v)
		return append(raw, '\n'), err
	}),
	"cbor": worded(rest.CBOR, "application/cbor-seq", direct.Marshal),
	"protobuf": {
		encoding: rest.Protobuf, list: "application/vnd.kubernetes.protobuf", watch: "application/vnd.kubernetes.protobuf;stream=watch",
		event: func(kind watch.EventType, m *metav1.PartialObjectMetadata) []byte {
			object, _ := m.Marshal()
			typeMeta := protoField(protoField(nil, 1, []byte("v1")), 2, []byte("Secret"))
			unknown := protoField(protoField([]byte("k8s\x00"), 1, typeMeta), 2, object)
			event, _ := (&metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: unknown}}).Marshal()
			return append(binary.BigEndian.AppendUint32(nil, uint32(len(event))), event...)
		},
		whole: func(items []*metav1.PartialObjectMetadata) []byte {
			meta, _ := (&metav1.ListMeta{ResourceVersion: "4"}).Marshal()
			list := protoField(nil, 1, meta)
			for _, m := range items {
				item, _ := m.Marshal()
				list = protoField(list, 2, item)
			}
			typeMeta := protoField(protoField(nil, 1, []byte("v1")), 2, []byte("SecretList"))
			return protoField(protoField([]byte("k8s\x00"), 1, typeMeta), 2, list)
		},
	},
}

// client answers lists with some items, and watches with some events.
func (w wording) client(t *testing.T, items []*metav1.PartialObjectMetadata, events ...[]byte) *rest.Client[*touchy] {
	t.Helper()
	transport := roundTrip(func(req *http.Request) (*http.Response, error) {
		contentType, body := w.list, w.whole(items)
		if req.URL.Query().Get("watch") != "" {
			contentType, body = w.watch, bytes.Join(events, nil)
		}
		return &http.Response{
			StatusCode: 200, Header: http.Header{"Content-Type": {contentType}}, ProtoMajor: 1, ProtoMinor: 1,
			Body: io.NopCloser(bytes.NewReader(body)), Request: req,
		}, nil
	})
	return newClient[*touchy](t, rest.Config{BaseURL: "http://server", Encoding: w.encoding, HTTPClient: &http.Client{Transport: transport}})
}

// ending is how a call was left.
func ending(call func()) string {
	ended := make(chan string)
	go func() {
		how := "runtime.Goexit"
		defer func() {
			if value := recover(); value != nil {
				how = fmt.Sprint(value)
			}
			ended <- how
		}()
		call()
		how = "return"
	}()
	return <-ended
}

// many are objects enough for several goroutines, the last of them with a note.
func many(note string) []*metav1.PartialObjectMetadata {
	var all []*metav1.PartialObjectMetadata
	for i := range 1200 {
		all = append(all, bare(fmt.Sprintf("n%d", i), "none"))
	}
	return append(all, bare("bad", note))
}

// eachLeaving calls a test for all encodings, and for all ways not to return.
func eachLeaving(t *testing.T, test func(t *testing.T, w wording, note, want string)) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(4))
	for name, w := range wordings {
		for note, want := range map[string]string{explode: explode, vanish: "runtime.Goexit"} {
			t.Run(name+" "+strings.TrimSuffix(note, "-"+marker), func(t *testing.T) { test(t, w, note, want) })
		}
	}
}

// However a type leaves its decoding, the caller of a list is left so.
func TestAbruptList(t *testing.T) {
	eachLeaving(t, func(t *testing.T, w wording, note, want string) {
		for name, items := range map[string][]*metav1.PartialObjectMetadata{
			"one": {bare("bad", note)}, "many": many(note),
		} {
			client := w.client(t, items)
			if how := ending(func() { _, _, _ = collect(t.Context(), client) }); how != want {
				t.Errorf("%s, streamed: %s", name, how)
			}
			if how := ending(func() { _, _ = client.List(t.Context(), metav1.ListOptions{}) }); how != want {
				t.Errorf("%s, whole: %s", name, how)
			}
		}
	})
}

// A stream hands on what came before, and then an error without content; who wants to is
// left as the decoding was.
func TestAbruptWatch(t *testing.T) {
	eachLeaving(t, func(t *testing.T, w wording, note, want string) {
		var burst [][]byte
		for i, m := range many(note) {
			burst = append(burst, w.event(watch.Added, m))
			if i%200 == 199 { // each goroutine has its own
				burst = append(burst, w.event(watch.Added, bare("good", "none")))
			}
		}
		after := w.event(watch.Added, bare("after", "none"))
		for name, row := range map[string]struct {
			events [][]byte
			whose  string // key in the error
			before int
		}{
			"single":   {[][]byte{w.event(watch.Modified, bare("bad", note)), after}, `"n/bad"`, 0},
			"bookmark": {[][]byte{after, w.event(watch.Bookmark, bare("", note)), after}, "touchy", 1},
			"burst":    {append(burst, bytes.Repeat(after, 500)), `"n/bad"`, len(burst) - 1},
		} {
			stream, err := w.client(t, nil, row.events...).Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			events := drain(stream)
			if len(events) != row.before+1 || events[row.before].Type != watch.Error {
				t.Fatalf("%s: %d events, want %d and an error", name, len(events), row.before)
			}
			text := events[row.before].Object.(*metav1.Status).Message
			if !strings.Contains(text, row.whose) || !strings.HasPrefix(text, "watch http://server/") || strings.Contains(text, marker) {
				t.Errorf("%s: %s", name, text)
			}
			if how := ending(stream.(interface{ Rethrow() }).Rethrow); how != want {
				t.Errorf("%s: %s", name, how)
			}
		}
	})
}

// The caller of Run is left as the decoding was, whichever way the object came.
func TestAbruptRun(t *testing.T) {
	eachLeaving(t, func(t *testing.T, w wording, note, want string) {
		good, bad := bare("good", "none"), bare("bad", note)
		for name, row := range map[string]struct {
			initial bool // begin with a watch-list
			items   []*metav1.PartialObjectMetadata
			events  [][]byte
		}{
			"list":                   {false, []*metav1.PartialObjectMetadata{good, bad}, nil},
			"long list":              {false, many(note), nil},
			"watch":                  {false, []*metav1.PartialObjectMetadata{good}, [][]byte{w.event(watch.Modified, good), w.event(watch.Added, bad)}},
			"bookmark":               {false, []*metav1.PartialObjectMetadata{good}, [][]byte{w.event(watch.Bookmark, bare("", note))}},
			"burst":                  {false, []*metav1.PartialObjectMetadata{good}, [][]byte{bytes.Repeat(w.event(watch.Modified, good), 1000), w.event(watch.Added, bad)}},
			"initial events":         {true, nil, [][]byte{w.event(watch.Added, good), w.event(watch.Added, bad)}},
			"burst of initial event": {true, nil, [][]byte{bytes.Repeat(w.event(watch.Added, good), 1000), w.event(watch.Added, bad)}},
		} {
			synctest.Test(t, func(t *testing.T) {
				options := informer.Options[*touchy]{}
				options.OnError = func(_ context.Context, err error) { t.Errorf("%s: %v", name, err) }
				if !row.initial {
					options.InitialEventsTimeout = -1
				}
				mirror := informer.New(w.client(t, row.items, row.events...), options)
				ctx, cancel := context.WithTimeout(klog.NewContext(t.Context(), klog.Logger{}), time.Minute)
				defer cancel()
				if how := ending(func() { _ = mirror.Run(ctx) }); how != want {
					t.Errorf("%s: %s", name, how)
				}
			})
		}
	})
}
