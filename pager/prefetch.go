// SPDX-License-Identifier: Apache-2.0

package pager

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// abandonAfter is how long a list function may take to return once its ctx has ended. One that honours
// its ctx needs far less; one that does not must not hold up its caller.
const abandonAfter = time.Second

// maxPrefetch bounds Options.Prefetch; more pages ahead than this are a full list in disguise.
const maxPrefetch = 100

// prefetcher fetches pages ahead of the walk that takes them. Its goroutine, a producer, runs from the
// first call of next up to the end of the list or a failure, and is started again by the next next.
type prefetcher struct {
	cursor    *cursor
	fetch     fetchFunc
	pages     int // that may exist at a time, the one that is being handled included
	onAbandon func()
	running   *producer // nil: none
	taken     bool      // the walk has a page of running
}

// newPrefetcher returns a prefetcher that moves c.
func newPrefetcher(c *cursor, fetch fetchFunc, o Options) *prefetcher {
	ahead := o.Prefetch
	if ahead == 0 {
		ahead = 1
	}
	return &prefetcher{
		cursor:    c,
		fetch:     fetch,
		pages:     min(max(ahead, 0), maxPrefetch) + 1,
		onAbandon: o.OnAbandon,
	}
}

// next returns the next page or failure. The page that it returned before has been dropped. After a
// failure no producer runs.
func (p *prefetcher) next(ctx context.Context) result {
	if p.running == nil {
		p.running = newProducer(ctx, p.pages)
		p.taken = false
		go p.running.run(p.cursor, p.fetch)
	}
	if p.taken {
		<-p.running.slots
		p.taken = false
	}
	select {
	case r, ok := <-p.running.results:
		if !ok {
			p.finish()
			return result{err: context.Cause(ctx)} // without a panic it only ends early with ctx
		}
		p.taken = true
		if r.err != nil || r.last {
			p.finish()
		}
		return r
	case <-ctx.Done():
		return result{err: context.Cause(ctx)}
	}
}

// finish waits for a producer that has returned from its last fetch.
func (p *prefetcher) finish() {
	done := p.running
	p.running = nil
	done.cancel()
	for range done.results {
	}
	done.rethrow()
}

// stop ends the producer and waits for it, but not longer than abandonAfter.
func (p *prefetcher) stop() {
	if p.running == nil {
		return
	}
	p.running.cancel()
	timer := time.NewTimer(abandonAfter)
	defer timer.Stop()
	for {
		select {
		case _, ok := <-p.running.results:
			if !ok {
				p.finish()
				return
			}
		case <-timer.C:
			if p.running.state.CompareAndSwap(stateRunning, stateAbandoned) {
				p.abandon()
				return
			}
		}
	}
}

// abandon leaves the producer behind.
func (p *prefetcher) abandon() {
	p.running = nil
	if p.onAbandon != nil {
		p.onAbandon()
	}
}

const (
	stateRunning int32 = iota
	stateFinished
	stateAbandoned // nobody waits for the producer any more
)

// producer is the goroutine of a prefetcher.
type producer struct {
	caller  context.Context // of one walk, as is ctx: the producer does not outlive it
	ctx     context.Context // ends with caller, or when the walk stops
	cancel  context.CancelFunc
	slots   chan struct{} // an element for each page that exists
	results chan result   // has room for every page; closed at the end
	state   atomic.Int32

	// Written before results is closed.
	returned bool        // run came to its end: no panic, no Goexit
	panicked *PanicError // nil: none
}

func newProducer(ctx context.Context, pages int) *producer {
	p := &producer{caller: ctx, slots: make(chan struct{}, pages), results: make(chan result, pages)}
	p.ctx, p.cancel = context.WithCancel(ctx)
	return p
}

// run fetches pages while there is room for them.
func (p *producer) run(c *cursor, fetch fetchFunc) {
	defer p.end()
	for p.room() {
		r := c.take(p.ctx, fetch)
		p.results <- r
		if r.err != nil || r.last {
			break
		}
	}
	p.returned = true
}

// room waits for room for one more page, and reports false if ctx ended first. It looks at both contexts:
// a list function that has seen the caller's end may return before that has ended ctx.
func (p *producer) room() bool {
	select {
	case p.slots <- struct{}{}:
		return p.caller.Err() == nil && p.ctx.Err() == nil
	case <-p.ctx.Done():
		return false
	}
}

// end is deferred by run. It keeps a panic for the walk, or lets it go on if no walk waits any more.
func (p *producer) end() {
	if !p.returned {
		if value := recover(); value != nil {
			p.panicked = &PanicError{Value: value, Stack: debug.Stack()}
		}
	}
	abandoned := !p.state.CompareAndSwap(stateRunning, stateFinished)
	close(p.results)
	if abandoned && p.panicked != nil {
		panic(p.panicked)
	}
}

// rethrow does in the walk's goroutine what ended the producer: a panic, or runtime.Goexit, which is
// how a test's Fatal leaves a list function. Only after results was closed.
func (p *producer) rethrow() {
	if p.panicked != nil {
		panic(p.panicked)
	}
	if !p.returned {
		runtime.Goexit()
	}
}
