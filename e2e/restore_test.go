// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/e2e/internal/kube"
)

// lostWrites is how many writes the restored state does not know. It is more than a server writes
// when it starts and a test writes afterwards: a history that has passed the mirror's version again
// cannot be told from a healthy one by versions.
const lostWrites = 300

func isHistoryBreak(err error) bool { return errors.Is(err, informer.ErrHistoryBreak) }

// TestRestored: etcd goes back to an earlier state, and the server is started anew on it. What was
// written since is gone, with other things in its place, and the versions begin anew.
func TestRestored(t *testing.T) {
	for _, way := range []string{"snapshot", "copy of the data"} {
		for _, pause := range []time.Duration{3 * time.Second, time.Minute} {
			t.Run(fmt.Sprintf("%s, %v", way, pause), func(t *testing.T) {
				c := ownCluster(t, kube.Options{})
				r := newRig(t, c, rigOptions{})
				restore := save(t, r, way)
				version := writeWhatIsLost(t, r)

				c.APIServer.Kill()
				c.Etcd.Kill()
				waits := r.waitFor(t, version+lostWrites)
				if err := restore(); err != nil {
					t.Fatal(err)
				}
				outage(pause)
				start(t, c.Etcd, c.APIServer)
				r.objects.create(t, "another", "back") // Another object has this name now.
				r.alive(t, "a restore")
				checkBreak(t, r, waits)
			})
		}
	}
}

// save keeps the state of etcd, and returns what goes back to it.
func save(t *testing.T, r *rig, way string) (restore func() error) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "saved")
	if way == "snapshot" {
		if err := r.Snapshot(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		return func() error { return r.RestoreSnapshot(t.Context(), to) }
	}
	r.APIServer.Stop()
	r.Etcd.Stop()
	if err := r.CopyData(to); err != nil {
		t.Fatal(err)
	}
	start(t, r.Etcd, r.APIServer)
	return func() error { return r.RestoreData(to) }
}

// writeWhatIsLost changes everything, many times, and returns the version that both mirrors have
// come to.
func writeWhatIsLost(t *testing.T, r *rig) int {
	t.Helper()
	r.objects.create(t, "another", "front")
	r.objects.create(t, "ghost", "front")
	r.objects.delete(t, "old-2")
	version := ""
	for i := range lostWrites {
		version = r.objects.update(t, "old-0", fmt.Sprint("lost ", i))
	}
	for name, m := range r.mirrors() {
		m.reach(t, version, "what will be lost, "+name)
	}
	return must(strconv.Atoi(version))(t)
}

// waitFor begins to wait, in both mirrors, for a version that the lost history would have had.
func (r *rig) waitFor(t *testing.T, version int) map[string]chan error {
	t.Helper()
	ended := map[string]chan error{}
	for name, wait := range map[string]func(context.Context, string, ...string) error{
		"rest": r.rest.WaitForResourceVersion, "client-go": r.clientGo.WaitForResourceVersion,
	} {
		end := make(chan error, 1)
		ended[name] = end
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		go func() { end <- wait(ctx, strconv.Itoa(version)) }()
	}
	return ended
}

// checkBreak: both mirrors have found out, said so once, and ended who waited for the lost history.
func checkBreak(t *testing.T, r *rig, waits map[string]chan error) {
	t.Helper()
	for name, m := range r.mirrors() {
		if !m.log().told(isHistoryBreak) {
			t.Errorf("%s: the hook was not told of the break of the history", name)
		}
		if n := m.log().count(informer.ErrHistoryBreak.Error()); n != 1 {
			t.Errorf("%s: the log has %d lines about the break of the history; want 1:\n%s", name, n, m.log())
		}
		select {
		case err := <-waits[name]:
			if !isHistoryBreak(err) {
				t.Errorf("%s: a wait ended with %v; want %v", name, err, informer.ErrHistoryBreak)
			}
		case <-patience(t).Done():
			t.Errorf("%s: a wait for the lost history has not ended", name)
		}
	}
}
