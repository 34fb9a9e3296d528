// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/informerkit/informer/e2e/internal/proxy"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestConnectionCut: connections are reset, and closed in an orderly way, again and again, with
// events on their way.
func TestConnectionCut(t *testing.T) {
	t.Parallel()
	way := proxied(t, cluster)
	r := newRig(t, cluster, rigOptions{proxy: way})
	for i := range 3 {
		for how, end := range map[string]func(*proxy.Proxy){"reset": (*proxy.Proxy).Cut, "closed": (*proxy.Proxy).Close} {
			r.objects.update(t, "old-0", fmt.Sprint("before ", how, i))
			end(way)
			r.objects.update(t, "old-1", fmt.Sprint("after ", how, i))
			for name, m := range r.mirrors() {
				m.converge(t, "a connection was "+how+", "+name)
			}
		}
	}
	r.alive(t, "cuts")
	noBreak(t, r)
}

// TestConnectionRefused: the way is closed for a while.
func TestConnectionRefused(t *testing.T) {
	t.Parallel()
	way := proxied(t, cluster)
	r := newRig(t, cluster, rigOptions{proxy: way})
	way.Refuse(true)
	way.Cut()
	r.objects.update(t, "old-0", "unseen")
	r.objects.delete(t, "old-2")
	for name, m := range r.mirrors() {
		m.log().await(t, name+": a failure", func() bool { return m.status().Failures > 1 })
	}
	way.Refuse(false)
	r.alive(t, "a closed way")
	noBreak(t, r)
}

// TestConnectionStalled: connections forward nothing any more and stay open, as those do that a
// firewall has forgotten. With so short a timeout of the watch, the stall guard finds out 40 s after
// the stream was opened at the latest, before the health check of HTTP/2 does, which takes 45 s from
// the last frame; a request that is under way when it begins is a failure.
func TestConnectionStalled(t *testing.T) {
	t.Parallel()
	way := proxied(t, cluster)
	r := newRig(t, cluster, rigOptions{proxy: way, watchTimeout: 5 * time.Second})
	way.Stall()
	r.objects.update(t, "old-0", "held back")
	way.Resume() // A pause; nothing is lost.
	for name, m := range r.mirrors() {
		m.converge(t, "a pause, "+name)
	}
	way.Stall() // For good.
	r.alive(t, "a stall")
	for name, m := range r.mirrors() {
		if !m.log().told(anyError) {
			t.Errorf("%s: the hook was not told of the stall", name)
		}
	}
	way.Resume() // What was held back comes to connections that nobody reads any more.
	r.objects.delete(t, "made-a-stall")
	r.alive(t, "a stall")
	noBreak(t, r)
}

// The throttled collection takes seconds to list.
const (
	slowRate    = 64 << 10 // bytes a second
	slowObjects = 150
	slowContent = 4 << 10 // bytes an object, of a kind that no compression makes smaller
)

// TestConnectionThrottled: a slow way is no failure, for a list and for many events.
func TestConnectionThrottled(t *testing.T) {
	t.Parallel()
	way := proxied(t, cluster)
	r := newCollection(t, cluster, rigOptions{})
	fill(t, r)
	way.Throttle(slowRate)
	r.start(t, rigOptions{proxy: way})
	for name, m := range r.mirrors() {
		m.sync(t)
		if m.log().count("") > 0 {
			t.Errorf("%s: a slow list is in the log:\n%s", name, m.log())
		}
	}
	for i := range slowObjects / 2 {
		r.objects.update(t, fmt.Sprint("large-", i), "again")
	}
	r.alive(t, "slow events")
	noBreak(t, r)
}

// TestConnectionCutInTheFirstList: nothing of a list that broke off gets into the store.
func TestConnectionCutInTheFirstList(t *testing.T) {
	t.Parallel()
	way := proxied(t, cluster)
	r := newCollection(t, cluster, rigOptions{})
	fill(t, r)
	way.Throttle(slowRate)
	r.start(t, rigOptions{proxy: way})
	r.rest.log().await(t, "objects", func() bool { return r.rest.status().Listed+r.clientGo.status().Listed > 0 })
	way.Stall()
	for name, n := range map[string]int{"rest": r.rest.Store().Len(), "client-go": r.clientGo.Store().Len()} {
		if n > 0 || r.rest.HasSynced() || r.clientGo.HasSynced() {
			t.Errorf("%s: %d objects are in the store before the list has ended", name, n)
		}
	}
	way.Cut()
	way.Throttle(0)
	for _, m := range r.mirrors() {
		m.sync(t)
	}
	r.alive(t, "a list that broke off")
	noBreak(t, r)
}

// fill makes the collection a large one.
func fill(t *testing.T, r *rig) {
	t.Helper()
	for i := range slowObjects {
		content := ""
		for len(content) < slowContent {
			content += rand.Text()
		}
		r.objects.createWith(t, fmt.Sprint("large-", i), func(obj *unstructured.Unstructured) {
			obj.Object["data"] = map[string]any{"content": content}
		})
	}
}
