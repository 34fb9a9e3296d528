// SPDX-License-Identifier: Apache-2.0

package pager_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer/pager"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
)

var errWhy = errors.New("shutting down")

// P04: cancelled after page one.
func testCancelled(t *testing.T) {
	// Often with 5, where the list function may see the end of ctx before the producer does.
	for _, prefetch := range append(slices.Repeat([]int{5}, 50), -1, 0) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			s := &server{objects: 10, before: func(n int, _ metav1.ListOptions) error {
				if n == 2 {
					<-ctx.Done() // in flight when ctx ends
				}
				return nil
			}}
			p := pager.New(s.list, pager.Options{PageSize: 2, Prefetch: prefetch})
			pages := 0
			_, err := p.EachPage(ctx, metav1.ListOptions{}, func(kruntime.Object) error {
				pages++
				synctest.Wait()
				cancel(errWhy)
				return nil
			})
			if !errors.Is(err, errWhy) || !errors.Is(err, context.Canceled) || pages != 1 {
				t.Errorf("prefetch %d: %v after %d pages", prefetch, err, pages)
			}
			if n := len(s.requests()); n > 2 {
				t.Errorf("prefetch %d: %d requests", prefetch, n)
			}
		})
	}
	s := &server{objects: 10}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := pager.Walk(ctx, metav1.ListOptions{}, func(ctx context.Context, o metav1.ListOptions) (metav1.ListMeta, error) {
		page, err := s.list(ctx, o)
		cancel()
		return page.(*list).ListMeta, err
	}, pager.Options{PageSize: 2})
	if !errors.Is(err, context.Canceled) || len(s.requests()) != 1 {
		t.Errorf("stream: %v after %d requests", err, len(s.requests()))
	}
}

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &server{objects: 1}
	_, err := pager.New(s.list, pager.Options{}).List(ctx, metav1.ListOptions{})
	if !errors.Is(err, context.Canceled) || len(s.requests()) != 0 {
		t.Errorf("%v after %d requests", err, len(s.requests()))
	}
}

func TestCancelledWithinPage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &server{objects: 10}
	items := 0
	_, err := pager.New(s.list, pager.Options{}).EachItem(ctx, metav1.ListOptions{}, func(kruntime.Object) error {
		if items++; items == 3 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || items != 3 {
		t.Errorf("%v after %d items", err, items)
	}
}

// ctx ends while Retry waits: its end is the result, with the failure that was waited for.
func TestCancelledInRetry(t *testing.T) {
	for _, answer := range []error{nil, errors.New("gave up")} {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := &server{objects: 10, before: at(map[int]error{2: errBusy})}
		o := pager.Options{PageSize: 2, Retry: func(context.Context, int, error) error {
			cancel(errWhy)
			return answer
		}}
		_, err := pager.New(s.list, o).List(ctx, metav1.ListOptions{})
		if !errors.Is(err, errWhy) || !errors.Is(err, errBusy) || len(s.requests()) != 2 {
			t.Errorf("%v after %d requests", err, len(s.requests()))
		}
		if want := "page 2: context canceled: shutting down: last failure: busy"; err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}

// ctx ends while a page is fetched again: the page's failure is kept, that of an earlier page is not.
func TestCancelledAfterRetry(t *testing.T) {
	for blocked, kept := range map[int]bool{3: true, 4: false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			s := &server{objects: 10, before: func(n int, _ metav1.ListOptions) error {
				switch n {
				case 2:
					return errBusy
				case blocked:
					cancel()
					return ctx.Err()
				}
				return nil
			}}
			o := pager.Options{PageSize: 2, Prefetch: -1, Retry: func(context.Context, int, error) error { return nil }}
			_, err := pager.New(s.list, o).List(ctx, metav1.ListOptions{})
			if !errors.Is(err, context.Canceled) || errors.Is(err, errBusy) != kept {
				t.Errorf("request %d: %v", blocked, err)
			}
		})
	}
}

