// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// server is what the requests of one Config have in common.
type server struct {
	config   Config // with its defaults
	base     *url.URL
	client   *http.Client
	auth     *authorizer
	warnings *warnings
}

// newServer checks a configuration. name is what the requests ask for.
func newServer(config Config, name string) (*server, error) {
	config, base, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	client, auth, err := newHTTPClient(config, base)
	if err != nil {
		return nil, err
	}
	return &server{config: config, base: base, client: client, auth: auth, warnings: newWarnings(config, name)}, nil
}

// call is a request that reads something.
type call struct {
	url    *url.URL
	accept string
	stream bool // a watch: no timeout, no limit in all, no compression
	about  schema.GroupResource
}

// get sends a request and returns a good answer with its body decompressed, which the
// caller closes.
func (s *server) get(ctx context.Context, c call) (*http.Response, error) {
	if c.stream || s.config.ListTimeout < 0 {
		return s.exchange(ctx, c)
	}
	ctx, p := newPatience(ctx, s.config.ListTimeout)
	resp, err := s.exchange(ctx, c)
	p.pause()
	if err != nil {
		defer p.end()
		return nil, p.explain(err)
	}
	resp.Body = &patientBody{ReadCloser: resp.Body, patience: p}
	return resp, nil
}

// exchange is get without a timeout.
func (s *server) exchange(ctx context.Context, c call) (*http.Response, error) {
	resp, err := s.send(ctx, c)
	if err != nil {
		return nil, s.blame(err)
	}
	s.warnings.read(ctx, resp.Header)
	body, err := decompress(resp)
	if resp.StatusCode/100 != 2 {
		if err != nil {
			body = http.NoBody // the code says enough
		}
		err = s.blame(statusError(resp, body, c.about))
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	if !c.stream {
		body = &limited{ReadCloser: body, left: s.config.MaxListSize, max: s.config.MaxListSize}
	}
	resp.Body = body
	return resp, nil
}

func (s *server) send(ctx context.Context, c call) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url.String(), nil)
	if err != nil {
		return nil, bare(err)
	}
	req.Header.Set("Accept", c.accept)
	req.Header.Set("User-Agent", s.config.UserAgent)
	// Said in any case, for otherwise a transport may ask by itself, and for a watch too.
	req.Header.Set("Accept-Encoding", "identity")
	if !s.config.DisableCompression && !c.stream {
		req.Header.Set("Accept-Encoding", "gzip")
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, bare(err)
	}
	return resp, nil
}

// blame adds to an error why what the server was shown may be out of date, if so.
func (s *server) blame(err error) error {
	var none *unanswered
	refused := apierrors.IsUnauthorized(err)
	if fault := s.auth.credentials.fault(); fault != nil && refused && !errors.Is(err, fault) {
		err = fmt.Errorf("%w: %w", err, fault)
	}
	if fault := s.auth.transports.fault(); fault != nil && (refused || errors.As(err, &none)) {
		err = fmt.Errorf("%w: %w", err, fault)
	}
	return err
}

// endpoint is one collection on one server, whatever its objects are read as.
type endpoint struct {
	*server
	url      *url.URL // of the collection
	resource schema.GroupResource
	encoding Encoding
	plain    atomic.Bool // the server refused encoding: JSON from now on
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
	query, err := queryparams.Convert(&r.options)
	if err != nil {
		return nil, JSON, err
	}
	u := *e.url
	u.RawQuery = query.Encode()
	resp, err := e.get(ctx, call{url: &u, accept: r.accept(encoding, r.operation), stream: r.operation == "watch", about: e.resource})
	if err != nil {
		return nil, JSON, err
	}
	got, err := encodingOf(resp.Header.Get("Content-Type"), encoding)
	if err != nil {
		_ = resp.Body.Close()
		return nil, JSON, err
	}
	return resp.Body, got, nil
}

// describe names operation and URL in an error, without the query.
func describe(ctx context.Context, operation string, u *url.URL, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	return fmt.Errorf("%s %s: %w", operation, u, err)
}

// describe names operation and URL in an error, without the query.
func (e *endpoint) describe(ctx context.Context, operation string, err error) error {
	return describe(ctx, operation, e.url, err)
}

// bare takes the URL with its query off an error of net/http, and what it quotes.
func bare(err error) error {
	var urlError *url.Error
	if errors.As(err, &urlError) {
		return &unanswered{err: unquoting(urlError.Err), timeout: urlError.Timeout()}
	}
	return unquoting(err)
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
