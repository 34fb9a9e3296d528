// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/informerkit/informer"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

const (
	byNamespace = "namespace"
	byNode      = "node"
	byUID       = "uid"
)

const (
	perNamespace = 2000 // pods
	perNode      = 200
)

// barePod is one of n, and has what stores and indexes look at, and nothing else: a
// store's own time and memory do not depend on the rest.
func barePod(i, n, version int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("namespace-%d", i%max(n/perNamespace, 1)), Name: fmt.Sprintf("pod-%07d", i),
			UID:             types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i)),
			ResourceVersion: fmt.Sprint(version + i),
		},
		Spec: corev1.PodSpec{NodeName: node(i, n)},
	}
}

func node(i, n int) string { return fmt.Sprintf("node-%d", i%max(n/perNode, 1)) }

func barePods(n, version int) []*corev1.Pod {
	out := make([]*corev1.Pod, n)
	for i := range out {
		out[i] = barePod(i, n, version)
	}
	return out
}

// scattered is a permutation that leaves no two neighbours together.
func scattered(i, n int) int { return i * 7919 % n }

func podValues(name string) func(p *corev1.Pod) []string {
	switch name {
	case byNamespace:
		return func(p *corev1.Pod) []string { return []string{p.Namespace} }
	case byNode:
		return func(p *corev1.Pod) []string { return []string{p.Spec.NodeName} }
	}
	return func(p *corev1.Pod) []string { return []string{string(p.UID)} }
}

func ourStore(pods []*corev1.Pod, indexes ...string) *informer.Store[*corev1.Pod] {
	indexers := informer.Indexers[*corev1.Pod]{}
	for _, name := range indexes {
		values := podValues(name)
		indexers[name] = func(p *corev1.Pod) ([]string, error) { return values(p), nil }
	}
	s := informer.NewStore(informer.StoreOptions[*corev1.Pod]{Indexers: indexers})
	must(s.Replace(context.Background(), pods, "1"))
	return s
}

func theirStore(pods []*corev1.Pod, indexes ...string) cache.Indexer {
	indexers := cache.Indexers{}
	for _, name := range indexes {
		values := podValues(name)
		indexers[name] = func(obj any) ([]string, error) { return values(obj.(*corev1.Pod)), nil }
	}
	s := cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
	must(s.Replace(boxed(pods), "1"))
	return s
}

// bothStores builds one of each side, at the same time: nobody takes the time.
func bothStores(pods []*corev1.Pod) (ours *informer.Store[*corev1.Pod], theirs cache.Indexer) {
	var building sync.WaitGroup
	building.Go(func() { theirs = theirStore(pods, byNamespace, byNode) })
	ours = ourStore(pods, byNamespace, byNode)
	building.Wait()
	return ours, theirs
}

func boxed(pods []*corev1.Pod) []any {
	out := make([]any, len(pods))
	for i, p := range pods {
		out[i] = p
	}
	return out
}

// must is for what fails only if the benchmark is wrong.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// pair is one store of each side with the same objects.
type pair struct {
	n       int
	ours    *informer.Store[*corev1.Pod]
	theirs  cache.Indexer
	keys    []string // scattered, strings of their own
	version int      // the newest objects have this plus their number
}

func newPair(n int) *pair {
	pods := barePods(n, 1)
	p := &pair{n: n, version: 1}
	p.ours, p.theirs = bothStores(pods)
	for i := range n {
		pod := pods[scattered(i, n)]
		p.keys = append(p.keys, pod.Namespace+"/"+pod.Name)
	}
	return p
}

// operation is one call of each side.
type operation struct {
	work         string
	goal         float64
	calls        int // a run
	ours, theirs func(i int)
	goroutines   int
	span         int             // of what calls go through, one after the other
	objects      int             // of a call, to divide by; 0: a call counts
	large        bool            // allocates pages, see settle
	prepare      func(first int) // makes what a run needs that begins with call first; nil: nothing
}

// reads are what leaves the stores as they are.
func (p *pair) reads() []operation {
	get := operation{
		work: "store: Get, one goroutine", goal: 1.05, calls: 10_000, goroutines: 1, span: p.n,
		ours:   func(i int) { p.ours.Get(p.keys[i%p.n]) },
		theirs: func(i int) { _, _, _ = p.theirs.GetByKey(p.keys[i%p.n]) },
	}
	many := get
	many.work, many.goroutines, many.calls = "store: Get, 8 goroutines", 8, 5000
	byIndex := func(index, value string, goal float64) operation {
		return operation{
			work: fmt.Sprintf("store: ByIndex of %s", thousands(p.count(index, value))), goal: goal, calls: 20, goroutines: 1, large: true, span: p.n,
			ours:   func(int) { _, _ = p.ours.ByIndex(index, value) },
			theirs: func(int) { _, _ = p.theirs.ByIndex(index, value) },
		}
	}
	return []operation{
		get, many,
		{
			work: "store: List of " + thousands(p.n), goal: 0.25, calls: 2, goroutines: 1, large: true, span: p.n,
			ours: func(int) { p.ours.List() }, theirs: func(int) { p.theirs.List() },
		},
		byIndex(byNamespace, "namespace-3", 0.12), byIndex(byNode, "node-7", 0.12),
	}
}

