// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type fifoMeta = *metav1.PartialObjectMetadata

func fifoNamed(name, version string) fifoMeta {
	obj := &metav1.PartialObjectMetadata{}
	obj.Name, obj.ResourceVersion = name, version
	return obj
}

func newBatchFIFO(known *fifoMap) *DeltaFIFO[fifoMeta] {
	return NewDeltaFIFO(DeltaFIFOOptions[fifoMeta]{KnownObjects: known})
}

// text is "a: Added Updated, b: Deleted; version 3; synced".
func (b batch[T]) text() string {
	var keys []string
	for deltas := range b.all {
		var types []string
		for _, d := range deltas {
			types = append(types, string(d.Type))
		}
		keys = append(keys, deltas.Key()+": "+strings.Join(types, " "))
	}
	text := strings.Join(keys, ", ") + "; version " + b.version
	if b.synced {
		text += "; synced"
	}
	return text
}

func fifoCheck(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fifoTake(t *testing.T, f *DeltaFIFO[fifoMeta], want string) batch[fifoMeta] {
	t.Helper()
	b, err := f.takeBatch(t.Context())
	fifoCheck(t, err)
	if got := b.text(); got != want {
		t.Errorf("batch %q, want %q", got, want)
	}
	return b
}

func TestTakeBatch(t *testing.T) {
	known, ctx := newFIFOMap(), t.Context()
	f := newBatchFIFO(known)
	f.batching = true // as an informer has it before its reflector starts
	fifoCheck(t, f.Add(ctx, fifoNamed("a", "1")))
	fifoCheck(t, f.Add(ctx, fifoNamed("b", "2")))
	fifoCheck(t, f.Update(ctx, fifoNamed("a", "3")))
	fifoTake(t, f, "a: Added Updated, b: Added; version 3")
	if got := f.ResourceVersion(); got != "" {
		t.Errorf("version %q before batchDone", got)
	}
	if version, _, ok := f.Identity(fifoNamed("a", "")); version != "3" || !ok {
		t.Errorf("a in the batch is @%s, want @3", version)
	}
	// In flight: unchanged, changed and gone.
	fifoCheck(t, f.Replace(ctx, []fifoMeta{fifoNamed("a", "3"), fifoNamed("c", "4")}, "5"))
	f.batchDone()
	if got := f.ResourceVersion(); got != "3" {
		t.Errorf("version %q, want 3", got)
	}
	fifoTake(t, f, "c: Replaced, b: Deleted; version 5; synced")
	if f.HasSynced() {
		t.Error("synced before batchDone")
	}
	f.batchDone()
	if !f.HasSynced() {
		t.Error("not synced after batchDone")
	}
	fifoCheck(t, f.Bookmark(ctx, "6"))
	if got := f.ResourceVersion(); got != "5" {
		t.Errorf("version %q, want 5 until the batch is done", got)
	}
	fifoTake(t, f, "; version 6")
	f.batchDone()
	if got := f.ResourceVersion(); got != "6" || known.version != "" {
		t.Errorf("version %q, want 6; known objects were told %q, want nothing", got, known.version)
	}
}

// A list that came before the consumer looked for the first time is not lost.
func TestTakeBatchLate(t *testing.T) {
	f := newBatchFIFO(newFIFOMap())
	fifoCheck(t, f.Replace(t.Context(), nil, "5"))
	fifoTake(t, f, "; version 5; synced")
	f.batchDone()
	if got := f.ResourceVersion(); got != "5" {
		t.Errorf("version %q, want 5", got)
	}
}

func TestTakeBatchWaits(t *testing.T) {
	t.Run("for a write", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newBatchFIFO(newFIFOMap())
			for _, write := range []func(){
				func() { fifoCheck(t, f.Add(t.Context(), fifoNamed("a", "1"))) },
				func() { fifoCheck(t, f.Bookmark(t.Context(), "2")) },
				func() { fifoCheck(t, f.Replace(t.Context(), nil, "2")) },
			} {
				taken := make(chan batch[fifoMeta], 1)
				go func() {
					b, _ := f.takeBatch(t.Context())
					taken <- b
				}()
				synctest.Wait()
				if len(taken) > 0 {
					t.Errorf("batch %q before the write", (<-taken).text())
				}
				write()
				<-taken
				f.batchDone()
			}
		})
	})
	t.Run("for ctx and Close", func(t *testing.T) {
		f := newBatchFIFO(newFIFOMap())
		cause := errors.New("cause")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if _, err := f.takeBatch(ctx); !errors.Is(err, cause) {
			t.Errorf("takeBatch returned %v, want the cause", err)
		}
		f.Close()
		if _, err := f.takeBatch(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("takeBatch returned %v, want ErrClosed", err)
		}
	})
}

