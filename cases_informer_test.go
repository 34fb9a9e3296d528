// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/informerkit/informer"
)

func casesInformer(t *testing.T) {
	source := infCollection("10")
	infTest(t, "Q09", source, func(t *testing.T, r *infRun, h *infRecorder) {
		source.event("-zz@11/u")
		source.event("+a@12/u1")
		synctest.Wait()
		h.expect("Watch +a@12")
	})

	source2 := infCollection("5", "a@5/u1")
	infTest(t, "Q11", source2, func(t *testing.T, r *infRun, h *infRecorder) {
		h.expect("Initial +a@5")
		source2.relist("9", "a@9/u1")
		h.expect("Relist ~a@5:9")
	})

	t.Run("Q12", caseRecreated)

	source3 := infCollection("5", "s@5/u1")
	infTest(t, "Q13", source3, func(t *testing.T, r *infRun, h *infRecorder) {
		h.expect("Initial +s@5")
		old, _ := r.Store().Get("s")
		source3.relist("7", "s@5/u1")
		h.expect()
		if got, _ := r.Store().Get("s"); got != old || r.Store().ResourceVersion() != "7" {
			t.Errorf("store holds %p at %s, had %p", got, r.Store().ResourceVersion(), old)
		}
	})

	t.Run("Q14", caseLateHandler)
	t.Run("Q15", caseRemovesItself)
	t.Run("Q16", caseBlocked)
	t.Run("Q17", caseDrain)

	source4 := infCollection("1", "s {a}")
	infTest(t, "Q18", source4, func(t *testing.T, r *infRun, h *infRecorder) {
		h.expect("Initial +s@")
		source4.relist("2", "s {b}")
		h.expect("Relist ~s@:")
		if got, _ := r.Store().Get("s"); got.Labels["content"] != "b" {
			t.Errorf("store holds %v", got)
		}
	})
}

func caseRecreated(t *testing.T) {
	source := infCollection("6", "r@6/u-old")
	infTest(t, "split", source, func(t *testing.T, r *infRun, h *infRecorder) {
		merged, _ := r.record(informer.HandlerOptions{MergeRecreated: true})
		var seen []bool // whether the store has the key, at each change
		if _, err := r.AddHandler(informer.HandlerFunc[infObject](func(_ context.Context, c informer.Change[infObject]) {
			_, ok := r.Store().Get(c.Key)
			seen = append(seen, ok)
		}), informer.HandlerOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		source.relist("150", "r@150/u-new")
		h.expect("Initial +r@6", "Relist -r@6?", "Relist +r@150")
		merged.expect("Initial +r@6", "Relist ~r@6:150")
		if !slices.Equal(seen, []bool{true, true, true}) {
			t.Errorf("the store had the key: %v", seen)
		}
	})
}

func caseLateHandler(t *testing.T) {
	for _, every := range []bool{false, true} {
		source := infCollection("3", "a@1/a", "b@2/b", "c@3/c")
		infTest(t, fmt.Sprint("EveryChange ", every), source, func(t *testing.T, r *infRun, _ *infRecorder) {
			updates := make(chan struct{})
			go func() {
				defer close(updates)
				for n := range 300 {
					source.event(fmt.Sprintf("~%c@%d/%[1]c", "abc"[n%3], 4+n))
				}
			}()
			var late []*infRecorder
			for range 20 { // at whatever moment the updates are
				h, _ := r.record(informer.HandlerOptions{EveryChange: every})
				late = append(late, h)
			}
			<-updates
			synctest.Wait()
			for _, h := range late {
				h.sameAs(r.Store())
				checkLate(t, h.told(), every)
			}
		})
	}
}

// checkLate checks what the recorder has not: three initial changes come first, and with
// EveryChange every update after them.
func checkLate(t *testing.T, told []string, every bool) {
	t.Helper()
	if len(told) < 3 {
		t.Fatalf("told %q", told)
	}
	updates := 0
	for n, change := range told {
		var cause, key string
		var from, to int
		if _, err := fmt.Sscanf(change, "%s ~%1s@%d:%d", &cause, &key, &from, &to); err == nil {
			updates++
			if every && to-from != 3 && from > 3 {
				t.Errorf("an update is missing before %q", change)
			}
		}
		if initial := len(change) > 9 && change[:9] == "Initial +"; initial != (n < 3) {
			t.Errorf("number %d of the changes is %q", n, change)
		}
	}
	if updates != len(told)-3 {
		t.Errorf("told %q", told)
	}
}

func caseRemovesItself(t *testing.T) {
	source := infCollection("2", "a@1/a", "b@2/b")
	infTest(t, "Remove", source, func(t *testing.T, r *infRun, _ *infRecorder) {
		calls := 0
		registration, err := r.AddHandler(informer.HandlerFunc[infObject](func(ctx context.Context, _ informer.Change[infObject]) {
			calls++
			informer.RegistrationFromContext(ctx).Remove()
		}), informer.HandlerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		source.event("+c@3/c")
		synctest.Wait()
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
		if err := registration.RemoveAndWait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func caseBlocked(t *testing.T) {
	source := infCollection("1", "a@1/a", "b@1/b")
	infTest(t, "coalescing", source, func(t *testing.T, r *infRun, _ *infRecorder) {
		h, registration := r.record(informer.HandlerOptions{Name: "blocked"})
		<-registration.Synced()
		h.told()
		h.block = make(chan struct{})
		source.event("~b@2/b") // blocks the handler
		for n := range 100_000 {
			source.event(fmt.Sprintf("~a@%d/a", n+3))
		}
		synctest.Wait()
		for _, s := range r.Status().Handlers {
			if s.Name == "blocked" && s.Queued != 1 {
				t.Errorf("%d queued", s.Queued)
			}
		}
		close(h.block)
		synctest.Wait()
		h.expect("Watch ~b@1:2", "Watch ~a@1:100002")
	})
}

func caseDrain(t *testing.T) {
	for _, drain := range []bool{true, false} {
		source := infCollection("1")
		infTest(t, fmt.Sprint("DrainOnRemove ", drain), source, func(t *testing.T, r *infRun, _ *infRecorder) {
			h, registration := r.record(informer.HandlerOptions{DrainOnRemove: drain})
			h.block = make(chan struct{})
			for n := range 1001 { // one is being delivered
				source.event(fmt.Sprintf("+a%d@%d/u%[1]d", n, n+2))
			}
			synctest.Wait()
			registration.Remove()
			source.event("+late@2000/u")
			synctest.Wait()
			close(h.block)
			if err := registration.RemoveAndWait(t.Context()); err != nil {
				t.Error(err)
			}
			want := 1
			if drain {
				want = 1001
			}
			if got := len(h.told()); got != want {
				t.Errorf("%d delivered, want %d", got, want)
			}
		})
	}
}
