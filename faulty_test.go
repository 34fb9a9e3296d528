// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/informerkit/informer"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// stage is where a source fails.
type stage string

const (
	stageList    stage = "first list"
	stageRelist  stage = "relist" // after a 410
	stagePage    stage = "page two"
	stageAsk     stage = "watch-list"
	stageInitial stage = "initial events"
	stageAfter   stage = "after the marker"
	stageWatch   stage = "watch"
	stageStream  stage = "stream"
	stageCheck   stage = "version check"
)

// stages are all of them, in the order of a round.
var stages = []stage{stageList, stageRelist, stagePage, stageAsk, stageInitial, stageAfter, stageWatch, stageStream, stageCheck}

// fault is what a source does wrong.
type fault struct {
	name   string
	err    error          // of a request; in a stream an ERROR event and the end
	steps  []any          // of a stream, in the place of the ERROR event
	answer runtime.Object // of a list, in the place of err
}

// requestFaults can happen to any request.
var requestFaults = []fault{
	{name: "400", err: status(400, "no")},
	{name: "401", err: status(401, "no")},
	{name: "403", err: status(403, "no")},
	{name: "404", err: status(404, "no")},
	{name: "405", err: status(405, "no")},
	{name: "406", err: status(406, "no")},
	{name: "408", err: status(408, "no")},
	{name: "409", err: status(409, "no")},
	{name: "410", err: status(410, "too old")},
	{name: "415", err: status(415, "no")},
	{name: "422", err: status(422, "no")},
	{name: "429", err: status(429, "no")},
	{name: "429 after 3 s", err: retryAfter(429, 3)},
	{name: "500", err: status(500, "no")},
	{name: "501", err: status(501, "no")},
	{name: "502", err: status(502, "no")},
	{name: "503", err: status(503, "no")},
	{name: "504", err: status(504, "no")},
	{name: "too large", err: tooLarge()},
	{name: "refused", err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}},
	{name: "truncated", err: fmt.Errorf("body: %w", io.ErrUnexpectedEOF)},
	{name: "unclassified", err: io.ErrShortWrite},
}

// listFaults are answers that are no lists of the collection.
var listFaults = []fault{
	{name: "nil"},
	{name: "a Table", answer: &metav1.Table{}},
	{name: "a Status", answer: &metav1.Status{Status: metav1.StatusFailure, Code: 500}},
	{name: "an object", answer: parse("a@9")},
	{name: "an item without a name", answer: podList("10", "@9")},
	{name: "a nil item", answer: &informer.ObjectList[*pod]{Items: []*pod{nil}}},
	{name: "poison", answer: podList("10", "a@9 {bad}")},
}

// streamFaults are streams that go wrong without a Status.
var streamFaults = []fault{
	{name: "silent", steps: []any{}},
	{name: "closes", steps: []any{"close"}},
	{name: "closes after an event", steps: []any{"+a@11", "close"}},
	{name: "closes after a bookmark", steps: []any{"BM@11", "close"}},
	{name: "410 after an event", steps: []any{"+a@11", "ERR410", "close"}},
	{name: "500 after an event", steps: []any{"+a@11", "ERR500", "close"}},
	{name: "too large after an event", steps: []any{"+a@11", errorEvent(tooLarge()), "close"}},
	{name: "unknown type", steps: []any{watch.Event{Type: "ODD", Object: parse("a@11")}}},
	{name: "nil object", steps: []any{watch.Event{Type: watch.Added}}},
	{name: "typed nil", steps: []any{watch.Event{Type: watch.Added, Object: (*pod)(nil)}}},
	{name: "no name", steps: []any{watch.Event{Type: watch.Added, Object: parse("@11")}}},
	{name: "a Status as an object", steps: []any{watch.Event{Type: watch.Added, Object: &metav1.Status{}}}},
	{name: "ERROR without a Status", steps: []any{watch.Event{Type: watch.Error, Object: parse("a@11")}}},
	{name: "ERROR with nil", steps: []any{watch.Event{Type: watch.Error}}},
	{name: "bookmark with nil", steps: []any{watch.Event{Type: watch.Bookmark}}},
	{name: "poison", steps: []any{"+a@11 {bad}", "close"}},
	{name: "older bookmark", steps: []any{"BM@3", "close"}},
	{name: "older object", steps: []any{"~a@3", "close"}},
	{name: "another type", steps: []any{watch.Event{Type: watch.Added, Object: &secret{}}, "close"}},
}

