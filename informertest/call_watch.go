// SPDX-License-Identifier: Apache-2.0

package informertest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// serveWatch writes events, one a line, until the stream ends: at its deadline with a
// proper end of the body, cut without one.
func (c *call) serveWatch(options metav1.ListOptions) error {
	s, err := c.resource.engine.watch(c.request.Context(), c.namespace, options)
	if err != nil {
		return err
	}
	c.writer.Header().Set("Content-Type", "application/json")
	c.writer.WriteHeader(http.StatusOK)
	control := http.NewResponseController(c.writer)
	unblock := c.boundWrites(s.ctx, control)
	out := bufio.NewWriterSize(c.writer, 16<<10)
	_ = control.Flush() // the client waits for the status
	s.run(
		func(e event) bool { return s.ctx.Err() == nil && c.writeEvent(out, e, s) == nil },
		func() {
			if out.Buffered() > 0 && out.Flush() == nil {
				_ = control.Flush()
			}
		},
	)
	cause := context.Cause(s.ctx)
	_ = out.Flush()
	unblock()
	if errors.Is(cause, errCut) || errors.Is(cause, errSlow) {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// endGrace is how long a client that does not read may hold up the end of a stream.
const endGrace = time.Second

// boundWrites sees to it that a write that blocks ends with ctx; the function that it
// returns undoes that, for the next request on the connection.
func (c *call) boundWrites(ctx context.Context, control *http.ResponseController) func() {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		grace := endGrace
		if errors.Is(context.Cause(ctx), errCut) {
			grace = 0
		}
		_ = control.SetWriteDeadline(time.Now().Add(grace))
	})
	return func() {
		if !stop() {
			<-done
		}
		_ = control.SetWriteDeadline(time.Time{})
	}
}

// writeEvent writes a frame, or the first half of it.
func (c *call) writeEvent(out *bufio.Writer, e event, s *stream) error {
	prefix, rest, err := c.frame(e)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `{"type":%q,"object":`, e.kind)
	if s.quirks.Truncate && e.kind != watch.Error {
		_, _ = out.Write(rest[:len(rest)/2])
		s.cancel(errCut)
		return errCut
	}
	_, _ = out.Write(prefix)
	_, _ = out.Write(rest)
	_, err = out.WriteString("}\n")
	return err
}

// frame returns the object of an event.
func (c *call) frame(e event) (prefix, rest []byte, err error) {
	switch e.kind {
	case watch.Error:
		rest, err = json.Marshal(e.status)
		return nil, rest, err
	case watch.Bookmark:
		rest, err = json.Marshal(c.bookmark(e))
		return nil, rest, err
	}
	return c.encode(e.entry, e.version)
}

// bookmark returns an object with kind and version and nothing else.
func (c *call) bookmark(e event) any {
	kind := c.resource.kind()
	if c.partial {
		kind = partialKind
	}
	type metadata struct {
		ResourceVersion string            `json:"resourceVersion"`
		Annotations     map[string]string `json:"annotations,omitempty"`
	}
	obj := struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metadata `json:"metadata"`
	}{TypeMeta: metav1.TypeMeta{Kind: kind.Kind, APIVersion: kind.GroupVersion().String()}}
	obj.Metadata.ResourceVersion = strconv.FormatUint(e.version, 10)
	if e.marker {
		obj.Metadata.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return obj
}
