// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startCase is a way to begin, and what the source says to it.
type startCase struct {
	options informer.ReflectorOptions
	answers []any // to lists; or the streams of watch-lists, each a []any
	calls   string
	synced  bool
}

// startCases is the table of versions of DESIGN.md, section 4.
func startCases() map[string]startCase {
	recent := informer.ReflectorOptions{MostRecent: true}
	after := informer.ReflectorOptions{NotOlderThan: "100"}
	marker := func(version string) []any { return []any{"+a@9", "BM*@" + version, "ERR410"} }
	open := func(version string) []any { return []any{"+a@9", "BM*@" + version} }
	return map[string]startCase{
		"default, list":                    {answers: []any{podList("50"), podList("60")}, calls: "L(0) W(50) L(50) W(60)", synced: true},
		"default, list, 410":               {answers: []any{status(410, "old"), podList("50"), podList("60")}, calls: "L(0) L() W(50) L(50) W(60)", synced: true},
		"default, watch-list":              {answers: []any{marker("50"), open("60")}, calls: "WL() WL(50)", synced: true},
		"most recent, list":                {options: recent, answers: []any{podList("50"), podList("60")}, calls: "L() W(50) L(50) W(60)", synced: true},
		"most recent, watch-list":          {options: recent, answers: []any{marker("50"), open("60")}, calls: "WL() WL(50)", synced: true},
		"not older, list":                  {options: after, answers: []any{podList("100"), podList("160")}, calls: "L(100) W(100) L(100) W(160)", synced: true},
		"not older, list, too large":       {options: after, answers: []any{tooLarge(), podList("120"), podList("160")}, calls: "L(100) L() W(120) L(120) W(160)", synced: true},
		"not older, list, 410":             {options: after, answers: []any{status(410, "old"), podList("120"), podList("160")}, calls: "L(100) L() W(120) L(120) W(160)", synced: true},
		"not older, list, lost":            {options: after, answers: []any{tooLarge(), podList("50")}, calls: "L(100) L()"},
		"not older, list, ignored":         {options: after, answers: []any{podList("50")}, calls: "L(100)"},
		"not older, watch-list":            {options: after, answers: []any{marker("100"), open("160")}, calls: "WL(100) WL(100)", synced: true},
		"not older, watch-list, too large": {options: after, answers: []any{[]any{tooLarge()}, marker("120"), open("160")}, calls: "WL(100) WL() WL(120)", synced: true},
		"not older, watch-list, ERROR":     {options: after, answers: []any{[]any{errorEvent(tooLarge())}, marker("120"), open("160")}, calls: "WL(100) WL() WL(120)", synced: true},
		"not older, watch-list, 410":       {options: after, answers: []any{[]any{"ERR410"}, marker("120"), open("160")}, calls: "WL(100) WL() WL(120)", synced: true},
		"not older, watch-list, lost":      {options: after, answers: []any{[]any{tooLarge()}, marker("50")}, calls: "WL(100) WL()"},
		"not older, watch-list, ignored":   {options: after, answers: []any{marker("50")}, calls: "WL(100)"},
	}
}

func TestStartConsistency(t *testing.T) {
	for name, c := range startCases() {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { testStart(t, c) }) })
	}
}

func testStart(t *testing.T, c startCase) {
	s := newScript()
	for _, answer := range c.answers {
		if steps, stream := answer.([]any); stream {
			s.watchList = true
			s.watch(steps...)
			continue
		}
		s.list(answer)
	}
	if !s.watchList {
		s.watch("ERR410")
	}
	m := s.run(t, c.options, informer.StoreOptions[*pod]{})
	if c.synced {
		time.Sleep(10 * time.Second) // and a relist
	} else {
		time.Sleep(500 * time.Millisecond) // before the first backoff is over
	}
	synctest.Wait()
	if m.String() != c.calls || m.store.HasSynced() != c.synced {
		t.Errorf("calls: %s, not %s; synced: %v", m, c.calls, m.store.HasSynced())
	}
	if lost := len(m.failures()) == 1 && errors.Is(m.failures()[0], informer.ErrVersionLost); lost == c.synced {
		t.Errorf("reported %v", m.failures())
	}
	for _, call := range m.made() {
		o := call.options
		versioned := o.ResourceVersion != "" && o.ResourceVersion != "0"
		if match := o.ResourceVersionMatch == metav1.ResourceVersionMatchNotOlderThan; match != (call.verb == "watch-list" || call.verb == "list" && versioned) {
			t.Errorf("%v with match %q", call, o.ResourceVersionMatch)
		}
	}
	m.end(t)
}
