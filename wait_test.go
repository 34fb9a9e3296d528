// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// infWait runs a wait with a deadline, and returns its error.
func infWait(t *testing.T, wait func(ctx context.Context) error) *informer.WaitError {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := wait(ctx)
	if err == nil {
		return nil
	}
	var w *informer.WaitError
	if !errors.As(err, &w) {
		t.Fatalf("error %v", err)
	}
	return w
}

func TestWaitForSyncSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := infCollection("1", "a@1/a")
		source.fail = apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", nil)
		options := informer.Options[infObject]{}
		options.Name = "things"
		i := informer.New(source, options)
		if err := infWait(t, i.WaitForSync); !errors.Is(err, context.DeadlineExceeded) { // not even running
			t.Errorf("before Run: %v", err)
		}
		r := infStart(t, i)
		defer r.end()
		err := infWait(t, i.WaitForSync)
		if !errors.Is(err, context.DeadlineExceeded) || !apierrors.IsForbidden(err) || !slices.Equal(err.Late, []string{"things"}) {
			t.Errorf("error %v", err)
		}
		if !strings.Contains(err.Error(), "list things: ") {
			t.Errorf("error %q does not name source and operation", err)
		}
		source.mu.Lock()
		source.fail = nil
		source.mu.Unlock()
		time.Sleep(time.Minute) // the longest backoff
		if err := infWait(t, i.WaitForSync); err != nil {
			t.Error(err)
		}
	})
}

func TestWaitForSyncWaitsForHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := informer.New(infCollection("1", "a@1/a", "b@1/b"), informer.Options[infObject]{})
		slow, _ := infRecord(t, i, informer.HandlerOptions{Name: "slow"})
		slow.block = make(chan struct{})
		gone, leaving := infRecord(t, i, informer.HandlerOptions{Name: "gone"})
		gone.block = slow.block
		var inside error
		if _, err := i.AddHandler(informer.HandlerFunc[infObject](func(ctx context.Context, _ informer.Change[infObject]) {
			if inside == nil {
				inside = i.WaitForSync(ctx)
			}
		}), informer.HandlerOptions{}); err != nil {
			t.Fatal(err)
		}
		r := infStart(t, i)
		defer r.end()
		if !errors.Is(inside, informer.ErrInHandler) {
			t.Errorf("inside a handler: %v", inside)
		}
		if err := infWait(t, i.WaitForSync); !slices.Equal(err.Late, []string{"gone", "slow"}) {
			t.Errorf("error %v", err)
		}
		leaving.Remove()
		slow.block <- struct{}{}
		synctest.Wait()
		if i.HasSynced() {
			t.Error("synced before the last call has returned")
		}
		close(slow.block)
		if err := infWait(t, i.WaitForSync); err != nil {
			t.Error(err)
		}
		late, registration := infRecord(t, i, informer.HandlerOptions{})
		<-registration.Synced()
		late.expect("Initial +a@1", "Initial +b@1")
	})
}

func TestWaitForResourceVersion(t *testing.T) {
	source := infCollection("10", "a@1/a")
	infTest(t, "numbers", source, func(t *testing.T, r *infRun, _ *infRecorder) {
		wait := func(version string) *informer.WaitError {
			return infWait(t, func(ctx context.Context) error { return r.WaitForResourceVersion(ctx, version) })
		}
		for _, version := range []string{"", "0", "9", "10"} {
			if err := wait(version); err != nil {
				t.Errorf("%q: %v", version, err)
			}
		}
		for _, event := range []string{"+b@12/b", "=20"} { // an event, and a bookmark
			began := time.Now()
			time.AfterFunc(time.Millisecond, func() { source.event(event) })
			if err := wait(map[string]string{"+b@12/b": "11", "=20": "20"}[event]); err != nil || time.Since(began) != time.Millisecond {
				t.Errorf("%q: %v after %v", event, err, time.Since(began))
			}
		}
		before := len(source.asked)
		err := wait("21")
		if !errors.Is(err, context.DeadlineExceeded) || err.For != `resource version "21" (at "20")` {
			t.Errorf("error %v", err)
		}
		drawn := source.asked[before:]
		if !slices.Contains(drawn, "20 4") {
			t.Errorf("no bookmark was drawn: watches %q", drawn)
		}
	})
}

