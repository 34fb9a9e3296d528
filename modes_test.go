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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// mode is a way to fail for ever.
type mode struct {
	name   string
	source func() informer.ListerWatcher
	calls  func() []call
	sink   func(*informer.Store[*pod]) informer.Sink[*pod]
}

// modes are all faults at all stages, lists whole and item by item, and sinks that fail.
func modes() []*mode {
	var all []*mode
	for _, at := range stages {
		for _, f := range faultsAt(at) {
			for _, byItem := range []bool{false, true} {
				all = append(all, faultMode(at, f, byItem))
			}
		}
	}
	for _, verb := range []string{"add", "bookmark", "begin", "put", "commit"} {
		m := faultMode(stageStream, fault{steps: []any{"+a@11", "BM@12"}}, false)
		m.name = "sink/" + verb
		m.sink = func(s *informer.Store[*pod]) informer.Sink[*pod] { return &brokenSink{Store: s, verb: verb} }
		all = append(all, m)
	}
	return all
}

func faultMode(at stage, f fault, byItem bool) *mode {
	m := &mode{name: fmt.Sprintf("%s/%s", at, f.name)}
	if byItem {
		m.name += ", by item"
	}
	m.source = func() informer.ListerWatcher {
		source := newFaulty(at, f, -1)
		m.calls = source.made
		if byItem {
			return streamed{source}
		}
		return source
	}
	m.sink = func(s *informer.Store[*pod]) informer.Sink[*pod] { return s }
	return m
}

// brokenSink fails at one of its methods.
type brokenSink struct {
	*informer.Store[*pod]
	verb string
}

var errDisk = errors.New("disk is full")

func (s *brokenSink) failing(verb string) error {
	if s.verb == verb {
		return errDisk
	}
	return nil
}

func (s *brokenSink) Add(ctx context.Context, obj *pod) error {
	if err := s.failing("add"); err != nil {
		return err
	}
	return s.Store.Add(ctx, obj)
}

func (s *brokenSink) Bookmark(ctx context.Context, version string) error {
	if err := s.failing("bookmark"); err != nil {
		return err
	}
	return s.Store.Bookmark(ctx, version)
}

func (s *brokenSink) BeginReplace(ctx context.Context) (informer.Replacement[*pod], error) {
	replacement, err := s.Store.BeginReplace(ctx)
	if failing := s.failing("begin"); failing != nil {
		return nil, failing
	}
	return &brokenReplacement{replacement, s}, err
}

type brokenReplacement struct {
	informer.Replacement[*pod]
	sink *brokenSink
}

func (r *brokenReplacement) Put(obj *pod) error {
	return errors.Join(r.sink.failing("put"), r.Replacement.Put(obj))
}

func (r *brokenReplacement) Commit(version string) error {
	if err := r.sink.failing("commit"); err != nil {
		return err
	}
	return r.Replacement.Commit(version)
}

func (r *brokenReplacement) Keep(obj metav1.Object) { r.Replacement.Keep(obj) }

// start runs a reflector in a mode; end ends it, and reports how long that took.
func (m *mode) start(t *testing.T) (end func() time.Duration) {
	store := informer.NewStore(informer.StoreOptions[*pod]{Transform: refuse})
	reflector := informer.NewReflector(m.source(), m.sink(store), informer.ReflectorOptions{Name: "pods"})
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{})) // in silence
	done := make(chan error, 1)
	go func() { done <- reflector.Run(ctx) }()
	return func() time.Duration {
		synctest.Wait()
		before := time.Now()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		return time.Since(before)
	}
}

// maxCalls is how many calls may reach a source in the first 5 seconds, whatever fails.
const maxCalls = 10

