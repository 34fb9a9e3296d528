// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"testing"
	"time"

	"github.com/informerkit/informer/e2e/internal/kube"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestAPIServerKilled: the watches end with the process, and nobody answers for a while. A watch that
// is resumed may be answered with 410, for the window of a server begins when it starts.
func TestAPIServerKilled(t *testing.T) {
	r := newRig(t, ownCluster(t, kube.Options{}), rigOptions{})
	for range 2 {
		r.APIServer.Kill()
		start(t, r.APIServer)
		r.alive(t, "a kill of the server")
		r.objects.delete(t, "made-a-kill-of-the-server")
	}
	noBreak(t, r)
}

// TestEtcdKilled: the server stays, cannot be written to, and goes on when etcd is there again.
func TestEtcdKilled(t *testing.T) {
	r := newRig(t, ownCluster(t, kube.Options{}), rigOptions{})
	r.Etcd.Kill()
	outage(3 * time.Second)
	start(t, r.Etcd)
	if err := r.APIServer.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.alive(t, "a kill of etcd")
	noBreak(t, r)
}

// TestBothKilled: everything is gone at once, and comes back.
func TestBothKilled(t *testing.T) {
	r := newRig(t, ownCluster(t, kube.Options{}), rigOptions{})
	r.Etcd.Kill()
	r.APIServer.Kill()
	start(t, r.Etcd, r.APIServer)
	r.alive(t, "a kill of both")
	noBreak(t, r)
}

// TestCompacted: while the mirrors are cut off, objects come and go, and the history of it is
// forgotten. Without a watch cache it is etcd that knows no history, and the server refuses to
// stream the initial events.
func TestCompacted(t *testing.T) {
	for name, flags := range map[string][]string{"cached": nil, "uncached": {"--watch-cache=false"}} {
		t.Run(name, func(t *testing.T) {
			c := ownCluster(t, kube.Options{Flags: flags})
			way := proxied(t, c)
			r := newRig(t, c, rigOptions{proxy: way})
			way.Refuse(true)
			way.Cut()
			r.objects.update(t, "old-0", "unseen")
			r.objects.delete(t, "old-1")
			r.objects.create(t, "old-1", "front")
			r.objects.delete(t, "old-2")
			r.objects.create(t, "new", "front")
			if err := c.Compact(t.Context(), must(c.Revision(t.Context()))(t)); err != nil {
				t.Fatal(err)
			}
			c.APIServer.Kill() // Its watch cache remembers.
			start(t, c.APIServer)
			way.Refuse(false)
			r.alive(t, "a compaction")
			for name, m := range r.mirrors() {
				if m.status().Relists["expired"] == 0 {
					t.Errorf("%s: relists are %v; want one because of an expired version", name, m.status().Relists)
				}
			}
			noBreak(t, r)
		})
	}
}

// TestTokenReplaced: the token is revoked, both mirrors say so while it lasts, and go on when the
// file holds another one.
func TestTokenReplaced(t *testing.T) {
	const second = "the-second-token"
	c := ownCluster(t, kube.Options{})
	tokenFile := copyOf(t, c.TokenFile)
	if err := c.SetTokens(c.Token, second); err != nil {
		t.Fatal(err)
	}
	c.APIServer.Kill()
	start(t, c.APIServer)
	r := newRig(t, c, rigOptions{tokenFile: tokenFile, token: second})
	if err := c.SetTokens(second); err != nil {
		t.Fatal(err)
	}
	c.APIServer.Kill()
	start(t, c.APIServer)
	r.objects.update(t, "old-0", "while the token is revoked")
	for name, m := range r.mirrors() {
		m.log().await(t, name+": 401", func() bool { return m.log().told(apierrors.IsUnauthorized) })
	}
	write(t, tokenFile, second)
	r.alive(t, "a new token")
	noBreak(t, r)
}

// noBreak checks that a healthy history was not taken for a broken one.
func noBreak(t *testing.T, r *rig) {
	t.Helper()
	for name, m := range r.mirrors() {
		if m.log().told(isHistoryBreak) {
			t.Errorf("%s reports a break of the history, which there was not:\n%s", name, m.log())
		}
	}
}
