// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/informerkit/informer/bench/mirror"
)

// relistRows measures lists after an expired version: nothing has changed, and then one pod
// in a hundred.
func relistRows(ctx context.Context, p *programs, s size) ([]row, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := serve(ctx, s.objects)
	if err != nil {
		return nil, err
	}
	var all [2][2][]mirror.Relisted // by side and list
	for n := range 2 * s.runs {
		side := turn(n%2, n/2, 2)
		task := mirror.Task{Server: fmt.Sprintf("%s/relist/%d", server, n), Mode: mirror.Relist}
		f, err := p.run(ctx, sides[side], task, s.objects)
		if err != nil {
			return nil, err
		}
		for i, r := range f.Relists {
			all[side][i] = append(all[side][i], r)
		}
	}
	rows := relistedRows(fmt.Sprintf("rest: relist of %d unchanged pods, ", s.objects), 0, [2][]mirror.Relisted{all[0][0], all[1][0]})
	changed := relistedRows(fmt.Sprintf("rest: relist of %d pods, one in %d changed, ", s.objects, onePercent), s.objects/onePercent, [2][]mirror.Relisted{all[0][1], all[1][1]})
	return append(rows, changed...), nil
}

// relistedRows are those of one kind of list; so many changes are to be delivered.
func relistedRows(work string, changes int, all [2][]mirror.Relisted) []row {
	figure := func(name, unit string, value func(mirror.Relisted) float64) row {
		return row{Work: work + name, Unit: unit, Ours: medianOf(all[0], value), ClientGo: medianOf(all[1], value)}
	}
	delivered := figure("changes delivered", "", func(r mirror.Relisted) float64 { return float64(r.Delivered) })
	delivered.Goal, delivered.Exact, delivered.Met = float64(changes), true, delivered.Ours == float64(changes)
	return []row{
		atMost(0.5, figure("time", "s", func(r mirror.Relisted) float64 { return r.Seconds })),
		within(10, figure("peak above live", "%", func(r mirror.Relisted) float64 { return 100 * r.Above / r.Live })),
		delivered,
	}
}
