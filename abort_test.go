// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"

	"k8s.io/apimachinery/pkg/runtime"
)

// openSink counts the replacements that have neither been committed nor aborted, and those
// that were ended more than once.
type openSink struct {
	*informer.Store[*pod]
	open, begun, again int

	begin  func(n int)  // nil: nothing
	put    func()       // nil: nothing
	commit func() error // nil: nothing
}

func (s *openSink) BeginReplace(ctx context.Context) (informer.Replacement[*pod], error) {
	if s.begin != nil {
		s.begin(s.begun)
	}
	r, err := s.Store.BeginReplace(ctx)
	s.open++
	s.begun++
	return &openReplacement{r, s, true}, err
}

type openReplacement struct {
	informer.Replacement[*pod]
	sink *openSink
	open bool
}

func (r *openReplacement) Put(obj *pod) error {
	if r.sink.put != nil {
		r.sink.put()
	}
	return r.Replacement.Put(obj)
}

func (r *openReplacement) Commit(version string) error {
	r.end()
	if r.sink.commit != nil {
		if err := r.sink.commit(); err != nil {
			return err
		}
	}
	return r.Replacement.Commit(version)
}

func (r *openReplacement) Abort() {
	r.end()
	r.Replacement.Abort()
}

func (r *openReplacement) end() {
	if r.open {
		r.sink.open--
	} else {
		r.sink.again++
	}
	r.open = false
}

// A source that panics leaves no replacement open, for a sink may hold something for it.
func TestPanicOfSourceAborts(t *testing.T) {
	for name, row := range map[string]struct {
		calls   int // that are answered before
		options informer.ReflectorOptions
		begun   int
	}{
		"first list": {0, informer.ReflectorOptions{}, 1},
		"verify":     {1, informer.ReflectorOptions{Verify: time.Hour}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				for range row.calls {
					s.list(podList("10", "a@5"))
				}
				s.lists = append(s.lists, func() (runtime.Object, error) { panic("source") })
				sink := &openSink{Store: informer.NewStore(informer.StoreOptions[*pod]{})}
				r := informer.NewReflector(s, informer.Sink[*pod](sink), row.options)
				wantPanic(t, r, "source")
				if sink.open != 0 || sink.again != 0 || sink.begun != row.begun {
					t.Errorf("%d of %d replacements are open, %d were ended again", sink.open, sink.begun, sink.again)
				}
			})
		})
	}
}

// A list that a panic has left has not succeeded, whosever panic it was.
func TestListEndAfterAPanic(t *testing.T) {
	for name, row := range map[string]struct {
		list   func() (runtime.Object, error)
		commit func() error
	}{
		"source": {list: func() (runtime.Object, error) { panic("x") }},
		"sink":   {list: func() (runtime.Object, error) { return podList("10", "a@5"), nil }, commit: func() error { panic("x") }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript()
				s.lists = append(s.lists, row.list)
				var ends []error
				trace := &informer.Trace{ListEnd: func(_ string, _ int, _ time.Duration, err error) { ends = append(ends, err) }}
				sink := &openSink{Store: informer.NewStore(informer.StoreOptions[*pod]{}), commit: row.commit}
				wantPanic(t, informer.NewReflector(s, informer.Sink[*pod](sink), informer.ReflectorOptions{Traces: []*informer.Trace{trace}}), "x")
				if len(ends) != 1 || ends[0] == nil {
					t.Errorf("ends: %v", ends)
				}
			})
		})
	}
}

// A replacement is ended once, whatever becomes of its Commit, or of the one after it: a sink
// that panics may hold what the other end would wait for.
func TestReplacementEndsOnce(t *testing.T) {
	for name, odd := range map[string]func(sink *openSink, cancel func()){
		"commit panics": func(sink *openSink, _ func()) { sink.commit = func() error { panic("sink") } },
		"commit fails": func(sink *openSink, cancel func()) {
			sink.commit = func() error { cancel(); return errors.New("sink") }
		},
		"begin panics": func(sink *openSink, _ func()) {
			sink.begin = func(n int) {
				if n == 1 {
					panic("sink")
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				page := podList("10", "a@5")
				page.Continue = "more"
				s := newScript().list(page, status(http.StatusGone, "expired"), podList("10", "a@5"))
				sink := &openSink{Store: informer.NewStore(informer.StoreOptions[*pod]{})}
				ctx, cancel := context.WithCancel(t.Context())
				odd(sink, cancel)
				r := informer.NewReflector(s, informer.Sink[*pod](sink), informer.ReflectorOptions{})
				func() {
					defer func() { _ = recover() }()
					_ = r.Run(ctx)
				}()
				if sink.open != 0 || sink.again != 0 || sink.begun == 0 || name != "begin panics" && sink.begun != 2 {
					t.Errorf("%d of %d replacements are open, %d were ended again", sink.open, sink.begun, sink.again)
				}
			})
		})
	}
}

// A replacement that panics is not aborted: it may hold its own lock.
func TestPanicOfSinkIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &openSink{Store: informer.NewStore(informer.StoreOptions[*pod]{}), put: func() { panic("sink") }}
		wantPanic(t, informer.NewReflector(newScript().list(podList("10", "a@5")), informer.Sink[*pod](sink), informer.ReflectorOptions{}), "sink")
		if sink.open != 1 {
			t.Errorf("%d replacements are open", sink.open)
		}
	})
}

// wantPanic runs a reflector until it panics.
func wantPanic(t *testing.T, r *informer.Reflector, with string) {
	t.Helper()
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, with) {
			t.Errorf("recovered %v", got)
		}
	}()
	_ = r.Run(t.Context())
}
