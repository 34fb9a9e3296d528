// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/internal/carry"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// watchBuffer is how many events are decoded ahead of their reader: enough that the two
// do not wait for each other at each event, few enough to say nothing about memory.
const watchBuffer = 16

// errEmptyEvent is a frame of a watch that cannot be an event.
var errEmptyEvent = fmt.Errorf("%w: an event without type or object", ErrMalformed)

// watcher is one open watch.
type watcher[T informer.Object] struct {
	form     *form[T]
	codec    *codec[T]
	decode   decodeFunc[T]
	source   eventSource
	pending  undecoded // the object of the event that was read
	describe func(err error) error
	body     io.ReadCloser
	ctx      context.Context    // of the stream
	cancel   context.CancelFunc // ends it
	result   chan watch.Event
	left     atomic.Pointer[carry.Left] // what Rethrow does
}

// open makes ready to read one event after the other.
func (w *watcher[T]) open(encoding Encoding, max int64) {
	if other := encoding.format; other != nil {
		w.source = other.watch(newWire(w.body, max), w)
		return
	}
	events := &jsonEvents[T]{watcher: w, in: newInput(max)}
	events.in.reset(w.body)
	w.source = events
}

// ResultChan returns the events; it is closed when the stream has ended or was stopped.
func (w *watcher[T]) ResultChan() <-chan watch.Event { return w.result }

// Stop ends the stream and does not wait for its end. It may be called more than once.
func (w *watcher[T]) Stop() { w.cancel() }

// receive reads events until the stream ends.
func (w *watcher[T]) receive() {
	defer close(w.result)
	defer w.Stop()
	defer func() { _ = w.body.Close() }()
	burst := newBatches(w)
	carry.Catch(func() { w.readAll(burst) }, func(left *carry.Left) {
		burst.settle()
		if left == nil {
			w.codec.give(w.decode)
			return
		}
		w.abandon(left, w.pending.raw)
	})
}

// readAll reads events. How the stream ends is not told apart: a server that closes, a
// proxy that cuts and a timeout of our own all mean to watch again. What cannot be read is
// an event of type ERROR.
func (w *watcher[T]) readAll(burst *batches[T]) {
	for {
		w.pending.raw = nil
		event, err := w.source.event()
		if w.pending.is(event, err) {
			if burst.takes() {
				burst.add(event.Type, w.pending.raw)
				continue
			}
			event.Object = w.codec.object(w.decode, w.pending.raw)
		}
		burst.settle()
		if err != nil {
			if w.ctx.Err() != nil || !isFault(err) {
				return
			}
			event = watchError(w.describe(err))
		}
		if !w.send(event) || err != nil {
			return
		}
	}
}

// watchError is an ERROR event with an error of our own.
func watchError(err error) watch.Event {
	return watch.Event{Type: watch.Error, Object: faultStatus(err)}
}

// sendAll hands events over, and reports whether there may be another.
func (w *watcher[T]) sendAll(events []watch.Event) bool {
	for _, event := range events {
		if !w.send(event) {
			return false
		}
	}
	return w.ctx.Err() == nil
}

// send hands an event over, and reports whether there may be another: none after Stop.
func (w *watcher[T]) send(event watch.Event) bool {
	if w.ctx.Err() != nil {
		return false
	}
	select {
	case w.result <- event:
		return true
	case <-w.ctx.Done():
	}
	return false
}

// isFault reports whether an error says that the server sent something wrong, and not
// only that it stopped sending.
func isFault(err error) bool {
	for _, fault := range []error{ErrMalformed, ErrItemTooLarge, ErrNoIdentity, ErrNotAnObject} {
		if errors.Is(err, fault) {
			return true
		}
	}
	return false
}

// faultStatus is an ERROR event's form of an error of our own: an internal error with a
// cause that apierrors.IsUnexpectedServerError recognises.
func faultStatus(err error) *metav1.Status {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Code:     http.StatusInternalServerError,
		Reason:   metav1.StatusReasonInternalError,
		Message:  err.Error(),
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{
			{Type: metav1.CauseTypeUnexpectedServerResponse, Message: err.Error()},
		}},
	}
}

