// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"

	"k8s.io/apimachinery/pkg/runtime"
)

// openSink counts the replacements that have neither been committed nor aborted.
type openSink struct {
	*informer.Store[*pod]
	open, begun int
	late        int  // calls of Commit and Abort after one of them
	panics      bool // in Put
	fails       bool // once, in Commit
}

func (s *openSink) BeginReplace(ctx context.Context) (informer.Replacement[*pod], error) {
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
	if r.sink.panics {
		panic("sink")
	}
	return r.Replacement.Put(obj)
}

func (r *openReplacement) Commit(version string) error {
	r.end()
	if r.sink.fails {
		r.sink.fails = false
		return errors.Join(errDisk, r.Replacement.Commit(version))
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
		r.sink.late++
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
				if sink.open != 0 || sink.begun != row.begun {
					t.Errorf("%d of %d replacements are open", sink.open, sink.begun)
				}
			})
		})
	}
}

// A sink that panics is not called again: it may hold its own lock.
func TestPanicOfSinkIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &openSink{Store: informer.NewStore(informer.StoreOptions[*pod]{}), panics: true}
		wantPanic(t, informer.NewReflector(newScript().list(podList("10", "a@5")), informer.Sink[*pod](sink), informer.ReflectorOptions{}), "sink")
		if sink.open != 1 {
			t.Errorf("%d replacements are open", sink.open)
		}
	})
}

// A replacement is committed or aborted, once: not aborted too because its Commit failed.
func TestCommitThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &openSink{Store: informer.NewStore(informer.StoreOptions[*pod]{}), fails: true}
		list := podList("10", "a@5")
		r := informer.NewReflector(newScript().list(list, list), informer.Sink[*pod](sink), informer.ReflectorOptions{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_ = r.Run(ctx)
		if sink.begun != 2 || sink.open != 0 || sink.late != 0 {
			t.Errorf("%d replacements, %d open, %d ended twice", sink.begun, sink.open, sink.late)
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
