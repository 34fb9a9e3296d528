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
	"strings"
	"sync/atomic"
	"time"
)

// decompress returns the body of an answer as it was before its transfer.
func decompress(resp *http.Response) (io.ReadCloser, error) {
	body := wireBody{resp.Body}
	switch encoding := strings.ToLower(resp.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		return &gunzip{body: body}, nil
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

// wireBody is the body as it comes from the connection, whose errors may quote it.
type wireBody struct{ io.ReadCloser }

// Read implements io.Reader.
func (w wireBody) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = unquoting(err)
	}
	return n, err
}

// limited ends a body that is larger than it may be, once it is decompressed: a few bytes
// can become a thousand times as many.
type limited struct {
	io.ReadCloser
	left, max int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, fmt.Errorf("%w (%d bytes)", ErrListTooLarge, l.max)
	}
	n, err := l.ReadCloser.Read(p[:min(int64(len(p)), l.left+1)])
	if l.left -= int64(n); l.left < 0 {
		return n - 1, fmt.Errorf("%w (%d bytes)", ErrListTooLarge, l.max)
	}
	return n, err
}

// patience ends a request whose server takes too long in all. Time counts only while the
// server is waited for: who takes the objects may take as long as he likes.
type patience struct {
	timer  *time.Timer
	since  time.Time
	left   time.Duration
	over   atomic.Bool
	cancel context.CancelCauseFunc
}

// newPatience starts to count.
func newPatience(ctx context.Context, limit time.Duration) (context.Context, *patience) {
	p := &patience{left: limit, since: time.Now()}
	ctx, p.cancel = context.WithCancelCause(ctx)
	p.timer = time.AfterFunc(limit, func() {
		p.over.Store(true)
		p.cancel(ErrListTimeout)
	})
	return ctx, p
}

// resume goes on counting.
func (p *patience) resume() {
	p.since = time.Now()
	p.timer.Reset(max(p.left, 0))
}

// pause stops counting.
func (p *patience) pause() {
	if p.timer.Stop() {
		p.left -= time.Since(p.since)
	}
}

// end lets go of what it holds.
func (p *patience) end() {
	p.timer.Stop()
	p.cancel(nil)
}

// explain says that the timeout is the reason of an error, if so. It is one of a request
// without an answer, so that it is told from what a server says.
func (p *patience) explain(err error) error {
	if err == nil || !p.over.Load() {
		return err
	}
	return &unanswered{err: ErrListTimeout, timeout: true}
}

// patientBody is a body that is read with patience.
type patientBody struct {
	io.ReadCloser
	patience *patience
}

// Read implements io.Reader.
func (b *patientBody) Read(p []byte) (int, error) {
	b.patience.resume()
	n, err := b.ReadCloser.Read(p)
	b.patience.pause()
	if err == io.EOF {
		return n, err
	}
	return n, b.patience.explain(err)
}

// Close implements io.Closer.
func (b *patientBody) Close() error {
	defer b.patience.end()
	return b.ReadCloser.Close()
}
