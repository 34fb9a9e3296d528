// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"bytes"
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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// capture collects a log, at the highest verbosity.
type capture struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(p)
}

func (c *capture) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// logged returns a context whose logger writes to the capture that it returns.
func logged(ctx context.Context) (context.Context, *capture) {
	c := new(capture)
	return klog.NewContext(ctx, textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(c), textlogger.Verbosity(10)))), c
}

// runLogged runs a reflector over a script until the time is over, and returns its log and
// what the hook was told.
func (s *script) runLogged(t *testing.T, options informer.ReflectorOptions, runs time.Duration) (*informer.Reflector, string, []error) {
	t.Helper()
	ctx, log := logged(t.Context())
	ctx, cancel := context.WithCancel(ctx)
	var errs []error
	options.Name, options.OnError = "pods", func(_ context.Context, err error) { errs = append(errs, err) }
	reflector := informer.NewReflector(s, informer.NewStore(informer.StoreOptions[*pod]{}), options)
	done := make(chan error, 1)
	go func() { done <- reflector.Run(ctx) }()
	time.Sleep(runs)
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	return reflector, log.String(), errs
}

func casesReflectorMore(t *testing.T) {
	for id, test := range map[string]func(t *testing.T){
		"R01": caseR01, "R02": caseSilentInitial, "R13": caseR13, "R15": caseR15, "R21": caseR21Wait,
		"R26": caseR26, "R27": caseR27, "R28": caseR28Codes, "R30": caseR30, "R34": caseR34,
	} {
		t.Run(id, func(t *testing.T) { synctest.Test(t, test) })
	}
	t.Run("R28", caseR28Failures)
	t.Run("R29", caseR29)
}

// R01: each end is told to the hook, and the log has it once; the tries are apart.
func caseR01(t *testing.T) {
	s := newScript().list(podList("10", "a@9")).watch("+a@9", "close").watch("+a@9", "close").watch("+a@9", "close")
	s.watchList = true
	_, log, errs := s.runLogged(t, informer.ReflectorOptions{}, time.Minute)
	if n := strings.Count(log, "Source fails"); n != 1 || len(errs) != 3 {
		t.Errorf("told %d times, and %d in the log:\n%s", len(errs), n, log)
	}
	calls := s.made()
	for i := 1; i < 3; i++ {
		if gap := calls[i].at - calls[i-1].at; gap < 800*time.Millisecond {
			t.Errorf("call %d after %v", i, gap)
		}
	}
	if !strings.Contains(log, "well again") {
		t.Errorf("the end of the trouble is missing:\n%s", log)
	}
}

// R02 to R04: the bound is that of InitialEventsTimeout, and what is not an ADDED does not
// prolong it.
func caseSilentInitial(t *testing.T) {
	s := newScript().list(podList("10", "a@9")).
		watch("+a@9", 7*time.Second, "+b@9", 7*time.Second, "BM@9", 2*time.Second, "~b@10", 2*time.Second, "-b@11", time.Hour)
	s.watchList = true
	_, log, errs := s.runLogged(t, informer.ReflectorOptions{}, time.Minute)
	calls := s.made()
	if s.String() != "WL() L(0) W(10)" || calls[1].at != 17*time.Second {
		t.Errorf("calls: %v, the list at %v", s, calls[1].at)
	}
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "silence") || strings.Count(log, "Source fails") != 1 {
		t.Errorf("told %v, logged:\n%s", errs, log)
	}
}

