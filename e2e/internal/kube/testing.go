// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

// New starts a cluster for one test, stops it when the test is over, and keeps its logs if the test
// failed. It is for tests that stop servers or set flags; the others share the one of [Main].
func New(t testing.TB, options Options) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.keepLogs())
		}
		c.Stop()
	})
	return c
}

// Main runs the tests of a package around one cluster that they share, which set receives, and
// returns the exit code. The logs are kept if a test failed.
func Main(m *testing.M, set func(*Cluster)) int {
	c, err := Start(context.Background(), Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer c.Stop()
	set(c)
	code := m.Run()
	if code != 0 {
		fmt.Fprintln(os.Stderr, c.keepLogs())
	}
	return code
}

func (c *Cluster) keepLogs() string {
	dir, err := c.KeepLogs()
	if err != nil {
		return fmt.Sprintf("logs of the servers: %v", err)
	}
	return "logs of the servers: " + dir
}

// Client returns a client with the token, whose connections end with the test.
func (c *Cluster) Client(t testing.TB, token string) *http.Client {
	t.Helper()
	client, err := c.HTTPClient(token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return client
}

var namespaces atomic.Int64

// Namespace creates a namespace for one test and returns its name. It stays: a cluster is thrown
// away as a whole.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test-%d", namespaces.Add(1))
	body := strings.NewReader(`{"metadata":{"name":"` + name + `"}}`)
	response, err := c.Client(t, c.Token).Post(c.URL+"/api/v1/namespaces", "application/json", body)
	if err != nil {
		t.Fatalf("create namespace %s: %v", name, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusCreated {
		t.Fatalf("create namespace %s: %s", name, response.Status)
	}
	return name
}
