// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// A writer waits for the readers that are in, readers for the writer, and those that met it come
// before the next writer.
func TestReadersLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newReadersLock()
		events := make(chan string, 10)
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			var got []string
			for range len(events) {
				got = append(got, <-events)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%v, want %v", got, want)
			}
		}
		var ends [6]chan struct{}
		for i := range ends {
			ends[i] = make(chan struct{})
		}
		read := func(hash uint32, end <-chan struct{}) {
			r := l.enter(hash)
			events <- "read"
			<-end
			r.leave()
		}
		write := func(end <-chan struct{}) {
			l.Lock()
			events <- "write"
			<-end
			l.Unlock()
		}
		go read(1, ends[0])
		go read(1+readerSlots, ends[1]) // in the same slot
		expect("read", "read")
		go func() { write(ends[2]); write(ends[3]) }()
		expect()
		go read(2, ends[4])
		expect() // the writer came before
		close(ends[0])
		expect()
		close(ends[1])
		expect("write")
		go read(2, ends[5])
		expect()
		close(ends[2])
		expect("read", "read") // and not the next write
		close(ends[4])
		expect()
		close(ends[5])
		expect("write")
		close(ends[3])
		expect()
	})
}

// The writer's changes are seen whole, and nobody is left waiting.
func TestReadersLockExcludes(t *testing.T) {
	l := newReadersLock()
	var a, b int // equal, but for a writer
	var writers sync.Mutex
	var running sync.WaitGroup
	for g := range 4 {
		running.Go(func() {
			for i := range 20_000 {
				r := l.enter(uint32(g * i))
				if a != b {
					t.Error("half a change was seen")
				}
				r.leave()
			}
		})
	}
	for range 2 {
		running.Go(func() {
			for range 5000 {
				writers.Lock()
				l.Lock()
				a++
				b++
				l.Unlock()
				writers.Unlock()
			}
		})
	}
	running.Wait()
	if a != 10_000 || b != 10_000 {
		t.Errorf("%d and %d writes", a, b)
	}
	for i := range l.slots {
		if n := l.slots[i].n.Load(); n != 0 {
			t.Errorf("slot %d: %d readers left", i, n)
		}
	}
	if n := l.waiting.Load(); n != 0 || l.writer.Load() != absent {
		t.Errorf("%d wait, writer %d", n, l.writer.Load())
	}
}
