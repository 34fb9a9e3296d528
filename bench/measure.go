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
	events  int           // through an informer
	late    int           // objects that a late handler is shown
	updates int           // of 1,000 keys, before a blocked handler
	small   int           // objects that growth is measured from
	large   int           // and to
	listing time.Duration // how long four goroutines list
}

func scaleOf(quick bool) scale {
	if quick {
		return scale{
			runs: 5, objects: 20_000, events: 20_000, late: 20_000, updates: 50_000, small: 10_000, large: 40_000,
			listing: 200 * time.Millisecond,
		}
	}
	return scale{
		runs: 7, objects: 100_000, events: 100_000, late: 200_000, updates: 1_000_000, small: 10_000, large: 1_000_000,
		listing: 500 * time.Millisecond,
	}
}

// part is a group of rows that can be asked for alone.
type part struct {
	name string
	rows func(scale) ([]row, error)
}

// parts need no server: both sides run in this process.
var parts = []part{
	{"store", storeRows}, {"replace", replaceRows}, {"memory", memoryRows},
	{"events", eventRows}, {"handlers", handlerRows}, {"idle", idleRows}, {"late", lateRows},
	{"resync", resyncRows}, {"blocked", blockedRows}, {"growth", growthRows}, {"binary", binaryRows},
}

// inProcess measures one part, or all of them for "".
func inProcess(s scale, only string) ([]row, error) {
	var rows []row
	for _, p := range parts {
		if only != "" && only != p.name {
			continue
		}
		more, err := p.rows(s)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// measurement is one run of one side.
type measurement func() float64

// medians runs two sides in turn, and lets the other one begin each time.
func medians(runs int, ours, theirs measurement) (a, b float64) {
	var all [2][]float64
	sides := [2]measurement{ours, theirs}
	for n := range 2 * runs {
		side := (n + n/2) % 2
		all[side] = append(all[side], sides[side]())
	}
	return median(all[0]), median(all[1])
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// live returns the bytes of the heap that are in use.
func live() float64 {
	runtime.GC()
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
