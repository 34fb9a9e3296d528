// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"
)

var (
	_ informer.Sink[fifoObject]       = (*informer.DeltaFIFO[fifoObject])(nil)
	_ informer.Identifier[fifoObject] = (*informer.DeltaFIFO[fifoObject])(nil)
	_ informer.Bookmarker             = (*informer.DeltaFIFO[fifoObject])(nil)
)

var errFifo = errors.New("fifo test")

// fifoWrite does writes of the form "verb name@version/uid", and "list version items".
func fifoWrite(t *testing.T, f *informer.DeltaFIFO[fifoObject], steps ...string) {
	t.Helper()
	for _, step := range steps {
		verb, rest, _ := strings.Cut(step, " ")
		var err error
		switch verb {
		case "add":
			err = f.Add(t.Context(), fifoObj(rest))
		case "update":
			err = f.Update(t.Context(), fifoObj(rest))
		case "delete":
			err = f.Delete(t.Context(), fifoObj(rest))
		case "bookmark":
			err = f.Bookmark(t.Context(), rest)
		case "resync":
			err = f.Resync(t.Context())
		case "list":
			version, items, _ := strings.Cut(rest, " ")
			err = f.Replace(t.Context(), fifoObjs(strings.Fields(items)...), version)
		default:
			t.Fatalf("no such step: %s", step)
		}
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
	}
}

func TestDeltaFIFOWrites(t *testing.T) {
	for _, c := range []struct {
		name    string
		known   []string // nil: no known objects
		steps   []string
		want    []string
		version string
	}{
		{"keys in order of arrival", []string{}, []string{"add b@1", "add a@2", "update b@3"},
			[]string{"Added b@1; Updated b@3", "Added a@2"}, "3"},
		{"two deletes", []string{"a@1"}, []string{"delete a@2", "delete a@3"}, []string{"Deleted a@3"}, "3"},
		{"two deletes after an update", []string{"a@1"}, []string{"update a@2", "delete a@3", "delete a@4"},
			[]string{"Updated a@2; Deleted a@4"}, "4"},
		{"a tombstone, then the delete", []string{"a@1"}, []string{"list 5", "delete a@4"}, []string{"Deleted a@4"}, "5"},
		{"a delete, then a list without", []string{"a@1"}, []string{"delete a@2", "list 5"}, []string{"Deleted a@2"}, "5"},
		{"delete of an unknown key", []string{}, []string{"delete a@2"}, nil, "2"},
		{"the same without known objects", nil, []string{"delete a@2"}, []string{"Deleted a@2"}, "2"},
		{"delete of another UID", []string{"a@1/u1"}, []string{"delete a@2/u2"}, nil, "2"},
		{"delete of another UID than the queued", []string{"a@1/u1"}, []string{"update a@2/u2", "delete a@3/u1"},
			[]string{"Updated a@2"}, "3"},
		{"second delete of another UID", []string{"a@1/u1"}, []string{"delete a@2/u1", "delete a@3/u2"},
			[]string{"Deleted a@2"}, "3"},
		{"delete without a UID", []string{"a@1/u1"}, []string{"delete a@2"}, []string{"Deleted a@2"}, "2"},
		{"delete of what is queued", nil, []string{"add a@1", "delete a@2"}, []string{"Added a@1; Deleted a@2"}, "2"},
		{"resync", []string{"a@1", "b@1"}, []string{"update b@2", "resync", "resync"}, []string{"Updated b@2", "Sync a@1"}, "2"},
		{"resync without known objects", nil, []string{"resync"}, nil, ""},
		{"no versions", []string{}, []string{"bookmark 7", "add a", "bookmark "}, []string{"Added a@"}, "7"},
		{"bookmark behind an event", []string{}, []string{"add a@1", "bookmark 2"}, []string{"Added a@1"}, "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var known *fifoKnown
			if c.known != nil {
				known = newFifoKnown(c.known...)
			}
			f := newFifo(known)
			fifoWrite(t, f, c.steps...)
			fifoWant(t, f, known, c.want...)
			if got := f.ResourceVersion(); got != c.version {
				t.Errorf("version %q, want %q", got, c.version)
			}
		})
	}
}