func TestTakeBatchTwice(t *testing.T) {
	f := newBatchFIFO(newFIFOMap())
	fifoCheck(t, f.Add(t.Context(), fifoNamed("a", "1")))
	fifoTake(t, f, "a: Added; version 1")
	fifoCheck(t, f.Add(t.Context(), fifoNamed("b", "2")))
	defer func() {
		if recover() == nil {
			t.Error("no panic for a batch before the last one was done")
		}
	}()
	_, _ = f.takeBatch(t.Context())
}

// The cause of a verification is set from within.
func TestBeginReplaceCause(t *testing.T) {
	f := newBatchFIFO(newFIFOMap())
	fifoCheck(t, f.Replace(t.Context(), nil, "1"))
	r, err := f.beginReplace(t.Context(), CauseVerify)
	fifoCheck(t, err)
	fifoCheck(t, r.Put(fifoNamed("a", "2")))
	fifoCheck(t, r.Commit("2"))
	b := fifoTake(t, f, "a: Replaced; version 2; synced")
	for deltas := range b.all {
		if got := deltas.Newest().Cause; got != CauseVerify {
			t.Errorf("cause %s, want Verify", got)
		}
	}
}

// What a Store learns from the deltas alone: the version reached with them.
func TestPopReached(t *testing.T) {
	f := newBatchFIFO(newFIFOMap())
	ctx := t.Context()
	fifoCheck(t, f.Add(ctx, fifoNamed("a", "1")))
	fifoCheck(t, f.Add(ctx, fifoNamed("b", "2")))
	fifoCheck(t, f.Update(ctx, fifoNamed("a", "3")))
	fifoCheck(t, f.Bookmark(ctx, "4"))
	fifoCheck(t, f.Add(ctx, fifoNamed("c", "")))
	for _, want := range []string{"a[ 1]", "b[4]", "c[]"} {
		for _, failing := range []bool{true, false} {
			err := f.Pop(ctx, func(deltas Deltas[fifoMeta]) error {
				var reached []string
				for _, d := range deltas {
					reached = append(reached, d.reached)
				}
				if got := fmt.Sprint(deltas.Key(), reached); got != want {
					t.Errorf("reached %s, want %s", got, want)
				}
				if failing {
					return errFIFOModel
				}
				return nil
			})
			if failing != (err != nil) {
				t.Fatal(err)
			}
		}
	}
}

// interningMap has keys to lend.
type interningMap struct{ *fifoMap }

func (k interningMap) internKey(namespace, name string) string {
	buffer := append(append(append(make([]byte, 0, 64), namespace...), '/'), name...)
	if d, ok := k.last[string(buffer)]; ok {
		return d.Key
	}
	return JoinKey(namespace, name)
}

func TestDeltaFIFOAllocations(t *testing.T) {
	for _, c := range []struct {
		name  string
		known func(*fifoMap) KnownObjects[fifoMeta]
		want  float64 // an event: its key, unless that can be had
	}{
		{"keys are built", func(k *fifoMap) KnownObjects[fifoMeta] { return k }, 1},
		{"keys are lent", func(k *fifoMap) KnownObjects[fifoMeta] { return interningMap{k} }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			known := newFIFOMap()
			objs := known.fill(100)
			f := NewDeltaFIFO(DeltaFIFOOptions[fifoMeta]{KnownObjects: c.known(known)})
			round := func() {
				for _, obj := range objs {
					_ = f.Update(t.Context(), obj)
					_ = f.Update(t.Context(), obj)
				}
				_, _ = f.takeBatch(t.Context())
				f.batchDone()
			}
			round()
			round()
			events := float64(2 * len(objs))
			if got := testing.AllocsPerRun(20, round) / events; got > c.want+0.05 {
				t.Errorf("%.2f allocations an event, want %.0f", got, c.want)
			}
		})
	}
}

