// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

func TestNewPanics(t *testing.T) {
	store := informer.NewStore(informer.StoreOptions[infObject]{
		Indexers: informer.Indexers[infObject]{"ns": informer.IndexByNamespace[infObject]},
	})
	negative, timeout := informer.Options[infObject]{}, informer.Options[infObject]{}
	negative.Resync, timeout.WatchTimeout = -1, -1
	for name, build := range map[string]func(){
		"nil source":       func() { informer.New(nil, informer.Options[infObject]{}) },
		"negative resync":  func() { informer.New(infCollection("1"), negative) },
		"negative timeout": func() { informer.New(infCollection("1"), timeout) },
		"index name twice": func() {
			informer.New(infCollection("1"), informer.Options[infObject]{
				Store: store, Indexers: informer.Indexers[infObject]{"ns": informer.IndexByNamespace[infObject]},
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "informer: New: ") {
					t.Errorf("panic %q", got)
				}
			}()
			build()
		})
	}
}

func TestRunOnce(t *testing.T) {
	source := infCollection("1", "a@1/a")
	infTest(t, "Run", source, func(t *testing.T, r *infRun, h *infRecorder) {
		if err := r.Run(t.Context()); !errors.Is(err, informer.ErrStarted) {
			t.Errorf("second Run: %v", err)
		}
		r.end()
		r.done <- nil // for the end of the test
		if err := r.Run(t.Context()); !errors.Is(err, informer.ErrStarted) {
			t.Errorf("Run after Run: %v", err)
		}
		if _, err := r.AddHandler(h, informer.HandlerOptions{}); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("AddHandler after Run: %v", err)
		}
		if _, ok := r.Store().Get("a"); !ok {
			t.Error("the store is empty after Run")
		}
	})
}

// What a store held before Run is a handler's first view; the first list is compared with it.
func TestStoreOfOnesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := informer.NewStore(informer.StoreOptions[infObject]{})
		if err := store.Replace(t.Context(), []infObject{infObj("a@1/a"), infObj("b@1/b")}, "1"); err != nil {
			t.Fatal(err)
		}
		source := infCollection("5", "a@1/a", "c@5/c")
		i := informer.New(source, informer.Options[infObject]{
			Store: store, Indexers: informer.Indexers[infObject]{"ns": informer.IndexByNamespace[infObject]},
		})
		h, registration := infRecord(t, i, informer.HandlerOptions{})
		r := infStart(t, i)
		defer r.end()
		h.sameAs(i.Store())
		if !registration.HasSynced() || !i.HasSynced() {
			t.Error("not synced")
		}
		if values, err := store.IndexKeys("ns", ""); err != nil || len(values) != 2 {
			t.Errorf("index: %v, %v", values, err)
		}
	})
}

func TestStopOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := infCollection("1")
		source.fail = apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", nil)
		options := informer.Options[infObject]{}
		options.StopOn = apierrors.IsForbidden
		i := informer.New(source, options)
		waited := make(chan error)
		go func() { waited <- i.WaitForSync(t.Context()) }()
		if err := i.Run(t.Context()); !apierrors.IsForbidden(err) {
			t.Errorf("Run: %v", err)
		}
		if err := <-waited; !errors.Is(err, informer.ErrStopped) || !apierrors.IsForbidden(err) {
			t.Errorf("WaitForSync: %v", err)
		}
	})
}

// A panic of the source reaches the caller of Run, after everything has ended.
func TestSourcePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := informer.New(&informer.ListWatch{
			ListFunc: func(context.Context, metav1.ListOptions) (kruntime.Object, error) { panic("of the source") },
			WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return nil, errors.New("not reached")
			},
			NoWatchList: true,
		}, informer.Options[infObject]{})
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, "of the source") {
					t.Errorf("panic %q", got)
				}
			}()
			t.Errorf("Run: %v", i.Run(t.Context()))
		}()
		if err := i.WaitForSync(t.Context()); !errors.Is(err, informer.ErrStopped) {
			t.Errorf("WaitForSync: %v", err)
		}
	})
}

func TestIndexErrorIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := infCollection("1", "a@1/a", "bad@1/b")
		var reported []error
		options := informer.Options[infObject]{Indexers: informer.Indexers[infObject]{
			"names": func(obj infObject) ([]string, error) {
				if obj.Name == "bad" {
					return nil, errors.New("no such name")
				}
				return []string{obj.Name}, nil
			},
		}}
		options.OnError = func(_ context.Context, err error) { reported = append(reported, err) }
		i := informer.New(source, options)
		r := infStart(t, i)
		defer r.end()
		var index *informer.IndexError
		if len(reported) != 1 || !errors.As(reported[0], &index) || index.Key != "bad" {
			t.Errorf("reported %v", reported)
		}
		if !i.HasSynced() || i.Store().Len() != 2 {
			t.Errorf("synced %v with %d objects", i.HasSynced(), i.Store().Len())
		}
	})
}

func TestStatusOfInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := infCollection("7", "a@1/a", "b@2/b")
		options := informer.Options[infObject]{}
		options.Name = "things"
		var starts, ends, depths int
		options.Traces = []*informer.Trace{nil, {
			HandlerStart: func(string, string) { starts++ },
			HandlerEnd:   func(string, string, time.Duration) { ends++ },
			QueueDepth:   func(int) { depths++ },
		}}
		i := informer.New(source, options)
		h, _ := infRecord(t, i, informer.HandlerOptions{Name: "slow"})
		h.block = make(chan struct{})
		r := infStart(t, i)
		defer r.end()
		time.Sleep(time.Second)
		s := i.Status()
		if s.Name != "things" || s.Synced || s.Objects != 2 || s.ResourceVersion != "7" || len(s.Sources) != 1 || len(s.Handlers) != 1 {
			t.Errorf("status %+v", s)
		}
		if got := s.Handlers[0]; got != (informer.HandlerStatus{Name: "slow", Queued: 1, OldestAge: time.Second}) {
			t.Errorf("handler %+v", got)
		}
		if _, err := json.Marshal(s); err != nil {
			t.Error(err)
		}
		close(h.block)
		synctest.Wait()
		if s := i.Status(); !s.Synced || !s.Handlers[0].Synced || s.Handlers[0].Queued != 0 {
			t.Errorf("status %+v", s)
		}
		source.event("~a@8/a")
		synctest.Wait()
		if starts != 3 || ends != 3 || depths < 2 {
			t.Errorf("traces: %d starts, %d ends, %d depths", starts, ends, depths)
		}
	})
}

// An idle handler has no goroutine.
func TestIdleHandlers(t *testing.T) {
	source := infCollection("1", "a@1/a")
	infTest(t, "idle", source, func(t *testing.T, r *infRun, _ *infRecorder) {
		before := runtime.NumGoroutine()
		for range 100 {
			r.record(informer.HandlerOptions{})
		}
		synctest.Wait()
		if after := runtime.NumGoroutine(); after > before+50 { // others come and go
			t.Errorf("%d goroutines, then %d", before, after)
		}
	})
}

// Everything at once, in every order: no deadlock, no leak, no race, and the lives of the
// keys are as they should.
func TestHammer(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { hammer(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func hammer(t *testing.T, random *rand.Rand) {
	source := infCollection("2", "a@1/a", "b@2/b")
	i := informer.New(source, informer.Options[infObject]{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() { _ = i.Run(ctx) })
	if random.IntN(4) > 0 {
		synctest.Wait()
		all.Go(func() {
			for n := range 50 {
				source.event(fmt.Sprintf("~%c@%d/%[1]c", "ab"[n%2], n+3))
			}
		})
	}
	for range 20 {
		every, drain, limit := random.IntN(2) == 0, random.IntN(2) == 0, 0
		if every {
			limit = random.IntN(3)
		}
		pause := time.Duration(random.IntN(3)) * time.Second
		options := informer.HandlerOptions{EveryChange: every, DrainOnRemove: drain, Limit: limit, Resync: time.Second}
		all.Go(func() { hammerHandler(t, ctx, i, options, pause) })
		all.Go(func() { _ = i.WaitForSync(ctx) })
		all.Go(func() { _ = i.WaitForResourceVersion(ctx, "30") })
		all.Go(func() {
			_, _ = i.WaitFor(ctx, "a", func(obj infObject, ok bool) bool { return ok && obj.ResourceVersion == "41" })
		})
		all.Go(func() {
			for range i.Changes(ctx) {
				if pause == 0 {
					break
				}
			}
		})
		all.Go(func() { i.Status() })
		all.Go(func() { _ = i.AddIndexers(informer.Indexers[infObject]{"ns": informer.IndexByNamespace[infObject]}) })
	}
	time.Sleep(time.Duration(random.IntN(4)) * time.Second)
	cancel()
	all.Wait()
}

func hammerHandler(t *testing.T, ctx context.Context, i *informer.Informer[infObject], options informer.HandlerOptions, pause time.Duration) {
	h := &infRecorder{t: t}
	registration, err := i.AddHandler(informer.Filter(func(infObject) bool { return true }, h), options)
	if err != nil {
		if !errors.Is(err, informer.ErrStopped) {
			t.Error(err)
		}
		return
	}
	registration.Refilter()
	time.Sleep(pause)
	if pause > 0 {
		registration.Refilter()
	}
	if err := registration.RemoveAndWait(context.WithoutCancel(ctx)); err != nil {
		t.Error(err)
	}
	told := len(h.told())
	time.Sleep(time.Second)
	if now := len(h.told()); now > 0 {
		t.Errorf("told %d times, and %d times after the removal", told, now)
	}
}

// Where an index function, or the hook that hears of it, ends its goroutine, as a test's Fatal
// does, Run does not go on without whoever fills the store.
func TestGoexitOfIndexAndHook(t *testing.T) {
	leave := func(infObject) ([]string, error) { runtime.Goexit(); return nil, nil }
	fail := func(infObject) ([]string, error) { return nil, errors.New("odd") }
	for name, index := range map[string]informer.IndexFunc[infObject]{"index": leave, "hook": fail} {
		synctest.Test(t, func(t *testing.T) {
			options := informer.Options[infObject]{Indexers: informer.Indexers[infObject]{"odd": index}}
			options.OnError = func(context.Context, error) { runtime.Goexit() }
			i := informer.New(infCollection("1", "a@1/a"), options)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			returned, ended := false, make(chan struct{})
			go func() {
				defer close(ended)
				_ = i.Run(ctx)
				returned = true
			}()
			<-ended
			if returned || ctx.Err() != nil {
				t.Errorf("%s: returned: %v, ctx: %v", name, returned, ctx.Err())
			}
		})
	}
}
