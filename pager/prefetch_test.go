// SPDX-License-Identifier: Apache-2.0

package pager_test

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/informerkit/informer/pager"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
)

// While a page is handled, exactly the pages that Prefetch allows are asked for.
func TestPrefetch(t *testing.T) {
	for _, tt := range []struct{ prefetch, ahead int }{{-1, 0}, {math.MinInt, 0}, {0, 1}, {1, 1}, {2, 2}, {7, 7}, {math.MaxInt, 100}} {
		synctest.Test(t, func(t *testing.T) {
			const pages = 120
			s := &server{objects: pages}
			handled := 0
			p := pager.New(s.list, pager.Options{PageSize: 1, Prefetch: tt.prefetch})
			_, err := p.EachPage(t.Context(), metav1.ListOptions{}, func(kruntime.Object) error {
				handled++
				synctest.Wait()
				if asked := len(s.requests()); asked != min(handled+tt.ahead, pages) {
					t.Fatalf("prefetch %d: %d pages asked for while page %d is handled", tt.prefetch, asked, handled)
				}
				return nil
			})
			if err != nil || handled != pages {
				t.Errorf("prefetch %d: %v after %d pages", tt.prefetch, err, handled)
			}
		})
	}
}

// A page is really dropped, and not only no longer needed, before the next but one is fetched.
func TestPagesAreDropped(t *testing.T) {
	var dropped atomic.Int64
	s := &server{objects: 20}
	s.after = func(n int, page *list) {
		runtime.AddCleanup(page, func(*atomic.Int64) { dropped.Add(1) }, &dropped)
		if n <= 2 {
			return
		}
		for range 1000 { // the cleanup of a dropped page runs in its own goroutine
			runtime.GC()
			if dropped.Load() >= int64(n-2) {
				return
			}
			runtime.Gosched()
		}
		t.Errorf("page %d fetched while only %d are dropped", n, dropped.Load())
	}
	var kept []kruntime.Object
	_, err := pager.New(s.list, pager.Options{PageSize: 1}).EachItem(t.Context(), metav1.ListOptions{}, func(obj kruntime.Object) error {
		kept = append(kept, obj) // and items do not pin their page
		return nil
	})
	if err != nil || len(kept) != 20 {
		t.Errorf("%v after %d items", err, len(kept))
	}
	runtime.KeepAlive(kept)
}

// Retry and Restart are called in order with what is handed over, never beside it.
func TestCallbacksComeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{objects: 8, before: at(map[int]error{3: errBusy, 5: errExpired})}
		var account []string // unguarded on purpose: the race detector looks on
		o := pager.Options{
			PageSize: 2, Prefetch: 3,
			Retry:   func(context.Context, int, error) error { account = append(account, "retry"); return nil },
			Restart: func() { account = append(account, "restart") },
		}
		_, err := pager.New(s.list, o).EachItem(t.Context(), metav1.ListOptions{}, func(obj kruntime.Object) error {
			synctest.Wait()
			account = append(account, obj.(*metav1.PartialObjectMetadata).Name)
			return nil
		})
		want := append([]string{"o0", "o1", "o2", "o3", "retry", "o4", "o5", "restart"}, upTo(8)...)
		if err != nil || len(account) != len(want) {
			t.Fatalf("%v, %v", err, account)
		}
		for i := range want {
			if account[i] != want[i] {
				t.Fatalf("got  %v\nwant %v", account, want)
			}
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	s := &server{objects: 50}
	p := pager.New(s.list, pager.Options{PageSize: 3})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			whole, err := p.List(t.Context(), metav1.ListOptions{})
			if err != nil || len(whole.(*list).Items) != 50 {
				t.Errorf("%v", err)
			}
		})
	}
	all.Wait()
}
