// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		id: "R10", runs: 2 * time.Minute, calls: "L(0) W(10) C(10) W(10) W(10) L(10) W(10)",
		script: func() *script {
			return newScript().list(podList("10")).watch("close").watch("close").watch("close")
		},
		check: func(t *testing.T, m *mirror) {
			calls := m.made()
			calls = slices.DeleteFunc(calls, func(c call) bool { return c.verb == "check" })
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
		id: "R11", runs: 6 * time.Minute, calls: "L(0) W(10) C(10) W(10)",
		script: func() *script { return newScript().list(podList("10")).watch(5*time.Minute, "close") },
		check:  wantNoFailures,
	},
	{
		id: "R12", runs: 10 * time.Second, calls: "L(0) W(10) C(90) W(90)",
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
		id: "R16", runs: 10 * time.Second, calls: "L(0) W(200) L() W(100)", store: []string{"same@3/u1"},
		script: func() *script {
			return newScript().list(podList("200", "same@5/u1"), podList("100", "same@3/u1")).watch("~same@3/u1")
		},
		check: wantReported(informer.ErrHistoryBreak),
	},
	{ // the collection is not older: a false alarm
		id: "R16", runs: 10 * time.Second, calls: "L(0) W(200) L() W(210)", store: []string{"same@6/u1"},
		script: func() *script {
			return newScript().list(podList("200", "same@5/u1"), podList("210", "same@6/u1")).watch("~same@3/u1")
		},
		check: wantNoFailures,
	},
	{ // the second false alarm is the last one
		id: "R16", runs: time.Minute, calls: "L(0) W(200) L() W(210) L() W(210)", store: []string{"same@2/u1"},
		script: func() *script {
			return newScript().list(podList("200", "same@5/u1"), podList("210", "same@6/u1")).
				watch("~same@3/u1").watch("~same@3/u1").watch("~same@2/u1")
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
		id: "R19", runs: 10 * time.Second, calls: "L(0) W(10) C(10) W(10)", store: []string{"a@9"},
		script: func() *script { return newScript().list(podList("10", "a@9")).watch("ERR503") },
		check: func(t *testing.T, m *mirror) {
			if got := m.failures(); len(got) != 1 || !apierrors.IsServiceUnavailable(got[0]) {
				t.Errorf("reported %v", got)
			}
		},
	},
	{
		id: "R24", runs: 10 * time.Second, calls: "L(0) W(10) C(11) W(11)", store: []string{"a@11"},
		script: func() *script {
			timeout := status(http.StatusInternalServerError, "unable to decode an event from the watch stream: context deadline exceeded (Client.Timeout or context cancellation while reading body)")
			return newScript().list(podList("10")).watch("+a@11", errorEvent(timeout))
		},
		check: wantNoFailures,
	},
	{
		id: "R25", runs: 10*time.Minute + 45*time.Second, calls: "L(0) W(10) C(10) W(10)",
		script: func() *script { return newScript().list(podList("10")) },
		check:  wantReported(informer.ErrStalled),
	},
	{
		id: "R30", runs: time.Minute, calls: "L(0) W(100) C(100) C() L() W(50)", store: []string{"a@60/B"},
		script: func() *script {
			return newScript().list(podList("100", "a@90/A"), podList("50", "a@60/B")).
				watch(3*time.Second, "close").checked(tooLarge(), podList("50", "a@60/B"))
		},
		check: wantReported(informer.ErrHistoryBreak),
	},
	{ // cut within a minute after a check: the next one is put off, and the watch opened meanwhile
		id: "R30", runs: 2 * time.Minute, calls: "L(0) W(100) C(100) W(100) W(100) C(100) C() L() W(50)", store: []string{"a@60/B"},
		script: func() *script {
			return newScript().list(podList("100", "a@90/A"), podList("50", "a@60/B")).
				watch(3*time.Second, "close").watch(3*time.Second, "close").
				checked(podList("100", "a@90/A"), tooLarge(), podList("50", "a@60/B"))
		},
		check: wantReported(informer.ErrHistoryBreak),
	},
	{ // the server lags
		id: "R30", runs: time.Minute, calls: "L(0) W(100) C(100) C() W(100)", store: []string{"a@90/A"},
		script: func() *script {
			return newScript().list(podList("100", "a@90/A")).
				watch(3*time.Second, "close").checked(tooLarge(), podList("100", "a@90/A"))
		},
		check: wantNoFailures,
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
	{ // the match is refused, and that is remembered
		id: "R31", runs: time.Minute, calls: "L(0) W(100) L(100) L(100) W(150) L(150) W(160)", store: []string{"a@90"},
		script: func() *script {
			return newScript().list(podList("100", "a@90"), status(http.StatusUnprocessableEntity, "no match here"), podList("150", "a@90"), podList("160", "a@90")).
				watch("ERR410").watch(5*time.Second, "BM@150", "ERR410")
		},
	},
	{ // a source without versions is listed each time
		id: "R34", runs: 4 * time.Second, calls: "L(0) W() L() W() L() W()", store: []string{"x@"},
		script: func() *script {
			return newScript().list(podList("", "x")).watch("+y", "close").watch("+y", "close")
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
	t.Run("R39", caseR39)
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
