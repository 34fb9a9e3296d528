// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
)

// serve answers lists and watches of n pods on loopback, as kube-apiserver does: a list at
// "0" whole, a watch-list with its end marker, and a watch with silence.
func serve(ctx context.Context, n int) (baseURL string, err error) {
	p, err := newPods()
	if err != nil {
		return "", err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: handler(p, n)}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), nil
}

const version = "99999999"

func handler(p *pods, n int) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/pods", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		out := bufio.NewWriterSize(w, 1<<16)
		query := r.URL.Query()
		switch {
		case query.Get("watch") == "":
			writeList(out, p, n)
			return
		case query.Get("sendInitialEvents") == "true":
			writeInitialEvents(out, p, n)
		}
		_ = out.Flush()
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	return mux
}

func writeList(out *bufio.Writer, p *pods, n int) {
	fmt.Fprintf(out, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":%q},"items":[`, version)
	var buffer []byte
	for i := range n {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		buffer = p.append(buffer[:0], i)
		_, _ = out.Write(buffer)
	}
	_, _ = out.WriteString("]}\n")
	_ = out.Flush()
}

func writeInitialEvents(out *bufio.Writer, p *pods, n int) {
	var buffer []byte
	for i := range n {
		_, _ = out.WriteString(`{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1",`)
		buffer = p.append(buffer[:0], i)
		_, _ = out.Write(buffer[1:])
		_, _ = out.WriteString("}\n")
	}
	fmt.Fprintf(out, `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":%q,"annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", version)
}
