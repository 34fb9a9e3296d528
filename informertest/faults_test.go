// SPDX-License-Identifier: Apache-2.0

package informertest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/informerkit/informer/informertest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestFailures(t *testing.T) {
	down, busy := errors.New("down"), apierrors.NewTooManyRequests("busy", 5)
	k := newKit(t, "a")
	list := func() error { _, err := k.List(t.Context(), metav1.ListOptions{}); return err }
	watch := func() error {
		w, err := k.Watch(t.Context(), metav1.ListOptions{})
		if err == nil {
			w.Stop()
		}
		return err
	}
	k.FailNext(0, down)
	k.FailNext(2, down)
	k.FailNext(1, busy)
	for i, want := range []error{down, down, busy, nil} {
		call := list
		if i%2 == 1 {
			call = watch
		}
		if got := call(); !errors.Is(got, want) {
			t.Errorf("call %d: %v; want %v", i, got, want)
		}
	}
	k.FailWhile(func(r informertest.Request) bool { return r.Verb == informertest.VerbWatch }, busy)
	for range 3 {
		if err := list(); err != nil {
			t.Errorf("list: %v", err)
		}
		if err := watch(); !apierrors.IsTooManyRequests(err) {
			t.Errorf("watch: %v", err)
		}
	}
	if _, err := k.Get(t.Context(), "ns", "a"); err != nil {
		t.Errorf("get: %v", err)
	}
	k.Recover()
	if err := watch(); err != nil {
		t.Errorf("watch after Recover: %v", err)
	}
}

func TestRequests(t *testing.T) {
	bubble(t, "what arrived", func(t *testing.T) {
		k := newKit(t, "a")
		k.list(metav1.ListOptions{Limit: 7})
		time.Sleep(time.Second)
		k.FailNext(1, errors.New("down"))
		_, _ = k.InNamespace("ns").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "2"})
		got := k.Requests()
		if len(got) != 2 || got[0].Verb != informertest.VerbList || got[0].Options.Limit != 7 ||
			got[1].Verb != informertest.VerbWatch || got[1].Namespace != "ns" || got[1].Options.ResourceVersion != "2" ||
			got[1].Time.Sub(got[0].Time) != time.Second {
			t.Errorf("requests are %v", got)
		}
	})
	t.Run("bounded", func(t *testing.T) {
		k := newKit(t)
		for i := range 10_001 {
			k.list(metav1.ListOptions{Limit: int64(i)})
		}
		got := k.Requests()
		if len(got) > 10_000 || len(got) < 5_000 || got[len(got)-1].Options.Limit != 10_000 {
			t.Errorf("%d requests", len(got))
		}
	})
}

