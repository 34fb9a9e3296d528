// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Deliveries counts what a handler is told after the first list.
type Deliveries struct {
	count atomic.Int64
	last  atomic.Int64 // Unix time in ns
}

// Add counts one.
func (d *Deliveries) Add() {
	d.count.Add(1)
	d.last.Store(time.Now().UnixNano())
}

// Relisted is what one list after an expired version took.
type Relisted struct {
	Seconds   float64 // from the server's first sight of the request to the last change
	Above     float64 // resident memory at its highest, above that before, MB
	Live      float64 // heap before, MB
	Delivered int     // changes
}

// calm is how long nothing is delivered after the last change.
const calm = 300 * time.Millisecond

// relists has the server expire the versions of all watches, once for each list of a task.
func relists(ctx context.Context, server string, state *State) ([]Relisted, error) {
	var all []Relisted
	for range 2 {
		version, err := fetch(ctx, server+"/expired")
		if err != nil {
			return nil, err
		}
		r, err := relist(ctx, server, version, state)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// relist expires what the mirror watches from, and waits until it has reached the version.
func relist(ctx context.Context, server, version string, state *State) (r Relisted, err error) {
	r.Live = live()
	debug.FreeOSMemory()
	before, err := memory("VmRSS")
	if err == nil {
		err = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // VmHWM begins anew
	}
	if err != nil {
		return r, err
	}
	delivered := state.Delivered.count.Load()
	if _, err := fetch(ctx, server+"/expire"); err != nil {
		return r, err
	}
	for state.Version() != version {
		if err := Pause(ctx); err != nil {
			return r, err
		}
	}
	end := time.Now()
	for quiet := false; !quiet; quiet = time.Since(time.Unix(0, state.Delivered.last.Load())) > calm {
		time.Sleep(calm)
	}
	if last := time.Unix(0, state.Delivered.last.Load()); last.After(end) {
		end = last
	}
	r.Delivered = int(state.Delivered.count.Load() - delivered)
	after, err := peak()
	if err != nil {
		return r, err
	}
	r.Above = after - before
	listed, err := fetch(ctx, server+"/listed")
	if err != nil {
		return r, err
	}
	began, err := strconv.ParseInt(listed, 10, 64)
	r.Seconds = end.Sub(time.Unix(0, began)).Seconds()
	return r, err
}

func fetch(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, resp.Status)
	}
	return strings.TrimSpace(string(text)), err
}
