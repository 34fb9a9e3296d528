// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/informerkit/informer/clientgo"
	"github.com/informerkit/informer/e2e/internal/kube"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	sideEnv   = "INFORMER_OPERATOR_SIDE"  // "informer" or "client-go": the process measures it, and ends
	configEnv = "INFORMER_OPERATOR_WHERE" // the configuration, for that
)

// figures is what a manager costs whose cache holds all config maps, with an index by owner.
type figures struct {
	Objects int
	Heap    float64 // MB alive after a collection, with the objects in the cache
	Peak    float64 // MB of the process at its most
	Sync    float64 // seconds from start to the end of the first list
}

// where is how a process that measures finds the server.
type where struct{ Host, TokenFile, CAFile string }

// TestMemory prints what the cache of a manager costs, on this library's informers and on
// client-go's, in processes of their own, in turn, on the same server: the medians of three.
// 50,000 config maps of 1 kB; with -short, 2,000.
func TestMemory(t *testing.T) {
	t.Parallel()
	objects := 50_000
	if testing.Short() {
		objects = 2_000
	}
	cluster := kube.New(t, kube.Options{})
	fill(t, cluster, objects)
	measured := map[string][]figures{}
	for range 3 {
		for _, side := range sides {
			f := measureIn(t, cluster, side)
			measured[side] = append(measured[side], f)
			if f.Objects < objects {
				t.Errorf("the cache on %s's informers has %d objects, want %d", side, f.Objects, objects)
			}
		}
	}
	t.Logf("\n%s", tableOf(t, measured))
	ours, theirs := median(measured["informer"], heapOf), median(measured["client-go"], heapOf)
	if ours > 1.1*theirs {
		t.Errorf("the heap has %.1f MB, and %.1f MB on client-go's", ours, theirs)
	}
	ours, theirs = median(measured["informer"], peakOf), median(measured["client-go"], peakOf)
	if ours > 1.1*theirs { // a tenth is when the collector happens to run
		t.Errorf("at its most, the process has %.1f MB, and %.1f MB on client-go's", ours, theirs)
	}
}

var sides = []string{"informer", "client-go"}

func tableOf(t *testing.T, measured map[string][]figures) string {
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "informers of the manager\tobjects\theap MB\tpeak MB\tsync s\t")
	for _, side := range sides {
		runs := measured[side]
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%.1f\t%.1f\t\n", side, runs[0].Objects, median(runs, heapOf),
			median(runs, peakOf), median(runs, func(f figures) float64 { return f.Sync }))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return table.String()
}

func heapOf(f figures) float64 { return f.Heap }
func peakOf(f figures) float64 { return f.Peak }

func median(runs []figures, of func(figures) float64) float64 {
	var values []float64
	for _, f := range runs {
		values = append(values, of(f))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// fill creates config maps in several namespaces.
func fill(t *testing.T, cluster *kube.Cluster, objects int) {
	clients := kubernetes.NewForConfigOrDie(cluster.RESTConfig())
	var namespaces []string
	for range 10 {
		namespaces = append(namespaces, cluster.Namespace(t))
	}
	text := strings.Repeat("text ", 200)
	var group sync.WaitGroup
	const writers = 16
	for n := range writers {
		group.Go(func() {
			for i := n; i < objects && t.Context().Err() == nil; i += writers {
				obj := &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Name: "page-" + strconv.Itoa(i), Labels: map[string]string{"tier": "front"}},
					Data:       map[string]string{textKey: text},
				}
				if _, err := clients.CoreV1().ConfigMaps(namespaces[i%len(namespaces)]).Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
					t.Errorf("create: %v", err)
					return
				}
			}
		})
	}
	group.Wait()
}

func measureIn(t *testing.T, cluster *kube.Cluster, side string) (f figures) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), failSafe)
	defer cancel()
	at, err := json.Marshal(where{cluster.URL, cluster.TokenFile, cluster.CAFile})
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), sideEnv+"="+side, configEnv+"="+string(at))
	cmd.Stderr = os.Stderr
	printed, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", side, err, printed)
	}
	if err := json.Unmarshal(printed, &f); err != nil {
		t.Fatalf("%s: %v\n%s", side, err, printed)
	}
	return f
}

// measure is the process that measures; it returns the exit status.
func measure(side string) int {
	f, err := measureSide(side)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func measureSide(side string) (f figures, err error) {
	var at where
	if err := json.Unmarshal([]byte(os.Getenv(configEnv)), &at); err != nil {
		return f, err
	}
	var informers newInformer // nil: client-go's
	if side == "informer" {
		informers = clientgo.NewInformerFunc(clientgo.Options{})
	}
	mgr, err := newManager(&rest.Config{
		Host: at.Host, BearerTokenFile: at.TokenFile, TLSClientConfig: rest.TLSClientConfig{CAFile: at.CAFile},
	}, klog.Background(), informers)
	if err != nil {
		return f, err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.ConfigMap{}, byOwner, ownerOf); err != nil {
		return f, err
	}
	began := time.Now()
	over := make(chan error, 1)
	go func() { over <- mgr.Start(ctx) }()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return f, fmt.Errorf("the cache of %s has not synced", side)
	}
	f.Sync = time.Since(began).Seconds()
	list := &corev1.ConfigMapList{}
	if err := mgr.GetCache().List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return f, err
	}
	f.Objects = len(list.Items)
	list.Items = nil
	f.Heap, f.Peak = memory()
	runtime.KeepAlive(mgr)
	stop()
	return f, <-over
}

// memory returns what is alive on the heap, and what the process had at its most; in MB, 0
// where the system does not say.
func memory() (heap, peak float64) {
	debug.FreeOSMemory()
	debug.FreeOSMemory()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	heap = float64(stats.HeapAlloc) / 1e6
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return heap, 0
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kB, err := strconv.ParseFloat(fields[1], 64)
			if err == nil {
				peak = kB * 1024 / 1e6
			}
		}
	}
	return heap, peak
}