func TestDeltaFIFOCauses(t *testing.T) {
	known := newFifoKnown("old@1")
	f := newFifo(known)
	causes := func() (causes []informer.Cause) {
		for f.Len() > 0 {
			fifoMust(t, f.Pop(t.Context(), func(deltas informer.Deltas[fifoObject]) error {
				causes = append(causes, deltas.Newest().Cause)
				return known.apply(deltas)
			}))
		}
		return causes
	}
	for _, c := range []struct {
		step string
		want []informer.Cause
	}{
		{"add a@1", []informer.Cause{informer.CauseWatch}},
		{"list 3 a@2", []informer.Cause{informer.CauseInitial, informer.CauseInitial}},
		{"list 4 a@4", []informer.Cause{informer.CauseRelist}},
		{"update a@5", []informer.Cause{informer.CauseWatch}},
		{"resync", []informer.Cause{informer.CauseResync}},
		{"delete a@6", []informer.Cause{informer.CauseWatch}},
	} {
		fifoWrite(t, f, c.step)
		if got := causes(); !slices.Equal(got, c.want) {
			t.Errorf("%s: causes %q, want %q", c.step, got, c.want)
		}
	}
}

func TestDeltaFIFOPopFails(t *testing.T) {
	known := newFifoKnown("a@1")
	f := newFifo(known)
	fifoWrite(t, f, "delete a@2", "add b@3")
	fail := func(informer.Deltas[fifoObject]) error {
		fifoWrite(t, f, "add a@4", "delete never@5")
		return errFifo
	}
	if err := f.Pop(t.Context(), fail); !errors.Is(err, errFifo) {
		t.Errorf("Pop returned %v, want the error of process", err)
	}
	if got := f.ResourceVersion(); got != "" {
		t.Errorf("version %q with all still queued", got)
	}
	fifoWant(t, f, known, "Deleted a@2; Added a@4", "Added b@3")
	if got := f.ResourceVersion(); got != "5" {
		t.Errorf("version %q, want 5", got)
	}
}

func TestDeltaFIFOPopPanics(t *testing.T) {
	t.Run("panic", func(t *testing.T) {
		f := newFifo(nil)
		fifoWrite(t, f, "add a@1", "add b@2")
		func() {
			defer func() {
				if p := recover(); p != errFifo {
					t.Errorf("recovered %v, want the panic of process", p)
				}
			}()
			_ = f.Pop(t.Context(), func(informer.Deltas[fifoObject]) error { panic(errFifo) })
		}()
		fifoWant(t, f, nil, "Added a@1", "Added b@2")
	})
	t.Run("goexit", func(t *testing.T) {
		f := newFifo(nil)
		fifoWrite(t, f, "add a@1")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = f.Pop(context.Background(), func(informer.Deltas[fifoObject]) error {
				runtime.Goexit()
				return nil
			})
		}()
		<-ended
		fifoWant(t, f, nil, "Added a@1")
	})
}

