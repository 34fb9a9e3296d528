// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/informertest"
)

// The defaults keep go test quick; make hammer asks for more.
var (
	hammerRounds   = flag.Int("hammer.rounds", 1000, "rounds of TestHammerUnion")
	blockedUpdates = flag.Int("blocked.updates", 100_000, "updates of TestBlockedHandlerIsBounded")
)

// TestHammerUnion does everything that can be done to an informer in every order at once, round
// after round. What is left behind, or waits for ever, fails the bubble.
func TestHammerUnion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := informertest.NewCollection(t, infObj("a"), infObj("b"), infObj("c"))
		two := informertest.NewCollection(t, infObj("c"), infObj("d"))
		for range *hammerRounds {
			hammerRound(t, one, two)
		}
	})
}

// hammerRound is one round.
func hammerRound(t *testing.T, one, two *informertest.Collection[infObject]) {
	ctx, cancel := context.WithCancel(t.Context())
	i := informer.NewUnion(informer.Options[infObject]{})
	var group informer.Group
	steps := []func(){
		func() { hammerErr(t, group.Add(i)) },
		func() { hammerErr(t, group.Run(ctx)) },
		func() {
			hammerErr(t, i.AddSource(informer.Source{Name: "one", ListerWatcher: one}), informer.ErrStopped)
		},
		func() {
			hammerErr(t, i.AddSource(informer.Source{Name: "two", ListerWatcher: two}), informer.ErrStopped)
		},
		func() { _ = i.RemoveSource("two") }, // it may not be there
		func() { hammerErr(t, i.SetShard(informer.Shard{Count: 2}), informer.ErrStopped) },
		func() { hammerAdd(ctx, t, i, informer.HandlerOptions{}) },
		func() { hammerAdd(ctx, t, i, informer.HandlerOptions{EveryChange: true, Limit: 1}) },
		func() { hammerErr(t, i.WaitForSync(ctx), context.Canceled, informer.ErrStopped) },
		func() { hammerErr(t, group.WaitForSync(ctx), context.Canceled, informer.ErrStopped) },
		func() {
			hammerErr(t, i.WaitForResourceVersion(ctx, one.ResourceVersion()), context.Canceled, informer.ErrStopped)
		},
		func() {
			_, err := i.WaitFor(ctx, "a", func(_ infObject, ok bool) bool { return ok })
			hammerErr(t, err, context.Canceled, informer.ErrStopped)
		},
		func() {
			hammerErr(t, i.AddIndexers(informer.Indexers[infObject]{"ns": informer.IndexByNamespace[infObject]}))
			_, err := i.Store().ByIndex("ns", "")
			hammerErr(t, err)
		},
		func() {
			for range i.Changes(ctx) {
				break
			}
		},
		func() { _, _ = i.Status(), group.Status() },
		func() {
			time.Sleep(time.Duration(rand.N(3)) * time.Second)
			cancel()
		},
	}
	rand.Shuffle(len(steps), func(a, b int) { steps[a], steps[b] = steps[b], steps[a] })
	var running sync.WaitGroup
	for _, step := range steps {
		running.Go(step)
	}
	running.Wait()
	if err := group.Run(t.Context()); !errors.Is(err, informer.ErrStarted) {
		t.Fatalf("Run after Run: %v", err)
	}
}

func hammerAdd(ctx context.Context, t *testing.T, i *informer.Informer[infObject], options informer.HandlerOptions) {
	r, err := i.AddHandler(informer.HandlerFunc[infObject](func(context.Context, informer.Change[infObject]) {
		runtime.Gosched()
	}), options)
	if err != nil {
		hammerErr(t, err, informer.ErrStopped)
		return
	}
	if rand.N(2) == 0 {
		hammerErr(t, r.RemoveAndWait(ctx), context.Canceled)
	}
}

// hammerErr fails for an error other than those allowed.
func hammerErr(t *testing.T, err error, allowed ...error) {
	for _, a := range append(allowed, nil) {
		if errors.Is(err, a) {
			return
		}
	}
	if !errors.Is(err, informer.ErrStopped) {
		t.Errorf("error %v", err)
	}
}

// A blocked handler costs memory by keys: what changes meanwhile is one change a key,
// from the state shown last to the newest one.
func TestBlockedHandlerIsBounded(t *testing.T) {
	const keys = 1000
	updates := *blockedUpdates
	synctest.Test(t, func(t *testing.T) {
		source := infCollection("0")
		i := informer.New(source, informer.Options[infObject]{})
		blocked, told := make(chan struct{}), make(map[string][]informer.Change[infObject], keys)
		_, err := i.AddHandler(informer.HandlerFunc[infObject](func(_ context.Context, c informer.Change[infObject]) {
			if c.Type == informer.Updated && len(told) == 0 {
				<-blocked
			}
			if c.Type == informer.Updated {
				told[c.Key] = append(told[c.Key], c)
			}
		}), informer.HandlerOptions{})
		fifoMust(t, err)
		r := infStart(t, i)
		defer r.end()
		update := func(n int) { // each of the keys in turn
			source.event(fmt.Sprintf("~k%d@%d/u", n%keys, n+1))
		}
		for n := range 3 * keys { // the handler is shown all keys, and blocks; every key is pending
			update(n)
			if n == keys-1 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		before := heapInUse()
		for n := range updates {
			update(3*keys + n)
		}
		synctest.Wait()
		// The objects that the pending changes hold are as many, and as large, as before.
		if grown := int64(heapInUse()) - int64(before); grown > 1<<20 {
			t.Errorf("the heap has grown by %d bytes", grown)
		}
		close(blocked)
		synctest.Wait()
		checkBlocked(t, told, keys, 3*keys+updates)
	})
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one has freed of finalizers and pools
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// checkBlocked checks that each key came to its last state by one change, which begins
// where the handler was left; the one that it was blocked with comes before.
func checkBlocked(t *testing.T, told map[string][]informer.Change[infObject], keys, total int) {
	if len(told) != keys {
		t.Fatalf("told of %d keys", len(told))
	}
	twice := 0
	for key, changes := range told {
		last := changes[len(changes)-1]
		var n int
		_, _ = fmt.Sscanf(key, "k%d", &n)
		if want := fmt.Sprint(total - keys + n + 1); last.New.ResourceVersion != want {
			t.Errorf("%s ends at %s, want %s", key, last.New.ResourceVersion, want)
		}
		if want := fmt.Sprint(n + 1); changes[0].Old.ResourceVersion != want {
			t.Errorf("%s begins at %s, want %s", key, changes[0].Old.ResourceVersion, want)
		}
		if len(changes) > 1 {
			twice++
		}
	}
	if twice != 1 { // the one that it was blocked with
		t.Errorf("%d keys were told of more than once", twice)
	}
}
