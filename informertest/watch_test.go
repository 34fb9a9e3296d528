// SPDX-License-Identifier: Apache-2.0

package informertest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer/informertest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func seconds(n int64) *int64 { return &n }

func initial(version string) metav1.ListOptions {
	yes := true
	return metav1.ListOptions{
		SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: notOlderThan, ResourceVersion: version,
	}
}

func TestWatchStarts(t *testing.T) {
	no := false
	for name, test := range map[string]struct {
		options metav1.ListOptions
		want    string
	}{
		"nothing said":           {metav1.ListOptions{}, "+a=one@2 +b=one@3"},
		"with bookmarks":         {metav1.ListOptions{AllowWatchBookmarks: true}, "+a=one@2 +b=one@3 BM*@3"},
		"at 0":                   {metav1.ListOptions{ResourceVersion: "0"}, "+a=one@2 +b=one@3"},
		"at N":                   {metav1.ListOptions{ResourceVersion: "2"}, "+b=one@3"},
		"at now":                 {metav1.ListOptions{ResourceVersion: "3"}, ""},
		"watch-list":             {initial(""), "+a=one@2 +b=one@3 BM*@3"},
		"watch-list at N":        {initial("2"), "+a=one@2 +b=one@3 BM*@3"},
		"watch-list, future":     {initial("9"), "ERR504 |"},
		"no initial events":      {metav1.ListOptions{SendInitialEvents: &no, ResourceVersionMatch: notOlderThan}, ""},
		"no initial events at N": {metav1.ListOptions{SendInitialEvents: &no, ResourceVersionMatch: notOlderThan, ResourceVersion: "2"}, "+b=one@3"},
		"selector":               {metav1.ListOptions{FieldSelector: "metadata.name=b", AllowWatchBookmarks: true}, "+b=one@3 BM*@3"},
	} {
		bubble(t, name, func(t *testing.T) {
			k := newKit(t, "a", "b")
			expect(t, "events", drain(k.watch(t.Context(), test.options)), test.want)
		})
	}
}

func TestWatchRefuses(t *testing.T) {
	k := newKit(t, "a")
	yes := true
	for name, test := range map[string]struct {
		options metav1.ListOptions
		code    int32
	}{
		"no match":       {metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true}, 422},
		"match alone":    {metav1.ListOptions{ResourceVersion: "2", ResourceVersionMatch: notOlderThan}, 422},
		"match Exact":    {metav1.ListOptions{SendInitialEvents: &yes, ResourceVersionMatch: exact}, 422},
		"version":        {metav1.ListOptions{ResourceVersion: "abc"}, 500},
		"label selector": {metav1.ListOptions{LabelSelector: "a===b"}, 400},
	} {
		if _, err := k.Watch(t.Context(), test.options); codeOf(err) != test.code {
			t.Errorf("%s: %v; want code %d", name, err, test.code)
		}
	}
}

func TestWatchOfTheFuture(t *testing.T) {
	bubble(t, "events up to the version are withheld", func(t *testing.T) {
		k := newKit(t, "a")
		w := k.watch(t.Context(), metav1.ListOptions{ResourceVersion: "4", AllowWatchBookmarks: true})
		k.create("b")
		k.create("c")
		time.Sleep(5 * time.Minute)
		expect(t, "up to 4", drain(w), "")
		k.create("d")
		expect(t, "after 4", drain(w), "+d=one@5")
	})
}

func TestWatchSelector(t *testing.T) {
	bubble(t, "in, through and out", func(t *testing.T) {
		k := newKit(t, "a")
		w := k.watch(t.Context(), metav1.ListOptions{ResourceVersion: "2", LabelSelector: "text in (two,three)"})
		for _, text := range []string{"two", "three", "one", "four"} {
			k.update("a", text)
		}
		k.delete("a")
		expect(t, "events", drain(w), "+a=two@3 ~a=three@4 -a=three@5")
	})
	bubble(t, "another namespace", func(t *testing.T) {
		k := newKit(t, "a")
		w, err := k.InNamespace("other").Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		k.create("b")
		elsewhere := newNote("z", "one")
		elsewhere.Namespace = "other"
		k.must(k.Create(t.Context(), elsewhere))
		expect(t, "events", drain(w), "+z=one@4")
	})
}

