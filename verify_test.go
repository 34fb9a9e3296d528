// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/informertest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// verified is a mirror with Verify every 10 minutes, and what it told.
type verified struct {
	mu     sync.Mutex
	errs   []error
	traces []string
	log    *capture
}

func (v *verified) options() informer.ReflectorOptions {
	return informer.ReflectorOptions{
		Name: "pods", Verify: 10 * time.Minute,
		OnError: func(_ context.Context, err error) {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.errs = append(v.errs, err)
		},
		Traces: []*informer.Trace{{Verify: func(_ string, differences int, err error) {
			v.mu.Lock()
			defer v.mu.Unlock()
			text := string(rune('0' + differences))
			if err != nil {
				text += " " + err.Error()
			}
			v.traces = append(v.traces, text)
		}}},
	}
}

// start runs until the test ends.
func (v *verified) start(t *testing.T, run func(ctx context.Context) error) {
	t.Helper()
	ctx, log := logged(t.Context())
	ctx, cancel := context.WithCancel(ctx)
	v.log = log
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	synctest.Wait()
}

// expect checks what was told, and forgets it.
func (v *verified) expect(t *testing.T, traces []string, keys ...string) {
	t.Helper()
	synctest.Wait()
	v.mu.Lock()
	defer v.mu.Unlock()
	var repaired []string
	for _, err := range v.errs {
		var object *informer.ObjectError
		if !errors.As(err, &object) || !errors.Is(err, informer.ErrRepaired) || object.Source != "pods" {
			t.Errorf("told %v", err)
			continue
		}
		repaired = append(repaired, object.Key)
	}
	slices.Sort(repaired)
	if !slices.Equal(v.traces, traces) || !slices.Equal(repaired, keys) {
		t.Errorf("traces %q, repaired %q; want %q, %q", v.traces, repaired, traces, keys)
	}
	v.errs, v.traces = nil, nil
}

// period is a bit more than the longest time until the next verify.
const period = 11*time.Minute + time.Second

func must[T any](obj T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return obj
	}
}

// A store that somebody spoiled is repaired, whether a queue is before it or not.
func TestVerifyRepairsTheStore(t *testing.T) {
	for _, queued := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			pods := informertest.NewCollection(t, parse("a {x}"), parse("b {x}"), parse("c {x}"))
			store := informer.NewStore(informer.StoreOptions[*pod]{})
			v := new(verified)
			if queued {
				options := informer.Options[*pod]{Store: store, ReflectorOptions: v.options()}
				v.start(t, informer.New(pods, options).Run)
			} else {
				v.start(t, informer.NewReflector(pods, store, v.options()).Run)
			}
			a, _ := store.Get("ns/a")
			b, _ := store.Get("ns/b")
			spoilt := *a
			spoilt.Spec = "y" // at the same version
			if err := errors.Join(store.Update(t.Context(), &spoilt), store.Delete(t.Context(), b), store.Add(t.Context(), parse("zombie@3/u"))); err != nil {
				t.Fatal(err)
			}
			time.Sleep(period)
			v.expect(t, []string{"3"}, "ns/a", "ns/b", "ns/zombie")
			pods.RequireEqual(t, store)
			if n := strings.Count(v.log.String(), "Mirror was repaired"); n != 1 {
				t.Errorf("%d lines in the log:\n%s", n, v.log)
			}
			time.Sleep(period)
			v.expect(t, []string{"0"})
		})
	}
}

// Events that were lost are made up for, with the cause that says so.
func TestVerifyFindsLostEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := informertest.NewCollection(t, parse("a {x}"), parse("b {x}"))
		pods.SetQuirks(informertest.Quirks{DropEvents: 1})
		v := new(verified)
		mirror := informer.New(pods, informer.Options[*pod]{ReflectorOptions: v.options()})
		var causes []string
		if _, err := mirror.AddHandler(informer.HandlerFunc[*pod](func(_ context.Context, c informer.Change[*pod]) {
			if c.Cause != informer.CauseInitial {
				causes = append(causes, string(c.Type)+" "+c.Key+" "+string(c.Cause))
			}
		}), informer.HandlerOptions{}); err != nil {
			t.Fatal(err)
		}
		v.start(t, mirror.Run)
		must(pods.Update(t.Context(), parse("a {y}")))(t)
		must(pods.Create(t.Context(), parse("c {x}")))(t)
		if err := pods.Delete(t.Context(), "ns", "b"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute) // a bookmark has come
		if pods.Diff(mirror.Store()) == "" {
			t.Fatal("nothing was lost")
		}
		time.Sleep(period)
		v.expect(t, []string{"3"}, "ns/a", "ns/b", "ns/c")
		pods.RequireEqual(t, mirror.Store())
		slices.Sort(causes)
		if want := []string{"Added ns/c Verify", "Deleted ns/b Verify", "Updated ns/a Verify"}; !slices.Equal(causes, want) {
			t.Errorf("told %q", causes)
		}
	})
}