func TestQuirks(t *testing.T) {
	for name, test := range map[string]struct {
		quirks informertest.Quirks
		open   metav1.ListOptions
		want   string // the events, or the code of the error
	}{
		"refuses watch-list":         {informertest.Quirks{RefuseWatchList: true}, initial(""), "code 422"},
		"ignores watch-list":         {informertest.Quirks{IgnoreWatchList: true}, initial("2"), "+b=one@3"},
		"ignores watch-list at none": {informertest.Quirks{IgnoreWatchList: true}, initial(""), "+a=one@2 +b=one@3"},
		"no marker":                  {informertest.Quirks{NoMarker: true}, initial(""), "+a=one@2 +b=one@3"},
		"no bookmarks":               {informertest.Quirks{NoBookmarks: true}, initial(""), "+a=one@2 +b=one@3 BM*@3"},
		"no cache":                   {informertest.Quirks{NoWatchCache: true}, initial(""), "+a=one@2 +b=one@3 BM*@3"},
		"no versions":                {informertest.Quirks{NoVersions: true}, initial(""), "code 405"},
	} {
		bubble(t, name, func(t *testing.T) {
			k := newKit(t, "a", "b")
			k.SetQuirks(test.quirks)
			w, err := k.Watch(t.Context(), test.open)
			if err != nil {
				expect(t, "error", fmt.Sprintf("code %d", codeOf(err)), test.want)
				return
			}
			defer w.Stop()
			expect(t, "events", drain(w), test.want)
		})
	}
	t.Run("no paging", func(t *testing.T) {
		k := newKit(t, "a", "b")
		k.SetQuirks(informertest.Quirks{NoPaging: true})
		list := k.list(metav1.ListOptions{Limit: 1})
		expect(t, "list", names(list)+list.Continue, "a=one@2 b=one@3")
	})
	t.Run("no versions", func(t *testing.T) {
		k := newKit(t, "a")
		k.SetQuirks(informertest.Quirks{NoVersions: true})
		list := k.list(metav1.ListOptions{})
		expect(t, "list", names(list)+list.ResourceVersion+string(list.Items[0].UID), "a=one@")
	})
	bubble(t, "latency", func(t *testing.T) {
		k := newKit(t, "a")
		k.SetQuirks(informertest.Quirks{Latency: time.Minute})
		start := time.Now()
		k.list(metav1.ListOptions{})
		k.watch(t.Context(), metav1.ListOptions{})
		if waited := time.Since(start); waited != 2*time.Minute {
			t.Errorf("two calls took %v", waited)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := k.List(ctx, metav1.ListOptions{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
	})
}

// mirror is what a client holds.
type mirror []*note

func (m mirror) List() []*note { return m }

func TestDiff(t *testing.T) {
	k := newKit(t, "a", "b", "c")
	same := func() mirror { return k.list(metav1.ListOptions{}).Items }
	for name, test := range map[string]struct {
		spoil func(m mirror) mirror
		want  string // part of the difference; empty: none
	}{
		"equal":      {func(m mirror) mirror { return m }, ""},
		"missing":    {func(m mirror) mirror { return m[1:] }, "ns/a is at version 2 in the collection, and not in the mirror"},
		"additional": {func(m mirror) mirror { return append(m, newNote("z", "secret")) }, "ns/z is in the mirror"},
		"older":      {func(m mirror) mirror { m[0].ResourceVersion = "1"; return m }, "ns/a is at version 1"},
		"recreated":  {func(m mirror) mirror { m[0].UID = "u"; return m }, "with UID u in the mirror"},
		"content":    {func(m mirror) mirror { m[0].Text = "secret"; return m }, "ns/a has other content"},
	} {
		diff := k.Diff(test.spoil(same()))
		if (diff == "") != (test.want == "") || !strings.Contains(diff, test.want) || strings.Contains(diff, "secret") {
			t.Errorf("%s: %q; want %q", name, diff, test.want)
		}
	}
	t.Run("transformed", func(t *testing.T) {
		blank := func(n *note) (*note, error) { n.Text = ""; return n, nil }
		transformed := same()
		for _, n := range transformed {
			_, _ = blank(n)
		}
		expect(t, "diff", k.Diff(transformed, blank), "")
		fail := func(*note) (*note, error) { return nil, errors.New("no") }
		if diff := k.Diff(transformed, fail); !strings.Contains(diff, "ns/b cannot be transformed") {
			t.Errorf("diff is %q", diff)
		}
	})
	t.Run("many", func(t *testing.T) {
		var many mirror
		for i := range 100 {
			many = append(many, newNote(fmt.Sprint(i), ""))
		}
		if lines := strings.Split(k.Diff(many), "\n"); len(lines) != 21 || lines[20] != "and 83 more differences" {
			t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
		}
	})
	t.Run("RequireEqual", func(t *testing.T) {
		r := &recorder{TB: t}
		k.RequireEqual(r, same())
		if len(r.errors) != 0 {
			t.Errorf("complained of equality: %q", r.errors)
		}
		k.RequireEqual(r, mirror(nil))
		if len(r.errors) != 1 {
			t.Error("did not complain")
		}
	})
}