func TestBookmarks(t *testing.T) {
	bubble(t, "every minute once the version has moved", func(t *testing.T) {
		k := newKit(t, "a")
		w := k.watch(t.Context(), metav1.ListOptions{ResourceVersion: "2", AllowWatchBookmarks: true, FieldSelector: "metadata.name=a"})
		time.Sleep(90 * time.Second)
		expect(t, "idle", drain(w), "")
		k.create("b")
		expect(t, "not of the selector", drain(w), "")
		time.Sleep(30 * time.Second)
		expect(t, "after 2 minutes", drain(w), "BM@3")
		time.Sleep(time.Minute)
		expect(t, "after 3 minutes", drain(w), "BM@3")
	})
	bubble(t, "before the deadline, which closes", func(t *testing.T) {
		k := newKit(t, "a")
		w := k.watch(t.Context(), metav1.ListOptions{ResourceVersion: "2", AllowWatchBookmarks: true, TimeoutSeconds: seconds(4)})
		k.create("b")
		expect(t, "at once", drain(w), "+b=one@3")
		time.Sleep(2*time.Second - time.Nanosecond)
		expect(t, "before 2 s", drain(w), "")
		time.Sleep(time.Nanosecond)
		expect(t, "at 2 s", drain(w), "BM@3")
		time.Sleep(2 * time.Second)
		expect(t, "at 4 s", drain(w), "|")
	})
	for name, test := range map[string]struct {
		quirks informertest.Quirks
		ask    bool
	}{
		"not asked for": {informertest.Quirks{}, false},
		"no cache":      {informertest.Quirks{NoWatchCache: true}, true},
		"turned off":    {informertest.Quirks{NoBookmarks: true}, true},
	} {
		bubble(t, "none: "+name, func(t *testing.T) {
			k := newKit(t, "a")
			k.SetQuirks(test.quirks)
			w := k.watch(t.Context(), metav1.ListOptions{ResourceVersion: "2", AllowWatchBookmarks: test.ask, TimeoutSeconds: seconds(100)})
			k.create("b")
			expect(t, "at once", drain(w), "+b=one@3")
			time.Sleep(100 * time.Second)
			expect(t, "at the deadline", drain(w), "|")
		})
	}
}

func TestWatchEnds(t *testing.T) {
	for name, end := range map[string]func(k kit, w watch.Interface, cancel func()){
		"Stop":       func(_ kit, w watch.Interface, _ func()) { w.Stop(); w.Stop() },
		"ctx":        func(_ kit, _ watch.Interface, cancel func()) { cancel() },
		"CutStreams": func(k kit, _ watch.Interface, _ func()) { k.CutStreams() },
	} {
		bubble(t, name, func(t *testing.T) {
			k := newKit(t, "a")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w := k.watch(ctx, metav1.ListOptions{ResourceVersion: "2"})
			k.create("b") // which nobody reads: the watch is blocked
			synctest.Wait()
			end(k, w, cancel)
			synctest.Wait()
			k.create("c")
			if got := drain(w); strings.Contains(got, "c=") || !strings.HasSuffix(got, "|") {
				t.Errorf("after the end: %q", got)
			}
			if k.OpenWatches() != 0 {
				t.Errorf("%d watches are open", k.OpenWatches())
			}
		})
	}
}

func TestWatchAndCompaction(t *testing.T) {
	bubble(t, "too old", func(t *testing.T) {
		k := newKit(t, "a", "b")
		k.Compact()
		w := k.watch(t.Context(), metav1.ListOptions{ResourceVersion: "2"})
		expect(t, "events", drain(w), "ERR410 |")
	})
	bubble(t, "an open watch goes on", func(t *testing.T) {
		k := newKit(t, "a")
		w := k.watch(t.Context(), metav1.ListOptions{ResourceVersion: "2"})
		k.create("b")
		k.Compact() // before the watch has read b
		k.create("c")
		expect(t, "events", drain(w), "+b=one@3 +c=one@4")
	})
	bubble(t, "a reader that falls behind is cut", func(t *testing.T) {
		k := newKit(t, "a")
		k.SetQuirks(informertest.Quirks{History: 10})
		w := k.watch(t.Context(), metav1.ListOptions{ResourceVersion: "2"})
		synctest.Wait()
		for i := range 2000 {
			k.update("a", fmt.Sprint(i))
		}
		got := strings.Fields(drain(w))
		if len(got) == 0 || len(got) >= 1000 || got[len(got)-1] != "|" {
			t.Errorf("%d events, the last of them %q", len(got), got[max(0, len(got)-1):])
		}
	})
}

// recorder is a test that is over, and what it was told.
type recorder struct {
	testing.TB
	cleanups []func()
	errors   []string
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, a ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, a...))
}
func (r *recorder) Fatalf(format string, a ...any) { r.Errorf(format, a...) }

func TestCleanup(t *testing.T) {
	for name, test := range map[string]struct {
		stopAfter time.Duration
		complains bool
	}{
		"watch left open":    {time.Hour, true},
		"watch ends late":    {5 * time.Second, false},
		"watch ended before": {0, false},
	} {
		bubble(t, name, func(t *testing.T) {
			r := &recorder{TB: t}
			c := informertest.NewCollection(r, newNote("a", "one"))
			w, err := c.Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if test.stopAfter == 0 {
				w.Stop()
			}
			timer := time.AfterFunc(test.stopAfter, w.Stop)
			defer timer.Stop()
			for _, cleanup := range r.cleanups {
				cleanup()
			}
			if complained := len(r.errors) > 0; complained != test.complains {
				t.Errorf("cleanup said %q", r.errors)
			}
		})
	}
}

func TestWatchExpiredIs410(t *testing.T) {
	bubble(t, "Status", func(t *testing.T) {
		k := newKit(t, "a")
		k.Compact()
		w := k.watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
		e := <-w.ResultChan()
		if err := apierrors.FromObject(e.Object); !apierrors.IsResourceExpired(err) {
			t.Errorf("event is %v %v", e.Type, err)
		}
	})
}
