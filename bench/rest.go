// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/informerkit/informer/bench/mirror"
)

// goals are ratios to client-go that are wanted, by figure; 0 is none.
type goals struct{ time, peak, live float64 }

// restMode is a comparison of package rest, with its goals.
type restMode struct {
	mode  string
	few   int // objects in a quick run
	goals goals
}

// A quick run has time for so few objects of those that client-go reads slowly. Of the others it has a
// fifth: of a tenth, figures are those of a process that starts.
var restModes = []restMode{
	{mode: mirror.List, few: fewListed, goals: goals{time: 0.35, peak: 0.50}},
	{mode: mirror.Intern, few: fewListed, goals: goals{live: 0.85}}, // its peer is client-go's list
	{mode: mirror.WatchList, few: 4_000, goals: goals{time: 0.17, peak: 0.74}},
	{mode: mirror.Unstructured, few: 3_000, goals: goals{time: 0.42, live: 0.85}},
	{mode: mirror.Protobuf, few: 20_000, goals: goals{time: 0.80, peak: 0.50}},
	{mode: mirror.Metadata, few: 20_000, goals: goals{time: 0.35, peak: 0.40}},
}

const fewListed = 5_000

// restRows measures the first lists, and a watch. The interned lists may be there already.
func restRows(ctx context.Context, p *programs, s size, interned []mirror.Figures) ([]row, error) {
	var rows []row
	var theirs []mirror.Figures
	for _, m := range restModes {
		var known [2][]mirror.Figures
		if m.mode == mirror.Intern {
			known = [2][]mirror.Figures{interned, theirs} // it has nothing of the kind: its list is the peer
		}
		size := s.withFew(m.few)
		all, err := p.pairs(ctx, mirror.Task{Mode: m.mode}, size, known)
		if err != nil {
			return nil, err
		}
		s.laps.lap(m.mode)
		theirs = all[1]
		rows = append(rows, listRows(size, m, all)...)
	}
	watch, err := watchRow(ctx, p, s)
	if err != nil {
		return nil, err
	}
	s.laps.lap(mirror.Watch)
	return append(rows, watch), nil
}

// pairs runs both sides in turn, with a server of so many objects, and the path of task on it; ours
// are the first of what it returns. A side whose figures are there already is not measured again.
func (p *programs) pairs(ctx context.Context, task mirror.Task, s size, known [2][]mirror.Figures) (all [2][]mirror.Figures, err error) {
	all = known
	if known[0] != nil && known[1] != nil {
		return all, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := serve(ctx, s.objects)
	if err != nil {
		return all, err
	}
	task.Server = server + task.Server
	for n := range 2 * s.runs {
		side := turn(n%2, n/2, 2)
		if known[side] != nil {
			continue
		}
		f, err := p.run(ctx, sides[side], task, s.objects)
		if err != nil {
			return all, err
		}
		all[side] = append(all[side], f)
	}
	return all, nil
}

// millionRow compares the time an object takes in a large mirror and in a small one, both
// of them ours.
func millionRow(ctx context.Context, p *programs) (row, error) {
	const small, large = 10_000, 1_000_000
	r := row{Work: "rest: first list, time an object at 1000000 objects against 10000", Unit: "times", Goal: 1.2}
	few, err := p.perObject(ctx, small)
	if err != nil {
		return r, err
	}
	many, err := p.perObject(ctx, large)
	if err != nil {
		return r, err
	}
	r.Ours = many / few
	r.Met = r.Ours <= r.Goal
	return r, nil
}

// perObject is the median time that our first list takes for each of n objects.
func (p *programs) perObject(ctx context.Context, n int) (seconds float64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := serve(ctx, n)
	if err != nil {
		return 0, err
	}
	var all []mirror.Figures
	for range 5 {
		f, err := p.run(ctx, sides[0], mirror.Task{Server: server, Mode: mirror.List}, n)
		if err != nil {
			return 0, err
		}
		all = append(all, f)
	}
	return medianOf(all, func(f mirror.Figures) float64 { return f.Seconds }) / float64(n), nil
}

func medianOf[F any](all []F, value func(F) float64) float64 {
	var values []float64
	for _, f := range all {
		values = append(values, value(f))
	}
	return median(values)
}

func watchRow(ctx context.Context, p *programs, s size) (row, error) {
	s.objects = eventPods
	task := mirror.Task{Server: fmt.Sprintf("/events/%d", s.events), Mode: mirror.Watch, Last: eventVersion(s.events)}
	all, err := p.pairs(ctx, task, s, [2][]mirror.Figures{})
	if err != nil {
		return row{}, err
	}
	rate := func(f mirror.Figures) float64 { return float64(s.events) / f.Seconds }
	r := row{
		Work: fmt.Sprintf("rest: watch of %d events, decoded and applied", s.events), Unit: "events/s",
		Ours: medianOf(all[0], rate), ClientGo: medianOf(all[1], rate), Goal: 2.5, Least: true,
	}
	r.Ratio = r.Ours / r.ClientGo
	r.Met = r.Ratio >= r.Goal
	return r, nil
}

func listRows(s size, m restMode, all [2][]mirror.Figures) []row {
	work := fmt.Sprintf("rest: first %s of %d pods, ", m.mode, s.objects)
	// The bound is for the worst run, and grows with the number of objects.
	above := row{Work: work + "peak above live", Unit: "MB", Goal: 300 * float64(s.objects) / 100_000}
	above.Goal = max(above.Goal, 40) // twice what a Go process of this kind takes by itself
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
		value      func(mirror.Figures) float64
	}{
		{"time", "s", m.goals.time, func(f mirror.Figures) float64 { return f.Seconds }},
		{"peak", "MB", m.goals.peak, func(f mirror.Figures) float64 { return f.Peak }},
		{"live", "MB", m.goals.live, func(f mirror.Figures) float64 { return f.Live }},
	} {
		if figure.goal == 0 {
			continue
		}
		r := row{
			Work: work + figure.name, Unit: figure.unit, Goal: figure.goal,
			Ours: medianOf(all[0], figure.value), ClientGo: medianOf(all[1], figure.value),
		}
		r.Ratio = r.Ours / r.ClientGo
		r.Met = r.Ratio <= r.Goal
		rows = append(rows, r)
	}
	return rows
}
