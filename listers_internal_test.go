// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRestAfter(t *testing.T) {
	for _, c := range []struct{ waited, want time.Duration }{
		{0, 0}, {time.Millisecond, time.Millisecond}, {longWait - 1, longWait - 1},
		{longWait, 8 * longWait}, {time.Second, maxRest}, {time.Minute, time.Minute},
	} {
		if got := restAfter(c.waited); got != c.want {
			t.Errorf("restAfter(%v) = %v, want %v", c.waited, got, c.want)
		}
	}
}

// A rest that was said to be longer stays.
func TestListersRest(t *testing.T) {
	var l listers
	for _, c := range []struct{ until, want time.Duration }{{5, 5}, {3, 5}, {9, 9}, {-1, 9}} {
		if l.rest(c.until); l.rests.Load() != int64(c.want) {
			t.Errorf("after rest(%d) until %d, want %d", c.until, l.rests.Load(), c.want)
		}
	}
}

// A large list beside others is to give way, unless the listers rest.
func TestListersDue(t *testing.T) {
	for _, c := range []struct {
		name        string
		rows        int
		others      int32
		rests, want bool
	}{
		{name: "beside one", rows: largeList, others: 1, want: true},
		{name: "beside many", rows: largeList, others: 9, want: true},
		{name: "alone", rows: largeList},
		{name: "small", rows: largeList - 1, others: 9},
		{name: "rests", rows: largeList, others: 9, rests: true},
	} {
		l := listers{began: time.Now()}
		l.n.Store(c.others)
		if c.rests {
			l.rests.Store(int64(time.Hour))
		}
		g, due := l.begin(c.rows), false
		if g != nil {
			_, due = g.due()
		}
		if due != c.want {
			t.Errorf("%s: due is %v", c.name, due)
		}
		if g.end(); l.n.Load() != c.others {
			t.Errorf("%s: %d listers at the end, want the %d others", c.name, l.n.Load(), c.others)
		}
	}
}

// Every method that returns a slice lets who waits for the processor run, but for Keys, which a queue
// calls under its lock.
func TestListersGiveWay(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	type object = *metav1.PartialObjectMetadata
	store := NewStore(StoreOptions[object]{Indexers: Indexers[object]{
		"one": func(object) ([]string, error) { return []string{"value"}, nil },
		"own": func(m object) ([]string, error) { return []string{m.Name}, nil },
	}})
	objects, names := make([]object, largeList), make([]string, largeList)
	for i := range objects {
		names[i] = fmt.Sprint(i)
		objects[i] = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: names[i]}}
	}
	if err := store.Replace(context.Background(), objects, "1"); err != nil {
		t.Fatal(err)
	}
	l := &store.s.listers
	l.n.Store(1) // another one
	for name, list := range map[string]func(){
		"List":                 func() { store.List() },
		"ByIndex":              func() { _, _ = store.ByIndex("one", "value") },
		"IndexKeys":            func() { _, _ = store.IndexKeys("one", "value") },
		"ByIndexValues":        func() { _, _ = store.ByIndexValues("one", "value") },
		"ByIndexValues of one": func() { _, _ = store.ByIndexValues("own", names...) },
		"IndexValues":          func() { _, _ = store.IndexValues("own") },
	} {
		var ran atomic.Bool
		// Now and then, the scheduler goes on with who gave way.
		for tries := 0; !ran.Load(); tries++ {
			if tries == 10 {
				t.Fatalf("in %d calls of %s, no other goroutine has run", tries, name)
			}
			l.rests.Store(0)
			var done atomic.Bool
			var other sync.WaitGroup
			other.Go(func() { // may run before the list too, if that takes longer than a time slice
				for ; !done.Load() && !ran.Load(); runtime.Gosched() {
					ran.Store(l.n.Load() == 2)
				}
			})
			list()
			done.Store(true)
			other.Wait()
		}
		if n := l.n.Load(); n != 1 {
			t.Errorf("%d listers after %s, want the other one", n, name)
		}
	}
}
