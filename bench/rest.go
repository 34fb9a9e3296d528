// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
)

// goals are ratios to client-go that are wanted, by figure; 0 is none.
type goals struct{ time, peak, live float64 }

// restModes are the comparisons of package rest, each with its goals.
var restModes = []struct {
	mode  string
	goals goals
}{
	{modeList, goals{time: 0.35, peak: 0.50}},
	{modeWatchList, goals{time: 0.17, peak: 0.74}},
	{modeIntern, goals{live: 0.85}},
	{modeUnstructured, goals{time: 0.42, live: 0.85}},
	{modeProtobuf, goals{time: 0.80, peak: 0.50}},
	{modeMetadata, goals{time: 0.35, peak: 0.40}},
}

// restRows measures the first lists, and a watch.
func restRows(ctx context.Context, s size) ([]row, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := serve(ctx, s.objects)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, m := range restModes {
		all, err := pairs(ctx, child{server: server, mode: m.mode}, s.runs, s.objects)
		if err != nil {
			return nil, err
		}
		rows = append(rows, listRows(s, m.mode, all, m.goals)...)
	}
	watch := fmt.Sprintf("%s/events/%d", server, s.objects)
	all, err := pairs(ctx, child{server: watch, mode: modeWatch}, s.runs, eventPods)
	if err != nil {
		return nil, err
	}
	return append(rows, watchRow(s, all)), nil
}

// pairs runs both sides in turn; ours are the first of what it returns.
func pairs(ctx context.Context, c child, runs, objects int) (all [2][]figures, err error) {
	for n := range 2 * runs {
		c.side = []string{"ours", "clientgo"}[n%2]
		f, err := c.run(ctx, objects)
		if err != nil {
			return all, err
		}
		all[n%2] = append(all[n%2], f)
	}
	return all, nil
}

// millionRow compares the time an object takes in a large mirror and in a small one, both
// of them ours.
func millionRow(ctx context.Context) (row, error) {
	const small, large = 10_000, 1_000_000
	r := row{Work: "rest: first list, time an object at 1000000 objects against 10000", Unit: "times", Goal: 1.2}
	perObject := map[int]float64{}
	for _, n := range []int{small, large} {
		ctx, cancel := context.WithCancel(ctx)
		server, err := serve(ctx, n)
		if err == nil {
			var f figures
			f, err = child{side: "ours", server: server, mode: modeList}.run(ctx, n)
			perObject[n] = f.Seconds / float64(n)
		}
		cancel()
		if err != nil {
			return r, err
		}
	}
	r.Ours = perObject[large] / perObject[small]
	r.Met = r.Ours <= r.Goal
	return r, nil
}

func medianOf(all []figures, value func(figures) float64) float64 {
	var values []float64
	for _, f := range all {
		values = append(values, value(f))
	}
	return median(values)
}

func watchRow(s size, all [2][]figures) row {
	rate := func(f figures) float64 { return float64(s.objects) / f.Seconds }
	r := row{
		Work: fmt.Sprintf("rest: watch of %d events, decoded and applied", s.objects), Unit: "events/s",
		Ours: medianOf(all[0], rate), ClientGo: medianOf(all[1], rate), Goal: 2.5,
	}
	r.Ratio = r.Ours / r.ClientGo
	r.Met = r.Ratio >= r.Goal
	return r
}

func listRows(s size, mode string, all [2][]figures, goals goals) []row {
	work := fmt.Sprintf("rest: first %s of %d pods, ", mode, s.objects)
	// The bound is for the worst run, and grows with the number of objects.
	above := row{Work: work + "peak above live", Unit: "MB", Goal: 300 * float64(s.objects) / 100_000}
	above.Goal = max(above.Goal, 64) // what a Go process of this kind takes by itself
	for _, f := range all[0] {
		above.Ours = max(above.Ours, f.Peak-f.Live)
	}
	for _, f := range all[1] {
		above.ClientGo = max(above.ClientGo, f.Peak-f.Live)
	}
	above.Met = above.Ours <= above.Goal
	rows := []row{above}
	for _, figure := range []struct {
		name, unit string
		goal       float64
		value      func(figures) float64
	}{
		{"time", "s", goals.time, func(f figures) float64 { return f.Seconds }},
		{"peak", "MB", goals.peak, func(f figures) float64 { return f.Peak }},
		{"live", "MB", goals.live, func(f figures) float64 { return f.Live }},
	} {
		r := row{
			Work: work + figure.name, Unit: figure.unit, Goal: figure.goal,
			Ours: medianOf(all[0], figure.value), ClientGo: medianOf(all[1], figure.value),
		}
		r.Ratio = r.Ours / r.ClientGo
		r.Met = r.Goal == 0 || r.Ratio <= r.Goal
		rows = append(rows, r)
	}
	return rows
}
