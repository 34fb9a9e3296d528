// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// runOf is a run of events: "+ns/a@1", "~ns/a@2", "-a@3"; "+" alone has no name.
func runOf(texts ...string) *run[fifoMeta] {
	r := &run[fifoMeta]{}
	for _, text := range texts {
		name, version, _ := strings.Cut(text[1:], "@")
		obj := &metav1.PartialObjectMetadata{}
		if namespace, rest, ok := strings.Cut(name, "/"); ok {
			obj.Namespace, name = namespace, rest
		}
		obj.Name, obj.ResourceVersion = name, version
		r.add(map[byte]DeltaType{'+': DeltaAdded, '~': DeltaUpdated, '-': DeltaDeleted}[text[0]], obj)
	}
	return r
}

// The store keeps memory for the next batch, and gives it up if none comes.
func TestStoreIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, store := newRunFIFO(0)
		add := func(n int) {
			var r run[fifoMeta]
			for i := range n {
				r.add(DeltaAdded, fifoNamed(fmt.Sprint("n", i), "9"))
			}
			_, err := f.takeRun(t.Context(), &r)
			fifoCheck(t, err)
		}
		kept := func() int {
			store.s.w.Lock()
			defer store.s.w.Unlock()
			return cap(store.s.scratch.ops)
		}
		add(2 * pileMinSlots)
		batchText(t, f, store)
		if kept() < 2*pileMinSlots {
			t.Errorf("room for %d ops kept", kept())
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			batchText(t, f, store)
		}()
		time.Sleep(2 * pileIdle)
		synctest.Wait()
		if kept() > 0 {
			t.Errorf("room for %d ops kept, and nothing came", kept())
		}
		add(1)
		<-done
		for range 40 { // without a pause
			add(1)
			batchText(t, f, store)
		}
		if kept() > pileMinSlots {
			t.Errorf("room for %d ops kept, and one is needed", kept())
		}
	})
}

// batchText takes a batch, applies it and shows it.
func batchText(t *testing.T, f *DeltaFIFO[fifoMeta], store *Store[fifoMeta]) string {
	b, err := f.takeBatch(t.Context())
	fifoCheck(t, err)
	var all []string
	for deltas := range b.all {
		for _, d := range deltas {
			all = append(all, fmt.Sprint(d.Type, " ", d.Key, "@", d.ResourceVersion))
		}
	}
	fifoCheck(t, store.applyBatch(b))
	f.batchDone()
	return strings.Join(all, ", ") + " at " + b.version
}

func newRunFIFO(limit int) (*DeltaFIFO[fifoMeta], *Store[fifoMeta]) {
	store := NewStore(StoreOptions[fifoMeta]{})
	return NewDeltaFIFO(DeltaFIFOOptions[fifoMeta]{KnownObjects: store, Limit: limit}), store
}

// A run is queued as its events are one by one, with the keys of the store or of its own.
func TestTakeRun(t *testing.T) {
	f, store := newRunFIFO(0)
	long := "ns/" + strings.Repeat("n", keyBlock)
	for _, step := range []struct {
		run  *run[fifoMeta]
		want string
	}{
		{runOf("+ns/a@1", "+b@2", "~ns/a@3", "-ns/never@4", "+"+long+"@5", "+ns/c@6"),
			"Added ns/a@1, Updated ns/a@3, Added b@2, Added " + long + "@5, Added ns/c@6 at 6"},
		{runOf("-b@7", "~ns/c@8", "-ns/a@9", "+ns/d@10", "-ns/d@2"),
			"Deleted b@7, Updated ns/c@8, Deleted ns/a@9, Added ns/d@10, Deleted ns/d@2 at 10"},
		{runOf("+ns/a@11", "-ns/c@12", "+ns/c@13"), "Added ns/a@11, Deleted ns/c@12, Added ns/c@13 at 13"},
	} {
		n := len(step.run.deltas)
		if done, err := f.takeRun(t.Context(), step.run); done != n || err != nil {
			t.Fatalf("%d events taken, %v", done, err)
		}
		if got := batchText(t, f, store); got != step.want {
			t.Errorf("got %s, want %s", got, step.want)
		}
	}
	if got := len(store.Keys()); got != 3 || store.s.table.Check() != nil {
		t.Errorf("%d objects: %v", got, store.s.table.Check())
	}
}

// What is before an event that fails is queued, and what is behind it is not.
func TestTakeRunFails(t *testing.T) {
	f, store := newRunFIFO(0)
	done, err := f.takeRun(t.Context(), runOf("+ns/a@1", "+b@2", "+", "+ns/c@4"))
	if poison, ok := errors.AsType[*ObjectError](err); done != 2 || !ok || !errors.Is(poison, errNoName) {
		t.Errorf("%d events taken, %v", done, err)
	}
	if got, want := batchText(t, f, store), "Added ns/a@1, Added b@2 at 2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	f.Close()
	if done, err := f.takeRun(t.Context(), runOf("+ns/a@1", "+b@2")); done != 0 || !errors.Is(err, ErrClosed) {
		t.Errorf("%d events taken, %v after Close", done, err)
	}
}