// R13: the failures count until the next good contact, which a stream that only opens is not.
func caseR13(t *testing.T) {
	s := newScript().list(podList("10")).watch("ERR403").watch("ERR403")
	m := s.run(t, informer.ReflectorOptions{}, informer.StoreOptions[*pod]{})
	time.Sleep(30 * time.Second)
	synctest.Wait()
	if status := m.reflector.Status(); status.Failures != 2 || !strings.Contains(status.LastError, "watch pods") {
		t.Errorf("status: %+v", status)
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	if status := m.reflector.Status(); status.Failures != 0 || status.LastError != "" {
		t.Errorf("a minute later: %+v", status)
	}
	m.end(t)
}

// R15: there is a delay between the tries.
func caseR15(t *testing.T) {
	s := newScript().list(podList("10"))
	for range 9 {
		s.watch("ERR500")
	}
	_, log, errs := s.runLogged(t, informer.ReflectorOptions{}, 5*time.Minute)
	calls := s.made()
	for i, least := 2, 800*time.Millisecond; i < 4; i, least = i+1, least*2 {
		if gap := calls[i].at - calls[i-1].at; gap < least || gap > 2*least {
			t.Errorf("call %d after %v, not %v", i, gap, least)
		}
	}
	if want := "L(0) W(10) W(10) W(10) L(10) W(10) W(10) W(10) L(10) W(10) W(10) W(10) L(10) W(10)"; s.String() != want || len(errs) != 9 {
		t.Errorf("%d errors, and the calls %v, not %s", len(errs), s, want)
	}
	if n := strings.Count(log, "Source fails"); n > 3 {
		t.Errorf("%d lines in the log:\n%s", n, log)
	}
}

// R21: the wait names the key. The next list comes in 5 minutes, and not sooner; with
// Quarantine, Status lists the key.
func caseR21Wait(t *testing.T) {
	s := newScript().list(podList("10", "bad@5 {bad}", "good@6"), podList("11", "bad@7", "good@6"))
	mirror, _ := mirrorWith(t, s, informer.Options[*pod]{Transform: refuse})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	err := mirror.WaitForSync(ctx)
	var object *informer.ObjectError
	if !errors.As(err, &object) || object.Key != "ns/bad" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("WaitForSync: %v", err)
	}
	if err := mirror.WaitForSync(t.Context()); err != nil {
		t.Errorf("WaitForSync: %v", err)
	}
	if calls := s.made(); calls[1].at < 5*time.Minute || len(calls) > 3 {
		t.Errorf("calls: %v, the second after %v", s, calls[1].at)
	}
	options := informer.Options[*pod]{Transform: refuse}
	options.Quarantine = true
	tolerant, _ := mirrorWith(t, newScript().list(podList("10", "bad@5 {bad}", "good@6")), options)
	if err := tolerant.WaitForSync(t.Context()); err != nil {
		t.Errorf("with Quarantine: %v", err)
	}
	if aside := tolerant.Status().Quarantined; len(aside) != 1 || aside[0].Key != "ns/bad" || aside[0].ResourceVersion != "5" {
		t.Errorf("set aside: %+v", aside)
	}
}

// R26: in an outage the waits grow to the cap and stay there.
func caseR26(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	s := newScript().list(podList("10")).watch("+b@11", "close")
	s.down = func() error {
		if len(s.made()) > 2 {
			return refused
		}
		return nil
	}
	_, log, _ := s.runLogged(t, informer.ReflectorOptions{}, 10*time.Minute)
	calls := s.made()[3:]
	for i, least := 1, 800*time.Millisecond; i < len(calls); i, least = i+1, min(2*least, 30*time.Second) {
		if gap := calls[i].at - calls[i-1].at; gap < least || gap > 2*least {
			t.Errorf("try %d after %v, not in [%v, %v]", i, gap, least, 2*least)
		}
	}
	if len(calls) < 12 || strings.Count(log, "Source fails") != 1 {
		t.Errorf("%d calls, and the log:\n%s", len(calls), log)
	}
}

// R27: the initial events reach handlers in the server's order, each transformed once.
func caseR27(t *testing.T) {
	s := newScript().watch("+c@3", "+a@5", "+b@4", "BM*@9")
	s.watchList = true
	transformed := 0
	mirror, told := mirrorWith(t, s, informer.Options[*pod]{Transform: func(p *pod) (*pod, error) {
		transformed++
		return p, nil
	}})
	if got := told(); !slices.Equal(got, []string{"Added c@3", "Added a@5", "Added b@4"}) || transformed != 3 {
		t.Errorf("told %q, and transformed %d times", got, transformed)
	}
	if !mirror.HasSynced() || s.String() != "WL()" {
		t.Errorf("synced: %v, calls: %v", mirror.HasSynced(), s)
	}
}