// update replaces objects by newer ones, which were made just before, as by a decoder, and are in
// the processor's cache as far as that goes; order says which object update i replaces.
func (p *pair) update(order func(i, n int) int) operation {
	const calls = 2000
	ctx, next := context.Background(), make([]*corev1.Pod, calls)
	return operation{
		work: "store: update with 2 indexes", goal: 0.5, calls: calls, goroutines: 1, span: p.n,
		prepare: func(first int) {
			p.version += p.n
			for i := first; i < first+calls; i++ {
				next[i%calls] = barePod(order(i%p.n, p.n), p.n, p.version)
			}
		},
		ours:   func(i int) { must(p.ours.Update(ctx, next[i%calls])) },
		theirs: func(i int) { must(p.theirs.Update(next[i%calls])) },
	}
}

func inOrder(i, _ int) int { return i }

func (p *pair) count(index, value string) int {
	found, err := p.ours.ByIndex(index, value)
	must(err)
	return len(found)
}

// medians runs both sides.
func (o operation) medians(runs int) (ours, theirs float64) {
	both := o.sides()
	return medians(runs, both[0], both[1])
}

// sides measure both sides. Each run goes on where the one before has ended, and the sides are half of
// all that is gone through apart, so that what one has touched does not wait in the cache for the other.
func (o operation) sides() [2]measurement {
	return [2]measurement{o.measure(o.ours, 0), o.measure(o.theirs, o.span/2)}
}

// measure returns what runs one side; its first run begins with call number start.
func (o operation) measure(call func(i int), start int) measurement {
	return func() float64 {
		from := start
		start += o.calls
		if o.prepare != nil {
			o.prepare(from)
		}
		if o.goroutines == 1 {
			return alone(o.calls, func(i int) { call(from + i) }) / float64(max(o.objects, 1))
		}
		return together(o.goroutines, o.calls, func(g, i int) { call(from + i + g*1009) })
	}
}

// settle calls both sides of a large operation in turn until the heap was collected twice. From
// then on its memory was in use before; new memory is paid to the kernel, which may cost more than
// the call.
func (o operation) settle() {
	if !o.large {
		return
	}
	for i, first := 0, collections(); collections() < first+2; {
		for range o.calls {
			o.ours(i)
			o.theirs(i)
			i++
		}
	}
}

// collections is how often the heap was collected so far.
func collections() uint64 {
	sample := [1]metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(sample[:])
	return sample[0].Value.Uint64()
}

// together returns the mean processor time of n calls by each of several goroutines, in
// nanoseconds. Waiting for a memory that another processor changes is in it; time on the
// clock would be that of other programs, too, which may take one of the processors.
func together(goroutines, n int, call func(g, i int)) float64 {
	var running sync.WaitGroup
	began := processTime()
	for g := range goroutines {
		running.Go(func() {
			for i := range n {
				call(g, i)
			}
		})
	}
	running.Wait()
	return float64(processTime()-began) / float64(n*goroutines)
}

// alone returns the mean processor time of n calls in nanoseconds.
func alone(n int, call func(i int)) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	look := lookTime()
	began := threadTime()
	for i := range n {
		call(i)
	}
	return float64(threadTime()-began-look) / float64(n)
}

// lookTime is what it takes to look at the clock of a thread, in which the kernel is asked: half a
// microsecond, a twentieth of 20 short index reads.
var lookTime = sync.OnceValue(func() time.Duration {
	looks := make([]float64, 101)
	for i := range looks {
		began := threadTime()
		looks[i] = float64(threadTime() - began)
	}
	return time.Duration(median(looks))
})

func storeRows(s scale) ([]row, error) {
	var rows []row
	measure := func(operations []operation) {
		for _, o := range operations {
			runtime.GC()
			o.settle()
			r := row{Work: o.work, Unit: "ns"}
			// Many short runs: one that others disturb is then one of many.
			r.Ours, r.ClientGo = o.medians(8*s.runs + 1)
			rows = append(rows, atMost(o.goal, r))
		}
	}
	pair := newPair(s.objects)
	measure(pair.reads())
	anyOrder := pair.update(scattered)
	anyOrder.work += ", in no order"
	measure([]operation{pair.update(inOrder), anyOrder})
	return append(rows, listerRows(s)...), nil
}

// writerPause is between two updates beside the listers.
const writerPause = time.Millisecond

// listed is what four goroutines that list without pause let a writer do.
type listed struct{ latency, lists []float64 }