// A page that comes as ctx ends is not handed over.
func TestPageAsContextEnds(t *testing.T) {
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		p := pager.New(func(context.Context, metav1.ListOptions) (kruntime.Object, error) {
			cancel()
			return &list{}, nil
		}, pager.Options{})
		_, err := p.EachPage(ctx, metav1.ListOptions{}, func(kruntime.Object) error {
			t.Error("handed over")
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}

// It makes no difference to a stream that the page was the last one.
func TestStreamAsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	info, err := pager.Walk(ctx, metav1.ListOptions{}, func(context.Context, metav1.ListOptions) (metav1.ListMeta, error) {
		cancel()
		return metav1.ListMeta{ResourceVersion: "7"}, nil
	}, pager.Options{})
	if !errors.Is(err, context.Canceled) || info.ResourceVersion != "" {
		t.Errorf("got %+v, %v", info, err)
	}
}

// The ctx of the list function ends with the walk, so that nothing keeps what hangs on it.
func TestContextOfTheListFunctionEnds(t *testing.T) {
	var given context.Context
	_, err := pager.New(func(ctx context.Context, _ metav1.ListOptions) (kruntime.Object, error) {
		given = ctx
		return &list{}, nil
	}, pager.Options{}).List(t.Context(), metav1.ListOptions{})
	if err != nil || given.Err() == nil {
		t.Errorf("%v, ctx %v", err, given.Err())
	}
}

// A list function that was left behind and then panics ends the process; the test is its own child.
func TestPanicOfTheAbandoned(t *testing.T) {
	if os.Getenv("PAGER_TEST_ABANDONED") != "" {
		panicAbandoned(t)
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestPanicOfTheAbandoned$")
	child.Env = append(os.Environ(), "PAGER_TEST_ABANDONED=1")
	out, err := child.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "late boom") {
		t.Errorf("%v\n%s", err, out)
	}
}

func panicAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		time.AfterFunc(time.Minute, cancel)
		_, _ = pager.New(func(context.Context, metav1.ListOptions) (kruntime.Object, error) {
			<-release
			panic("late boom")
		}, pager.Options{}).List(ctx, metav1.ListOptions{})
		close(release)
		synctest.Wait()
	})
}

// A list function that fails as ctx ends is not asked about, and its own failure is kept.
func TestFailureAsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &server{objects: 10, before: func(n int, _ metav1.ListOptions) error {
		if n == 1 {
			return nil
		}
		cancel()
		return errBusy
	}}
	o := pager.Options{PageSize: 2, Prefetch: -1, Retry: func(context.Context, int, error) error {
		t.Error("asked")
		return nil
	}}
	_, err := pager.New(s.list, o).List(ctx, metav1.ListOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestHandleStopsTheWalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running := 0
		p := pager.New(func(ctx context.Context, o metav1.ListOptions) (kruntime.Object, error) {
			running++
			defer func() { running-- }() // the walk waits, or the race detector objects
			if o.Continue != "" {
				<-ctx.Done()
				time.Sleep(abandonedAfter / 2) // some time to wind up
				return nil, ctx.Err()
			}
			return &list{ListMeta: metav1.ListMeta{Continue: "next"}, Items: make([]metav1.PartialObjectMetadata, 1)}, nil
		}, pager.Options{})
		start := time.Now()
		if _, err := p.EachPage(t.Context(), metav1.ListOptions{}, func(kruntime.Object) error {
			synctest.Wait()
			return errWhy
		}); err != errWhy {
			t.Errorf("EachPage = %v", err)
		}
		if running != 0 || time.Since(start) != abandonedAfter/2 {
			t.Errorf("%d list functions left running after %v", running, time.Since(start))
		}
		if _, err := p.EachItem(t.Context(), metav1.ListOptions{}, func(kruntime.Object) error { return errWhy }); err != errWhy {
			t.Errorf("EachItem = %v", err)
		}
	})
}

// abandonedAfter is what the documentation says.
const abandonedAfter = time.Second

