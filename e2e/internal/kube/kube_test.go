// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// helperEnv makes the test binary start a cluster, say so and wait to be killed.
const helperEnv = "INFORMER_E2E_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) != "" {
		runHelper()
	}
	os.Exit(m.Run())
}

func runHelper() {
	c, err := Start(context.Background(), Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.Etcd.PID(), c.APIServer.PID(), c.dir)
	select {} // The other end kills this process.
}

// code asks for a path of the server and returns the status of the answer.
func code(t *testing.T, c *Cluster, token, path string) int {
	t.Helper()
	response, err := c.Client(t, token).Get(c.URL + path)
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode
}

func TestClusterLife(t *testing.T) {
	c := New(t, Options{FeatureGates: map[string]bool{"ShardedListAndWatch": true}})
	t.Run("version", func(t *testing.T) { checkVersion(t, c) })
	t.Run("tokens", func(t *testing.T) { checkTokens(t, c) })
	t.Run("kill and restart", func(t *testing.T) { checkRestarts(t, c) })
	t.Run("compact", func(t *testing.T) { checkCompact(t, c) })
	t.Run("restore", func(t *testing.T) { checkRestore(t, c) })
	t.Run("started twice", func(t *testing.T) {
		if err := c.Etcd.Start(t.Context()); err == nil {
			t.Error("a second start of a running process is no error")
		}
	})
	if t.Failed() {
		return // The logs are kept, which Stop would remove.
	}
	t.Run("stop", func(t *testing.T) {
		pids := []int{c.Etcd.PID(), c.APIServer.PID()}
		c.Stop()
		c.Stop()
		checkGone(t, c.dir, pids)
	})
}

func checkVersion(t *testing.T, c *Cluster) {
	response, err := c.Client(t, "").Get(c.URL + "/version")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var got struct{ GitVersion string }
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil || got.GitVersion != Version {
		t.Errorf("version is %q, %v; want %s", got.GitVersion, err, Version)
	}
}

func checkTokens(t *testing.T, c *Cluster) {
	const path = "/api/v1/configmaps"
	for token, want := range map[string]int{c.Token: 200, c.NobodyToken: 403, "": 403, "wrong": 401} {
		if got := code(t, c, token, path); got != want {
			t.Errorf("list: %d; want %d", got, want)
		}
	}
	if err := c.SetTokens("another"); err != nil {
		t.Fatal(err)
	}
	restart(t, c.APIServer)
	if got := code(t, c, c.Token, path); got != http.StatusUnauthorized {
		t.Errorf("list with the old token: %d; want 401", got)
	}
	if got := code(t, c, "another", path); got != http.StatusOK {
		t.Errorf("list with the new token: %d; want 200", got)
	}
	if err := c.SetTokens(c.Token); err != nil {
		t.Fatal(err)
	}
	restart(t, c.APIServer)
}

func restart(t *testing.T, p *Process) {
	t.Helper()
	if err := p.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// checkRestarts: what was written is there after each server was killed.
func checkRestarts(t *testing.T, c *Cluster) {
	namespace := c.Namespace(t)
	for _, p := range []*Process{c.APIServer, c.Etcd} {
		before := p.PID()
		p.Kill()
		if p.PID() != 0 {
			t.Errorf("%s has a process id after Kill", p.name)
		}
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p.PID() == before {
			t.Errorf("%s has the same process id after a restart", p.name)
		}
		if err := c.APIServer.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := code(t, c, c.Token, "/api/v1/namespaces/"+namespace); got != http.StatusOK {
			t.Errorf("namespace after the restart of %s: %d; want 200", p.name, got)
		}
	}
}

// checkCompact: a list exactly at a version from before the compaction is refused.
func checkCompact(t *testing.T, c *Cluster) {
	c.Namespace(t)
	revision, err := c.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/api/v1/events?resourceVersionMatch=Exact&resourceVersion=%d", revision-1)
	if got := code(t, c, c.Token, path); got != http.StatusOK {
		t.Errorf("list before the compaction: %d; want 200", got)
	}
	if err := c.Compact(t.Context(), revision); err != nil {
		t.Fatal(err)
	}
	if got := code(t, c, c.Token, path); got != http.StatusGone {
		t.Errorf("list after the compaction: %d; want 410", got)
	}
}

// checkRestore: both ways back to an earlier state lose what was written since.
func checkRestore(t *testing.T, c *Cluster) {
	snapshot, data := filepath.Join(t.TempDir(), "snapshot"), filepath.Join(t.TempDir(), "data")
	before := c.Namespace(t)
	if err := c.CopyData(data); err == nil {
		t.Error("data was copied from under a running etcd")
	}
	if err := c.Snapshot(t.Context(), snapshot); err != nil {
		t.Fatal(err)
	}
	c.Etcd.Stop()
	if err := c.CopyData(data); err != nil {
		t.Fatal(err)
	}
	for name, restore := range map[string]func() error{
		"snapshot": func() error { return c.RestoreSnapshot(t.Context(), snapshot) },
		"data":     func() error { return c.RestoreData(data) },
	} {
		if c.Etcd.PID() == 0 {
			if err := c.Etcd.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		restart(t, c.APIServer)
		after := c.Namespace(t)
		c.APIServer.Stop()
		c.Etcd.Stop()
		if err := restore(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		restart(t, c.Etcd)
		restart(t, c.APIServer)
		if got := code(t, c, c.Token, "/api/v1/namespaces/"+before); got != http.StatusOK {
			t.Errorf("%s: what was written before: %d; want 200", name, got)
		}
		if got := code(t, c, c.Token, "/api/v1/namespaces/"+after); got != http.StatusNotFound {
			t.Errorf("%s: what was written after: %d; want 404", name, got)
		}
	}
}

// checkGone: no process and no file is left.
func checkGone(t *testing.T, dir string, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("process %d is still there", pid)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder of the cluster is still there: %v", err)
	}
}

// TestStartFails: the error shows the log, and nothing is left.
func TestStartFails(t *testing.T) {
	_, err := Start(t.Context(), Options{Flags: []string{"--no-such-flag"}})
	if err == nil || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Errorf("got %v; want the last lines of the log", err)
	}
}

// TestKilledParent: servers die with the process that started them, and the next start removes
// their files.
func TestKilledParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux kills the children of a process")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"=1")
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = dieWithParent()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var etcd, api int
	var dir string
	if _, err := fmt.Sscan(line, &etcd, &api, &dir); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // It says that the process was killed.
	// The kernel's signals are on their way; the fail-safe of go test ends a wait in vain.
	for _, pid := range []int{etcd, api} {
		for syscall.Kill(pid, 0) == nil && !zombie(pid) {
			time.Sleep(pollInterval)
		}
	}
	_, unlock, err := newRunDir()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder of the killed cluster is still there: %v", err)
	}
}

// zombie says that a process has ended and only waits for its new parent to notice, as orphans do
// for ever in a container whose first process does not look after them.
func zombie(pid int) bool {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(content), ") Z ")
}
