// SPDX-License-Identifier: Apache-2.0

package pager_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/informerkit/informer/pager"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestCases(t *testing.T) {
	t.Run("P01", testTokenAlone)
	t.Run("P02", testExpired)
	t.Run("P03", testRepeatedToken)
	t.Run("P04", testCancelled)
}

// walks runs a test with each way of reading a list, and with each kind of prefetch.
func walks(t *testing.T, test func(t *testing.T, read reader)) {
	for _, prefetch := range []int{-1, 0, 3} {
		for name, read := range map[string]func(*testing.T, *server, metav1.ListOptions, pager.Options) outcome{
			"List": readList, "EachPage": readPages, "EachItem": readItems, "Walk": readStream,
		} {
			t.Run(fmt.Sprint(name, prefetch), func(t *testing.T) {
				test(t, func(s *server, options metav1.ListOptions, o pager.Options) outcome {
					o.Prefetch = prefetch
					return read(t, s, options, o)
				})
			})
		}
	}
}

type reader func(s *server, options metav1.ListOptions, o pager.Options) outcome

// outcome is what came of a walk.
type outcome struct {
	names   []string
	version string
	void    int // restarts
	err     error
}

func (o *outcome) restart(options pager.Options) pager.Options {
	told := options.Restart
	if told == nil {
		return options
	}
	options.Restart = func() {
		o.names = nil
		o.void++
		told()
	}
	return options
}

func (o *outcome) ends(t *testing.T, info metav1.ListMeta, err error) {
	o.version, o.err = info.ResourceVersion, err
	if info.Continue != "" || info.RemainingItemCount != nil {
		t.Errorf("metadata of the list %+v has those of a page", info)
	}
}

func readList(t *testing.T, s *server, options metav1.ListOptions, o pager.Options) (result outcome) {
	whole, err := pager.New(s.list, result.restart(o)).List(t.Context(), options)
	if err != nil {
		if whole != nil {
			t.Errorf("List returned %T with an error", whole)
		}
		result.err = err
		return result
	}
	result.names = names(t, whole)
	result.ends(t, whole.(*list).ListMeta, nil)
	return result
}

func readPages(t *testing.T, s *server, options metav1.ListOptions, o pager.Options) (result outcome) {
	info, err := pager.New(s.list, result.restart(o)).EachPage(t.Context(), options, func(page runtime.Object) error {
		result.names = append(result.names, names(t, page)...)
		return nil
	})
	result.ends(t, info, err)
	return result
}

func readItems(t *testing.T, s *server, options metav1.ListOptions, o pager.Options) (result outcome) {
	info, err := pager.New(s.list, result.restart(o)).EachItem(t.Context(), options, func(obj runtime.Object) error {
		result.names = append(result.names, obj.(*metav1.PartialObjectMetadata).Name)
		return nil
	})
	result.ends(t, info, err)
	return result
}

func readStream(t *testing.T, s *server, options metav1.ListOptions, o pager.Options) (result outcome) {
	info, err := pager.Walk(t.Context(), options, func(ctx context.Context, options metav1.ListOptions) (metav1.ListMeta, error) {
		page, err := s.list(ctx, options)
		if err != nil {
			return metav1.ListMeta{}, err
		}
		result.names = append(result.names, names(t, page)...)
		return page.(*list).ListMeta, nil
	}, result.restart(o))
	result.ends(t, info, err)
	return result
}

// P01: list at 7 with match NotOlderThan, two pages.
func testTokenAlone(t *testing.T) {
	walks(t, func(t *testing.T, read reader) {
		s := &server{objects: 5, after: func(n int, page *list) { page.ResourceVersion = fmt.Sprint(6 + n) }}
		got := read(s, metav1.ListOptions{
			LabelSelector: "a=b", FieldSelector: "c=d", ShardSelector: "s", ResourceVersion: "7",
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		}, pager.Options{PageSize: 3})
		if got.err != nil || got.version != "7" || !slices.Equal(got.names, upTo(5)) {
			t.Errorf("got %+v", got)
		}
		wantRequests(t, s, "7/NotOlderThan/3/", "//3/from-3")
		for _, o := range s.requests() {
			if o.LabelSelector != "a=b" || o.FieldSelector != "c=d" || o.ShardSelector != "s" {
				t.Errorf("selectors missing: %+v", o)
			}
		}
	})
}