// A list function that ignores its ctx is left behind.
func TestListFunctionIgnoresItsContext(t *testing.T) {
	for _, prefetch := range []int{-1, 0} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			release := make(chan struct{})
			abandoned := 0
			p := pager.New(func(context.Context, metav1.ListOptions) (kruntime.Object, error) {
				<-release
				return &list{}, nil
			}, pager.Options{Prefetch: prefetch, OnAbandon: func() { abandoned++ }})
			time.AfterFunc(time.Minute, cancel)
			start := time.Now()
			_, err := p.List(ctx, metav1.ListOptions{})
			if !errors.Is(err, context.Canceled) || abandoned != 1 || time.Since(start) != time.Minute+abandonedAfter {
				t.Errorf("%v after %v, %d abandoned", err, time.Since(start), abandoned)
			}
			close(release) // the bubble checks that the goroutine then ends
		})
	}
}

func TestPanicReachesTheCaller(t *testing.T) {
	boom := errors.New("boom")
	for _, page := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{objects: 5, before: func(n int, _ metav1.ListOptions) error {
				if n == page {
					panic(boom)
				}
				return nil
			}}
			got := catch(func() {
				_, _ = pager.New(s.list, pager.Options{PageSize: 2}).List(t.Context(), metav1.ListOptions{})
			})
			checkPanic(t, got, boom)
		})
	}
}

// The panic comes while the walk already ends for another reason: it is not lost.
func TestPanicAsTheWalkEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		s := &server{objects: 5, before: func(n int, _ metav1.ListOptions) error {
			if n == 2 {
				panic(boom)
			}
			return nil
		}}
		p := pager.New(s.list, pager.Options{PageSize: 2})
		got := catch(func() {
			_, _ = p.EachPage(t.Context(), metav1.ListOptions{}, func(kruntime.Object) error {
				synctest.Wait()
				return errWhy
			})
		})
		checkPanic(t, got, boom)
	})
}

func catch(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

func checkPanic(t *testing.T, got any, want error) {
	t.Helper()
	p, ok := got.(*pager.PanicError)
	if !ok || p.Value != want || !errors.Is(p, want) {
		t.Fatalf("recovered %v", got)
	}
	if !strings.Contains(string(p.Stack), "(*server).list") || !strings.Contains(p.Error(), want.Error()) {
		t.Errorf("the stack does not show the list function:\n%s", p.Stack)
	}
	if (&pager.PanicError{Value: "text"}).Unwrap() != nil {
		t.Error("text unwraps to an error")
	}
}

// A panic of handle passes, and the goroutine that fetches ends first.
func TestPanicOfHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{objects: 5}
		got := catch(func() {
			_, _ = pager.New(s.list, pager.Options{PageSize: 1}).EachPage(t.Context(), metav1.ListOptions{}, func(kruntime.Object) error {
				panic("handle")
			})
		})
		if got != "handle" {
			t.Errorf("recovered %v", got)
		}
	})
}

// A test's Fatal in a list function leaves its goroutine, and so must leave the caller's.
func TestGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		returned := false
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = pager.New(func(context.Context, metav1.ListOptions) (kruntime.Object, error) {
				runtime.Goexit()
				return nil, nil
			}, pager.Options{}).List(t.Context(), metav1.ListOptions{})
			returned = true
		}()
		<-done
		if returned {
			t.Error("List returned")
		}
	})
}

// Every way that a walk can end leaves no goroutine: the bubble fails otherwise.
func TestNoGoroutineIsLeft(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fails map[int]error
	}{{"whole", nil}, {"page one", map[int]error{1: errBusy}}, {"page two", map[int]error{2: errBusy}}, {"expired", map[int]error{3: errExpired}}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{objects: 9, before: at(tt.fails)}
				p := pager.New(s.list, pager.Options{PageSize: 2, Prefetch: 2})
				_, _ = p.EachItem(t.Context(), metav1.ListOptions{}, func(kruntime.Object) error { return nil })
			})
		})
	}
}