// jsonEvents reads a watch in JSON.
type jsonEvents[T informer.Object] struct {
	*watcher[T]
	in   *input
	late []byte // the object of the event, which is to be decoded once all of it is read
}

// event reads one event: {"type":…,"object":…}.
func (w *jsonEvents[T]) event() (event watch.Event, err error) {
	if kind := w.in.peek(); kind != '{' && kind != 0 {
		return event, fmt.Errorf("%w: a JSON %s for an event", ErrMalformed, kindName(kind))
	}
	if _, err = w.in.token(); err != nil {
		return event, err
	}
	if w.late = w.late[:0]; cap(w.late) > maxScratch {
		w.late = nil
	}
	for w.in.peek() != '}' {
		if err = w.member(&event); err != nil {
			return event, err
		}
	}
	if _, err = w.in.token(); err != nil {
		return event, err
	}
	if event.Object == nil && len(w.late) > 0 && event.Type != "" {
		event.Object, err = w.object(event.Type, w.late)
	}
	if err == nil && event.Object == nil {
		err = errEmptyEvent
	}
	return event, err
}

// member reads one member of an event.
func (w *jsonEvents[T]) member(event *watch.Event) error {
	name, err := w.in.token()
	if err != nil {
		return err
	}
	switch name.String() {
	case "type":
		text, _, err := w.in.text()
		event.Type = watch.EventType(text)
		return err
	case "object":
		raw, err := w.in.value()
		if err != nil {
			return err
		}
		if event.Type == "" {
			w.late = append(w.late[:0], raw...)
			return nil
		}
		event.Object, err = w.object(event.Type, raw)
		return err
	}
	return w.in.skip()
}

// object reads the object of an event.
func (w *jsonEvents[T]) object(kind watch.EventType, raw []byte) (runtime.Object, error) {
	switch kind {
	case watch.Error:
		return errorObject(raw), nil
	case watch.Bookmark:
		return w.bookmark(raw)
	}
	id, err := identify(raw, true)
	w.late = append(w.late[:0], raw...) // the rest of the event is still to be read
	return w.identified(id, err, w.late)
}

// identified leaves an object, if it is one, to be decoded.
func (w *watcher[T]) identified(id identity, err error, raw []byte) (runtime.Object, error) {
	switch {
	case id.isStatus():
		return nil, fmt.Errorf("%w: a Status", ErrNotAnObject)
	case id.isTable():
		return nil, fmt.Errorf("%w: a Table", ErrNotAnObject)
	case err != nil:
		return nil, err
	case w.form.kinds.foreign(id.kind):
		m := id.object()
		return &m, nil
	}
	w.pending.raw = raw
	return &w.pending, nil
}

// bookmarked decodes the object of a bookmark, which has a version and no name.
func (w *watcher[T]) bookmarked(id identity, err error, raw []byte) (runtime.Object, error) {
	if !id.hasMetadata {
		return nil, fmt.Errorf("bookmark: %w", err)
	}
	obj, err := w.decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: bookmark: %w", ErrMalformed, err)
	}
	return obj, nil
}

// errorObject reads the Status of an ERROR event.
func errorObject(raw []byte) runtime.Object {
	if status, ok := parseStatus(raw); ok {
		return status
	}
	return faultStatus(errors.New("an ERROR event without a Status"))
}

// bookmark reads an object that has a version and no name. What else is in it does not
// count: if it does not fit T, its metadata alone does.
func (w *jsonEvents[T]) bookmark(raw []byte) (runtime.Object, error) {
	if id, err := identify(raw, false); !id.hasMetadata || errors.Is(err, errWrongPart) {
		return nil, fmt.Errorf("bookmark: %w", err)
	}
	obj, err := w.decode(raw)
	if err == nil {
		return obj, nil
	}
	c, bare := cursor{b: raw}, []byte(nil)
	for more := c.enter(); more; more = c.more() {
		name := string(unquote(c.name(), nil))
		c.next()
		start := c.i
		c.skip()
		if name == "metadata" {
			bare = append(append([]byte(`{"metadata":`), c.b[start:c.i]...), '}')
		}
	}
	if obj, err = w.decode(bare); err != nil {
		return nil, fmt.Errorf("%w: bookmark: %w", ErrMalformed, err)
	}
	return obj, nil
}
