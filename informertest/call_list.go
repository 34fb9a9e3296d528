// SPDX-License-Identifier: Apache-2.0

package informertest

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// serveList writes a list item by item; nothing but the encoded objects, which are kept, is
// held of it.
func (c *call) serveList(options metav1.ListOptions) error {
	answer, err := c.resource.engine.list(c.request.Context(), c.namespace, options)
	if err != nil {
		return err
	}
	kind := c.resource.kind()
	list := metav1.TypeMeta{Kind: kind.Kind + "List", APIVersion: kind.GroupVersion().String()}
	if c.partial {
		list = metav1.TypeMeta{Kind: partialKind.Kind + "List", APIVersion: metav1.SchemeGroupVersion.String()}
	}
	head, err := json.Marshal(struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ListMeta `json:"metadata"`
	}{list, answer.meta()})
	if err != nil {
		return errInternal(err.Error())
	}
	w := &bodyWriter{response: c.writer, compress: c.compress && acceptsGzip(c.request)}
	if err := c.writeItems(w, head, answer); err != nil {
		panic(http.ErrAbortHandler) // the client is gone, or an object cannot be encoded
	}
	return nil
}

func (c *call) writeItems(w *bodyWriter, head []byte, answer *listing) error {
	items := answer.items
	switch {
	case answer.quirks.Truncate:
		_, _ = fmt.Fprintf(w, `%s,"items":[{"metadata":{"name`, head[:len(head)-1])
		_ = w.flush()
		return errCut
	case c.partial && len(items) == 0:
		_, _ = fmt.Fprintf(w, `%s,"items":null}`+"\n", head[:len(head)-1]) // as kube-apiserver does
		return w.close()
	}
	_, _ = fmt.Fprintf(w, `%s,"items":[`, head[:len(head)-1])
	comma, brace := []byte(","), []byte("{")
	for i, item := range items {
		prefix, content, err := c.encode(item, 0)
		if err != nil {
			return err
		}
		if !c.partial && !c.resource.ItemKinds {
			prefix = brace
		}
		if i > 0 {
			_, _ = w.Write(comma)
		}
		if answer.quirks.Slow > 0 && (w.flush() != nil || !rest(c.request.Context(), answer.quirks.Slow)) {
			return errCut
		}
		_, _ = w.Write(prefix)
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintln(w, "]}")
	return w.close()
}

func acceptsGzip(r *http.Request) bool {
	for _, clause := range strings.Split(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(clause), ";")
		if name == "gzip" {
			return true
		}
	}
	return false
}

// gzipThreshold is the size from which on kube-apiserver compresses an answer.
const gzipThreshold = 128 << 10

// bodyWriter writes a body whose size decides about its compression.
type bodyWriter struct {
	response http.ResponseWriter
	compress bool // the client accepts it

	held []byte        // what was written before the decision
	out  *bufio.Writer // nil: not decided
	gzip *gzip.Writer
}

func (w *bodyWriter) Write(p []byte) (int, error) {
	if w.out != nil {
		return w.out.Write(p)
	}
	w.held = append(w.held, p...)
	if len(w.held) >= gzipThreshold {
		return len(p), w.start()
	}
	return len(p), nil
}

// start decides for a long body.
func (w *bodyWriter) start() error {
	w.response.Header().Set("Content-Type", "application/json")
	var to io.Writer = w.response
	if w.compress {
		w.response.Header().Set("Content-Encoding", "gzip")
		w.response.Header().Add("Vary", "Accept-Encoding")
		w.gzip, _ = gzip.NewWriterLevel(w.response, gzip.BestSpeed) // the level is valid
		to = w.gzip
	}
	w.out = bufio.NewWriterSize(to, 64<<10)
	_, err := w.out.Write(w.held)
	w.held = nil
	return err
}

// flush sends what was written so far.
func (w *bodyWriter) flush() error {
	if w.out == nil {
		if err := w.start(); err != nil {
			return err
		}
	}
	if err := w.out.Flush(); err != nil {
		return err
	}
	if w.gzip != nil {
		if err := w.gzip.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(w.response).Flush()
}

// close writes what is left.
func (w *bodyWriter) close() error {
	if w.out == nil {
		w.response.Header().Set("Content-Type", "application/json")
		w.response.Header().Set("Content-Length", strconv.Itoa(len(w.held)))
		_, err := w.response.Write(w.held)
		return err
	}
	if err := w.out.Flush(); err != nil || w.gzip == nil {
		return err
	}
	return w.gzip.Close()
}
