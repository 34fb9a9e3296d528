// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"time"
)

// laps are what a run spent its time with. Nil takes none.
type laps struct {
	last time.Time
	all  []string
}

func newLaps() *laps { return &laps{last: time.Now()} }

// lap notes what has taken the time since the lap before.
func (l *laps) lap(name string) {
	if l == nil {
		return
	}
	now := time.Now()
	l.all = append(l.all, fmt.Sprintf("%s %.1f", name, now.Sub(l.last).Seconds()))
	l.last = now
}

// String names the laps, with their seconds.
func (l *laps) String() string { return strings.Join(l.all, ", ") }
