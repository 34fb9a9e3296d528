// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"runtime"
)

// grown are the figures of one number of objects, an object.
type grown struct {
	work         string
	ours, theirs float64 // ns
}

// growthRows compares what an object costs among few and among many.
func growthRows(s scale) ([]row, error) {
	few, fewBytes := grow(s.runs, s.small)
	many, manyBytes := grow(s.runs, s.large)
	span := fmt.Sprintf("from %s to %s objects: ", thousands(s.small), thousands(s.large))
	rows := []row{{Work: span + "bytes an object, ours of many to ours of few", Ours: manyBytes / fewBytes}}
	rows[0] = within(1.2, rows[0])
	for i := range few {
		rows = append(rows, atMost(1, row{
			Work: span + "growth of " + few[i].work, Unit: "times",
			Ours: many[i].ours / few[i].ours, ClientGo: many[i].theirs / few[i].theirs,
		}))
	}
	return rows, nil
}

func grow(runs, n int) (all []grown, bytes float64) {
	pods := barePods(n, 1)
	each := func(took float64) float64 { return took / float64(n) }
	sync := grown{work: "sync"}
	sync.ours, sync.theirs = medians(runs,
		func() float64 {
			return each(alone(1, func(int) { runtime.KeepAlive(ourStore(pods, byNamespace, byNode)) }))
		},
		func() float64 {
			return each(alone(1, func(int) { runtime.KeepAlive(theirStore(pods, byNamespace, byNode)) }))
		})
	before := live()
	ours := ourStore(pods, byNamespace, byNode)
	bytes = (live() - before) / float64(n)
	theirs := theirStore(pods, byNamespace, byNode)
	p := &pair{n: n, ours: ours, theirs: theirs, version: 1}
	return append([]grown{sync}, p.grown(runs)...), bytes
}

// grown measures what only becomes dearer because there is more memory to wait for; the
// runs are short and many, and each goes on where the one before has ended.
func (p *pair) grown(runs int) []grown {
	nodes := make([]string, max(p.n/perNode, 1))
	for i := range nodes {
		nodes[i] = node(scattered(i, len(nodes)), p.n)
	}
	update := p.update(scattered)
	update.work = "update"
	list := operation{
		work: "list", calls: max(1, 20_000/p.n), goroutines: 1, large: true,
		ours: func(int) { p.ours.List() }, theirs: func(int) { p.theirs.List() },
	}
	index := operation{
		work: "index reads", calls: 20, goroutines: 1, large: true,
		ours:   func(i int) { _, _ = p.ours.ByIndex(byNode, nodes[i%len(nodes)]) },
		theirs: func(i int) { _, _ = p.theirs.ByIndex(byNode, nodes[i%len(nodes)]) },
	}
	var all []grown
	spans := []int{p.n, p.n, len(nodes)}
	for i, o := range []operation{update, list, index} {
		g := grown{work: o.work}
		runtime.GC()
		o.settle()
		g.ours, g.theirs = o.medians(4*runs+1, spans[i])
		all = append(all, g)
	}
	all[1].ours, all[1].theirs = all[1].ours/float64(p.n), all[1].theirs/float64(p.n)
	return all
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
