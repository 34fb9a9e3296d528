// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// endpoint is one collection on one server, whatever its objects are read as.
type endpoint struct {
	client     *http.Client
	tokens     *tokens
	url        *url.URL // of the collection
	resource   schema.GroupResource
	userAgent  string
	compressed bool // ask for compressed lists
	encoding   Encoding
	plain      atomic.Bool // the server refused encoding: JSON from now on
}

// request is what differs between a list and a watch.
type request struct {
	operation string // "list" or "watch"
	accept    func(encoding Encoding, operation string) string
	options   metav1.ListOptions
}

// open sends a request and returns the body of a good answer, decompressed, and its
// encoding. The caller closes the body. A server that refuses the encoding is asked for
// JSON instead, now and from now on.
func (e *endpoint) open(ctx context.Context, r request) (io.ReadCloser, Encoding, error) {
	encoding := e.encoding
	if e.plain.Load() {
		encoding = JSON
	}
	body, got, err := e.openAs(ctx, r, encoding)
	if encoding != JSON && (apierrors.IsNotAcceptable(err) || apierrors.IsUnsupportedMediaType(err)) {
		e.plain.Store(true)
		return e.openAs(ctx, r, JSON)
	}
	return body, got, err
}

func (e *endpoint) openAs(ctx context.Context, r request, encoding Encoding) (io.ReadCloser, Encoding, error) {
	resp, err := e.send(ctx, r, encoding)
	if err != nil {
		return nil, "", err
	}
	var got Encoding
	body, err := decompress(resp)
	switch {
	case resp.StatusCode/100 != 2:
		if err != nil {
			body = http.NoBody // the code says enough
		}
		err = e.blameToken(statusError(resp, body, e.resource))
	case err == nil:
		got, err = encodingOf(resp.Header.Get("Content-Type"), encoding)
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, "", err
	}
	return body, got, nil
}

// send sends a request, and once more if it was refused for a token that has been
// replaced since.
func (e *endpoint) send(ctx context.Context, r request, encoding Encoding) (*http.Response, error) {
	resp, err := e.sendOnce(ctx, r, encoding)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	if changed, _ := e.tokens.reload(ctx); !changed {
		return resp, nil // blameToken adds the error of reload
	}
	_ = resp.Body.Close()
	return e.sendOnce(ctx, r, encoding)
}

func (e *endpoint) sendOnce(ctx context.Context, r request, encoding Encoding) (*http.Response, error) {
	query, err := queryparams.Convert(&r.options)
	if err != nil {
		return nil, err
	}
	u := *e.url
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, bare(err)
	}
	req.Header.Set("Accept", r.accept(encoding, r.operation))
	req.Header.Set("User-Agent", e.userAgent)
	// Said in any case, for otherwise a transport may ask by itself, and for a watch too.
	req.Header.Set("Accept-Encoding", "identity")
	if e.compressed && r.operation == "list" {
		req.Header.Set("Accept-Encoding", "gzip")
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, bare(err)
	}
	return resp, nil
}

// describe names operation and URL in an error, without the query.
func (e *endpoint) describe(ctx context.Context, operation string, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return fmt.Errorf("%s %s: %w", operation, e.url, err)
}

// blameToken adds to a 401 that the token file cannot be read, if so.
func (e *endpoint) blameToken(err error) error {
	e.tokens.mu.Lock()
	fault := e.tokens.fault
	e.tokens.mu.Unlock()
	if fault == nil || !apierrors.IsUnauthorized(err) {
		return err
	}
	return fmt.Errorf("%w: %w", err, fault)
}

// bare takes the URL with its query off an error of net/http.
func bare(err error) error {
	var urlError *url.Error
	if errors.As(err, &urlError) {
		return &unanswered{err: urlError.Err, timeout: urlError.Timeout()}
	}
	return err
}

// unanswered is the error of a request that did not get an answer. It is a net.Error,
// whatever the transport returned, so that it is told from what a server says.
type unanswered struct {
	err     error
	timeout bool
}

func (e *unanswered) Error() string   { return e.err.Error() }
func (e *unanswered) Unwrap() error   { return e.err }
func (e *unanswered) Timeout() bool   { return e.timeout }
func (e *unanswered) Temporary() bool { return true }

// decompress returns the body of an answer as it was before its transfer.
func decompress(resp *http.Response) (io.ReadCloser, error) {
	switch encoding := strings.ToLower(resp.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		return resp.Body, nil
	case "gzip", "x-gzip":
		return &gunzip{body: resp.Body}, nil
	}
	return nil, fmt.Errorf("%w: unknown content encoding", ErrContentType)
}

// gunzip decompresses a body as it is read. The header is read with the first byte, not
// when the answer comes, for the first event of a watch may take long.
type gunzip struct {
	body   io.ReadCloser
	reader *gzip.Reader
	err    error
}

// Read implements io.Reader.
func (g *gunzip) Read(p []byte) (n int, err error) {
	if g.err != nil {
		return 0, g.err
	}
	if g.reader == nil {
		g.reader, g.err = gzip.NewReader(g.body)
	}
	if g.err == nil {
		n, g.err = g.reader.Read(p)
	}
	var corrupt flate.CorruptInputError
	if errors.As(g.err, &corrupt) || errors.Is(g.err, gzip.ErrHeader) || errors.Is(g.err, gzip.ErrChecksum) {
		g.err = fmt.Errorf("%w: %w", ErrMalformed, g.err)
	}
	return n, g.err
}

// Close implements io.Closer.
func (g *gunzip) Close() error { return g.body.Close() }