// A list that cannot be had repairs nothing, and is no failure of the source.
func TestVerifySkips(t *testing.T) {
	poisoned := podList("10", "a@9", "@9")
	paged := podList("10", "a@9")
	paged.Continue = "next"
	for name, answer := range map[string]any{
		"expired": status(410, "too old"), "too large": tooLarge(), "refused": status(400, "no match"),
		"denied": status(403, "no"), "broken": io.ErrUnexpectedEOF, "another version": podList("11"),
		"no list": parse("a@9"), "no name": poisoned, "page two": paged,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript().list(podList("10", "a@9", "b@8"), answer, status(410, "too old"))
				s.watch("BM@10", 5*time.Minute, "BM@10", 5*time.Minute, "BM@10", time.Hour)
				store := informer.NewStore(informer.StoreOptions[*pod]{})
				v := new(verified)
				options := v.options()
				options.WatchTimeout = time.Hour
				reflector := informer.NewReflector(s, store, options)
				v.start(t, reflector.Run)
				if err := store.Delete(t.Context(), parse("a@9")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(period)
				synctest.Wait()
				if len(v.traces) != 1 || !strings.HasPrefix(v.traces[0], "0 ") || len(v.errs) > 0 || reflector.Status().Failures > 0 {
					t.Errorf("traces %q, errors %v, status %+v", v.traces, v.errs, reflector.Status())
				}
				if got := show(store.List()); !slices.Equal(got, []string{"b@8"}) {
					t.Errorf("store %q", got)
				}
				lists := slices.DeleteFunc(s.made(), func(c call) bool { return c.verb != "list" })
				if o := lists[1].options; o.ResourceVersion != "10" || o.ResourceVersionMatch != "Exact" || o.Limit != 500 {
					t.Errorf("asked for %+v", o)
				}
			})
		})
	}
}

// A mirror that is behind is not compared: its queue is given half a minute.
func TestVerifyWaitsForTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := informertest.NewCollection(t, parse("a"), parse("b"))
		v := new(verified)
		mirror := informer.New(pods, informer.Options[*pod]{ReflectorOptions: v.options()})
		block := make(chan struct{})
		if _, err := mirror.AddHandler(informer.HandlerFunc[*pod](func(_ context.Context, c informer.Change[*pod]) {
			if c.Cause == informer.CauseWatch {
				<-block
			}
		}), informer.HandlerOptions{EveryChange: true, Limit: 1}); err != nil {
			t.Fatal(err)
		}
		v.start(t, mirror.Run)
		for _, text := range []string{"1", "2", "3", "4"} {
			must(pods.Update(t.Context(), parse("a {"+text+"}")))(t)
			synctest.Wait()
		}
		time.Sleep(period + time.Minute)
		v.expect(t, []string{"0 sink: queue is not empty: context deadline exceeded"})
		close(block)
		time.Sleep(period)
		v.expect(t, []string{"0"})
	})
}

// The silence of a stream does not count while nobody reads it.
func TestVerifyIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := informertest.NewCollection(t, parse("a"))
		v := new(verified)
		options := v.options()
		options.Verify, options.WatchTimeout = time.Minute, time.Minute
		pods.SetQuirks(informertest.Quirks{IgnoreTimeout: true, NoBookmarks: true})
		v.start(t, informer.NewReflector(pods, informer.NewStore(informer.StoreOptions[*pod]{}), options).Run)
		pods.SetQuirks(informertest.Quirks{Latency: 5 * time.Minute})
		time.Sleep(time.Minute + 5*time.Minute + 20*time.Second)
		v.expect(t, []string{"0"})
	})
}

// deaf is a sink of somebody's own: it knows what it holds, and no causes.
type deaf struct{ store *informer.Store[*pod] }

func (d deaf) Add(ctx context.Context, p *pod) error    { return d.store.Add(ctx, p) }
func (d deaf) Update(ctx context.Context, p *pod) error { return d.store.Update(ctx, p) }
func (d deaf) Delete(ctx context.Context, p *pod) error { return d.store.Delete(ctx, p) }
func (d deaf) BeginReplace(ctx context.Context) (informer.Replacement[*pod], error) {
	r, err := d.store.BeginReplace(ctx)
	return struct{ informer.Replacement[*pod] }{r}, err
}
func (d deaf) Identity(p *pod) (string, types.UID, bool) { return d.store.Identity("ns/" + p.Name) }

func TestVerifyOfAnotherSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := informertest.NewCollection(t, parse("a"), parse("b"))
		store := informer.NewStore(informer.StoreOptions[*pod]{})
		v := new(verified)
		v.start(t, informer.NewReflector(pods, deaf{store}, v.options()).Run)
		if err := errors.Join(store.Delete(t.Context(), parse("a")), store.Add(t.Context(), parse("zombie@3/u"))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(period)
		v.expect(t, []string{"1"}, "ns/a") // the zombie is gone too, but nobody can tell
		pods.RequireEqual(t, store)
	})
}

func TestNegativeVerifyPanics(t *testing.T) {
	defer func() {
		if got := recover(); got != "informer: NewReflector: negative Verify" {
			t.Errorf("panic: %v", got)
		}
	}()
	informer.NewReflector(newScript(), informer.NewStore(informer.StoreOptions[*pod]{}), informer.ReflectorOptions{Verify: -1})
}

// Verify repairs one source of a union, and leaves the others' objects alone.
func TestVerifyOfAUnion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := informertest.NewCollection(t, parse("a"), parse("b"))
		others := informertest.NewCollection(t, parse("c"))
		v := &verified{}
		store := informer.NewStore(informer.StoreOptions[*pod]{})
		union := informer.NewUnion(informer.Options[*pod]{ReflectorOptions: v.options(), Store: store})
		for name, source := range map[string]informer.ListerWatcher{"one": pods, "two": others} {
			if err := union.AddSource(informer.Source{Name: name, ListerWatcher: source}); err != nil {
				t.Fatal(err)
			}
		}
		v.start(t, union.Run)
		lost, ok := store.Get("ns/b")
		if !ok {
			t.Fatal("no object to lose")
		}
		if err := store.Delete(t.Context(), lost); err != nil {
			t.Fatal(err)
		}
		time.Sleep(12 * time.Minute)
		synctest.Wait()
		keys := store.Keys()
		slices.Sort(keys)
		if !slices.Equal(keys, []string{"ns/a", "ns/b", "ns/c"}) {
			t.Errorf("the store holds %q", keys)
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		var object *informer.ObjectError
		if len(v.errs) != 1 || !errors.Is(v.errs[0], informer.ErrRepaired) || !errors.As(v.errs[0], &object) || object.Key != "ns/b" {
			t.Errorf("reported %v", v.errs)
		}
	})
}

// A source that ignores the limit is not asked for its version. One that was restored, and
// has not come as far again, is found by a list that cannot be had.
func TestVerifyFindsARestoredBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := informertest.NewCollection(t, parse("a"), parse("b"))
		pods.SetQuirks(informertest.Quirks{NoPaging: true})
		store := informer.NewStore(informer.StoreOptions[*pod]{})
		v := new(verified)
		v.start(t, informer.NewReflector(pods, store, v.options()).Run)
		before := pods.Snapshot()
		must(pods.Create(t.Context(), parse("c")))(t)
		must(pods.Update(t.Context(), parse("a {x}")))(t)
		pods.CutStreams() // which is checked, and the check costs a list
		time.Sleep(2 * time.Minute)
		pods.Restore(before)
		time.Sleep(period)
		synctest.Wait()
		pods.RequireEqual(t, store)
		if !slices.ContainsFunc(v.errs, func(err error) bool { return errors.Is(err, informer.ErrHistoryBreak) }) {
			t.Errorf("told %v", v.errs)
		}
	})
}

// silentVerify never answers the list of a verify.
type silentVerify struct{ *informertest.Collection[*pod] }

func (s silentVerify) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if options.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return s.Collection.List(ctx, options)
}

// The stream is not read during a verify, so that it must not last for ever.
func TestVerifyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := informertest.NewCollection(t, parse("a"))
		store := informer.NewStore(informer.StoreOptions[*pod]{})
		v := new(verified)
		v.start(t, informer.NewReflector(&informer.ListWatch{
			ListFunc: silentVerify{pods}.List, WatchFunc: pods.Watch,
		}, store, v.options()).Run)
		time.Sleep(period) // it has begun
		must(pods.Create(t.Context(), parse("b")))(t)
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		pods.RequireEqual(t, store)
		if len(v.traces) != 1 || !strings.Contains(v.traces[0], "no answer") {
			t.Errorf("traces %q", v.traces)
		}
	})
}