func TestWaitForOpaqueVersion(t *testing.T) {
	source := infCollection("one", "a@x1/a")
	infTest(t, "opaque", source, func(t *testing.T, r *infRun, _ *infRecorder) {
		wait := func(version string) *informer.WaitError {
			return infWait(t, func(ctx context.Context) error { return r.WaitForResourceVersion(ctx, version) })
		}
		if err := errors.Join(asError(wait("one")), asError(wait("x1"))); err != nil {
			t.Error(err)
		}
		time.AfterFunc(time.Millisecond, func() { source.event("~a@x2/a"); source.event("~a@x3/a") }) // before a bookmark is drawn
		if err := wait("x2"); err != nil {                                                            // passed through
			t.Error(err)
		}
		if err := wait("x9"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

func asError(err *informer.WaitError) error {
	if err == nil {
		return nil
	}
	return err
}

// A restored backend ends the wait for a version that the old one had promised.
func TestWaitEndsWithHistoryBreak(t *testing.T) {
	source := infCollection("100", "a@90/A")
	infTest(t, "break", source, func(t *testing.T, r *infRun, _ *infRecorder) {
		ended := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			ended <- r.WaitForResourceVersion(ctx, "120")
		}()
		synctest.Wait()
		source.relist("50", "a@40/B")
		if err := <-ended; !errors.Is(err, informer.ErrHistoryBreak) {
			t.Errorf("error %v", err)
		}
	})
}

func TestWaitFor(t *testing.T) {
	source := infCollection("10", "a@1/a {x}")
	infTest(t, "objects", source, func(t *testing.T, r *infRun, _ *infRecorder) {
		wait := func(key string, condition func(infObject, bool) bool) (obj infObject, failed *informer.WaitError) {
			failed = infWait(t, func(ctx context.Context) (err error) {
				obj, err = r.WaitFor(ctx, key, condition)
				return err
			})
			return obj, failed
		}
		content := func(want string) func(infObject, bool) bool {
			return func(obj infObject, ok bool) bool { return ok && obj.Labels["content"] == want }
		}
		gone := func(_ infObject, ok bool) bool { return !ok }
		if obj, err := wait("a", content("x")); err != nil || obj.Name != "a" {
			t.Errorf("%v, %v", obj, err)
		}
		time.AfterFunc(time.Second, func() { source.event("~b@11/b {y}"); source.event("~a@12/a {y}") })
		if obj, err := wait("a", content("y")); err != nil || obj.ResourceVersion != "12" {
			t.Errorf("%v, %v", obj, err)
		}
		time.AfterFunc(time.Second, func() { source.event("-a@13/a") })
		if obj, err := wait("a", gone); err != nil || obj != nil {
			t.Errorf("%v, %v", obj, err)
		}
		if _, err := wait("a", content("z")); !errors.Is(err, context.DeadlineExceeded) || err.For != "object a" {
			t.Errorf("error %v", err)
		}
	})
}

// Absence means something only after the first list.
func TestWaitForAbsenceBeforeSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := informer.New(infCollection("10", "a@1/a"), informer.Options[infObject]{})
		gone := make(chan error, 1)
		go func() {
			_, err := i.WaitFor(t.Context(), "a", func(_ infObject, ok bool) bool { return !ok })
			gone <- err
		}()
		synctest.Wait()
		r := infStart(t, i)
		if len(gone) > 0 {
			t.Errorf("ended with %v while the object is there", <-gone)
		}
		r.end()
		if err := <-gone; !errors.Is(err, informer.ErrStopped) {
			t.Errorf("error %v", err)
		}
	})
}

