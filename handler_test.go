// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"
)

func TestAddHandlerRefuses(t *testing.T) {
	i := informer.New(infCollection("1"), informer.Options[infObject]{})
	ok := informer.HandlerFuncs[infObject]{}
	for _, test := range []struct {
		name    string
		handler informer.Handler[infObject]
		options informer.HandlerOptions
	}{
		{"nil", nil, informer.HandlerOptions{}},
		{"nil function", informer.HandlerFunc[infObject](nil), informer.HandlerOptions{}},
		{"negative limit", ok, informer.HandlerOptions{EveryChange: true, Limit: -1}},
		{"limit of a merging queue", ok, informer.HandlerOptions{Limit: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := i.AddHandler(test.handler, test.options)
			if err == nil || !strings.HasPrefix(err.Error(), "informer: AddHandler: ") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestHandlerContext(t *testing.T) {
	source := infCollection("1", "a@1/a")
	infTest(t, "ctx", source, func(t *testing.T, r *infRun, _ *infRecorder) {
		var in context.Context
		registration, err := r.AddHandler(informer.HandlerFunc[infObject](func(ctx context.Context, _ informer.Change[infObject]) {
			in = ctx
		}), informer.HandlerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := informer.RegistrationFromContext(in); got != registration {
			t.Errorf("registration %p, want %p", got, registration)
		}
		if informer.RegistrationFromContext(t.Context()) != nil {
			t.Error("a registration outside of a handler")
		}
		if in.Err() != nil {
			t.Error(in.Err())
		}
		r.cancel()
		synctest.Wait()
		if in.Err() == nil {
			t.Error("the handler's ctx outlived Run")
		}
	})
}

// infBatches is a BatchHandler that writes down how many changes came at once.
type infBatches struct {
	infRecorder
	sizes []int
}

func (b *infBatches) HandleBatch(ctx context.Context, changes []informer.Change[infObject]) {
	b.sizes = append(b.sizes, len(changes))
	for _, c := range changes {
		b.Handle(ctx, c)
	}
}

func TestBatchHandler(t *testing.T) {
	source := infCollection("1", "a@1/a", "b@1/b", "c@1/c")
	infTest(t, "batches", source, func(t *testing.T, r *infRun, _ *infRecorder) {
		h := &infBatches{infRecorder: infRecorder{t: t}}
		even := func(obj infObject) bool { return obj.Name != "b" }
		if _, err := r.AddHandler(informer.Filter(even, h), informer.HandlerOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		source.event("~a@2/a")
		source.event("~b@3/b")
		synctest.Wait()
		if !slices.Contains(h.sizes, 2) || h.sizes[0] != 2 {
			t.Errorf("batches of %d", h.sizes)
		}
	})
}

func TestRecoverPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := infCollection("1", "a@1/a", "b@1/b")
		var reported error
		options := informer.Options[infObject]{}
		options.OnError = func(_ context.Context, err error) { reported = err }
		i := informer.New(source, options)
		var calls []string
		registration, err := i.AddHandler(informer.HandlerFunc[infObject](func(_ context.Context, c informer.Change[infObject]) {
			calls = append(calls, c.Key)
			if c.Key == "a" {
				panic(c.New)
			}
		}), informer.HandlerOptions{Name: "shaky", RecoverPanics: true})
		if err != nil {
			t.Fatal(err)
		}
		r := infStart(t, i)
		defer r.end()
		if !slices.Equal(calls, []string{"a", "b"}) || !registration.HasSynced() || !i.HasSynced() {
			t.Errorf("calls %q, synced %v", calls, registration.HasSynced())
		}
		var recovered *informer.PanicError
		if !errors.As(reported, &recovered) || recovered.Key != "a" || recovered.Handler != "shaky" || len(recovered.Stack) == 0 {
			t.Errorf("reported %v", reported)
		}
	})
}

// A handler that ends its goroutine, as a test's Fatal does, is named, and is called on.
func TestHandlerThatExits(t *testing.T) {
	for _, batch := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			source, errs := infCollection("1", "a@1/a", "b@1/b"), &infErrors{}
			options := informer.Options[infObject]{}
			options.OnError = errs.add
			i := informer.New(source, options)
			var calls []string
			exits := informer.HandlerFunc[infObject](func(_ context.Context, c informer.Change[infObject]) {
				calls = append(calls, fmt.Sprintf("%s %s", c.Type, c.Key))
				if c.Key == "a" {
					runtime.Goexit()
				}
			})
			var handler informer.Handler[infObject] = exits
			want := []string{"Added a", "Added b", "Updated a", "Updated b"}
			if batch {
				handler, want = firstOfBatch{exits}, []string{"Added a", "Updated a", "Updated b"}
			}
			registration, err := i.AddHandler(handler, informer.HandlerOptions{Name: "leaver"})
			fifoMust(t, err)
			r := infStart(t, i)
			defer r.end()
			source.event("~a@2/a")
			synctest.Wait()
			source.event("~b@3/b")
			synctest.Wait()
			if !slices.Equal(calls, want) || !registration.HasSynced() {
				t.Errorf("calls %q, want %q; synced %v", calls, want, registration.HasSynced())
			}
			if told := errs.of("handler leaver: runtime.Goexit at a"); len(told) != 2 {
				t.Errorf("told %q", told)
			}
			if status := i.Status().Handlers[0]; status.Queued != 0 {
				t.Errorf("%d are still queued", status.Queued)
			}
			if err := registration.RemoveAndWait(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A hook that ends its goroutine too, as where both are a test's Fatal, changes nothing.
func TestHandlerAndHookThatExit(t *testing.T) {
	for _, panics := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			source := infCollection("1", "a@1/a", "b@1/b")
			options := informer.Options[infObject]{}
			options.OnError = func(context.Context, error) { runtime.Goexit() }
			i := informer.New(source, options)
			var calls []string
			registration, err := i.AddHandler(informer.HandlerFunc[infObject](func(_ context.Context, c informer.Change[infObject]) {
				calls = append(calls, c.Key)
				if panics {
					panic("at " + c.Key)
				}
				runtime.Goexit()
			}), informer.HandlerOptions{Name: "leaver", RecoverPanics: panics})
			fifoMust(t, err)
			r := infStart(t, i)
			defer r.end()
			source.event("~a@2/a")
			synctest.Wait()
			if !slices.Equal(calls, []string{"a", "b", "a"}) || !registration.HasSynced() {
				t.Errorf("panics: %v: calls %q, synced %v", panics, calls, registration.HasSynced())
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := registration.RemoveAndWait(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// firstOfBatch handles the first change of each batch.
type firstOfBatch struct {
	informer.HandlerFunc[infObject]
}

func (f firstOfBatch) HandleBatch(ctx context.Context, changes []informer.Change[infObject]) {
	f.Handle(ctx, changes[0])
}

func TestFilter(t *testing.T) {
	source := infCollection("2", "a@1/a {x}", "b@2/b {y}")
	infTest(t, "transitions", source, func(t *testing.T, r *infRun, _ *infRecorder) {
		var wanted atomic.Value
		wanted.Store("x")
		match := func(obj infObject) bool { return obj.Labels["content"] == wanted.Load() }
		h := &infRecorder{t: t}
		registration, err := r.AddHandler(informer.Filter(match, h), informer.HandlerOptions{Name: "filtered"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		h.expect("Initial +a@1")
		for _, event := range []string{"~b@3/b {x}", "~a@4/a {y}", "-b@5/b {x}", "+c@6/c {y}", "-c@7/c {y}"} {
			source.event(event)
			synctest.Wait()
		}
		h.expect("Watch +b@3", "Watch -a@1", "Watch -b@5")

		source.event("+d@8/d {x}")
		synctest.Wait()
		h.expect("Watch +d@8")
		wanted.Store("y")
		registration.Refilter()
		synctest.Wait()
		got := h.told()
		slices.Sort(got)
		if !slices.Equal(got, []string{"Scope +a@4", "Scope -d@8"}) {
			t.Errorf("told %q", got)
		}
		registration.Refilter() // nothing has changed
		synctest.Wait()
		h.expect()
	})
}

// A Refilter is in order with what is queued, also while the handler is blocked.
func TestRefilterInOrder(t *testing.T) {
	for _, every := range []bool{false, true} {
		source := infCollection("2", "a@1/a {x}", "b@2/b {y}")
		infTest(t, fmt.Sprint("EveryChange ", every), source, func(t *testing.T, r *infRun, _ *infRecorder) {
			var all atomic.Bool
			h := &infRecorder{t: t}
			match := func(obj infObject) bool { return all.Load() || obj.Labels["content"] == "x" }
			inner := func(obj infObject) bool { return obj.Name != "zz" }
			registration, err := r.AddHandler(informer.Filter(match, informer.Filter(inner, h)), informer.HandlerOptions{EveryChange: every})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			h.told()
			h.block = make(chan struct{})
			source.event("~a@3/a {x}") // blocks the handler
			synctest.Wait()
			source.event("~b@4/b {y}")
			source.event("+c@5/c {y}")
			source.event("+zz@6/zz {y}")
			synctest.Wait()
			all.Store(true)
			registration.Refilter()
			registration.Refilter()
			source.event("~b@7/b {y}")
			source.event("-c@8/c {y}")
			synctest.Wait()
			close(h.block)
			synctest.Wait()
			if last := h.told(); len(last) < 2 || last[0] != "Watch ~a@1:3" {
				t.Errorf("told %q", last)
			}
			if len(h.shown) != 2 || h.shown["b"].ResourceVersion != "7" {
				t.Errorf("shown %v", h.shown)
			}
		})
	}
}

func TestFilterPanics(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "informer: Filter: ") {
			t.Errorf("panic %q", got)
		}
	}()
	informer.Filter(nil, informer.Handler[infObject](informer.HandlerFuncs[infObject]{}))
}

func TestHandlerResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := infCollection("2", "a@1/a")
		options := informer.Options[infObject]{}
		options.Resync = time.Hour
		i := informer.New(source, options)
		often, _ := infRecord(t, i, informer.HandlerOptions{Resync: time.Minute})
		standard, _ := infRecord(t, i, informer.HandlerOptions{EveryChange: true})
		never, _ := infRecord(t, i, informer.HandlerOptions{Resync: -1})
		r := infStart(t, i)
		defer r.end()
		for _, h := range []*infRecorder{often, standard, never} {
			h.expect("Initial +a@1")
		}
		time.Sleep(67 * time.Minute)
		synctest.Wait()
		if got := often.told(); len(got) < 60 || len(got) > 67 || got[0] != "Resync ~a@1:1" {
			t.Errorf("told %d times", len(got))
		}
		standard.expect("Resync ~a@1:1")
		never.expect()
		if len(source.asked) > 20 {
			t.Errorf("%d watches", len(source.asked))
		}
	})
}

// A resync says nothing about what is queued, and nothing twice.
func TestResyncOfBlockedHandler(t *testing.T) {
	source := infCollection("2", "a@1/a", "b@1/b", "c@1/c")
	infTest(t, "blocked", source, func(t *testing.T, r *infRun, _ *infRecorder) {
		h, _ := r.record(informer.HandlerOptions{Resync: time.Minute})
		synctest.Wait()
		h.told()
		h.block = make(chan struct{})
		source.event("~a@3/a")
		synctest.Wait()
		source.event("~b@4/b")
		synctest.Wait()
		time.Sleep(10 * time.Minute)
		close(h.block)
		synctest.Wait()
		got := h.told()
		slices.Sort(got)
		if want := []string{"Resync ~a@3:3", "Resync ~c@1:1", "Watch ~a@1:3", "Watch ~b@1:4"}; !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}

func TestLimitHoldsUpTheSource(t *testing.T) {
	source := infCollection("2")
	infTest(t, "limit", source, func(t *testing.T, r *infRun, _ *infRecorder) {
		h, registration := r.record(informer.HandlerOptions{Name: "slow", EveryChange: true, Limit: 10})
		synctest.Wait()
		h.block = make(chan struct{})
		var sent atomic.Int64
		go func() {
			for n := range 5000 {
				source.event(fmt.Sprintf("+k%d@%d/u%[1]d", n, n+3))
				sent.Add(1)
			}
		}()
		synctest.Wait()
		// The queue of the reflector is full, and the informer has a batch at hand.
		if got := sent.Load(); got < 2000 || got > 4100 {
			t.Errorf("the source has sent %d", got)
		}
		for _, s := range r.Status().Handlers {
			if s.Name == "slow" && s.Queued != 10 {
				t.Errorf("%d queued", s.Queued)
			}
		}
		late, _ := r.record(informer.HandlerOptions{}) // is not held up
		synctest.Wait()
		if got := len(late.told()); got != r.Store().Len() {
			t.Errorf("the late handler was told of %d, the store has %d", got, r.Store().Len())
		}
		close(h.block)
		synctest.Wait()
		if got := len(h.told()); got != 5000 || sent.Load() != 5000 {
			t.Errorf("%d delivered of %d", got, sent.Load())
		}
		registration.Remove()
		late.sameAs(r.Store())
	})
}

// Removing the handler that blocks the source releases it.
func TestRemoveReleasesTheSource(t *testing.T) {
	source := infCollection("2")
	infTest(t, "remove", source, func(t *testing.T, r *infRun, _ *infRecorder) {
		h, registration := r.record(informer.HandlerOptions{EveryChange: true, Limit: 1})
		synctest.Wait()
		h.block = make(chan struct{})
		for n := range 100 {
			source.event(fmt.Sprintf("+k%d@%d/u%[1]d", n, n+3))
			if n < 3 {
				synctest.Wait() // in a batch of its own: one is being handled, one is queued, one is too many
			}
		}
		synctest.Wait()
		if got := r.Store().Len(); got > 3 {
			t.Errorf("the store was not held up: it holds %d", got)
		}
		registration.Remove()
		synctest.Wait()
		if got := r.Store().Len(); got != 100 {
			t.Errorf("the store holds %d", got)
		}
		close(h.block)
	})
}

func TestRemoveAndWait(t *testing.T) {
	source := infCollection("2", "a@1/a")
	infTest(t, "RemoveAndWait", source, func(t *testing.T, r *infRun, _ *infRecorder) {
		block := make(chan struct{})
		inside := make(chan error, 1)
		registration, err := r.AddHandler(informer.HandlerFunc[infObject](func(ctx context.Context, _ informer.Change[infObject]) {
			inside <- informer.RegistrationFromContext(ctx).RemoveAndWait(ctx)
			<-block
		}), informer.HandlerOptions{Name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if err := <-inside; !errors.Is(err, informer.ErrInHandler) {
			t.Errorf("inside: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wait *informer.WaitError
		if err := registration.RemoveAndWait(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &wait) || !slices.Equal(wait.Late, []string{"x"}) {
			t.Errorf("blocked: %v", err)
		}
		close(block)
		if err := registration.RemoveAndWait(t.Context()); err != nil {
			t.Errorf("after the last call: %v", err)
		}
	})
}