// The memory of a burst, and the objects of a batch, are given up.
func TestDeltaFIFOMemory(t *testing.T) {
	known := newFIFOMap()
	objs := known.fill(3 * pileKeepSlots)
	t.Run("batch", func(t *testing.T) {
		f := newBatchFIFO(known)
		for _, n := range []int{len(objs), 800, 10, 10, 10} {
			for _, obj := range objs[:n] {
				fifoCheck(t, f.Update(t.Context(), obj))
			}
			_, err := f.takeBatch(t.Context())
			fifoCheck(t, err)
			taken := f.taken
			f.batchDone()
			if kept := f.spare == taken; kept != (n <= 800) {
				t.Errorf("memory of a batch of %d kept: %v", n, kept)
			}
			if taken.len() > 0 && n <= 800 {
				t.Errorf("%d keys left of a batch of %d", taken.len(), n)
			}
		}
		for _, s := range f.spare.slots[:10] {
			if s.one[0].Object != nil || s.one[0].Key != "" {
				t.Error("an object of a batch is still held")
			}
		}
		for range 20 { // what the last batches do not need is not kept for long
			fifoCheck(t, f.Update(t.Context(), objs[0]))
			_, err := f.takeBatch(t.Context())
			fifoCheck(t, err)
			f.batchDone()
		}
		if size := cap(f.queue.slots); size > pileMinSlots {
			t.Errorf("%d slots kept for batches of 1", size)
		}
	})
	t.Run("pop", func(t *testing.T) {
		f := newBatchFIFO(known)
		for _, obj := range objs {
			fifoCheck(t, f.Update(t.Context(), obj))
		}
		for i := range objs {
			if held := len(f.queue.slots) - f.queue.head; held != len(objs)-i {
				t.Fatalf("%d slots held after %d pops", held, i)
			}
			fifoCheck(t, f.Pop(t.Context(), func(d Deltas[fifoMeta]) error {
				if d.Newest().Object != objs[i] {
					t.Fatalf("pop %d is %s", i, d.Key())
				}
				return nil
			}))
		}
		if cap(f.queue.slots) > pileKeepSlots || cap(f.marks.marks) > pileKeepSlots {
			t.Errorf("%d slots and %d marks kept", cap(f.queue.slots), cap(f.marks.marks))
		}
		f.queue.grow(len(objs))
		fifoCheck(t, f.Update(t.Context(), objs[0]))
		fifoCheck(t, f.Pop(t.Context(), func(Deltas[fifoMeta]) error { return nil }))
		if cap(f.queue.slots) > pileKeepSlots {
			t.Errorf("%d slots kept after one key in much room", cap(f.queue.slots))
		}
	})
}

// What a burst has needed is given up if nothing comes after it.
func TestDeltaFIFOIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		known := newFIFOMap()
		objs := known.fill(4 * pileMinSlots)
		f := newBatchFIFO(known)
		for range 2 {
			for _, obj := range objs {
				fifoCheck(t, f.Update(t.Context(), obj))
			}
			_, err := f.takeBatch(t.Context())
			fifoCheck(t, err)
			f.batchDone()
		}
		if !f.queue.large() && !f.spare.large() {
			t.Error("the memory of a burst was not kept for the next one")
		}
		next := make(chan int)
		go func() {
			b, _ := f.takeBatch(t.Context())
			next <- b.len()
		}()
		time.Sleep(2 * pileIdle)
		synctest.Wait()
		f.mu.Lock()
		if f.queue.large() || f.spare.large() {
			t.Errorf("%d slots kept", cap(f.queue.slots))
		}
		f.mu.Unlock()
		fifoCheck(t, f.Update(t.Context(), objs[0]))
		if n := <-next; n != 1 {
			t.Errorf("a batch of %d keys", n)
		}
	})
}

// Keys put back by concurrent consumers come to lie as they lay before.
func TestDeltaPilePutBack(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {1, 0, 2}, {2, 0, 1}, {0, 2, 1}} {
		for taken := 3; taken <= 5; taken++ {
			p := newDeltaPile[fifoMeta](maphash.MakeSeed())
			for i, key := range []string{"a", "b", "c", "d", "e"} {
				p.add(&Delta[fifoMeta]{Key: key, Type: DeltaAdded}, uint64(i+1))
			}
			type out struct {
				deltas   Deltas[fifoMeta]
				position uint64
			}
			var outs []out
			for range taken {
				deltas, position := p.removeAt(p.find(nil))
				outs = append(outs, out{deltas, position})
			}
			p.add(&Delta[fifoMeta]{Key: "b", Type: DeltaUpdated}, 9)
			for _, i := range order {
				p.putBack(outs[i].deltas, outs[i].position)
			}
			want := []string{"a", "b", "c", "d", "e"}[:3+5-taken]
			if taken > 3 {
				want = append([]string{"a", "b", "c"}, []string{"d", "e"}[taken-3:]...)
			}
			var got []string
			for deltas := range p.all {
				got = append(got, deltas.Key())
				if n := len(deltas); (n == 2) != (deltas.Key() == "b") || p.get(deltas.Key()) == nil {
					t.Errorf("%d deltas of %s", n, deltas.Key())
				}
			}
			if !slices.Equal(got, want) || p.oldest() != 1 || p.deltas != len(want)+1 || p.len() != len(want) {
				t.Errorf("%d taken, put back in order %v: %v with %d deltas, want %v", taken, order, got, p.deltas, want)
			}
		}
	}
}

