// SPDX-License-Identifier: Apache-2.0

// Command bench measures this library beside client-go, with default options and the same
// objects. What needs a server runs in processes of its own, since it is about the memory
// of a process; everything else runs both sides in this one. The sides take turns, and a
// figure is the median of all runs.
//
//	go run .               everything, minutes: table.md, full.json, plot.svg
//	go run . -quick        smaller numbers, and quick.json
//	go run . -only store   one part of it
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) > 2 && os.Args[1] == "serve" {
		exit(serveAlone(ctx, os.Args[2], os.Stdout))
	}
	var c command
	flag.BoolVar(&c.quick, "quick", false, "smaller numbers, and write quick.json")
	flag.StringVar(&c.only, "only", "", "print one part alone: "+partNames())
	draw := flag.String("plot", "", "draw plot.svg of this JSON file, and measure nothing")
	flag.Parse()
	if *draw != "" {
		exit(plot(*draw, "plot.svg"))
	}
	defaultCollector()
	exit(c.run(ctx, os.Stdout))
}

// defaultCollector is that of this process and of those it starts, whatever the environment says:
// figures of lists, and of memory, are the collector's.
func defaultCollector() {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		_ = os.Unsetenv(name)
	}
	debug.SetGCPercent(100)
	debug.SetMemoryLimit(math.MaxInt64)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// size is how much a run measures.
type size struct {
	objects int
	quick   bool // the number of objects of a list is that of its mode
	events  int
	runs    int // of each side
	laps    *laps
}

// withFew is the size of a list that has few objects in a quick run.
func (s size) withFew(few int) size {
	if s.quick {
		s.objects = few
	}
	return s
}

// command is what this program was asked for.
type command struct {
	quick bool
	only  string // part; "": all
	laps  *laps
}

func (c command) run(ctx context.Context, out io.Writer) error {
	if names := partNames(); c.only != "" && !slices.Contains(strings.Split(names, ", "), c.only) {
		return fmt.Errorf("no part is called %q: %s", c.only, names)
	}
	began := time.Now()
	c.laps = newLaps()
	rows, err := c.measure(ctx)
	if err != nil {
		return err
	}
	if err := printTable(out, rows); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d of %d goals met, in %v (seconds: %v)\n", met(rows), len(rows), time.Since(began).Round(time.Second), c.laps)
	switch {
	case c.only != "":
		return nil
	case c.quick:
		return writeJSON("quick.json", rows)
	}
	if err := writeMarkdown("table.md", rows); err != nil {
		return err
	}
	if err := writeJSON("full.json", rows); err != nil {
		return err
	}
	return plot("full.json", "plot.svg")
}

// measure returns the rows that were asked for.
func (c command) measure(ctx context.Context) ([]row, error) {
	s, size := scaleOf(c.quick), sizeOf(c.quick)
	s.laps, size.laps = c.laps, c.laps
	if c.only == "" || c.only == "binary" || c.only == "rest" || c.only == "relist" {
		s.programs = build(ctx)
	}
	if c.only == "" {
		ctx, cancel := context.WithCancel(ctx)
		s.interned = startInterned(ctx, s.programs, size)
		defer func() { cancel(); _, _ = s.interned.wait() }() // no process is left behind
	}
	rows, err := inProcess(s, c.only)
	if err != nil {
		return nil, err
	}
	debug.FreeOSMemory() // for the processes
	over, err := c.overHTTP(ctx, s, size)
	return append(rows, over...), err
}

// overHTTP returns the rows about package rest. A quick run has no time for those that list
// again: between two lists, either side waits for seconds.
func (c command) overHTTP(ctx context.Context, s scale, size size) (rows []row, err error) {
	p := s.programs
	if c.only == "" || c.only == "rest" {
		interned, err := s.interned.wait()
		if err != nil {
			return nil, err
		}
		if rows, err = restRows(ctx, p, size, interned); err != nil {
			return nil, err
		}
	}
	if c.only == "relist" || c.only == "" && !c.quick {
		more, err := relistRows(ctx, p, size)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	if c.quick || c.only != "" && c.only != "rest" {
		return rows, nil
	}
	million, err := millionRow(ctx, p)
	return append(rows, million), err
}

func sizeOf(quick bool) size {
	if quick {
		return size{objects: 10_000, quick: true, events: 1_000, runs: 5}
	}
	return size{objects: 100_000, events: 100_000, runs: 5}
}

func partNames() string {
	names := "rest, relist"
	for _, p := range parts {
		names += ", " + p.name
	}
	return names
}

func met(rows []row) (n int) {
	for _, r := range rows {
		if r.Met {
			n++
		}
	}
	return n
}
