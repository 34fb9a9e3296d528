// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// pipe is the path of events from a source in memory to the last handler. The events are
// in the channel before the clock starts, and the watch is answered as it starts, so that
// the source costs neither time nor memory.
type pipe struct {
	pods     []*corev1.Pod
	events   []watch.Event // each of another key, so that nothing is merged
	listed   bool          // the pods are in the store before, and the events change them
	handlers int
}

// flow is what one run took, an event.
type flow struct {
	nanoseconds float64
	allocations float64
}

func newPipe(n, handlers int, listed bool) *pipe {
	p := &pipe{listed: listed, handlers: handlers}
	kind := watch.Added
	if listed {
		kind = watch.Modified
		p.pods = barePods(n, 1)
	}
	for _, pod := range barePods(n, 2*n) {
		p.events = append(p.events, watch.Event{Type: kind, Object: pod})
	}
	return p
}

// run takes the events through an informer of one side.
func (p *pipe) run(build func(*memorySource) side) flow {
	source := &memorySource{items: p.pods, events: make(chan watch.Event, len(p.events)), open: make(chan struct{})}
	for _, event := range p.events {
		source.events <- event
	}
	s := build(source)
	var delivered sync.WaitGroup // one for each handler, when it has the last of the events
	for range p.handlers {
		delivered.Add(1)
		left := len(p.events)
		s.handle(func(before, _ *corev1.Pod) {
			if p.listed && before == nil {
				return // of the first list
			}
			if left--; left == 0 {
				delivered.Done()
			}
		}, 0)
	}
	s.run()
	waitSynced(s)
	runtime.GC()
	began, mallocs := time.Now(), stats().Mallocs
	close(source.open)
	delivered.Wait()
	took, n := time.Since(began), float64(len(p.events))
	f := flow{float64(took) / n, float64(stats().Mallocs-mallocs) / n}
	s.stop()
	return f
}

// flows are the medians of both sides.
func (p *pipe) flows(runs int) (ours, theirs flow) {
	var allocations [2][]float64
	measure := func(side int, build func(*memorySource) side) measurement {
		return func() float64 {
			f := p.run(build)
			allocations[side] = append(allocations[side], f.allocations)
			return f.nanoseconds
		}
	}
	ours.nanoseconds, theirs.nanoseconds = medians(runs, measure(0, newOurs), measure(1, newTheirs))
	ours.allocations, theirs.allocations = median(allocations[0]), median(allocations[1])
	return ours, theirs
}

func perSecond(nanoseconds float64) float64 { return 1e9 / nanoseconds }

func eventRows(s scale) ([]row, error) {
	var rows []row
	for _, listed := range []bool{false, true} {
		ours, theirs := newPipe(s.events, 1, listed).flows(s.runs)
		work := "event path: new keys, "
		if listed {
			work = "event path: known keys, "
		}
		rows = append(rows,
			within(1, row{Work: work + "allocations", Unit: "1/event", Ours: ours.allocations, ClientGo: theirs.allocations}),
			atLeast(3, row{Work: work + "events", Unit: "1/s", Ours: perSecond(ours.nanoseconds), ClientGo: perSecond(theirs.nanoseconds)}))
	}
	return rows, nil
}

// handlerRows measures what handlers cost, beyond the first.
func handlerRows(s scale) ([]row, error) {
	const more = 10
	few, fewTheirs := newPipe(s.shared, 1, true).flows(s.runs)
	many, manyTheirs := newPipe(s.shared, 1+more, true).flows(s.runs)
	crowd, crowdTheirs := newPipe(s.crowded, 50, true).flows(5)
	each := row{
		Work: "handlers: each further one", Unit: "ns/event",
		Ours:     (many.nanoseconds - few.nanoseconds) / more,
		ClientGo: (manyTheirs.nanoseconds - fewTheirs.nanoseconds) / more,
	}
	return []row{
		atMost(0.2, each),
		atLeast(5, row{Work: "handlers: 50, events", Unit: "1/s", Ours: perSecond(crowd.nanoseconds), ClientGo: perSecond(crowdTheirs.nanoseconds)}),
	}, nil
}

