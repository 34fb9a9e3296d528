// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// reflectorCase is a row: what the source answers, for how long it runs, and what must
// have become of it.
type reflectorCase struct {
	id     string
	script func() *script
	runs   time.Duration
	calls  string   // in order; "…" stands for more of the same at the end
	store  []string // sorted
	check  func(t *testing.T, m *mirror)
}

var reflectorCases = []reflectorCase{
	{
		id: "R06", runs: 10 * time.Second, calls: "L(0) W(100) L(100) W(200)", store: []string{"a@150"},
		script: func() *script {
			return newScript().list(podList("100", "a@90"), podList("200", "a@150")).watch("ERR410")
		},
		check: wantMatch(1),
	},
	{
		id: "R07", runs: 10 * time.Second, calls: "L(0) W(100) L(100) W(200)", store: []string{"a@150"},
		script: func() *script {
			return newScript().list(podList("100", "a@90"), podList("200", "a@150")).watch(status(http.StatusGone, "too old"))
		},
		check: wantMatch(1),
	},
	{
		id: "R08", runs: 10 * time.Second, calls: "L(0) W(100) L(100) L() W(200)", store: []string{"a@150"},
		script: func() *script {
			return newScript().list(podList("100"), status(http.StatusGone, "too old"), podList("200", "a@150")).watch("ERR410")
		},
	},
	{
		id: "R09", runs: 10 * time.Second, calls: "L(0) W(100) L(100) L() W(200)", store: []string{"a@150"},
		script: func() *script {
			return newScript().list(podList("100"), tooLarge(), podList("200", "a@150")).watch("ERR410")
		},
	},
	{
		id: "R09", runs: 10 * time.Second, calls: "L(0) W(100) L(100) L() W(200)", store: []string{"a@150"},
		script: func() *script {
			old := status(http.StatusGatewayTimeout, "Timeout: Too large resource version: 100, current: 50")
			return newScript().list(podList("100"), old, podList("200", "a@150")).watch("ERR410")
		},
	},
	{
		id: "R09", runs: 10 * time.Second, calls: "WL() WL(100) WL()", store: []string{"b@190"},
		script: func() *script {
			s := newScript().watch("BM*@100", "ERR410").watch(errorEvent(tooLarge()), "close").watch("+b@190", "BM*@200")
			s.watchList = true
			return s
		},
	},
	{
		id: "R10", runs: 2 * time.Minute, calls: "L(0) W(10) W(10) W(10) L(10) W(10)",
		script: func() *script {
			return newScript().list(podList("10")).watch("close").watch("close").watch("close")
		},
		check: func(t *testing.T, m *mirror) {
			calls := m.made()
			for i := 2; i < 5; i++ {
				if gap := calls[i].at - calls[i-1].at; gap < 800*time.Millisecond {
					t.Errorf("call %d after %v, without a backoff", i, gap)
				}
			}
			if got := m.failures(); len(got) != 3 || !errors.Is(got[2], informer.ErrNoProgress) {
				t.Errorf("reported %v", got)
			}
		},
	},
	{
		id: "R11", runs: 6 * time.Minute, calls: "L(0) W(10) W(10)",
		script: func() *script { return newScript().list(podList("10")).watch(5*time.Minute, "close") },
		check:  wantNoFailures,
	},
	{
		id: "R12", runs: 10 * time.Second, calls: "L(0) W(10) W(90)",
		script: func() *script { return newScript().list(podList("10")).watch("BM@90", "close") },
		check:  wantNoFailures,
	},
	{
		id: "R13", runs: time.Minute, calls: "L(0) W(10) W(10) W(10) W(10) W(10)",
		script: func() *script {
			return newScript().list(podList("10")).watch("ERR403").watch("ERR403").watch("ERR403").watch("ERR403")
		},
		check: func(t *testing.T, m *mirror) {
			if got := m.failures(); len(got) != 4 || !apierrors.IsForbidden(got[3]) {
				t.Errorf("reported %v", got)
			}
		},
	},
	{
		id: "R14", runs: 30 * time.Second, calls: "L(0) W(10) W(10)",
		script: func() *script {
			return newScript().list(podList("10")).watch(retryAfter(http.StatusTooManyRequests, 5))
		},
		check: func(t *testing.T, m *mirror) {
			calls := m.made()
			if wait := calls[2].at - calls[1].at; wait < 5*time.Second {
				t.Errorf("waited %v", wait)
			}
		},
	},
	{
		id: "R15", runs: time.Minute, calls: "L(0) W(10) W(10) W(10) L(10) W(10)",
		script: func() *script {
			return newScript().list(podList("10")).watch("ERR500").watch("ERR500").watch("ERR500")
		},
	},
	{
		id: "R17", runs: 10 * time.Second, calls: "L(0) W(10)", store: []string{"a@12"},
		script: func() *script {
			other := &secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", ResourceVersion: "11"}}
			return newScript().list(podList("10")).watch(watch.Event{Type: watch.Modified, Object: other}, "~a@12")
		},
		check: wantReported(informer.ErrWrongType),
	},
	{
		id: "R18", runs: 10 * time.Second, calls: "L(0) W(10)", store: []string{"a@9"},
		script: func() *script {
			list := &informer.ObjectList[informer.Object]{ListMeta: metav1.ListMeta{ResourceVersion: "10"}}
			list.Items = []informer.Object{parse("a@9"), &secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}}
			return newScript().list(list)
		},
		check: wantReported(informer.ErrWrongType),
	},
	{
		id: "R19", runs: 10 * time.Second, calls: "L(0) W(10) W(10)", store: []string{"a@9"},
		script: func() *script { return newScript().list(podList("10", "a@9")).watch("ERR503") },
		check: func(t *testing.T, m *mirror) {
			if got := m.failures(); len(got) != 1 || !apierrors.IsServiceUnavailable(got[0]) {
				t.Errorf("reported %v", got)
			}
		},
	},
	{
		id: "R24", runs: 10 * time.Second, calls: "L(0) W(10) W(11)", store: []string{"a@11"},
		script: func() *script {
			timeout := status(http.StatusInternalServerError, "unable to decode an event from the watch stream: context deadline exceeded (Client.Timeout or context cancellation while reading body)")
			return newScript().list(podList("10")).watch("+a@11", errorEvent(timeout))
		},
		check: wantNoFailures,
	},
	{
		id: "R25", runs: 10*time.Minute + 45*time.Second, calls: "L(0) W(10) W(10)",
		script: func() *script { return newScript().list(podList("10")) },
		check:  wantReported(informer.ErrStalled),
	},
	{
		id: "R31", runs: time.Minute, calls: "L(0) W(100) L(100) W(150)", store: []string{"a@90"},
		script: func() *script {
			return newScript().list(podList("100", "a@90"), podList("150", "a@90")).watch(status(http.StatusGone, "too old"))
		},
		check: wantMatch(1),
	},
	{
		id: "R32", runs: 10 * time.Second, calls: "WL() WL(200)", store: []string{"a@120", "b@150"},
		script: func() *script {
			s := newScript().watch("+a@100", "BM*@200", "ERR410").watch("+b@150", "+a@120", "BM*@210")
			s.watchList = true
			return s
		},
		check: func(t *testing.T, m *mirror) {
			if got := m.reflector.LastSyncResourceVersion(); got != "210" {
				t.Errorf("resumes at %s", got)
			}
		},
	},
	{
		id: "R34", runs: 10 * time.Second, calls: "L(0) W(10) L(10) W(20)", store: []string{"x@5/u1 {a,b}"},
		script: func() *script {
			return newScript().list(podList("10", "x@5/u1 {a}"), podList("20", "x@5/u1 {a,b}")).watch("ERR410")
		},
	},
}