// R28: what counts as a refusal, and for how long.
func caseR28Codes(t *testing.T) {
	refusals := map[string][]any{"500 in the stream": {"ERR500"}}
	for _, code := range []int32{400, 404, 405, 406, 415, 422, 501} {
		refusals[fmt.Sprint(code)] = []any{status(code, "no")}
		refusals[fmt.Sprint(code, " in the stream")] = []any{fmt.Sprint("ERR", code)}
	}
	for name, refusal := range refusals {
		s := newScript().list(podList("10")).watch(refusal...)
		for range 8 { // seven relists within 30 minutes, and one later
			s.watch(4*time.Minute, "ERR410")
		}
		s.watch("BM*@20").watchList = true
		_, log, errs := s.runLogged(t, informer.ReflectorOptions{}, 34*time.Minute)
		asked := slices.DeleteFunc(s.made(), func(c call) bool { return c.verb != "watch-list" })
		if len(asked) != 2 || asked[1].at < 30*time.Minute || len(errs) > 0 {
			t.Errorf("%s: %v; %v\n%s", name, s, errs, log)
		}
	}
}

// R28: failures are never remembered as refusals.
func caseR28Failures(t *testing.T) {
	for _, code := range []int32{401, 403, 408, 410, 429, 500, 502, 503, 504} {
		synctest.Test(t, func(t *testing.T) {
			s := newScript().list(podList("10")).watch(status(code, "no")).watch("BM*@10", time.Minute, "ERR410").watch("BM*@20")
			s.watchList = true
			if _, _, errs := s.runLogged(t, informer.ReflectorOptions{}, 3*time.Minute); s.String() != "WL() WL() WL(10)" || len(errs) != 1 {
				t.Errorf("%d: %v; %v", code, s, errs)
			}
		})
	}
}

// R30: who waits for a version of the history that is gone is told so.
func caseR30(t *testing.T) {
	s := newScript().list(podList("100", "a@90/A"), podList("50", "a@60/B")).
		watch(time.Hour). // until the wait wants a bookmark
		watch(2*time.Second, "close").watch(time.Second, "+z@101/Z").checked(tooLarge(), podList("50", "a@60/B"))
	mirror, told := mirrorWith(t, s, informer.Options[*pod]{})
	if err := mirror.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := mirror.WaitForResourceVersion(t.Context(), "150")
	var wait *informer.WaitError
	if !errors.As(err, &wait) || !errors.Is(err, informer.ErrHistoryBreak) {
		t.Errorf("WaitForResourceVersion: %v", err)
	}
	time.Sleep(10 * time.Second)
	want := []string{"Added a@90/A", "Deleted a@90/A unknown", "Added a@60/B", "Added z@101/Z"}
	if got := told(); !slices.Equal(got, want) {
		t.Errorf("told %q, not %q", got, want)
	}
}

// R34: an object at an equal version with other content is an update.
func caseR34(t *testing.T) {
	s := newScript().list(podList("10", "x@5/u1 {a}"), podList("20", "x@5/u1 {a,b}")).watch("ERR410")
	_, told := mirrorWith(t, s, informer.Options[*pod]{})
	time.Sleep(10 * time.Second)
	if got := told(); !slices.Equal(got, []string{"Added x@5/u1 {a}", "Updated x@5/u1 {a,b}"}) {
		t.Errorf("told %q", got)
	}
}

// R31 against a server that pages, and for which a limit and a version without a match mean
// exactly that version: the mirror gets past a version that was refused.
func TestListAfterExpiryIsNotExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript().list(podList("100")).watch(status(http.StatusGone, "too old"))
		s.lists = append(s.lists, s.lists[0])
		m := s.run(t, informer.ReflectorOptions{}, informer.StoreOptions[*pod]{})
		time.Sleep(10 * time.Second)
		for _, c := range m.made() {
			exact := c.options.ResourceVersion != "" && c.options.ResourceVersion != "0" && c.options.Limit > 0 &&
				c.options.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan
			if c.verb == "list" && exact {
				t.Errorf("a list at exactly %s", c.options.ResourceVersion)
			}
		}
		m.end(t)
	})
}