// A run waits for room in its middle, and ends there with ctx.
func TestTakeRunWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, store := newRunFIFO(2)
		ctx, cancel := context.WithCancel(t.Context())
		type result struct {
			done int
			err  error
		}
		ended := make(chan result, 1)
		go func() {
			done, err := f.takeRun(ctx, runOf("+ns/a@1", "+ns/b@2", "+ns/c@3", "+ns/d@4", "+ns/e@5"))
			ended <- result{done, err}
		}()
		for _, want := range []string{"Added ns/a@1, Added ns/b@2 at 2", "Added ns/c@3, Added ns/d@4 at 4"} {
			synctest.Wait()
			if f.Len() != 2 {
				t.Errorf("%d keys queued, want as many as the limit", f.Len())
			}
			if got := batchText(t, f, store); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		synctest.Wait()
		if r := <-ended; r.done != 5 || r.err != nil {
			t.Errorf("%d events taken, %v", r.done, r.err)
		}
		fifoCheck(t, f.Add(ctx, fifoNamed("f", "6")))
		go func() {
			done, err := f.takeRun(ctx, runOf("+ns/g@7", "+ns/h@8"))
			ended <- result{done, err}
		}()
		synctest.Wait()
		cancel()
		if r := <-ended; r.done != 0 || !errors.Is(r.err, context.Canceled) {
			t.Errorf("%d events taken, %v", r.done, r.err)
		}
	})
}

// Keys that are new share their memory, those that the store has cost none.
func TestTakeRunAllocations(t *testing.T) {
	f, store := newRunFIFO(0)
	var texts []string
	for n := range maxRun {
		texts = append(texts, fmt.Sprintf("+namespace/name-%03d@1", n))
	}
	r := runOf(texts...)
	deltas := append([]Delta[fifoMeta](nil), r.deltas...)
	round := func() {
		r.reset()
		r.deltas = append(r.deltas, deltas...)
		_, err := f.takeRun(t.Context(), r)
		fifoCheck(t, err)
		b, err := f.takeBatch(t.Context())
		fifoCheck(t, err)
		f.batchDone()
		_ = b
	}
	round()
	round()
	if got := testing.AllocsPerRun(20, round); got > maxRun/8 {
		t.Errorf("%v allocations for %d new keys", got, maxRun)
	}
	for _, d := range deltas {
		fifoCheck(t, store.Add(t.Context(), d.Object))
	}
	if got := testing.AllocsPerRun(20, round); got > 0 {
		t.Errorf("%v allocations for %d keys that the store has", got, maxRun)
	}
}

// What Pop hands out knows nothing of this queue's hashes, which another store would take
// for its own.
func TestPopForgetsHashes(t *testing.T) {
	f, _ := newRunFIFO(0)
	_, err := f.takeRun(t.Context(), runOf("+ns/a@1", "~ns/a@2"))
	fifoCheck(t, err)
	other := NewStore(StoreOptions[fifoMeta]{})
	fifoCheck(t, other.Add(t.Context(), fifoNamed("b", "1")))
	fifoCheck(t, f.Pop(t.Context(), func(deltas Deltas[fifoMeta]) error {
		for _, d := range deltas {
			if d.own || d.hash != 0 || d.hint != 0 {
				t.Errorf("%s has %v, %d, %d", d.Key, d.own, d.hash, d.hint)
			}
		}
		return other.Apply(deltas)
	}))
	if _, ok := other.Get("ns/a"); !ok || other.s.table.Check() != nil {
		t.Errorf("found %v: %v", ok, other.s.table.Check())
	}
}

// What a run leaves behind does not hold its objects, also if it broke off.
func TestRunHoldsNoObjects(t *testing.T) {
	refuse := func(obj fifoMeta) (fifoMeta, error) {
		if obj.Name == "bad" {
			return nil, errors.New("no")
		}
		return obj, nil
	}
	key := func(obj fifoMeta) (string, error) {
		if obj.Name == "unkeyed" {
			return "", errors.New("no key")
		}
		return KeyOf(obj)
	}
	nameless := &metav1.PartialObjectMetadata{}
	for name, bad := range map[string]fifoMeta{
		"no poison": fifoNamed("good", "9"), "poison": fifoNamed("bad", "9"), "no key": fifoNamed("unkeyed", "9"), "no name": nameless,
	} {
		for at := range 4 {
			t.Run(fmt.Sprint(name, " at ", at), func(t *testing.T) {
				f := NewDeltaFIFO(DeltaFIFOOptions[fifoMeta]{KeyFunc: key, Transform: refuse, KnownObjects: NewStore(StoreOptions[fifoMeta]{KeyFunc: key})})
				target := newTarget[fifoMeta](f, nil)
				var events []arrival
				for n := range 4 {
					events = append(events, arrivalOf(watch.Event{Type: watch.Added, Object: fifoNamed(fmt.Sprint("n", n), "9")}))
				}
				events[at].Object = bad
				done, err := target.applyRun(t.Context(), events)
				if want := name == "no poison"; (err == nil) != want || !want && done != at {
					t.Errorf("%d done: %v", done, err)
				}
				for n, d := range target.run.deltas[:cap(target.run.deltas)] {
					if d.Object != nil {
						t.Errorf("delta %d holds %s", n, d.Object.Name)
					}
				}
			})
		}
	}
}
