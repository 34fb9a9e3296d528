// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"
)

// figures are what one mirror took.
type figures struct {
	Seconds float64 // to sync
	Peak    float64 // resident memory at its highest, MB (VmHWM)
	Live    float64 // heap after two collections, MB
	Objects int
}

const megabyte = 1 << 20

// mirror is the child process: it mirrors the pods of a server, and prints its figures.
func mirror(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("mirror", flag.ContinueOnError)
	side := flags.String("side", "ours", "ours or clientgo")
	server := flags.String("server", "", "base URL")
	mode := flags.String("mode", modeList, "what is measured")
	cpuProfile := flags.String("cpuprofile", "", "write a processor profile, until the sync, to this file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	endProfile, err := profile(*cpuProfile)
	if err != nil {
		return err
	}
	began := time.Now()
	sides := map[string]func(context.Context, string, string) (func() int, error){"ours": ours, "clientgo": clientGo}
	count, err := sides[*side](ctx, *server, *mode)
	if err != nil {
		return err
	}
	f := figures{Seconds: time.Since(began).Seconds(), Objects: count()}
	if err := endProfile(); err != nil {
		return err
	}
	if f.Peak, err = peak(); err != nil {
		return err
	}
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	f.Live = float64(stats.HeapAlloc) / megabyte
	runtime.KeepAlive(count)
	return json.NewEncoder(out).Encode(f)
}

// profile writes a processor profile to a file; "" is none.
func profile(path string) (end func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	end = func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}
	return end, pprof.StartCPUProfile(file)
}

// peak is the highest resident memory of this process so far, in MB.
func peak() (float64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kilobytes / 1024, err
		}
	}
	return 0, fmt.Errorf("no VmHWM in /proc/self/status")
}

// child is one mirror in a process of its own.
type child struct {
	side   string // ours or clientgo
	server string
	mode   string
}

// run runs it, and wants so many objects.
func (c child) run(ctx context.Context, objects int) (figures, error) {
	self, err := os.Executable()
	if err != nil {
		return figures{}, err
	}
	cmd := exec.CommandContext(ctx, self, "mirror", "-side="+c.side, "-server="+c.server, "-mode="+c.mode)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return figures{}, fmt.Errorf("mirror of %s: %w", c.side, err)
	}
	var f figures
	if err := json.Unmarshal(out.Bytes(), &f); err != nil {
		return figures{}, fmt.Errorf("figures of %s: %w", c.side, err)
	}
	if f.Objects != objects {
		return figures{}, fmt.Errorf("%s mirrored %d of %d objects", c.side, f.Objects, objects)
	}
	return f, nil
}
