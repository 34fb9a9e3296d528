// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// The cases of the reflector that are no rows of a table.

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

// mirrorWith runs an informer over a script, and writes down what a handler is told.
func mirrorWith(t *testing.T, s *script, options informer.Options[*pod]) (mirror *informer.Informer[*pod], told func() []string) {
	t.Helper()
	options.Name = "pods"
	mirror = informer.New(s, options)
	var mu sync.Mutex
	var changes []string
	_, err := mirror.AddHandler(informer.HandlerFunc[*pod](func(_ context.Context, c informer.Change[*pod]) {
		mu.Lock()
		defer mu.Unlock()
		text := fmt.Sprintf("%s %s", c.Type, show([]*pod{c.Object()})[0])
		if c.FinalStateUnknown {
			text += " unknown"
		}
		changes = append(changes, text)
	}), informer.HandlerOptions{EveryChange: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mirror.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return mirror, func() []string {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(changes)
	}
}

// refuse is a transform that fails for objects whose content is bad.
func refuse(p *pod) (*pod, error) {
	if p.Spec == "bad" {
		return nil, errors.New("no")
	}
	return p, nil
}

// poisonCases are about objects that cannot be transformed.
var poisonCases = []struct {
	id         string
	quarantine bool
	script     func() *script
	told       []string
	aside      []string // keys, at the end
	store      []string
}{
	{
		id: "R20", told: []string{"Added good@12"}, aside: []string{"ns/bad"}, store: []string{"good@12"},
		script: func() *script { return newScript().list(podList("10")).watch("+bad@11 {bad}", "+good@12") },
	},
	{
		id: "R20", told: []string{"Added good@12", "Added bad@13 {fine}"}, store: []string{"bad@13 {fine}", "good@12"},
		script: func() *script {
			return newScript().list(podList("10")).watch("+bad@11 {bad}", "+good@12", "~bad@13 {fine}")
		},
	},
	{ // the last good object stays
		id: "R20", told: []string{"Added x@9/u1"}, aside: []string{"ns/x"}, store: []string{"x@9/u1"},
		script: func() *script { return newScript().list(podList("10", "x@9/u1")).watch("~x@11/u1 {bad}") },
	},
	{ // unless it is another one
		id: "R36", told: []string{"Added x@9/u1", "Deleted x@9/u1 unknown"}, aside: []string{"ns/x"},
		script: func() *script { return newScript().list(podList("10", "x@9/u1")).watch("~x@11/u2 {bad}") },
	},
	{
		id: "R36", quarantine: true, told: []string{"Added x@5/u1", "Deleted x@5/u1 unknown"}, aside: []string{"ns/x"},
		script: func() *script {
			return newScript().list(podList("10", "x@5/u1"), podList("20", "x@9/u2 {bad}")).watch("ERR410")
		},
	},
	{
		id: "R37", told: []string{"Added x@5/u1", "Deleted x@5/u1 unknown"},
		script: func() *script { return newScript().list(podList("10", "x@5/u1")).watch("-x@11/u1 {bad}") },
	},
	{ // nothing can be concluded from a list with an object without a name
		id: "R35", quarantine: true, told: []string{"Added a@5", "Added b@6"}, store: []string{"a@5", "b@6"},
		script: func() *script {
			return newScript().list(podList("10", "a@5", "b@6"), podList("20", "a@5", "@7")).watch("ERR410")
		},
	},
}

func casesPoison(t *testing.T) {
	for _, c := range poisonCases {
		t.Run(c.id, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				options := informer.Options[*pod]{Transform: refuse}
				options.Quarantine = c.quarantine
				mirror, told := mirrorWith(t, c.script(), options)
				time.Sleep(time.Second)
				if got := told(); !slices.Equal(got, c.told) {
					t.Errorf("told %q, not %q", got, c.told)
				}
				if got := slices.Sorted(slices.Values(show(mirror.Store().List()))); !slices.Equal(got, c.store) {
					t.Errorf("store %q, not %q", got, c.store)
				}
				var aside []string
				for _, q := range mirror.Status().Quarantined {
					aside = append(aside, q.Key)
				}
				if !slices.Equal(aside, c.aside) {
					t.Errorf("set aside %q, not %q", aside, c.aside)
				}
			})
		})
	}
}

// A version that no event and no bookmark brings is listed for, once.
func TestWaitListsForAVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript().list(podList("10", "a@9"), podList("15", "a@9"))
		mirror, told := mirrorWith(t, s, informer.Options[*pod]{})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := mirror.WaitForResourceVersion(ctx, "14"); err != nil {
			t.Error(err)
		}
		if got := s.String(); got != "L(0) W(10) W(10) L(14)" && got != "L(0) W(10) W(10) L(14) W(15)" {
			t.Errorf("calls: %s", got)
		}
		if got := told(); len(got) != 1 {
			t.Errorf("told %q", got)
		}
	})
}

// R39: nobody answers for 10 minutes. Then R is checked, and the watch goes on.
func caseR39(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := time.Now().Add(10 * time.Minute)
		refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		s := newScript().list(podList("10", "a@9")).watch("+b@11", "close")
		s.down = func() error {
			if len(s.made()) > 2 && time.Now().Before(down) {
				return refused
			}
			return nil
		}
		m := s.run(t, informer.ReflectorOptions{}, informer.StoreOptions[*pod]{})
		time.Sleep(12 * time.Minute)
		synctest.Wait()
		calls := m.made()
		tail := fmt.Sprint(calls[len(calls)-2:])
		if lists := strings.Count(m.String(), "L("); lists != 1 || tail != "[C(11) W(11)]" && tail != "[W(11) C(11)]" || len(m.failures()) < 10 {
			t.Errorf("%d failures, and the calls %s", len(m.failures()), m)
		}
		for i := 4; i < len(calls)-2; i++ {
			if gap := calls[i].at - calls[i-1].at; gap > time.Minute {
				t.Errorf("call %d after %v", i, gap)
			}
		}
		m.end(t)
	})
}

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
				s := newScript().list(podList("10"), podList("11")).watch(status(code, "no"))
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
