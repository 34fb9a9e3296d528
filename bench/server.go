// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// serve answers lists and watches of n pods on loopback, as kube-apiserver does: a list at
// "0" whole, a watch-list with its end marker, and a watch with silence.
//
// Below /events/E/ the list has 1,000 pods, and the watch after it E events. Below /relist/ID/
// versions expire: see expiring.
func serve(ctx context.Context, n int) (baseURL string, err error) {
	b, err := newBodies()
	if err != nil {
		return "", err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: b.handler(n)}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), nil
}

// serveAlone serves n pods until it is interrupted, for a mirror that is run by hand:
// PROFILE=file go run -tags profile ./mirror/ours -server URL.
func serveAlone(ctx context.Context, n string, out io.Writer) error {
	objects, err := strconv.Atoi(n)
	if err != nil {
		return err
	}
	baseURL, err := serve(ctx, objects)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, baseURL)
	<-ctx.Done()
	return nil
}

const (
	version   = "19999999" // of a list: older than its first event
	eventPods = 1000
)

// bodies makes pods in the encodings that are compared.
type bodies struct{ json, proto, metadata *pods }

func newBodies() (*bodies, error) {
	template := podTemplate()
	text, err := json.Marshal(template)
	if err != nil {
		return nil, err
	}
	message, err := template.Marshal()
	if err != nil {
		return nil, err
	}
	metadata, err := (&metav1.PartialObjectMetadata{ObjectMeta: template.ObjectMeta}).Marshal()
	if err != nil {
		return nil, err
	}
	return &bodies{newPods(text), newPods(message), newPods(metadata)}, nil
}

func (b *bodies) handler(n int) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/pods", func(w http.ResponseWriter, r *http.Request) { b.answer(w, r, n, 0) })
	mux.HandleFunc("/events/{events}/api/v1/pods", func(w http.ResponseWriter, r *http.Request) {
		events, _ := strconv.Atoi(r.PathValue("events"))
		b.answer(w, r, eventPods, events)
	})
	(&expirings{b: b, n: n, all: map[string]*expiring{}}).handle(mux)
	return mux
}

func (b *bodies) answer(w http.ResponseWriter, r *http.Request, n, events int) {
	accept := r.Header.Get("Accept")
	proto := strings.HasPrefix(accept, "application/vnd.kubernetes.protobuf")
	out := bufio.NewWriterSize(w, 1<<16)
	query := r.URL.Query()
	watch := query.Get("watch") != ""
	w.Header().Set("Content-Type", "application/json")
	if proto {
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
	}
	switch {
	case !watch && proto && strings.Contains(accept, "as=PartialObjectMetadataList"):
		writeProto(out, b.metadata, n, metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"})
	case !watch && proto:
		writeProto(out, b.proto, n, metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"})
	case !watch:
		writeList(out, b.json, n, listing{version, 0})
	case query.Get("sendInitialEvents") == "true":
		writeInitialEvents(out, b.json, n)
	default:
		from, _ := strconv.Atoi(query.Get("resourceVersion"))
		writeEvents(out, b.json, max(from-firstVersion+1, 0), events)
	}
	_ = out.Flush()
	if watch {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// listing is the state that a list has.
type listing struct {
	version string
	updated int // one pod in so many has a later version; 0: none
}

func writeList(out *bufio.Writer, p *pods, n int, state listing) {
	fmt.Fprintf(out, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":%q},"items":[`, state.version)
	var buffer []byte
	for i := range n {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		at := i
		if state.updated > 0 && i%state.updated == 0 {
			at += laterVersion
		}
		buffer = p.appendAt(buffer[:0], i, at)
		_, _ = out.Write(buffer)
	}
	_, _ = out.WriteString("]}\n")
}

// writeProto writes a list in its envelope; all items are equally long.
func writeProto(out *bufio.Writer, p *pods, n int, is metav1.TypeMeta) {
	field := func(to []byte, number byte, value []byte) []byte {
		return append(binary.AppendUvarint(append(to, number<<3|2), uint64(len(value))), value...)
	}
	meta := field(nil, 1, field(nil, 2, []byte(version)))
	head := binary.AppendUvarint([]byte{2<<3 | 2}, uint64(p.size()))
	typeMeta := field(field(nil, 1, []byte(is.APIVersion)), 2, []byte(is.Kind))
	start := field([]byte("k8s\x00"), 1, typeMeta)
	start = binary.AppendUvarint(append(start, 2<<3|2), uint64(len(meta)+n*(len(head)+p.size())))
	_, _ = out.Write(append(start, meta...))
	var buffer []byte
	for i := range n {
		_, _ = out.Write(head)
		buffer = p.append(buffer[:0], i)
		_, _ = out.Write(buffer)
	}
}

func writeInitialEvents(out *bufio.Writer, p *pods, n int) {
	var buffer []byte
	for i := range n {
		buffer = p.append(buffer[:0], i)
		writeEvent(out, "ADDED", buffer)
	}
	fmt.Fprintf(out, `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":%q,"annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", version)
}

// writeEvents updates the pods in turn, at a higher version each time.
func writeEvents(out *bufio.Writer, p *pods, from, events int) {
	var buffer []byte
	for i := from; i < events; i++ {
		buffer = p.appendAt(buffer[:0], i%eventPods, i)
		writeEvent(out, "MODIFIED", buffer)
	}
}

func writeEvent(out *bufio.Writer, kind string, pod []byte) {
	fmt.Fprintf(out, `{"type":%q,"object":{"kind":"Pod","apiVersion":"v1",`, kind)
	_, _ = out.Write(pod[1:])
	_, _ = out.WriteString("}\n")
}
