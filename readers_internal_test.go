// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"runtime"
	"sync"
	"testing"
)

// A writer waits for the readers that are in, readers for the writer, and those that met it come
// before the next writer.
func TestReadersLock(t *testing.T) {
	var l readersLock
	first, second := l.enter(1), l.enter(1+readerSlots) // in the same slot
	wrote, end := make(chan int), make(chan bool)
	go func() {
		for i := range 2 {
			l.Lock()
			wrote <- i
			<-end
			l.Unlock()
		}
	}()
	await := func(so func() bool) {
		for !so() {
			runtime.Gosched()
		}
	}
	await(l.writing.Load)
	first.leave()
	read := make(chan reader)
	enter := func(hash uint32) { read <- l.enter(hash) }
	go enter(2) // meets the writer, who waits for the second one
	await(func() bool { return l.waiting.Load() == 1 })
	none := func(when string) {
		t.Helper()
		select {
		case <-wrote:
			t.Fatal("a writer is in " + when)
		case <-read:
			t.Fatal("a reader is in " + when)
		default:
		}
	}
	none("beside the second reader")
	second.leave()
	if i := <-wrote; i != 0 {
		t.Fatalf("write %d", i)
	}
	go enter(3)
	await(func() bool { return l.waiting.Load() == 2 })
	none("beside the writer")
	end <- true
	third, fourth := <-read, <-read // and not the next write
	none("beside two readers")
	third.leave()
	fourth.leave()
	if i := <-wrote; i != 1 {
		t.Fatalf("write %d", i)
	}
	end <- true
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
	if n := l.waiting.Load(); n != 0 || l.writing.Load() {
		t.Errorf("%d wait, writing %v", n, l.writing.Load())
	}
}
