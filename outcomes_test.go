// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"

	"k8s.io/klog/v2"
)

// pause is what comes between the call that failed and the next one.
type pause int

const (
	atOnce pause = iota // nothing but the second that is between two watches
	backs               // a backoff, and what the server asked for
	waits               // something else: minutes for poison, the bound of a silence
)

// outcome is what follows one failure.
type outcome struct {
	at      stage
	calls   string
	pause   pause
	reports int
	faults  string // names, with a comma and a blank between them
}

// outcomes is the table of DESIGN.md, section 4, for one failure at every stage: the calls
// in order, the pause, and how many errors the hook is told.
var outcomes = []outcome{
	{stageList, "L(0) L(0) W(10)", backs, 1, "nil, a Table, a Status, an object, 400, 401, 403, 404, " +
		"405, 406, 408, 409, 415, 422, 429, 429 after 3 s, 500, 501, 502, 503, 504, refused, " +
		"truncated, unclassified"},
	{stageList, "L(0)", waits, 1, "poison, an item without a name, a nil item"},
	{stageList, "L(0) L() W(10)", atOnce, 0, "410, too large"},

	{stageRelist, "L(0) W(10) L(10) L(10) W(10)", backs, 1, "nil, a Table, a Status, an object, 401, 403, 404, 405, " +
		"406, 408, 409, 415, 429, 429 after 3 s, 500, 501, 502, 503, 504, refused, truncated, " +
		"unclassified"},
	{stageRelist, "L(0) W(10) L(10) W(10)", atOnce, 1, "poison"},
	{stageRelist, "L(0) W(10) L(10)", waits, 1, "an item without a name, a nil item"},
	{stageRelist, "L(0) W(10) L(10) L(10) W(10)", atOnce, 0, "400, 422"},
	{stageRelist, "L(0) W(10) L(10) L() W(10)", atOnce, 0, "410, too large"},

	{stagePage, "L(0) P L(0) P W(10)", backs, 1, "nil, a Table, a Status, an object, 400, 401, 403, 404, " +
		"405, 406, 409, 415, 422, 500, 501, unclassified"},
	{stagePage, "L(0) P", waits, 1, "poison, an item without a name, a nil item"},
	{stagePage, "L(0) P P W(10)", backs, 1, "408, 429, 429 after 3 s, 502, 503, 504, refused, truncated"},
	{stagePage, "L(0) P L(0) W(10)", atOnce, 0, "410"},
	{stagePage, "L(0) P L() P W(10)", atOnce, 0, "too large"},

	{stageAsk, "WL() L(0) W(10)", atOnce, 0, "400, 404, 405, 406, 415, 422, 501"},
	{stageAsk, "WL() WL()", backs, 1, "401, 403, 408, 409, 410, 429, 429 after 3 s, 500, 502, 503, 504, too large, refused, " +
		"truncated, unclassified"},

	{stageInitial, "WL() L(0) W(10)", waits, 1, "silent, bookmark with nil"},
	{stageInitial, "WL() WL()", backs, 1, "closes, closes after an event, closes after a bookmark, 410 after an event, 500 after an " +
		"event, too large after an event, unknown type, nil object, typed nil, no name, a Status as " +
		"an object, ERROR without a Status, ERROR with nil, older bookmark, older object, 401, 403, " +
		"408, 409, 410, 429, 429 after 3 s, 502, 503, 504, too large"},
	{stageInitial, "WL()", waits, 1, "poison"},
	{stageInitial, "WL() WL()", backs, 2, "another type"},
	{stageInitial, "WL() L(0) W(10)", atOnce, 0, "400, 404, 405, 406, 415, 422, 500, 501, refused, truncated, unclassified"},

	{stageAfter, "WL()", waits, 0, "silent"},
	{stageAfter, "WL() C(10) W(10)", backs, 1, "closes, 502, 503, 504"},
	{stageAfter, "WL() C(10) W(10)", atOnce, 1, "another type"},
	{stageAfter, "WL() C(11) W(11)", atOnce, 0, "closes after an event, closes after a bookmark"},
	{stageAfter, "WL() WL(11)", atOnce, 0, "410 after an event"},
	{stageAfter, "WL() W(11)", backs, 1, "500 after an event"},
	{stageAfter, "WL() WL()", atOnce, 1, "too large after an event, too large"},
	{stageAfter, "WL() WL(10)", backs, 1, "unknown type, nil object, typed nil, no name, a Status as an object, bookmark with nil, " +
		"400, 404, 405, 406, 415, 422"},
	{stageAfter, "WL() W(10)", backs, 1, "ERROR without a Status, ERROR with nil, 401, 403, 408, 409, 429, 429 after 3 s, 500, 501, " +
		"refused, truncated, unclassified"},
	{stageAfter, "WL() C(11) W(11)", atOnce, 1, "poison"},
	{stageAfter, "WL() WL()", atOnce, 0, "older bookmark, older object"},
	{stageAfter, "WL() WL(10)", atOnce, 0, "410"},

	{stageWatch, "L(0) W(10) L(10) W(10)", backs, 1, "400, 404, 405, 406, 415, 422"},
	{stageWatch, "L(0) W(10) W(10)", backs, 1, "401, 403, 408, 409, 429, 429 after 3 s, 500, 501, unclassified"},
	{stageWatch, "L(0) W(10) L(10) W(10)", atOnce, 0, "410"},
	{stageWatch, "L(0) W(10) C(10) W(10)", backs, 1, "502, 503, 504, refused, truncated"},
	{stageWatch, "L(0) W(10) L() W(10)", atOnce, 1, "too large"},

	{stageStream, "L(0) W(10)", waits, 0, "silent"},
	{stageStream, "L(0) W(10) C(10) W(10)", backs, 1, "closes, 502, 503, 504"},
	{stageStream, "L(0) W(10) C(10) W(10)", atOnce, 1, "another type"},
	{stageStream, "L(0) W(10) C(11) W(11)", atOnce, 0, "closes after an event, closes after a bookmark"},
	{stageStream, "L(0) W(10) L(11) W(11)", atOnce, 0, "410 after an event"},
	{stageStream, "L(0) W(10) W(11)", backs, 1, "500 after an event"},
	{stageStream, "L(0) W(10) L() W(11)", atOnce, 1, "too large after an event"},
	{stageStream, "L(0) W(10) L(10) W(10)", backs, 1, "unknown type, nil object, typed nil, no name, a Status as an object, bookmark with nil, " +
		"400, 404, 405, 406, 415, 422"},
	{stageStream, "L(0) W(10) W(10)", backs, 1, "ERROR without a Status, ERROR with nil, 401, 403, 408, 409, 429, 429 after 3 s, 500, 501, " +
		"refused, truncated, unclassified"},
	{stageStream, "L(0) W(10) C(11) W(11)", atOnce, 1, "poison"},
	{stageStream, "L(0) W(10) L() W(10)", atOnce, 0, "older bookmark, older object"},
	{stageStream, "L(0) W(10) L(10) W(10)", atOnce, 0, "410"},
	{stageStream, "L(0) W(10) L() W(10)", atOnce, 1, "too large"},

	{stageCheck, "L(0) W(10) C(10) C() W(10)", atOnce, 0, "400, 422"},
	{stageCheck, "L(0) W(10) C(10) W(10)", atOnce, 0, "401, 403, 404, 405, 406, 408, 409, 410, 415, 500, 501, unclassified, " +
		"429, 429 after 3 s, 502, 503, 504"},
	{stageCheck, "L(0) W(10) C(10) C(10) W(10)", backs, 1, "refused, truncated"},
	{stageCheck, "L(0) W(10) C(10) C() W(10)", atOnce, 0, "too large"},
}

