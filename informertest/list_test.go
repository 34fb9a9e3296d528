// SPDX-License-Identifier: Apache-2.0

package informertest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/informertest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	exact        = metav1.ResourceVersionMatchExact
	notOlderThan = metav1.ResourceVersionMatchNotOlderThan
)

func TestListSelects(t *testing.T) {
	k := newKit(t, "a", "b")
	k.update("b", "two")
	elsewhere := newNote("a", "two")
	elsewhere.Namespace = "ns-2" // "-" sorts before "/", as in etcd
	k.must(k.Create(t.Context(), elsewhere))
	for _, test := range []struct {
		name    string
		options metav1.ListOptions
		want    string
	}{
		{"all", metav1.ListOptions{}, "a=two@5 a=one@2 b=two@4"},
		{"by label", metav1.ListOptions{LabelSelector: "text=two"}, "a=two@5 b=two@4"},
		{"by name", metav1.ListOptions{FieldSelector: "metadata.name=a"}, "a=two@5 a=one@2"},
		{"by namespace", metav1.ListOptions{FieldSelector: "metadata.namespace!=ns"}, "a=two@5"},
		{"by both", metav1.ListOptions{FieldSelector: "metadata.name=a", LabelSelector: "text=one"}, "a=one@2"},
		{"in the past", metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: exact}, "a=one@2 b=one@3"},
	} {
		expect(t, test.name, names(k.list(test.options)), test.want)
	}
	part, err := k.InNamespace("ns").List(t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "a namespace", names(part.(*informer.ObjectList[*note])), "a=one@2")
}

func TestListRefuses(t *testing.T) {
	k := newKit(t, "a", "b")
	yes := true
	for name, test := range map[string]struct {
		options metav1.ListOptions
		code    int32
	}{
		"label selector":       {metav1.ListOptions{LabelSelector: "a===b"}, 400},
		"field selector":       {metav1.ListOptions{FieldSelector: "spec.x=b"}, 400},
		"version":              {metav1.ListOptions{ResourceVersion: "abc"}, 400},
		"token":                {metav1.ListOptions{Continue: "abc"}, 400},
		"token's version":      {metav1.ListOptions{Continue: "aW5mb3JtZXJ0ZXN0L3YxOng6eA"}, 400},
		"match":                {metav1.ListOptions{ResourceVersion: "1", ResourceVersionMatch: "Odd"}, 422},
		"match without":        {metav1.ListOptions{ResourceVersionMatch: exact}, 422},
		"initial events":       {metav1.ListOptions{SendInitialEvents: &yes}, 422},
		"exactly before all":   {metav1.ListOptions{ResourceVersion: "1", Limit: 1}, 0},
		"a version never seen": {metav1.ListOptions{ResourceVersion: "2", Limit: 1}, 0},
	} {
		_, err := k.List(t.Context(), test.options)
		if codeOf(err) != test.code || (test.code == 0) != (err == nil) {
			t.Errorf("%s: %v; want code %d", name, err, test.code)
		}
	}
}

func TestListOfTheFuture(t *testing.T) {
	future := metav1.ListOptions{ResourceVersion: "3"}
	bubble(t, "waits", func(t *testing.T) {
		k := newKit(t, "a")
		go func() {
			time.Sleep(2 * time.Second)
			k.create("b")
		}()
		expect(t, "list", names(k.list(future)), "a=one@2 b=one@3")
	})
	for name, test := range map[string]struct {
		quirks informertest.Quirks
		waited time.Duration
	}{
		"gives up after 3 s": {informertest.Quirks{}, 3 * time.Second},
		"gives up at once":   {informertest.Quirks{TooLargeDelay: -1}, 0},
		"has no cache":       {informertest.Quirks{NoWatchCache: true}, 0},
	} {
		bubble(t, name, func(t *testing.T) {
			k := newKit(t, "a")
			k.SetQuirks(test.quirks)
			start := time.Now()
			_, err := k.List(t.Context(), future)
			if !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) || time.Since(start) != test.waited {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
		})
	}
	bubble(t, "ends with ctx", func(t *testing.T) {
		k := newKit(t, "a")
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		if _, err := k.List(ctx, future); !errors.Is(err, cause) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestCompact(t *testing.T) {
	k := newKit(t, "a", "b", "c")
	first := k.list(metav1.ListOptions{Limit: 1})
	k.create("d")
	k.Compact()
	for name, options := range map[string]metav1.ListOptions{
		"exact":        {ResourceVersion: "4", ResourceVersionMatch: exact},
		"limit":        {ResourceVersion: "4", Limit: 1},
		"token":        {Continue: first.Continue},
		"limit, token": {Continue: first.Continue, Limit: 1},
	} {
		if _, err := k.List(t.Context(), options); !apierrors.IsResourceExpired(err) {
			t.Errorf("%s: %v; want 410", name, err)
		}
	}
	_, err := k.List(t.Context(), metav1.ListOptions{Continue: first.Continue})
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Continue == "" {
		t.Fatalf("the error %v has no token to go on with", err)
	}
	rest := k.list(metav1.ListOptions{Continue: status.Status().Continue, Limit: 2})
	expect(t, "the rest, at the newest version", names(rest)+" of "+rest.ResourceVersion, "b=one@3 c=one@4 of 5")
	k.Compact()
	rest = k.list(metav1.ListOptions{Continue: rest.Continue})
	expect(t, "a token for the newest version", names(rest), "d=one@5")
	expect(t, "not older than", names(k.list(metav1.ListOptions{ResourceVersion: "2", ResourceVersionMatch: notOlderThan})),
		"a=one@2 b=one@3 c=one@4 d=one@5")
	expect(t, "exactly now", names(k.list(metav1.ListOptions{ResourceVersion: "5", Limit: 9})), "a=one@2 b=one@3 c=one@4 d=one@5")
}

func TestHistoryIsBounded(t *testing.T) {
	for name, test := range map[string]struct{ history, reach int }{
		"three changes": {3, 3}, "none": {-1, 0},
	} {
		bubble(t, name, func(t *testing.T) {
			k := newKit(t)
			k.SetQuirks(informertest.Quirks{History: test.history})
			for _, name := range []string{"a", "b", "c", "d", "e"} { // versions 2 to 6
				k.create(name)
			}
			floor := 6 - test.reach
			for version := 1; version <= 6; version++ {
				options := metav1.ListOptions{ResourceVersion: string(rune('0' + version)), ResourceVersionMatch: exact}
				list, err := k.List(t.Context(), options)
				if version < floor && !apierrors.IsResourceExpired(err) {
					t.Errorf("version %d: %v; want 410", version, err)
				}
				if version >= floor && (err != nil || len(list.(*informer.ObjectList[*note]).Items) != version-1) {
					t.Errorf("version %d: %v, %v; want %d items", version, list, err, version-1)
				}
			}
		})
	}
}

func TestWriteToAnotherResourceCounts(t *testing.T) {
	bubble(t, "a version of the server", func(t *testing.T) {
		server := informertest.NewServer(informertest.ServerOptions{})
		a, b := server.Add(notes), server.Add(configMaps)
		go func() {
			time.Sleep(time.Second)
			if err := b.LoadJSON(func(yield func([]byte) bool) { yield([]byte(`{"metadata":{"name":"b"}}`)) }); err != nil {
				t.Error(err)
			}
		}()
		list, err := a.List(t.Context(), metav1.ListOptions{ResourceVersion: "2"})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, "version", list.(metav1.ListInterface).GetResourceVersion(), "2")
	})
}