func TestWaitForQuarantined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		poison := errors.New("poison")
		source := infCollection("10", "a@1/a")
		i := informer.New(source, informer.Options[infObject]{Transform: func(obj infObject) (infObject, error) {
			if obj.Labels["content"] == "bad" {
				return nil, poison
			}
			return obj, nil
		}})
		r := infStart(t, i)
		defer r.end()
		time.AfterFunc(time.Second, func() { source.event("~a@11/a {bad}") })
		_, err := i.WaitFor(t.Context(), "a", func(obj infObject, _ bool) bool { return obj.ResourceVersion == "11" })
		var object *informer.ObjectError
		if !errors.As(err, &object) || object.Key != "a" || object.ResourceVersion != "11" {
			t.Errorf("error %v", err)
		}
	})
}

// A handler that the store waits for cannot wait for the store.
func TestWaitInLimitedHandler(t *testing.T) {
	source := infCollection("10", "a@1/a")
	infTest(t, "limited", source, func(t *testing.T, r *infRun, _ *infRecorder) {
		var got []error
		if _, err := r.AddHandler(informer.HandlerFunc[infObject](func(ctx context.Context, _ informer.Change[infObject]) {
			_, err := r.WaitFor(ctx, "b", func(_ infObject, ok bool) bool { return ok })
			got = []error{r.WaitForResourceVersion(ctx, "10"), r.WaitForResourceVersion(ctx, "11"), err}
		}), informer.HandlerOptions{EveryChange: true, Limit: 1}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(got) != 3 || got[0] != nil || !errors.Is(got[1], informer.ErrInHandler) || !errors.Is(got[2], informer.ErrInHandler) {
			t.Errorf("errors %v", got)
		}
	})
}

func TestChanges(t *testing.T) {
	source := infCollection("2", "a@1/a", "b@2/b")
	infTest(t, "loops", source, func(t *testing.T, r *infRun, _ *infRecorder) {
		changes := r.Changes(t.Context())
		for range 2 { // each loop begins anew
			var got []string
			for c := range changes {
				if got = append(got, infShow(c)); len(got) == 2 {
					break
				}
			}
			if !slices.Equal(got, []string{"Initial +a@1", "Initial +b@2"}) {
				t.Errorf("got %q", got)
			}
		}
		if n := len(r.Status().Handlers); n != 1 {
			t.Errorf("%d handlers are left", n)
		}
	})
	t.Run("slow", func(t *testing.T) { synctest.Test(t, slowChanges) })
	t.Run("ctx", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			i := informer.New(infCollection("1"), informer.Options[infObject]{}) // never runs
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			for c := range i.Changes(ctx) {
				t.Errorf("change %s", infShow(c))
			}
			if n := len(i.Status().Handlers); n != 0 {
				t.Errorf("%d handlers are left", n)
			}
		})
	})
}

// While the loop is busy, changes are merged; after Run it gets what was queued.
func slowChanges(t *testing.T) {
	source := infCollection("2", "a@1/a", "b@2/b")
	i := informer.New(source, informer.Options[infObject]{})
	next := make(chan struct{})
	var got []string
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for c := range i.Changes(t.Context()) {
			got = append(got, infShow(c))
			<-next
		}
	}()
	synctest.Wait()
	r := infStart(t, i)
	if !i.HasSynced() {
		t.Error("a busy loop holds up the sync")
	}
	for n := range 1000 {
		source.event(fmt.Sprintf("~a@%d/a", n+3))
	}
	synctest.Wait()
	r.end()
	close(next)
	<-ended
	if want := []string{"Initial +a@1", "Initial +b@2", "Watch ~a@1:1002"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for c := range i.Changes(t.Context()) {
		t.Errorf("after Run: %s", infShow(c))
	}
}