// run counts for a period at least, once the heap has the size that these lists give it: from the end
// of one collection to that of another, so that each list has its part of the collector's work.
func (l *listed) run(period time.Duration, list func(), update func(i int)) {
	var stop atomic.Bool
	var lists atomic.Int64
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for !stop.Load() {
				list()
				lists.Add(1)
			}
		})
	}
	for first := collections(); collections() < first+2; {
		time.Sleep(writerPause)
	}
	lists.Store(0)
	var total, elapsed time.Duration
	var made int64 // lists until then
	began, n, last := time.Now(), 0, collections()
	for ; elapsed < period || collections() == last; n++ {
		start := time.Now()
		update(n)
		total += time.Since(start)
		time.Sleep(writerPause)
		if elapsed < period {
			last = collections()
		}
		made, elapsed = lists.Load(), time.Since(began)
	}
	rate := float64(made) / elapsed.Seconds()
	stop.Store(true)
	running.Wait()
	l.latency = append(l.latency, float64(total.Microseconds())/float64(n))
	l.lists = append(l.lists, rate)
}

// listerRows have 100,000 objects in a quick run too: of fewer, the garbage of the lists is
// collected a hundred times a second, and the writer waits for that. A run has the store of its
// side alone, as a program has: what the collector marks for each list then is its own.
func listerRows(s scale) []row {
	const n = 100_000
	pods := barePods(n, 1)
	newer := make([]*corev1.Pod, s.listing/writerPause)
	for i := range newer {
		newer[i] = barePod(scattered(i, n), n, n)
	}
	var sides [2]listed
	for i := range 2 * s.runs {
		side := turn(i%2, i/2, 2)
		var list func()
		var update func(p *corev1.Pod) error
		if side == 0 {
			store := ourStore(pods, byNamespace, byNode)
			list = func() { store.List() }
			update = func(p *corev1.Pod) error { return store.Update(context.Background(), p) }
		} else {
			store := theirStore(pods, byNamespace, byNode)
			list = func() { store.List() }
			update = func(p *corev1.Pod) error { return store.Update(p) }
		}
		sides[side].run(s.listing, list, func(i int) { must(update(newer[i%len(newer)])) })
	}
	a, b := sides[0], sides[1]
	work := fmt.Sprintf("store: 4 goroutines list %s without pause, ", thousands(n))
	return []row{
		atMost(0.03, row{Work: work + "writer's mean latency", Unit: "µs", Ours: median(a.latency), ClientGo: median(b.latency)}),
		atLeast(5, row{Work: work + "lists", Unit: "1/s", Ours: median(a.lists), ClientGo: median(b.lists)}),
	}
}

// longestWait returns how long the slowest of many Gets took while replace ran, in µs.
func longestWait(replace, get func()) float64 {
	var stop atomic.Bool
	started := make(chan struct{})
	longest := make(chan time.Duration)
	go func() {
		var worst time.Duration
		close(started)
		for !stop.Load() {
			start := time.Now()
			get()
			worst = max(worst, time.Since(start))
			time.Sleep(20 * time.Microsecond)
		}
		longest <- worst
	}()
	<-started
	replace()
	stop.Store(true)
	return float64((<-longest).Microseconds())
}

// replaceRows replaces all objects by newer ones.
func replaceRows(s scale) ([]row, error) {
	pods, next := barePods(s.whole, 1), barePods(s.whole, 2*s.whole)
	list := boxed(next)
	key := pods[7].Namespace + "/" + pods[7].Name
	ours := func() float64 {
		store := ourStore(pods, byNamespace, byNode)
		runtime.GC()
		return longestWait(func() { must(store.Replace(context.Background(), next, "2")) }, func() { store.Get(key) })
	}
	theirs := func() float64 {
		store := theirStore(pods, byNamespace, byNode)
		runtime.GC()
		return longestWait(func() { must(store.Replace(list, "2")) }, func() { _, _, _ = store.GetByKey(key) })
	}
	r := row{Work: fmt.Sprintf("store: reader's longest wait during a Replace of %s", thousands(s.whole)), Unit: "µs"}
	r.Ours, r.ClientGo = medians(s.runs, ours, theirs)
	return []row{atMost(0.02, r)}, nil
}

// memoryRows weighs stores without their objects.
func memoryRows(s scale) ([]row, error) {
	pods := barePods(s.objects, 1)
	weigh := func(indexes ...string) (a, b float64) {
		return medians(s.runs,
			weight(s.objects, func() any { return ourStore(pods, indexes...) }),
			weight(s.objects, func() any { return theirStore(pods, indexes...) }))
	}
	two := row{Work: fmt.Sprintf("store: memory beside %s objects, 2 indexes", thousands(s.objects)), Unit: "B/object"}
	two.Ours, two.ClientGo = weigh(byNamespace, byNode)
	ours, theirs := weigh()
	alone := row{Work: "store: memory of an index with one object a value", Unit: "B/object"}
	alone.Ours, alone.ClientGo = weigh(byUID)
	alone.Ours, alone.ClientGo = alone.Ours-ours, alone.ClientGo-theirs
	return []row{atMost(0.5, two), atMost(0.3, alone)}, nil
}

// weight returns the bytes an object that build adds to the heap.
func weight(n int, build func() any) measurement {
	return func() float64 {
		before := heap() // nothing here is pooled
		built := build()
		after := heap()
		runtime.KeepAlive(built)
		return (after - before) / float64(n)
	}
}