// P02: 410 on page one; 410 on page two.
func testExpired(t *testing.T) {
	options := metav1.ListOptions{ResourceVersion: "7", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
	o := pager.Options{PageSize: 2, Restart: func() {}, Retry: func(context.Context, int, error) error {
		return errors.New("asked about an expired token")
	}}
	walks(t, func(t *testing.T, read reader) {
		s := &server{objects: 5, before: at(map[int]error{1: errExpired})}
		if got := read(s, options, o); got.err != errExpired || got.void != 0 {
			t.Errorf("page one: %+v", got)
		}
		wantRequests(t, s, "7/NotOlderThan/2/")

		s = &server{objects: 5, before: at(map[int]error{2: errExpired})}
		if got := read(s, options, o); got.err != nil || got.void != 1 || !slices.Equal(got.names, upTo(5)) {
			t.Errorf("page two: %+v", got)
		}
		wantRequests(t, s, "7/NotOlderThan/2/", "//2/from-2", "7/NotOlderThan/0/")

		s = &server{objects: 5, before: at(map[int]error{3: errExpired, 4: errNoMatch})}
		if got := read(s, options, o); !errors.Is(got.err, errNoMatch) {
			t.Errorf("full list refused: %+v", got)
		}
		wantRequests(t, s, "7/NotOlderThan/2/", "//2/from-2", "//2/from-4", "7/NotOlderThan/0/")
	})
}

// P03: every page returns the token "same".
func testRepeatedToken(t *testing.T) {
	walks(t, func(t *testing.T, read reader) {
		o := pager.Options{Retry: func(context.Context, int, error) error { return nil }, Restart: func() {}}
		s := &server{after: func(_ int, page *list) { page.Continue = "same" }}
		if got := read(s, metav1.ListOptions{}, o); !errors.Is(got.err, pager.ErrRepeatedToken) {
			t.Errorf("got %+v", got)
		}
		wantRequests(t, s, "//500/", "//500/same")

		s = &server{after: func(n int, page *list) { page.Continue = []string{"a", "b", "c"}[(n-1)%3] }}
		if got := read(s, metav1.ListOptions{}, o); !errors.Is(got.err, pager.ErrRepeatedToken) {
			t.Errorf("longer round: %+v", got)
		}
		wantRequests(t, s, "//500/", "//500/a", "//500/b", "//500/c")

		s = &server{after: func(_ int, page *list) { page.Continue = "same" }}
		if got := read(s, metav1.ListOptions{Continue: "same"}, o); !errors.Is(got.err, pager.ErrRepeatedToken) {
			t.Errorf("caller's token: %+v", got)
		}
		wantRequests(t, s, "//500/same")
	})
}

func TestRequests(t *testing.T) {
	limited := func(o metav1.ListOptions, limit int64) metav1.ListOptions { o.Limit = limit; return o }
	at7 := metav1.ListOptions{ResourceVersion: "7"}
	exact := metav1.ListOptions{ResourceVersion: "7", ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	for _, tt := range []struct {
		name    string
		options metav1.ListOptions
		size    int64
		want    []string
	}{
		{"default", metav1.ListOptions{}, 0, []string{"//500/", "//500/from-500"}},
		{"at zero", metav1.ListOptions{ResourceVersion: "0"}, 400, []string{"0//400/", "//400/from-400"}},
		{"no paging", metav1.ListOptions{}, -1, []string{"//0/"}},
		{"caller's limit", limited(metav1.ListOptions{}, 300), 400, []string{"//300/", "//300/from-300"}},
		{"caller's limit, no paging", limited(metav1.ListOptions{}, 300), -1, []string{"//300/", "//300/from-300"}},
		{"negative limit", limited(metav1.ListOptions{}, -5), 400, []string{"//400/", "//400/from-400"}},
		{"version without match", at7, 0, []string{"7//0/"}},
		{"version without match, limit", limited(at7, 300), 0, []string{"7//0/"}},
		{"exact", exact, 400, []string{"7/Exact/400/", "//400/from-400"}},
		{"caller's token", metav1.ListOptions{ResourceVersion: "7", Continue: "from-100"}, 300, []string{"//300/from-100", "//300/from-400"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			walks(t, func(t *testing.T, read reader) {
				s := &server{objects: 600}
				if got := read(s, tt.options, pager.Options{PageSize: tt.size}); got.err != nil {
					t.Errorf("got %v", got.err)
				}
				wantRequests(t, s, tt.want...)
			})
		})
	}
}

// A server that pages although nobody asked it to is followed, and so is an empty page with a token.
func TestOddPages(t *testing.T) {
	walks(t, func(t *testing.T, read reader) {
		s := &server{objects: 2, after: func(n int, page *list) {
			if n <= 2 {
				page.Items, page.Continue = nil, "from-"+strings.Repeat("0", n)
			}
		}}
		got := read(s, metav1.ListOptions{}, pager.Options{PageSize: -1})
		if got.err != nil || !slices.Equal(got.names, upTo(2)) {
			t.Errorf("got %+v", got)
		}
		wantRequests(t, s, "//0/", "//0/from-0", "//0/from-00")
	})
}

func TestRetry(t *testing.T) {
	enough := errors.New("enough")
	for _, tt := range []struct {
		name  string
		fails map[int]error
		retry func(calls int) error // nil: no Retry
		calls int
		want  error // nil: the whole list
	}{
		{"page one", map[int]error{1: errBusy}, func(int) error { return nil }, 0, errBusy},
		{"none", map[int]error{2: errBusy}, nil, 0, errBusy},
		{"once", map[int]error{2: errBusy}, func(int) error { return nil }, 1, nil},
		{"often", map[int]error{2: errBusy, 3: errBusy, 5: errBusy}, func(int) error { return nil }, 3, nil},
		{"gives up", map[int]error{2: errBusy, 3: errBusy}, func(n int) error { return []error{nil, enough}[n-1] }, 2, enough},
		{"expires at last", map[int]error{2: errBusy, 3: errExpired}, func(int) error { return nil }, 1, nil},
		{"full list fails", map[int]error{2: errExpired, 3: errBusy}, func(int) error { return nil }, 0, errBusy},
	} {
		t.Run(tt.name, func(t *testing.T) {
			walks(t, func(t *testing.T, read reader) {
				calls, s, o := 0, &server{objects: 6, before: at(tt.fails)}, pager.Options{PageSize: 2, Restart: func() {}}
				if tt.retry != nil {
					o.Retry = func(_ context.Context, page int, err error) error {
						if calls++; page < 2 || err != error(errBusy) {
							t.Errorf("asked about page %d: %v", page, err)
						}
						return tt.retry(calls)
					}
				}
				got := read(s, metav1.ListOptions{}, o)
				if calls != tt.calls || !errors.Is(got.err, tt.want) {
					t.Errorf("%d calls, error %v; want %d, %v", calls, got.err, tt.calls, tt.want)
				}
				if tt.want == nil && !slices.Equal(got.names, upTo(6)) {
					t.Errorf("got %+v", got)
				}
			})
		})
	}
}

// Without Restart an expired token is an error as soon as something was handed over.
func TestExpiredWithoutRestart(t *testing.T) {
	walks(t, func(t *testing.T, read reader) {
		s := &server{objects: 5, before: at(map[int]error{2: errExpired})}
		got := read(s, metav1.ListOptions{}, pager.Options{PageSize: 2})
		switch listed := strings.Contains(t.Name(), "/List"); {
		case listed && (got.err != nil || !slices.Equal(got.names, upTo(5))):
			t.Errorf("List holds its pages back, but %+v", got)
		case !listed && (!apierrors.IsResourceExpired(got.err) || !strings.HasPrefix(got.err.Error(), "page 2: ")):
			t.Errorf("got %+v", got)
		}
	})
	s := &server{objects: 3, before: at(map[int]error{2: errExpired}), after: func(n int, page *list) {
		if n == 1 {
			page.Items = nil
		}
	}}
	if got := readItems(t, s, metav1.ListOptions{}, pager.Options{PageSize: 2}); got.err != nil || len(got.names) != 3 {
		t.Errorf("nothing was handed over yet, but %+v", got)
	}
}

// A caller's own token that expires is an error: a full list is more than was asked for.
func TestCallersTokenExpires(t *testing.T) {
	walks(t, func(t *testing.T, read reader) {
		for n := 1; n <= 2; n++ {
			s := &server{objects: 9, before: at(map[int]error{n: errExpired})}
			got := read(s, metav1.ListOptions{Continue: "from-2"}, pager.Options{PageSize: 2, Restart: func() {}})
			if !apierrors.IsResourceExpired(got.err) || len(s.requests()) != n {
				t.Errorf("got %+v", got)
			}
		}
	})
}

// The full list of a server that pages unasked may expire too; there is no third one.
func TestFullListIsTriedOnce(t *testing.T) {
	walks(t, func(t *testing.T, read reader) {
		s := &server{objects: 9, before: at(map[int]error{2: errExpired, 4: errExpired}), after: func(n int, page *list) {
			if n == 3 {
				page.Continue = "from-2" // seen before, but in the list that expired
			}
		}}
		got := read(s, metav1.ListOptions{}, pager.Options{PageSize: 2, Restart: func() {}})
		if !apierrors.IsResourceExpired(got.err) {
			t.Errorf("got %+v", got)
		}
		wantRequests(t, s, "//2/", "//2/from-2", "//0/", "//0/from-2")
	})
}