// casesReflector are the rows of the reflector.
func casesReflector(t *testing.T) {
	for _, c := range reflectorCases {
		t.Run(c.id, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := c.script().run(t, informer.ReflectorOptions{}, informer.StoreOptions[*pod]{})
				time.Sleep(c.runs)
				synctest.Wait()
				if got := m.String(); got != c.calls {
					t.Errorf("calls: %s, not %s", got, c.calls)
				}
				if got := slices.Sorted(slices.Values(show(m.store.List()))); !slices.Equal(got, c.store) {
					t.Errorf("store: %q, not %q", got, c.store)
				}
				if c.check != nil {
					c.check(t, m)
				}
				m.end(t)
			})
		})
	}
	t.Run("R05", caseR05)
	t.Run("R21", caseR21)
	t.Run("R22", caseR22)
	t.Run("R23", caseR23)
	t.Run("R41", caseR41)
	for _, id := range []string{"R01", "R02", "R03", "R04"} {
		t.Run(id, func(t *testing.T) { caseNoMarker(t, id) })
	}
	t.Run("R28", caseR28)
}

// wantMatch checks that the list at a version, the n-th, means "not older than".
func wantMatch(n int) func(t *testing.T, m *mirror) {
	return func(t *testing.T, m *mirror) {
		lists := slices.DeleteFunc(m.made(), func(c call) bool { return c.verb != "list" })
		if o := lists[n].options; o.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan || o.Limit != 500 {
			t.Errorf("list at %s with match %q and limit %d", o.ResourceVersion, o.ResourceVersionMatch, o.Limit)
		}
	}
}