// While a key is processed, its state is that of the deltas in process.
func TestDeltaFIFOInProcess(t *testing.T) {
	for _, c := range []struct {
		name  string
		first string
		then  []string
		want  []string
	}{
		{"added, deleted", "add a@1/u1", []string{"delete a@2/u1"}, []string{"Deleted a@2"}},
		{"added, deleted with another UID", "add a@1/u1", []string{"delete a@2/u2"}, nil},
		{"added, gone from a list", "add a@1/u1", []string{"list 2"}, []string{"Deleted? a@1"}},
		{"added, unchanged in a list", "add a@1/u1", []string{"list 2 a@1/u1"}, nil},
		{"deleted, deleted", "delete k@2", []string{"delete k@2"}, nil},
		{"deleted, gone from a list", "delete k@2", []string{"list 3"}, nil},
		{"deleted, back in a list", "delete k@2", []string{"list 3 k@1"}, []string{"Replaced k@1"}},
		{"deleted, resync", "delete k@2", []string{"resync"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			known := newFifoKnown("k@1")
			f := newFifo(known)
			if strings.HasPrefix(c.first, "add") {
				known = newFifoKnown()
				f = newFifo(known)
			}
			fifoWrite(t, f, c.first)
			fifoMust(t, f.Pop(t.Context(), func(deltas informer.Deltas[fifoObject]) error {
				fifoWrite(t, f, c.then...)
				return known.apply(deltas)
			}))
			fifoWant(t, f, known, c.want...)
		})
	}
}

func TestDeltaFIFOIdentity(t *testing.T) {
	known := newFifoKnown("a@1/u1", "b@1/u1")
	f := newFifo(known)
	want := func(where, name, want string) {
		t.Helper()
		version, uid, ok := f.Identity(fifoObj(name))
		if got := fmt.Sprint(version, "/", uid, " ", ok); got != want {
			t.Errorf("%s: %s is %s, want %s", where, name, got, want)
		}
	}
	want("known", "a", "1/u1 true")
	want("unknown", "c", "/ false")
	want("no name", "", "/ false")
	fifoWrite(t, f, "update a@2/u2", "delete b@2/u1")
	want("queued", "a", "2/u2 true")
	want("queued delete", "b", "/ false")
	fifoMust(t, f.Pop(t.Context(), func(deltas informer.Deltas[fifoObject]) error {
		want("in process", "a", "2/u2 true")
		return known.apply(deltas)
	}))
	want("processed", "a", "2/u2 true")
}

func TestDeltaFIFOWaits(t *testing.T) {
	cause := errors.New("cause")
	for _, c := range []struct {
		name string
		end  func(f *informer.DeltaFIFO[fifoObject], cancel context.CancelCauseFunc)
		want error
	}{
		{"ctx", func(_ *informer.DeltaFIFO[fifoObject], cancel context.CancelCauseFunc) { cancel(cause) }, cause},
		{"close", func(f *informer.DeltaFIFO[fifoObject], _ context.CancelCauseFunc) { f.Close() }, informer.ErrClosed},
	} {
		t.Run("pop/"+c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFifo(nil)
				ctx, cancel := context.WithCancelCause(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- f.Pop(ctx, func(informer.Deltas[fifoObject]) error { return nil }) }()
				synctest.Wait()
				c.end(f, cancel)
				if err := <-ended; !errors.Is(err, c.want) {
					t.Errorf("Pop returned %v, want %v", err, c.want)
				}
			})
		})
		t.Run("write/"+c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := informer.NewDeltaFIFO(informer.DeltaFIFOOptions[fifoObject]{Limit: 1})
				fifoWrite(t, f, "add a@1")
				ctx, cancel := context.WithCancelCause(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- f.Update(ctx, fifoObj("a@2")) }()
				synctest.Wait()
				c.end(f, cancel)
				if err := <-ended; !errors.Is(err, c.want) {
					t.Errorf("Update returned %v, want %v", err, c.want)
				}
			})
		})
	}
}

// Who waited for room in vain is told what for.
func TestDeltaFIFOFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := informer.NewDeltaFIFO(informer.DeltaFIFOOptions[fifoObject]{Limit: 2, KnownObjects: newFifoKnown("b@1")})
		fifoWrite(t, f, "add a@1", "update a@2")
		for name, write := range map[string]func(context.Context, fifoObject) error{"Added": f.Add, "Updated": f.Update, "Deleted": f.Delete} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			err := write(ctx, fifoObj("b@3"))
			cancel()
			want := name + ` "b": no room in a queue with a Limit of 2: context deadline exceeded`
			if !errors.Is(err, context.DeadlineExceeded) || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	})
}