// P8: whatever fails, and for however long, the source is not hammered, and a Run that
// waits returns as soon as ctx ends.
func TestModes(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) {
			for _, after := range []time.Duration{0, 300 * time.Millisecond, 5*time.Second - 1, 50 * time.Second, 11 * time.Minute} {
				synctest.Test(t, func(t *testing.T) {
					end := m.start(t)
					time.Sleep(after)
					calls := m.calls()
					if took := end(); took != 0 {
						t.Errorf("after %v, Run returned %v after ctx ended; calls: %v", after, took, calls)
					}
					if after <= 5*time.Second && len(calls) > maxCalls {
						t.Errorf("%d calls: %v", len(calls), calls)
					}
					if most := 2*int(after/time.Second) + maxCalls; len(calls) > most {
						t.Errorf("%d calls in %v", len(calls), after)
					}
				})
			}
		})
	}
}

// run starts an informer in a mode; end ends it, and returns its log.
func (m *mode) run(t *testing.T, options informer.Options[*pod]) (mirror *informer.Informer[*pod], ctx context.Context, end func() (string, error)) {
	options.Name, options.Transform = "pods", refuse
	mirror = informer.New(m.source(), options)
	base, log := logged(t.Context())
	ctx, cancel := context.WithCancel(base)
	done := make(chan error, 1)
	go func() { done <- mirror.Run(ctx) }()
	return mirror, ctx, func() (string, error) {
		cancel()
		err := <-done
		return log.String(), err
	}
}

// P6: what fails reaches the waits, Status and the hook each time, and the log once.
func TestModesAreTold(t *testing.T) {
	for _, at := range stages {
		for _, f := range faultsAt(at) {
			m := faultMode(at, f, false)
			t.Run(m.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { checkTold(t, m, at, f) })
			})
		}
	}
}

func checkTold(t *testing.T, m *mode, at stage, f fault) {
	var told []error
	options := informer.Options[*pod]{}
	options.OnError = func(_ context.Context, err error) { told = append(told, err) }
	mirror, ctx, end := m.run(t, options)
	short, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	err := mirror.WaitForSync(short)
	if err == nil {
		err = mirror.WaitForResourceVersion(short, "1000")
	}
	var wait *informer.WaitError
	if !errors.As(err, &wait) {
		t.Fatalf("wait: %v", err)
	}
	status := mirror.Status().Sources[0]
	if (status.Failures > 0) != (wait.Last != nil) || wait.Last != nil && wait.Last.Error() != status.LastError {
		t.Errorf("wait: %v; status: %+v", err, status)
	}
	log, failure := end()
	if failure != nil {
		t.Errorf("Run: %v", failure)
	}
	stride := at == stageCheck || at == stageInitial || at == stageAsk || at == stagePage && f.name == "410" // a list is asked for instead
	if f.err != nil && !stride && len(told) == 0 {
		t.Errorf("the hook was not told; calls: %v", m.calls())
	}
	for _, err := range told {
		var source *informer.SourceError
		var object *informer.ObjectError
		if !(errors.As(err, &source) && source.Source == "pods" || errors.As(err, &object) && object.Source == "pods") {
			t.Errorf("told %v, which names no source", err)
		}
	}
	if lines := strings.Count(log, "\n"); lines > 12 || len(told) > 0 && lines == 0 {
		t.Errorf("told %d times, and %d lines in the log:\n%s", len(told), lines, log)
	}
}

// StopOn ends Run with the failure that it was asked about, in every mode.
func TestModesStop(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked error
				store := informer.NewStore(informer.StoreOptions[*pod]{Transform: refuse})
				reflector := informer.NewReflector(m.source(), m.sink(store), informer.ReflectorOptions{
					StopOn: func(err error) bool { asked = err; return true },
				})
				ctx, cancel := context.WithTimeout(klog.NewContext(t.Context(), klog.Logger{}), time.Minute)
				defer cancel()
				err := reflector.Run(ctx)
				if err != asked || asked != nil && ctx.Err() != nil {
					t.Errorf("Run: %v, asked about %v", err, asked)
				}
			})
		})
	}
}