func wantReported(want error) func(t *testing.T, m *mirror) {
	return func(t *testing.T, m *mirror) {
		if got := m.failures(); len(got) != 1 || !errors.Is(got[0], want) {
			t.Errorf("reported %v, not %v", got, want)
		}
	}
}

func wantNoFailures(t *testing.T, m *mirror) {
	if got := m.failures(); len(got) != 0 {
		t.Errorf("reported %v", got)
	}
}

// R05: the fifth wait of a watch-list that is answered with 429 ends with ctx.
func caseR05(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript()
		s.watchList = true
		for range 20 {
			s.watch(retryAfter(http.StatusTooManyRequests, 1))
		}
		m := s.run(t, informer.ReflectorOptions{}, informer.StoreOptions[*pod]{})
		for len(m.failures()) < 5 {
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		before := time.Now()
		m.end(t)
		if took := time.Since(before); took != 0 {
			t.Errorf("Run returned %v after ctx ended", took)
		}
	})
}

// R21: an object that cannot be transformed fails the first list, which is not repeated
// within 5 minutes; with Quarantine it is set aside.
func caseR21(t *testing.T) {
	refuse := informer.StoreOptions[*pod]{Transform: func(p *pod) (*pod, error) {
		if p.Name == "bad" {
			return nil, errors.New("no")
		}
		return p, nil
	}}
	synctest.Test(t, func(t *testing.T) {
		m := newScript().list(podList("10", "bad@5", "good@6")).run(t, informer.ReflectorOptions{}, refuse)
		time.Sleep(5*time.Minute - time.Second)
		synctest.Wait()
		var object *informer.ObjectError
		if got := m.failures(); len(got) != 1 || !errors.As(got[0], &object) || object.Key != "ns/bad" {
			t.Errorf("reported %v", got)
		}
		if m.store.HasSynced() || m.String() != "L(0)" {
			t.Errorf("synced: %v, calls: %s", m.store.HasSynced(), m)
		}
		m.end(t)
	})
	synctest.Test(t, func(t *testing.T) {
		m := newScript().list(podList("10", "bad@5", "good@6")).run(t, informer.ReflectorOptions{Quarantine: true}, refuse)
		synctest.Wait()
		if got := show(m.store.List()); !m.store.HasSynced() || !slices.Equal(got, []string{"good@6"}) {
			t.Errorf("synced: %v, store %q", m.store.HasSynced(), got)
		}
		m.end(t)
	})
}

