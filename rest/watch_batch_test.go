// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/informerkit/informer/rest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// piped answers with a body that a test writes.
type piped struct {
	contentType string
	body        io.ReadCloser
}

func (p piped) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {p.contentType}}, Body: p.body, Request: req, ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

func jsonEvent(i int) []byte {
	return fmt.Appendf(nil, `{"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1","metadata":{"name":"n%d","resourceVersion":"%d"},"count":%d}}`+"\n", i, i, i)
}

// protoEvent is a frame with metadata in it.
func protoEvent(i int) []byte {
	object, _ := (&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i), ResourceVersion: fmt.Sprint(i)}}).Marshal()
	typeMeta := protoField(protoField(nil, 1, []byte("meta.k8s.io/v1")), 2, []byte("PartialObjectMetadata"))
	unknown := protoField(protoField([]byte("k8s\x00"), 1, typeMeta), 2, object)
	event, _ := (&metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: unknown}}).Marshal()
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(event))), event...)
}

var bursts = map[string]struct {
	encoding    rest.Encoding
	contentType string
	event       func(i int) []byte
}{
	"indented": {rest.JSON, "application/json", func(i int) []byte {
		var out bytes.Buffer
		_ = json.Indent(&out, bytes.TrimSpace(jsonEvent(i)), "", "  ")
		return append(out.Bytes(), '\n')
	}},
	"json":     {rest.JSON, "application/json", jsonEvent},
	"protobuf": {rest.Protobuf, "application/vnd.kubernetes.protobuf;stream=watch", protoEvent},
}

func watchPiped(t *testing.T, encoding rest.Encoding, contentType string, body io.ReadCloser) watch.Interface {
	t.Helper()
	config := rest.Config{BaseURL: "http://server", Encoding: encoding, HTTPClient: &http.Client{Transport: piped{contentType, body}}}
	w, err := newClient[meta](t, config).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A burst comes in its order, and an error after all of it.
func TestBurstInOrder(t *testing.T) {
	const count = 5000
	for name, b := range bursts {
		t.Run(name, func(t *testing.T) {
			var body bytes.Buffer
			for i := range count {
				body.Write(b.event(i))
			}
			body.Write([]byte("\x00\x00\x00\x02\x08\x01 no event"))
			events := drain(watchPiped(t, b.encoding, b.contentType, io.NopCloser(&body)))
			if len(events) != count+1 {
				t.Fatalf("%d events", len(events))
			}
			for i, event := range events[:count] {
				if m := event.Object.(meta); event.Type != watch.Added || m.Name != fmt.Sprintf("n%d", i) || m.ResourceVersion != fmt.Sprint(i) {
					t.Fatalf("event %d: %s %s", i, event.Type, m.Name)
				}
			}
			if last := events[count]; last.Type != watch.Error {
				t.Errorf("the last event is %s", last.Type)
			}
		})
	}
}

// What is complete is delivered, whatever the rest of the next event does.
func TestBurstThatStops(t *testing.T) {
	for name, b := range bursts {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, out := io.Pipe()
				w := watchPiped(t, b.encoding, b.contentType, in)
				sent := 0
				for _, whole := range []int{1, 7, 100, 1} {
					var burst []byte
					for range whole {
						burst = append(burst, b.event(sent)...)
						sent++
					}
					next := b.event(sent)
					_, _ = out.Write(append(burst, next[:len(next)/2]...))
					for i := sent - whole; i < sent; i++ {
						if m := (<-w.ResultChan()).Object.(meta); m.Name != fmt.Sprintf("n%d", i) {
							t.Fatalf("%s in place of %d", m.Name, i)
						}
					}
					synctest.Wait()
					select {
					case event := <-w.ResultChan():
						t.Fatalf("half an event is %v", event)
					default:
					}
					_, _ = out.Write(next[len(next)/2:])
					if m := (<-w.ResultChan()).Object.(meta); m.Name != fmt.Sprintf("n%d", sent) {
						t.Fatalf("%s in place of %d", m.Name, sent)
					}
					sent++
				}
				w.Stop()
				_ = out.Close()
				for range w.ResultChan() {
					t.Error("an event after the last")
				}
			})
		})
	}
}

// The same for an event in several lines, wherever it is cut.
func TestBurstBeforeCutLines(t *testing.T) {
	const count = 100 // enough for a batch
	b := bursts["indented"]
	var burst []byte
	for i := range count {
		burst = append(burst, b.event(i)...)
	}
	next := b.event(count)
	for cut := range len(next) - 1 {
		synctest.Test(t, func(t *testing.T) {
			in, out := io.Pipe()
			w := watchPiped(t, b.encoding, b.contentType, in)
			_, _ = out.Write(slices.Concat(burst, next[:cut]))
			got := 0
			for synctest.Wait(); len(w.ResultChan()) > 0; synctest.Wait() {
				<-w.ResultChan()
				got++
			}
			if got != count {
				t.Errorf("%d events of %d have come before %q", got, count, next[:cut])
			}
			w.Stop()
			_ = out.Close()
		})
	}
}

// A reader that has left holds nothing up.
func TestBurstThatIsStopped(t *testing.T) {
	for name, b := range bursts {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, out := io.Pipe()
				w := watchPiped(t, b.encoding, b.contentType, in)
				go func() {
					for i := 0; ; i++ {
						if _, err := out.Write(bytes.Repeat(b.event(i), 100)); err != nil {
							return
						}
					}
				}()
				<-w.ResultChan()
				synctest.Wait() // all that may be held is
				w.Stop()
				_ = in.Close()
				for range w.ResultChan() { // closed, with what was on its way
				}
			})
		})
	}
}
