// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/informerkit/informer/rest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// raw is a server that answers each connection with a text, which need not be HTTP.
func raw(t *testing.T, text string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			buffer := make([]byte, 4096)
			for head := ""; !strings.HasSuffix(head, "\r\n\r\n"); {
				n, err := conn.Read(buffer)
				if head += string(buffer[:n]); err != nil {
					break
				}
			}
			_, _ = io.WriteString(conn, text)
			_ = conn.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
	}()
	return "http://" + listener.Addr().String()
}

// Package net/http quotes in its errors what it cannot read. Nothing of that gets out: the
// error names operation and source, and what kind of thing was wrong.
func TestGarbageIsNotQuoted(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for name, text := range map[string]string{
		"no HTTP":            marker + "\r\n\r\n",
		"half of HTTP":       "HTTP/1.1 " + marker + "\r\n\r\n",
		"a version":          "HTTP/9" + marker + " 200 OK\r\n\r\n",
		"a header":           "HTTP/1.1 200 OK\r\n" + marker + "\r\n\r\n",
		"a header's name":    "HTTP/1.1 200 OK\r\n" + marker + " : x\r\n\r\n",
		"continuation":       "HTTP/1.1 200 OK\r\n " + marker + "\r\n\r\n",
		"length":             "HTTP/1.1 200 OK\r\nContent-Length: " + marker + "\r\n\r\n",
		"transfer encoding":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + marker + "\r\n\r\n",
		"redirect":           "HTTP/1.1 302 Found\r\nLocation: http://[" + marker + "\r\n\r\n",
		"redirect to nobody": "HTTP/1.1 302 Found\r\nLocation: ftp://host/" + marker + "\r\n\r\n",
		"redirect in circle": "HTTP/1.1 302 Found\r\nLocation: /" + marker + "\r\n\r\n",
		"content type":       "HTTP/1.1 200 OK\r\nContent-Type: " + marker + "\r\n\r\n",
		"content encoding":   head + "Content-Encoding: " + marker + "\r\n\r\n",
		"chunks":             head + "Transfer-Encoding: chunked\r\n\r\n" + marker + "\r\n",
		"trailer":            head + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + marker + "\r\n\r\n",
		"no gzip":            head + "Content-Encoding: gzip\r\n\r\n" + marker + marker,
		"broken gzip":        head + "Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff" + marker,
		"401":                "HTTP/1.1 401 " + marker + "\r\nWWW-Authenticate: " + marker + "\r\n\r\n" + marker,
	} {
		url := raw(t, text)
		client := newClient[*Secret](t, rest.Config{BaseURL: url, BearerToken: marker})
		_, _, err := collect(t.Context(), client)
		if err == nil || !strings.HasPrefix(err.Error(), "list "+url+"/api/v1/secrets: ") {
			t.Errorf("%s: list: %v", name, err)
		}
		wantDiscreetTree(t, err)
		_, err = rest.Discover(t.Context(), rest.Config{BaseURL: url})
		if err == nil || !strings.HasPrefix(err.Error(), "discover "+url+"/") {
			t.Errorf("%s: discover: %v", name, err)
		}
		wantDiscreetTree(t, err)
		w, err := client.Watch(t.Context(), metav1.ListOptions{})
		if err == nil {
			for _, event := range drain(w) {
				if text := event.Object.(*metav1.Status).Message; strings.Contains(text, marker) || !strings.HasPrefix(text, "watch "+url) {
					t.Errorf("%s: event: %s", name, text)
				}
			}
		}
		wantDiscreetTree(t, err)
	}
}

// wantDiscreetTree looks into what an error wraps too.
func wantDiscreetTree(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	wantDiscreet(t, err)
	switch wraps := err.(type) {
	case interface{ Unwrap() []error }:
		for _, inner := range wraps.Unwrap() {
			wantDiscreetTree(t, inner)
		}
	default:
		wantDiscreetTree(t, errors.Unwrap(err))
	}
}

// What may be known of an error is still known.
func TestErrorsKeepTheirKind(t *testing.T) {
	server := serve(t, answerJSON(typed))
	address := server.URL
	server.Close()
	_, _, err := collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: address}))
	var dial *net.OpError
	if !errors.As(err, &dial) || dial.Op != "dial" {
		t.Error(err)
	}
	cut := serve(t, func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.WriteString(w, list(itemA)[:100])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	_, _, err = collect(t.Context(), newClient[*Secret](t, rest.Config{BaseURL: cut.URL}))
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}
