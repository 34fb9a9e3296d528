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

// Each round goes the other way, and a median is that of one side's runs.
func TestInTurn(t *testing.T) {
	var order []int
	side := func(n int, values ...float64) measurement {
		return func() float64 {
			order = append(order, n)
			v := values[0]
			values = values[1:]
			return v
		}
	}
	got := inTurn(3, side(0, 3, 1, 2), side(1, 30, 10, 20), side(2, 100, 300, 200))
	if want := []int{0, 1, 2, 2, 1, 0, 0, 1, 2}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	if want := []float64{2, 20, 200}; !slices.Equal(got, want) {
		t.Errorf("medians %v, want %v", got, want)
	}
}