// R22: a wait for a source that refuses to list says so.
func caseR22(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newScript().list(status(http.StatusForbidden, "pods is forbidden"))
		options := informer.Options[*pod]{}
		options.Name = "pods"
		mirror := informer.New(source, options)
		run, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- mirror.Run(run) }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := mirror.WaitForSync(ctx)
		var wait *informer.WaitError
		if !errors.As(err, &wait) || !errors.Is(err, context.DeadlineExceeded) || !apierrors.IsForbidden(wait.Last) || !strings.Contains(err.Error(), "list pods") {
			t.Errorf("WaitForSync: %v", err)
		}
		if s := mirror.Status().Sources[0]; s.Failures == 0 || !strings.Contains(s.LastError, "list pods") || s.Phase != informer.PhaseBackoff {
			t.Errorf("status: %+v", s)
		}
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// R23: ctx ends between the return of Watch and the first read.
func caseR23(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		sent := make(chan struct{})
		events := make(chan watch.Event)
		stopped := &stopCounter{Interface: watch.NewProxyWatcher(events)}
		source := &informer.ListWatch{
			NoWatchList: true,
			ListFunc:    func(context.Context, metav1.ListOptions) (runtime.Object, error) { return podList("10"), nil },
			WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				go func() {
					defer close(sent)
					events <- watch.Event{Type: watch.Added, Object: parse("a@11")} // knows nothing of Stop
				}()
				cancel()
				return stopped, nil
			},
		}
		store := informer.NewStore(informer.StoreOptions[*pod]{})
		if err := informer.NewReflector(source, store, informer.ReflectorOptions{}).Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
		<-sent
		if stopped.n != 1 {
			t.Errorf("Stop was called %d times", stopped.n)
		}
	})
}

type stopCounter struct {
	watch.Interface
	n int
}

func (s *stopCounter) Stop() { s.n++; s.Interface.Stop() }

// R41: a collection that is older than NotOlderThan never syncs.
func caseR41(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newScript().list(tooLarge(), podList("50", "a@40")).run(t, informer.ReflectorOptions{NotOlderThan: "100"}, informer.StoreOptions[*pod]{})
		synctest.Wait()
		if got := m.failures(); len(got) != 1 || !errors.Is(got[0], informer.ErrVersionLost) {
			t.Errorf("reported %v", got)
		}
		if m.store.HasSynced() || m.String() != "L(100) L()" {
			t.Errorf("synced: %v, calls: %s", m.store.HasSynced(), m)
		}
		m.end(t)
	})
}

// caseNoMarker: a watch-list whose end marker never comes ends in a list.
func caseNoMarker(t *testing.T, id string) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript().list(podList("10", "a@9"))
		s.watchList = true
		steps := map[string][]any{
			"R01": {"+a@9", "close"}, "R02": {"+a@9", "BM@9"}, "R03": {"+a@9"}, "R04": {time.Hour},
		}[id]
		tries := 1
		if id == "R01" {
			tries = 3
		}
		for range tries {
			s.watch(steps...)
		}
		m := s.run(t, informer.ReflectorOptions{}, informer.StoreOptions[*pod]{})
		time.Sleep(time.Minute)
		synctest.Wait()
		want := strings.Repeat("WL() ", tries) + "L(0) W(10)"
		if m.String() != want || !m.store.HasSynced() || len(m.failures()) != tries {
			t.Errorf("calls: %s, not %s; synced: %v; reported %v", m, want, m.store.HasSynced(), m.failures())
		}
		m.end(t)
	})
}

// R28: a refusal of the watch-list is remembered for 30 minutes.
func caseR28(t *testing.T) {
	for _, code := range []int32{http.StatusBadRequest, http.StatusUnprocessableEntity} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript().list(podList("10")).watch(status(code, "no"))
				for range 3 {
					s.watch(time.Minute, "+a@11", "ERR410")
				}
				s.watchList = true
				m := s.run(t, informer.ReflectorOptions{}, informer.StoreOptions[*pod]{})
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				asked := 0
				for _, c := range m.made() {
					if c.verb == "watch-list" {
						asked++
					}
				}
				if lists := strings.Count(m.String(), "L("); asked != 1 || lists != 5 {
					t.Errorf("watch-list asked for %d times in: %s", asked, m)
				}
				m.end(t)
			})
		})
	}
}