func TestOutcomes(t *testing.T) {
	for _, at := range stages {
		for _, f := range faultsAt(at) {
			t.Run(string(at)+"/"+f.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { testOutcome(t, newFaulty(at, f, 1)) })
			})
		}
	}
}

func testOutcome(t *testing.T, source *faulty) {
	row := slices.IndexFunc(outcomes, func(row outcome) bool {
		return row.at == source.stage && slices.Contains(strings.Split(row.faults, ", "), source.name)
	})
	if row < 0 {
		t.Fatal("the table has no row for it")
	}
	want := outcomes[row]
	reports := 0
	store := informer.NewStore(informer.StoreOptions[*pod]{Transform: refuse})
	reflector := informer.NewReflector(source, store, informer.ReflectorOptions{
		OnError: func(context.Context, error) { reports++ },
	})
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{})) // in silence
	done := make(chan error, 1)
	go func() { done <- reflector.Run(ctx) }()
	time.Sleep(20 * time.Second)
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	if got := source.String(); got != want.calls {
		t.Fatalf("calls: %s, not %s", got, want.calls)
	}
	if reports != want.reports {
		t.Errorf("%d errors reported, not %d", reports, want.reports)
	}
	checkPause(t, source, want.pause)
}

// checkPause checks the time between the call that failed and the next one.
func checkPause(t *testing.T, source *faulty, want pause) {
	t.Helper()
	calls := source.made()
	if want == waits {
		return
	}
	gap := calls[source.failed+1].at - calls[source.failed].at
	least := 800 * time.Millisecond
	if source.name == "429 after 3 s" {
		least = 3 * time.Second
	}
	if want == backs && gap < least || want == atOnce && gap > time.Second {
		t.Errorf("the next call came after %v", gap)
	}
}
