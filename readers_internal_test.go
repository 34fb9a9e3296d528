// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"runtime"
	"sync"
	"testing"
)

// A writer waits for the readers that are in, and those that come meanwhile wait for the writer.
func TestReadersLock(t *testing.T) {
	var l readersLock
	first, second := l.enter(1), l.enter(1+readerSlots) // in the same slot
	wrote, end, read := make(chan bool), make(chan bool), make(chan reader)
	none := func(when string) {
		t.Helper()
		for range 1000 {
			runtime.Gosched()
		}
		select {
		case <-wrote:
			t.Fatal("a writer is in " + when)
		case <-read:
			t.Fatal("a reader is in " + when)
		default:
		}
	}
	go func() {
		l.Lock()
		wrote <- true
		<-end
		l.Unlock()
	}()
	for !l.writing.Load() {
		runtime.Gosched()
	}
	first.leave()
	go func() { read <- l.enter(2) }()
	none("beside the second reader")
	second.leave()
	<-wrote
	go func() { read <- l.enter(3) }()
	none("beside the writer")
	end <- true
	third, fourth := <-read, <-read
	third.leave()
	fourth.leave()
	l.Lock() // returns
	for i := range l.slots {
		if n := l.slots[i].n.Load(); n != 0 {
			t.Errorf("slot %d: %d readers", i, n)
		}
	}
	l.Unlock()
}

// The writer's changes are seen whole, and nobody is left waiting.
func TestReadersLockExcludes(t *testing.T) {
	var l readersLock
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
}
