// SPDX-License-Identifier: Apache-2.0

// Package mirror is what the processes that mirror the pods of a server have in common. Each
// side is a program of its own, which links what its users link.
package mirror

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// What is mirrored.
const (
	List         = "list"
	WatchList    = "watch-list"
	Intern       = "interned list" // ours alone differs from List
	Unstructured = "unstructured list"
	Protobuf     = "Protobuf list"
	Metadata     = "metadata list"
	Watch        = "watch"
	Relist       = "relist" // List, and then lists after versions that have expired
)

// Task is what one process does.
type Task struct {
	Server string // its base URL
	Mode   string
	Last   string // version of the last event to wait for, if Mode is Watch
}

// Mirror mirrors a server until it is synced, and has applied the last event.
type Mirror func(ctx context.Context, task Task) (*State, error)

// State is what can be asked of a mirror that runs.
type State struct {
	Count     func() int
	Version   func() string
	Delivered *Deliveries // of changes to a handler, if the Mode is Relist
}

// Figures are what one mirror took.
type Figures struct {
	Seconds float64 // to sync
	Peak    float64 // resident memory at its highest, MB (VmHWM)
	Live    float64 // heap after two collections, MB
	Objects int
	Relists []Relisted
}

const megabyte = 1 << 20

// Main runs a mirror and prints its figures.
func Main(mirror Mirror) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, mirror); err != nil {
		fmt.Fprintln(os.Stderr, "mirror:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, mirror Mirror) error {
	var task Task
	flag.StringVar(&task.Server, "server", "", "base URL")
	flag.StringVar(&task.Mode, "mode", List, "what is measured")
	flag.StringVar(&task.Last, "last", "", "version of the event to wait for")
	flag.Parse()
	endProfile, err := profile()
	if err != nil {
		return err
	}
	began := time.Now()
	state, err := mirror(ctx, task)
	if err != nil {
		return err
	}
	f := Figures{Seconds: time.Since(began).Seconds(), Objects: state.Count()}
	if err := endProfile(); err != nil {
		return err
	}
	if f.Peak, err = peak(); err != nil {
		return err
	}
	f.Live = live()
	if task.Mode == Relist {
		if f.Relists, err = relists(ctx, task.Server, state); err != nil {
			return err
		}
	}
	runtime.KeepAlive(state)
	return json.NewEncoder(os.Stdout).Encode(f)
}

// live is the heap after two collections, in MB.
func live() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc) / megabyte
}

// Pause is how long both sides wait before they look again.
func Pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(2 * time.Millisecond):
		return nil
	}
}

// peak is the highest resident memory of this process so far, in MB.
func peak() (float64, error) { return memory("VmHWM") }

// memory reads a line of what the kernel says of this process, in MB.
func memory(name string) (float64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kilobytes / 1024, err
		}
	}
	return 0, fmt.Errorf("no %s in /proc/self/status", name)
}