// The rule for two deletes holds where deltas that come back meet newer ones.
func TestDeltaPilePutBackDeletes(t *testing.T) {
	p := newDeltaPile[fifoMeta](maphash.MakeSeed())
	p.add(&Delta[fifoMeta]{Key: "a", Type: DeltaDeleted, FinalStateUnknown: true}, 2)
	p.putBack(Deltas[fifoMeta]{{Key: "a", Type: DeltaUpdated}, {Key: "a", Type: DeltaDeleted}}, 1)
	if got := p.get("a"); len(got) != 2 || got.Newest().FinalStateUnknown || p.deltas != 2 {
		t.Errorf("%d deltas, final state unknown: %v", len(got), got.Newest().FinalStateUnknown)
	}
}

// A version that a failed Pop would have reached is not reached by what joined it since.
func TestPopReachedAfterFailure(t *testing.T) {
	f := newBatchFIFO(newFIFOMap())
	fifoCheck(t, f.Add(t.Context(), fifoNamed("a", "1")))
	_ = f.Pop(t.Context(), func(Deltas[fifoMeta]) error {
		fifoCheck(t, f.Update(t.Context(), fifoNamed("a", "2")))
		return errFIFOModel
	})
	fifoCheck(t, f.Pop(t.Context(), func(deltas Deltas[fifoMeta]) error {
		if len(deltas) != 2 || deltas[0].reached != "" || deltas[1].reached != "2" {
			t.Errorf("%d deltas, reached %q and %q", len(deltas), deltas.Oldest().reached, deltas.Newest().reached)
		}
		return nil
	}))
}

// An item equal to what is known is not held twice.
func TestReplaceKeepsOldObject(t *testing.T) {
	known := newFIFOMap()
	old := known.fill(1)[0]
	r, err := newBatchFIFO(known).beginReplace(t.Context(), "")
	fifoCheck(t, err)
	fifoCheck(t, r.Put(old.DeepCopy()))
	if r.items.at(0).object != old {
		t.Error("the list holds a copy of a known object")
	}
}

// Every consumer that waits is woken as soon as there is a key for it.
func TestPopWakes(t *testing.T) {
	t.Run("two keys", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newBatchFIFO(newFIFOMap())
			release, running := make(chan struct{}), make(chan string, 2)
			for range 2 {
				go func() {
					_ = f.Pop(t.Context(), func(d Deltas[fifoMeta]) error {
						running <- d.Key()
						<-release
						return nil
					})
				}()
			}
			synctest.Wait()
			fifoCheck(t, f.Replace(t.Context(), []fifoMeta{fifoNamed("a", "1"), fifoNamed("b", "1")}, "1"))
			synctest.Wait()
			if len(running) != 2 {
				t.Errorf("%d consumers at work, want 2", len(running))
			}
			close(release)
		})
	})
	t.Run("one key, again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newBatchFIFO(newFIFOMap())
			fifoCheck(t, f.Add(t.Context(), fifoNamed("a", "1")))
			second := make(chan error, 1)
			fifoCheck(t, f.Pop(t.Context(), func(Deltas[fifoMeta]) error {
				go func() { second <- f.Pop(t.Context(), func(Deltas[fifoMeta]) error { return nil }) }()
				fifoCheck(t, f.Update(t.Context(), fifoNamed("a", "2")))
				synctest.Wait() // the second has looked, and found the key in process
				if len(second) > 0 {
					t.Error("a key was processed twice at once")
				}
				return nil
			}))
			synctest.Wait()
			if len(second) != 1 {
				t.Error("the second consumer was not woken")
				f.Close()
			}
			<-second
		})
	})
}
