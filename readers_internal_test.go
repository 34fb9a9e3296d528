// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// A writer waits for the readers that are in, and those that come meanwhile wait for the writer.
func TestReadersLock(t *testing.T) {
	var l readersLock
	first, second := l.enter(1), l.enter(1+readerSlots) // in the same slot
	leaveFirst, leaveSecond := sync.OnceFunc(first.leave), sync.OnceFunc(second.leave)
	wrote, end, read := make(chan bool, 1), make(chan bool), make(chan reader, 2)
	finish := sync.OnceFunc(func() { close(end) })
	defer func() { leaveFirst(); leaveSecond(); finish() }() // a failure leaves nobody behind
	eventually := func(what string, so func() bool) {
		t.Helper()
		for n := 0; !so(); n++ {
			if n > 1e7 {
				t.Fatal(what)
			}
			runtime.Gosched()
		}
	}
	nobody := func(when string) {
		t.Helper()
		for range 1000 {
			runtime.Gosched()
		}
		if len(wrote)+len(read) > 0 {
			t.Fatalf("%d writers and %d readers are in %s", len(wrote), len(read), when)
		}
	}
	go func() {
		l.Lock()
		wrote <- true
		<-end
		l.Unlock()
	}()
	eventually("no writer comes", l.writing.Load)
	leaveFirst()
	go func() { read <- l.enter(2) }()
	nobody("beside the second reader")
	leaveSecond()
	eventually("the writer does not come in", func() bool { return len(wrote) == 1 })
	<-wrote
	go func() { read <- l.enter(3) }()
	nobody("beside the writer")
	finish()
	eventually("the readers do not come in", func() bool { return len(read) == 2 })
	(<-read).leave()
	(<-read).leave()
	l.checkEmpty(t)
}

func (l *readersLock) checkEmpty(t *testing.T) {
	t.Helper()
	for i := range l.slots {
		if n := l.slots[i].n.Load(); n != 0 {
			t.Errorf("slot %d: %d readers are left", i, n)
		}
	}
	if l.writing.Load() {
		t.Error("a writer is left")
	}
}

// The writer's changes are seen whole, and nobody is left waiting.
func TestReadersLockExcludes(t *testing.T) {
	var l readersLock
	var a, b int // equal, but for a writer
	var halves atomic.Int32
	var writers sync.Mutex
	var running sync.WaitGroup
	for g := range 4 {
		running.Go(func() {
			for i := range 20_000 {
				r := l.enter(uint32(g * i))
				if a != b {
					halves.Add(1)
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
	if n := halves.Load(); n > 0 {
		t.Errorf("half a change was seen %d times", n)
	}
	l.checkEmpty(t)
}