func TestDeltaFIFOEndedContext(t *testing.T) {
	f := newFifo(nil)
	fifoWrite(t, f, "add a@1")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errFifo)
	if err := f.Pop(ctx, nil); !errors.Is(err, errFifo) {
		t.Errorf("Pop returned %v, want the cause", err)
	}
	if _, err := f.BeginReplace(ctx); !errors.Is(err, errFifo) {
		t.Errorf("BeginReplace returned %v, want the cause", err)
	}
	fifoWant(t, f, nil, "Added a@1")
}

func TestDeltaFIFOClosed(t *testing.T) {
	f := newFifo(nil)
	fifoWrite(t, f, "add a@1")
	r, err := f.BeginReplace(t.Context())
	fifoMust(t, err)
	f.Close()
	f.Close()
	ctx, obj := t.Context(), fifoObj("a@1")
	_, begin := f.BeginReplace(ctx)
	for name, err := range map[string]error{
		"Add": f.Add(ctx, obj), "Update": f.Update(ctx, obj), "Delete": f.Delete(ctx, obj),
		"Bookmark": f.Bookmark(ctx, "1"), "Resync": f.Resync(ctx), "Replace": f.Replace(ctx, nil, "1"),
		"BeginReplace": begin, "Put": r.Put(obj), "Commit": r.Commit("1"),
		"Pop": f.Pop(ctx, func(informer.Deltas[fifoObject]) error { return nil }),
	} {
		if !errors.Is(err, informer.ErrClosed) {
			t.Errorf("%s returned %v, want ErrClosed", name, err)
		}
	}
}

func TestDeltaFIFOLimit(t *testing.T) {
	t.Run("writers wait in order of room", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := informer.NewDeltaFIFO(informer.DeltaFIFOOptions[fifoObject]{Limit: 2})
			var written sync.WaitGroup
			for i := range 20 {
				written.Go(func() { _ = f.Update(t.Context(), fifoObj(fmt.Sprintf("o%d@%d", i%7, i+1))) })
			}
			popped := 0
			for popped < 20 {
				synctest.Wait()
				fifoMust(t, f.Pop(t.Context(), func(deltas informer.Deltas[fifoObject]) error {
					if len(deltas) > 2 {
						t.Errorf("%d deltas queued, limit 2", len(deltas))
					}
					popped += len(deltas)
					return nil
				}))
			}
			written.Wait()
		})
	})
	t.Run("lists do not wait", func(t *testing.T) {
		known := newFifoKnown()
		f := informer.NewDeltaFIFO(informer.DeltaFIFOOptions[fifoObject]{Limit: 1, KnownObjects: known})
		fifoWrite(t, f, "add a@1", "list 5 a@2 b@3 c@4", "resync", "bookmark 6")
		fifoWant(t, f, known, "Added a@1; Replaced a@2", "Replaced b@3", "Replaced c@4")
		fifoWrite(t, f, "update a@7") // there is room again
	})
	t.Run("merged deletes give room", func(t *testing.T) {
		known := newFifoKnown("a@1")
		f := informer.NewDeltaFIFO(informer.DeltaFIFOOptions[fifoObject]{Limit: 2, KnownObjects: known})
		fifoWrite(t, f, "delete a@2", "delete a@3", "delete a@4", "add b@5")
		fifoWant(t, f, known, "Deleted a@4", "Added b@5")
	})
}

// Many consumers: no key is with two of them, nothing is lost, and the version ends right.
func TestDeltaFIFOConcurrentPops(t *testing.T) {
	t.Run("bubble", func(t *testing.T) { synctest.Test(t, fifoConcurrentPops) })
}

