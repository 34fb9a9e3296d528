// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// scale is the size of the rows that run in this process.
type scale struct {
	runs    int           // of each side, in turn
	objects int           // in a store
	whole   int           // objects that are replaced, or delivered in a resync
	events  int           // through an informer
	shared  int           // events through an informer with 11 handlers
	crowded int           // and with 50
	late    int           // objects that a late handler is shown
	updates int           // of 1,000 keys, before a blocked handler
	small   int           // objects that growth is measured from
	large   int           // and to
	listing time.Duration // how long four goroutines list at least

	programs *programs // nil: no part of this run needs them
	interned *interned // nil: it is run where it is reported
	laps     *laps
}

func scaleOf(quick bool) scale {
	if quick {
		return scale{
			runs: 5, objects: 20_000, whole: 10_000, events: 10_000, shared: 5_000, crowded: 1_000, late: 20_000, updates: 50_000, small: 10_000, large: 40_000,
			listing: 150 * time.Millisecond,
		}
	}
	return scale{
		runs: 7, objects: 100_000, whole: 100_000, events: 100_000, shared: 100_000, crowded: 50_000, late: 200_000, updates: 1_000_000, small: 10_000, large: 1_000_000,
		listing: 500 * time.Millisecond,
	}
}

// part is a group of rows that can be asked for alone.
type part struct {
	name    string
	rows    func(scale) ([]row, error)
	untimed bool // measures bytes alone, so that compilers, and interned, may run beside it
}

// parts need no server: both sides run in this process.
var parts = []part{
	{name: "store", rows: storeRows}, {name: "replace", rows: replaceRows},
	{name: "memory", rows: memoryRows, untimed: true},
	{name: "events", rows: eventRows}, {name: "handlers", rows: handlerRows},
	{name: "idle", rows: idleRows}, {name: "late", rows: lateRows}, {name: "resync", rows: resyncRows},
	{name: "blocked", rows: blockedRows, untimed: true},
	{name: "growth", rows: growthRows}, {name: "binary", rows: binaryRows},
}

// inProcess measures one part, or all of them for "". It returns once the programs are
// built.
func inProcess(s scale, only string) ([]row, error) {
	rows := make([][]row, len(parts))
	for _, untimed := range []bool{true, false} {
		for i, p := range parts {
			if p.untimed != untimed || only != "" && only != p.name {
				continue
			}
			var err error
			if rows[i], err = p.rows(s); err != nil {
				return nil, err
			}
			s.laps.lap(p.name)
		}
		if err := s.programs.wait(); err != nil {
			return nil, err
		}
		if _, err := s.interned.wait(); err != nil {
			return nil, err
		}
		if untimed {
			s.laps.lap("what ran beside them")
		}
	}
	return slices.Concat(rows...), nil
}

// measurement is one run of one side.
type measurement func() float64

// medians runs two sides in turn, and lets the other one begin each time.
func medians(runs int, ours, theirs measurement) (a, b float64) {
	both := inTurn(runs, ours, theirs)
	return both[0], both[1]
}

// inTurn runs an even number of measurements once a round, and returns their medians. The order is such
// that each begins as often as the others, and comes as often behind any other one: what that has left
// in the cache, and in the heap, is alike for all.
func inTurn(runs int, each ...measurement) []float64 {
	all := make([][]float64, len(each))
	for round := range runs {
		for place := range each {
			i := turn(place, round, len(each))
			all[i] = append(all[i], each[i]())
		}
	}
	out := make([]float64, len(each))
	for i := range out {
		out[i] = median(all[i])
	}
	return out
}

// turn returns whose turn it is, of n: a Williams design, 0 1 3 2, 1 2 0 3, 2 3 1 0, 3 0 2 1 of four.
func turn(place, round, n int) int {
	if place%2 == 1 {
		return ((place+1)/2 + round) % n
	}
	return (n - place/2 + round) % n
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// live returns the bytes of the heap that are in use; the second collection is for what is
// pooled.
func live() float64 {
	runtime.GC()
	return heap()
}

func heap() float64 {
	runtime.GC()
	return float64(stats().HeapAlloc)
}

const megabyte = 1 << 20

func stats() (m runtime.MemStats) {
	runtime.ReadMemStats(&m)
	return m
}

// atMost is a row whose ratio may not be above the goal.
func atMost(goal float64, r row) row {
	r.Goal, r.Ratio = goal, r.Ours/r.ClientGo
	r.Met = r.Ratio <= goal
	return r
}

// atLeast is a row whose ratio may not be below the goal.
func atLeast(goal float64, r row) row {
	r.Goal, r.Ratio, r.Least = goal, r.Ours/r.ClientGo, true
	r.Met = r.Ratio >= goal
	return r
}

// within is a row where ours may not be above the goal, whatever the peer's.
func within(goal float64, r row) row {
	r.Goal = goal
	r.Met = r.Ours <= goal
	return r
}

// thousands writes a number as people do.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
