// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"runtime"

	corev1 "k8s.io/api/core/v1"
)

// growthRows compares what an object costs among few and among many. Both sizes are measured in
// turn, as the two sides are: where the machine is slow for a while, it is so for all four. So all
// of them also take their memory from one heap, and find in the processor's cache what the others
// have left of theirs.
func growthRows(s scale) ([]row, error) {
	few, many := barePods(s.small, 1), barePods(s.large, 1)
	span := fmt.Sprintf("from %s to %s objects: ", thousands(s.small), thousands(s.large))
	grown := func(work string, runs int, ofFew, ofMany [2]measurement) row {
		ns := inTurn(runs, ofFew[0], ofFew[1], ofMany[0], ofMany[1])
		return atMost(1, row{Work: span + "growth of " + work, Unit: "times", Ours: ns[2] / ns[0], ClientGo: ns[3] / ns[1]})
	}
	sync := grown("sync", s.runs, syncs(few), syncs(many))
	small, smallBytes := weighed(few)
	large, largeBytes := weighed(many)
	bytes := row{Work: span + "bytes an object, ours of many to ours of few", Ours: largeBytes / smallBytes}
	rows := []row{within(1.2, bytes), sync}
	ofMany := large.growing()
	for i, o := range small.growing() {
		runtime.GC()
		ofMany[i].settle()
		rows = append(rows, grown(o.work, 8*s.runs+1, o.sides(), ofMany[i].sides()))
	}
	return rows, nil
}

// syncs measure the first list into a store of each side, an object.
func syncs(pods []*corev1.Pod) [2]measurement {
	sync := func(build func()) measurement {
		return func() float64 { return alone(1, func(int) { build() }) / float64(len(pods)) }
	}
	return [2]measurement{
		sync(func() { runtime.KeepAlive(ourStore(pods, byNamespace, byNode)) }),
		sync(func() { runtime.KeepAlive(theirStore(pods, byNamespace, byNode)) }),
	}
}

// weighed returns one store of each side, and the bytes of ours an object.
func weighed(pods []*corev1.Pod) (p *pair, bytes float64) {
	p = &pair{n: len(pods), version: 1}
	before := live()
	p.ours = ourStore(pods, byNamespace, byNode)
	bytes = (live() - before) / float64(p.n)
	p.theirs = theirStore(pods, byNamespace, byNode)
	return p, bytes
}

// growing is what only becomes dearer because there is more memory to wait for.
func (p *pair) growing() []operation {
	nodes := make([]string, max(p.n/perNode, 1))
	for i := range nodes {
		nodes[i] = node(scattered(i, len(nodes)), p.n)
	}
	update := p.update(scattered)
	update.work = "update"
	return []operation{
		update,
		{
			work: "list", calls: max(1, 20_000/p.n), goroutines: 1, large: true, span: p.n, objects: p.n,
			ours: func(int) { p.ours.List() }, theirs: func(int) { p.theirs.List() },
		},
		{
			work: "index reads", calls: 20, goroutines: 1, large: true, span: len(nodes),
			ours:   func(i int) { _, _ = p.ours.ByIndex(byNode, nodes[i%len(nodes)]) },
			theirs: func(i int) { _, _ = p.theirs.ByIndex(byNode, nodes[i%len(nodes)]) },
		},
	}
}

// binaryRows weighs the smallest useful program of each side, stripped.
func binaryRows(s scale) ([]row, error) {
	var megabytes, packages [2]float64
	for n, side := range sides {
		info, err := os.Stat(s.programs.path("smallest", side))
		if err != nil {
			return nil, err
		}
		megabytes[n] = float64(info.Size()) / 1e6
		packages[n] = s.programs.packages[n]
	}
	work := "smallest useful program: "
	return []row{
		atMost(0.42, row{Work: work + "binary, stripped", Unit: "MB", Ours: megabytes[0], ClientGo: megabytes[1]}),
		atMost(0.3, row{Work: work + "packages outside the standard library", Ours: packages[0], ClientGo: packages[1]}),
	}, nil
}