// faultsAt are those that can happen at a stage.
func faultsAt(at stage) []fault {
	switch at {
	case stageList, stageRelist, stagePage:
		return append(listFaults, requestFaults...)
	case stageStream, stageInitial, stageAfter:
		return append(streamFaults, requestFaults...)
	}
	return requestFaults
}

// faulty is a source that fails at one stage, and does well otherwise: a list of a@9 and
// b@8 at 10, and a stream that stays silent.
type faulty struct {
	*script
	fault
	stage  stage
	left   int  // failures to come; negative: without end
	failed int  // the number of the call that failed last
	moved  bool // a stream that failed has sent a@11
}

func newFaulty(at stage, f fault, times int) *faulty {
	s := &faulty{script: newScript(), fault: f, stage: at, left: times}
	s.watchList = at == stageAsk || at == stageInitial || at == stageAfter
	return s
}

// fails reports whether a call at the stage is to fail.
func (f *faulty) fails(at stage) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stage != at || f.left == 0 {
		return false
	}
	f.left--
	f.failed = len(f.calls) - 1
	return true
}

// whole is the list that the source has.
func (f *faulty) whole() *informer.ObjectList[*pod] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.moved {
		return podList("11", "a@11", "b@8")
	}
	return podList("10", "a@9", "b@8")
}

func (f *faulty) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	verb, at := "list", stageList
	switch {
	case options.Continue != "":
		verb, at = "page", stagePage
	case options.Limit == 1:
		verb, at = "check", stageCheck
	}
	if n := f.record(verb, options); n > 0 && verb == "list" && f.stage == stageRelist {
		at = stageRelist
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch {
	case f.fails(at):
		return f.answer, f.err
	case verb == "page":
		return podList("10", "b@8"), nil
	case verb == "list" && f.stage == stagePage && options.Limit > 0:
		page := podList("10", "a@9")
		page.Continue = "next"
		return page, nil
	}
	return f.whole(), nil
}

func (f *faulty) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	verb, at, in := "watch", stageWatch, stageStream
	var good []any
	if options.SendInitialEvents != nil {
		verb, at, in = "watch-list", stageAsk, stageInitial
		good = []any{"+a@9", "+b@8", "BM*@10"}
		if f.whole().ResourceVersion == "11" {
			good = []any{"+a@11", "+b@8", "BM*@11"}
		}
	}
	n := f.record(verb, options)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case f.fails(at):
		return nil, f.err
	case f.fails(in):
		return f.stream(ctx, f.bad()), nil
	case verb == "watch-list" && f.fails(stageAfter):
		return f.stream(ctx, append(good, f.bad()...)), nil
	case n == 0 && f.stage == stageRelist:
		good = []any{"ERR410"}
	case f.stage == stageCheck && (n == 0 || f.left != 0): // cut, so that a check is due
		good = []any{3 * time.Second, "close"}
	}
	return f.stream(ctx, good), nil
}

// bad is what a stream that fails sends.
func (f *faulty) bad() []any {
	f.mu.Lock()
	f.moved = len(f.steps) > 0 && strings.Contains(fmt.Sprint(f.steps[0]), "@11")
	f.mu.Unlock()
	switch err := f.err.(type) {
	case nil:
		return f.steps
	case *apierrors.StatusError:
		return []any{errorEvent(err), "close"}
	}
	// As clients report what they cannot read.
	return []any{errorEvent(status(http.StatusInternalServerError, "unable to decode an event: "+f.err.Error())), "close"}
}

// streamed is a source whose lists come item by item.
type streamed struct{ *faulty }

func (s streamed) ListStream(ctx context.Context, options metav1.ListOptions, _ func(metav1.Object, uint64) bool, yield func(runtime.Object) error) (metav1.ListMeta, error) {
	answer, err := s.List(ctx, options)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	list, ok := answer.(*informer.ObjectList[*pod])
	if !ok {
		return metav1.ListMeta{}, fmt.Errorf("not a list: %T", answer)
	}
	for _, item := range list.Items {
		if err := yield(item); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	return list.ListMeta, nil
}