func fifoConcurrentPops(t *testing.T) {
	const writes, keys = 3000, 7
	known := newFifoKnown()
	f := informer.NewDeltaFIFO(informer.DeltaFIFOOptions[fifoObject]{KnownObjects: known, Limit: 5})
	var mu sync.Mutex
	busy, seen, calls := map[string]bool{}, 0, 0
	process := func(deltas informer.Deltas[fifoObject]) error {
		mu.Lock()
		if busy[deltas.Key()] {
			t.Errorf("%s is processed twice at once", deltas.Key())
		}
		busy[deltas.Key()] = true
		calls++
		fails := calls%3 == 0
		mu.Unlock()
		runtime.Gosched()
		mu.Lock()
		defer mu.Unlock()
		busy[deltas.Key()] = false
		if fails {
			return errFifo
		}
		seen += len(deltas)
		return known.apply(deltas)
	}
	var consumers sync.WaitGroup
	for range 4 {
		consumers.Go(func() {
			for err := error(nil); !errors.Is(err, informer.ErrClosed); {
				err = f.Pop(t.Context(), process)
			}
		})
	}
	for i := range writes {
		fifoWrite(t, f, fmt.Sprintf("update k%d@%d", i%keys, i+1))
	}
	synctest.Wait()
	f.Close()
	consumers.Wait()
	if seen != writes || f.ResourceVersion() != fmt.Sprint(writes) {
		t.Errorf("%d deltas up to version %q, want %d", seen, f.ResourceVersion(), writes)
	}
	heard := strings.Fields(known.heard())
	if heard[len(heard)-1] != fmt.Sprint(writes) {
		t.Errorf("known objects heard %s last, want %d", heard[len(heard)-1], writes)
	}
}

func TestDeltaFIFOVersions(t *testing.T) {
	known := newFifoKnown()
	f := newFifo(known)
	pop := func() {
		fifoMust(t, f.Pop(t.Context(), known.apply))
	}
	fifoWrite(t, f, "bookmark 1")
	if got := known.heard(); got != "1" {
		t.Errorf("known objects heard %q of a bookmark of the empty queue, want 1", got)
	}
	fifoWrite(t, f, "add a@2", "add b@3", "bookmark 4", "update a@5", "bookmark 6")
	pop() // a: b's event at 3 is still to come, and holds back all after it
	if got := f.ResourceVersion(); got != "2" {
		t.Errorf("version %q after a, want 2", got)
	}
	pop()
	if got := f.ResourceVersion(); got != "6" {
		t.Errorf("version %q after b, want 6", got)
	}
	fifoWrite(t, f, "bookmark 6", "delete never@7")
	if got := known.heard(); got != "1 2 6 7" {
		t.Errorf("known objects heard %q, want 1 2 6 7", got)
	}
}

func TestDeltaFIFOBookmarkFails(t *testing.T) {
	known := newFifoKnown()
	f := newFifo(known)
	known.failing = errFifo
	if err := f.Bookmark(t.Context(), "1"); !errors.Is(err, errFifo) {
		t.Errorf("Bookmark returned %v, want the error of the known objects", err)
	}
	fifoWrite(t, f, "add a@2")
	if err := f.Pop(t.Context(), known.apply); !errors.Is(err, errFifo) {
		t.Errorf("Pop returned %v, want the error of the known objects", err)
	}
	if f.Len() != 0 {
		t.Error("what was processed is queued again")
	}
}

func TestNewDeltaFIFOPanics(t *testing.T) {
	for name, c := range map[string]struct {
		build func()
		want  string
	}{
		"limit": {func() {
			informer.NewDeltaFIFO(informer.DeltaFIFOOptions[fifoObject]{Limit: -1})
		}, "informer: NewDeltaFIFO: Limit"},
		"type": {func() { informer.NewDeltaFIFO(informer.DeltaFIFOOptions[string]{}) }, "informer: NewDeltaFIFO[string]: KeyFunc"},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if p := fmt.Sprint(recover()); !strings.HasPrefix(p, c.want) {
					t.Errorf("panic %q, want %q", p, c.want)
				}
			}()
			c.build()
		})
	}
}
