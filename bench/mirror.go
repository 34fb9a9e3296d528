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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/rest"
	"github.com/informerkit/informer/transform"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
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
	stream := flags.Bool("watch-list", false, "begin with a watch-list")
	if err := flags.Parse(args); err != nil {
		return err
	}
	began := time.Now()
	sides := map[string]func(context.Context, string, bool) (func() int, error){"ours": ours, "clientgo": clientGo}
	count, err := sides[*side](ctx, *server, *stream)
	if err != nil {
		return err
	}
	f := figures{Seconds: time.Since(began).Seconds(), Objects: count()}
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

func ours(ctx context.Context, server string, stream bool) (func() int, error) {
	source, err := rest.New[*corev1.Pod](rest.Config{BaseURL: server, DropManagedFields: true}, rest.Resource{Version: "v1", Resource: "pods"})
	if err != nil {
		return nil, err
	}
	options := informer.Options[*corev1.Pod]{Transform: transform.DropManagedFields[*corev1.Pod]}
	if !stream {
		options.InitialEventsTimeout = -1
	}
	pods := informer.New(source, options)
	go func() { _ = pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		return nil, err
	}
	return func() int { return pods.Store().Len() }, nil
}

func clientGo(ctx context.Context, server string, stream bool) (func() int, error) {
	client, err := kubernetes.NewForConfig(&clientrest.Config{Host: server})
	if err != nil {
		return nil, err
	}
	all := cache.NewFilteredListWatchFromClient(client.CoreV1().RESTClient(), "pods", "", func(*metav1.ListOptions) {})
	var source cache.ListerWatcher = all
	if !stream {
		source = listOnly{all}
	}
	pods := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, cache.Indexers{})
	if err := pods.SetTransform(func(obj any) (any, error) {
		obj.(*corev1.Pod).ManagedFields = nil
		return obj, nil
	}); err != nil {
		return nil, err
	}
	go pods.RunWithContext(ctx)
	for !pods.HasSynced() {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return func() int { return len(pods.GetStore().ListKeys()) }, nil
}

// child is one mirror in a process of its own.
type child struct {
	side   string // ours or clientgo
	server string
	stream bool // begin with a watch-list
}

// run runs it, and wants so many objects.
func (c child) run(ctx context.Context, objects int) (figures, error) {
	self, err := os.Executable()
	if err != nil {
		return figures{}, err
	}
	cmd := exec.CommandContext(ctx, self, "mirror", "-side="+c.side, "-server="+c.server, fmt.Sprintf("-watch-list=%v", c.stream))
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

// restRows measures the first list, and the first watch-list.
func restRows(ctx context.Context, s size) ([]row, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server, err := serve(ctx, s.objects)
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, stream := range []bool{false, true} {
		var all [2][]figures
		for n := range 2 * s.runs { // the sides take turns
			side := n % 2
			f, err := child{[]string{"ours", "clientgo"}[side], server, stream}.run(ctx, s.objects)
			if err != nil {
				return nil, err
			}
			all[side] = append(all[side], f)
		}
		rows = append(rows, firstListRows(s, stream, all)...)
	}
	return rows, nil
}

func firstListRows(s size, stream bool, all [2][]figures) []row {
	name := "list"
	if stream {
		name = "watch-list"
	}
	work := fmt.Sprintf("rest: first %s of %d pods, ", name, s.objects)
	median := func(side int, value func(figures) float64) float64 {
		var values []float64
		for _, f := range all[side] {
			values = append(values, value(f))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
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
		value      func(figures) float64
	}{
		{"time", "s", func(f figures) float64 { return f.Seconds }},
		{"peak", "MB", func(f figures) float64 { return f.Peak }},
		{"live", "MB", func(f figures) float64 { return f.Live }},
	} {
		r := row{Work: work + figure.name, Unit: figure.unit, Met: true, Ours: median(0, figure.value), ClientGo: median(1, figure.value)}
		r.Ratio = r.Ours / r.ClientGo
		rows = append(rows, r)
	}
	return rows
}
