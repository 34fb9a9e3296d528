// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/e2e/internal/kube"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// shardCount is prime, so that the parts' bounds are no round numbers.
const shardCount = 3

// alternating is a pair of servers behind one address: every request goes to the other one.
type alternating struct {
	servers [2]informer.ListerWatcher
	next    atomic.Int32
}

func (a *alternating) server() informer.ListerWatcher { return a.servers[a.next.Add(1)%2] }

func (a *alternating) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return a.server().List(ctx, options)
}

func (a *alternating) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return a.server().Watch(ctx, options)
}

// TestShards: the union of the shards is the collection and no object is in two, on a server
// that knows shards, on one that does not, and on a pair of one each behind one address.
func TestShards(t *testing.T) {
	on := kube.New(t, kube.Options{FeatureGates: map[string]bool{"ShardedListAndWatch": true}})
	off := kube.New(t, kube.Options{EtcdOf: on})
	client := func(c *kube.Cluster) typedcorev1.ConfigMapInterface {
		return must(kubernetes.NewForConfig(c.RESTConfig()))(t).CoreV1().ConfigMaps("default")
	}
	withGate, without := client(on), client(off)
	for n := range 30 {
		shardCreate(t, withGate, fmt.Sprint("before-", n))
	}
	for name, test := range map[string]struct {
		source informer.ListerWatcher
		echo   bool
		mixed  bool
	}{
		"on":   {source: informer.FromClient(withGate), echo: true},
		"off":  {source: informer.FromClient(without)},
		"pair": {source: &alternating{servers: [2]informer.ListerWatcher{informer.FromClient(withGate), informer.FromClient(without)}}, mixed: true},
	} {
		t.Run(name, func(t *testing.T) {
			mirrors := shardMirrors(t, test.source)
			version := shardCreate(t, without, "during-"+name)
			shardsEqual(t, mirrors, withGate, version)
			for _, m := range mirrors {
				if got := m.Status().Sources[0].ServerShard; !test.mixed && got != test.echo {
					t.Errorf("the server cuts: %v, want %v", got, test.echo)
				}
			}
			for n, m := range mirrors { // each takes over the part of the next one
				if err := m.SetShard(informer.Shard{Index: (n + 1) % shardCount, Count: shardCount}); err != nil {
					t.Fatal(err)
				}
			}
			version = shardCreate(t, withGate, "after-"+name)
			shardsEqual(t, mirrors, withGate, version)
		})
	}
}

func shardCreate(t *testing.T, client typedcorev1.ConfigMapInterface, name string) (version string) {
	t.Helper()
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	return must(client.Create(t.Context(), obj, metav1.CreateOptions{}))(t).ResourceVersion
}

// shardMirror is one of the replicas.
type shardMirror struct {
	*informer.Informer[*corev1.ConfigMap]
	ctx context.Context // of its waits
}

func shardMirrors(t *testing.T, source informer.ListerWatcher) []*shardMirror {
	t.Helper()
	waits, cancelWaits := context.WithTimeout(t.Context(), failSafe)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, shardCount)
	var mirrors []*shardMirror
	for n := range shardCount {
		options := informer.Options[*corev1.ConfigMap]{}
		options.Shard = informer.Shard{Index: n, Count: shardCount}
		m := &shardMirror{informer.New(source, options), waits}
		go func() { done <- m.Run(ctx) }()
		mirrors = append(mirrors, m)
	}
	t.Cleanup(func() {
		stop()
		for range shardCount {
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
		}
		cancelWaits()
	})
	for _, m := range mirrors {
		if err := m.WaitForSync(m.ctx); err != nil {
			t.Fatal(err)
		}
	}
	return mirrors
}

// shardsEqual waits until the mirrors have the version, and what they have is the collection.
// A shard that is handed over may be listed after the version was reached: the number of
// objects is what is waited for then.
func shardsEqual(t *testing.T, mirrors []*shardMirror, client typedcorev1.ConfigMapInterface, version string) {
	t.Helper()
	for _, m := range mirrors {
		if err := m.WaitForResourceVersion(m.ctx, version); err != nil {
			t.Fatal(err)
		}
	}
	list := must(client.List(t.Context(), metav1.ListOptions{}))(t)
	var want []string
	for _, obj := range list.Items {
		want = append(want, informer.JoinKey(obj.Namespace, obj.Name)+" "+string(obj.UID)+" "+obj.ResourceVersion)
	}
	slices.Sort(want)
	changed := make(chan struct{}, 1)
	for _, m := range mirrors {
		registration, err := m.AddHandler(informer.HandlerFunc[*corev1.ConfigMap](func(context.Context, informer.Change[*corev1.ConfigMap]) {
			select {
			case changed <- struct{}{}:
			default:
			}
		}), informer.HandlerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer registration.Remove()
	}
	for {
		got := shardHeld(mirrors)
		if slices.Equal(got, want) {
			return
		}
		select {
		case <-changed:
		case <-mirrors[0].ctx.Done():
			t.Fatalf("the shards hold %q, want %q", got, want)
		}
	}
}

func shardHeld(mirrors []*shardMirror) []string {
	var held []string
	for _, m := range mirrors {
		for key, obj := range m.Store().All() {
			held = append(held, key+" "+string(obj.UID)+" "+obj.ResourceVersion)
		}
	}
	slices.Sort(held)
	return held
}
