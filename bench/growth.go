// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// grown are the figures of one number of objects, an object.
type grown struct {
	work         string
	ours, theirs float64 // ns
}

// growthRows compares what an object costs among few and among many.
func growthRows(s scale) ([]row, error) {
	few, fewBytes := grow(s.small)
	many, manyBytes := grow(s.large)
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

func grow(n int) (all []grown, bytes float64) {
	const runs = 5
	pods, next := barePods(n, 1), barePods(n, 2*n)
	each := func(took float64) float64 { return took / float64(n) }
	sync := grown{work: "sync"}
	sync.ours, sync.theirs = medians(runs,
		func() float64 {
			return each(perCall(1, func(int) { runtime.KeepAlive(ourStore(pods, byNamespace, byNode)) }))
		},
		func() float64 {
			return each(perCall(1, func(int) { runtime.KeepAlive(theirStore(pods, byNamespace, byNode)) }))
		})
	before := live()
	ours := ourStore(pods, byNamespace, byNode)
	bytes = (live() - before) / float64(n)
	theirs := theirStore(pods, byNamespace, byNode)
	p := &pair{n: n, ours: ours, theirs: theirs, states: [2][]*corev1.Pod{pods, next}}
	return append([]grown{sync}, p.grown(runs)...), bytes
}

func (p *pair) grown(runs int) []grown {
	calls := min(p.n, 50_000)
	update := grown{work: "update"}
	scattered := operation{
		calls: calls, goroutines: 1,
		ours:   func(i int) { must(p.ours.Update(context.Background(), p.scattered(i))) },
		theirs: func(i int) { must(p.theirs.Update(p.scattered(i))) },
	}
	update.ours, update.theirs = medians(runs, scattered.measure(scattered.ours), scattered.measure(scattered.theirs))
	list := grown{work: "list"}
	repeat := max(1, 100_000/p.n)
	list.ours, list.theirs = medians(runs,
		func() float64 { runtime.GC(); return perCall(repeat, func(int) { p.ours.List() }) / float64(p.n) },
		func() float64 { runtime.GC(); return perCall(repeat, func(int) { p.theirs.List() }) / float64(p.n) })
	index := grown{work: "index reads"}
	of := float64(p.count(byNode, "node-7"))
	index.ours, index.theirs = medians(runs,
		func() float64 {
			return perCall(500, func(i int) { _, _ = p.ours.ByIndex(byNode, node(i, p.n)) }) / of
		},
		func() float64 {
			return perCall(500, func(i int) { _, _ = p.theirs.ByIndex(byNode, node(i, p.n)) }) / of
		})
	return []grown{update, list, index}
}

// binaryRows builds the smallest useful program of each side, stripped.
func binaryRows(scale) ([]row, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var megabytes, packages [2]float64
	for n, program := range []string{"./smallest/ours", "./smallest/clientgo"} {
		if megabytes[n], err = binarySize(program, filepath.Join(dir, "program")); err != nil {
			return nil, err
		}
		if packages[n], err = dependencies(program); err != nil {
			return nil, err
		}
	}
	work := "smallest useful program: "
	return []row{
		atMost(0.42, row{Work: work + "binary, stripped", Unit: "MB", Ours: megabytes[0], ClientGo: megabytes[1]}),
		atMost(0.3, row{Work: work + "packages outside the standard library", Ours: packages[0], ClientGo: packages[1]}),
	}, nil
}

func binarySize(program, out string) (megabytes float64, err error) {
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", out, program)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return 0, fmt.Errorf("build %s: %w", program, err)
	}
	info, err := os.Stat(out)
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / 1e6, nil
}

func dependencies(program string) (float64, error) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", program).Output()
	if err != nil {
		return 0, fmt.Errorf("list %s: %w", program, err)
	}
	return float64(len(strings.Fields(string(out)))), nil
}