// idleRows counts goroutines and memory of what has nothing to do.
func idleRows(s scale) ([]row, error) {
	var handlers, bytes, informers [2]float64
	for n, build := range []func(*memorySource) side{newOurs, newTheirs} {
		handlers[n], bytes[n] = idleHandler(build)
		informers[n] = idleInformer(build)
	}
	return []row{
		within(1, row{Work: "idle handler: goroutines", Ours: handlers[0], ClientGo: handlers[1]}),
		within(4096, row{Work: "idle handler: memory with its stack", Unit: "B", Ours: bytes[0], ClientGo: bytes[1]}),
		within(3, row{Work: "idle informer: goroutines", Ours: informers[0], ClientGo: informers[1]}),
	}, nil
}

// idleHandler adds many handlers, which are told of 100 objects and then of nothing.
func idleHandler(build func(*memorySource) side) (goroutines, bytes float64) {
	const count = 1000
	s := build(&memorySource{items: barePods(100, 1), events: make(chan watch.Event)})
	s.handle(func(_, _ *corev1.Pod) {}, 0)
	s.run()
	waitSynced(s)
	before, heap := settled(), live()
	stacks := float64(stats().StackInuse)
	for range count {
		s.handle(func(_, _ *corev1.Pod) {}, 0)
	}
	waitSynced(s)
	after := settled()
	bytes = live() - heap + float64(stats().StackInuse) - stacks
	s.stop()
	return (after - before) / count, bytes / count
}

func idleInformer(build func(*memorySource) side) float64 {
	const count = 10
	before := settled()
	var all []side
	for range count {
		s := build(&memorySource{items: barePods(100, 1), events: make(chan watch.Event)})
		s.run()
		all = append(all, s)
	}
	for _, s := range all {
		waitSynced(s)
	}
	after := settled()
	for _, s := range all {
		s.stop()
	}
	return (after - before) / count
}

// settled returns the number of goroutines once it has stopped changing.
func settled() float64 {
	last, same := runtime.NumGoroutine(), 0
	for same < 20 {
		time.Sleep(2 * time.Millisecond)
		if now := runtime.NumGoroutine(); now != last {
			last, same = now, 0
		} else {
			same++
		}
	}
	return float64(last)
}

// lateRows has a handler join that is shown many objects, while another one is told of
// one change a millisecond.
func lateRows(s scale) ([]row, error) {
	pods := barePods(s.late, 1)
	r := row{Work: fmt.Sprintf("late handler with %s objects: the others' longest wait", thousands(s.late)), Unit: "ms"}
	r.Ours, r.ClientGo = medians(s.runs, lateRun(pods, newOurs), lateRun(pods, newTheirs))
	return []row{atMost(0.05, r)}, nil
}

func lateRun(pods []*corev1.Pod, build func(*memorySource) side) measurement {
	return func() float64 {
		source := &memorySource{items: pods, events: make(chan watch.Event)}
		s := build(source)
		arrived := make(chan time.Time, 1)
		s.handle(func(before, _ *corev1.Pod) {
			if before != nil {
				arrived <- time.Now()
			}
		}, 0)
		s.run()
		waitSynced(s)
		runtime.GC()
		done := make(chan struct{})
		go func() {
			defer close(done)
			time.Sleep(5 * time.Millisecond)
			left := len(pods)
			told := make(chan struct{})
			s.handle(func(_, _ *corev1.Pod) {
				if left--; left == 0 {
					close(told)
				}
			}, 0)
			<-told
		}()
		var longest time.Duration
		for n := 0; ; n++ {
			select {
			case <-done:
				s.stop()
				return float64(longest.Microseconds()) / 1000
			default:
			}
			longest = max(longest, change(source, pods[n], n, arrived))
			time.Sleep(time.Millisecond)
		}
	}
}

// change sends a newer state of a pod and waits until it has arrived.
func change(source *memorySource, pod *corev1.Pod, n int, arrived <-chan time.Time) time.Duration {
	newer := *pod
	newer.ResourceVersion = fmt.Sprint(100_000_000 + n)
	sent := time.Now()
	source.events <- watch.Event{Type: watch.Modified, Object: &newer}
	return (<-arrived).Sub(sent)
}

