// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
)

func TestUnknownPart(t *testing.T) {
	var out strings.Builder
	err := command{quick: true, only: "rests"}.run(t.Context(), &out)
	if err == nil || !strings.Contains(err.Error(), `"rests": rest, relist, `) || out.Len() > 0 {
		t.Errorf("error %v after %q", err, out.String())
	}
}

// A median is that of one side's runs.
func TestInTurn(t *testing.T) {
	side := func(values ...float64) measurement {
		return func() float64 {
			v := values[0]
			values = values[1:]
			return v
		}
	}
	if got, want := inTurn(3, side(3, 1, 2), side(30, 10, 20)), []float64{2, 20}; !slices.Equal(got, want) {
		t.Errorf("medians %v, want %v", got, want)
	}
}

// In each round all have a turn; in as many rounds as there are sides, each is first once and comes
// once behind each of the others.
func TestTurn(t *testing.T) {
	for _, n := range []int{2, 4} {
		firsts, pairs := map[int]int{}, map[[2]int]int{}
		for round := range n {
			seen := map[int]bool{}
			for place := range n {
				i := turn(place, round, n)
				seen[i] = true
				if place == 0 {
					firsts[i]++
				} else {
					pairs[[2]int{turn(place-1, round, n), i}]++
				}
			}
			if len(seen) != n {
				t.Errorf("round %d of %d sides: %v", round, n, seen)
			}
		}
		if len(firsts) != n || len(pairs) != n*(n-1) {
			t.Errorf("%d sides: first %v, pairs %v", n, firsts, pairs)
		}
	}
}