// resyncRows times a resync from its first delivery to the last. client-go takes no period
// below a second: its informers wait for it together.
func resyncRows(s scale) ([]row, error) {
	const runs = 5
	pods := barePods(s.whole, 1)
	var took, allocated [2][runs]float64
	note := func(side, n int, r *resync) {
		took[side][n], allocated[side][n] = r.wait()
	}
	for n := range runs {
		note(0, n, newResync(pods, newOurs, time.Duration(s.whole)*5*time.Microsecond))
	}
	// The first of them comes when all have started, and each when the one before is over.
	first, apart := max(time.Second, time.Duration(s.whole)*30*time.Microsecond), time.Duration(s.whole)*3*time.Microsecond
	var waiting [runs]*resync
	for n := range waiting {
		waiting[n] = newResync(pods, newTheirs, first+time.Duration(n)*apart)
	}
	for n, r := range waiting {
		note(1, n, r)
	}
	work := fmt.Sprintf("resync of %s to one handler: ", thousands(s.whole))
	return []row{
		atMost(0.5, row{Work: work + "time", Unit: "ms", Ours: median(took[0][:]), ClientGo: median(took[1][:])}),
		within(2, row{Work: work + "memory allocated", Unit: "MB", Ours: median(allocated[0][:]), ClientGo: median(allocated[1][:])}),
	}, nil
}

// resync is an informer that waits for its first resync.
type resync struct {
	side side
	took chan time.Duration
}

func newResync(pods []*corev1.Pod, build func(*memorySource) side, period time.Duration) *resync {
	r := &resync{build(&memorySource{items: pods, events: make(chan watch.Event)}), make(chan time.Duration, 1)}
	left := len(pods)
	var first time.Time
	r.side.handle(func(before, _ *corev1.Pod) {
		if before == nil {
			return
		}
		if left == len(pods) {
			first = time.Now()
		}
		if left--; left == 0 {
			r.took <- time.Since(first)
		}
	}, period)
	r.side.run()
	waitSynced(r.side)
	runtime.GC()
	return r
}

// wait returns how long the resync took, and what was allocated until its end.
func (r *resync) wait() (milliseconds, megabytes float64) {
	before := stats().TotalAlloc
	took := <-r.took
	megabytes = float64(stats().TotalAlloc-before) / megabyte
	r.side.stop()
	return float64(took.Microseconds()) / 1000, megabytes
}

// blockedRows has a handler hang in a call while 1,000 keys change all the time.
func blockedRows(s scale) ([]row, error) {
	r := row{Work: fmt.Sprintf("blocked handler, %s updates of 1,000 keys: heap growth", thousands(s.updates)), Unit: "MB"}
	r.Ours = blocked(s.updates, newOurs)
	r.ClientGo = blocked(min(s.updates, 100_000), newTheirs) // it keeps every object
	return []row{within(1, r)}, nil
}

// blocked returns what a blocked handler adds to the heap, without the objects of the
// first and the last state of each key, which pending changes hold.
func blocked(updates int, build func(*memorySource) side) float64 {
	const keys = 1000
	source := &memorySource{events: make(chan watch.Event)}
	s := build(source)
	release := make(chan struct{})
	s.handle(func(before, _ *corev1.Pod) {
		if before != nil {
			<-release
		}
	}, 0)
	s.run()
	waitSynced(s)
	first, last := barePods(keys, 1), barePods(keys, 100_000_000)
	for _, pod := range first {
		source.events <- watch.Event{Type: watch.Added, Object: pod}
	}
	time.Sleep(50 * time.Millisecond) // told
	before := live()
	for n := range updates - keys {
		newer := *first[n%keys]
		newer.ResourceVersion = fmt.Sprint(10_000_000 + n)
		source.events <- watch.Event{Type: watch.Modified, Object: &newer}
	}
	for _, pod := range last {
		source.events <- watch.Event{Type: watch.Modified, Object: pod}
	}
	time.Sleep(50 * time.Millisecond) // applied
	growth := (live() - before) / megabyte
	close(release)
	s.stop()
	runtime.KeepAlive([][]*corev1.Pod{first, last})
	return growth
}
