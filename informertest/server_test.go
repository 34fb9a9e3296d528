// SPDX-License-Identifier: Apache-2.0

package informertest_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/informerkit/informer/informertest"
	"github.com/informerkit/informer/internal/servertable"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var (
	configMaps = informertest.Resource{Version: "v1", Resource: "configmaps", Kind: "ConfigMap", Namespaced: true}
	events     = informertest.Resource{Version: "v1", Resource: "events", Kind: "Event", Namespaced: true}
	components = informertest.Resource{Version: "v1", Resource: "componentstatuses", Kind: "ComponentStatus"}
)

// pipe is a network of one listener that stays inside a bubble.
type pipe struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipe) Close() error   { close(p.closed); return nil }
func (p pipe) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (p pipe) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve runs a server inside the bubble of t and returns a client for it.
func serve(t *testing.T, handler http.Handler) *http.Client {
	network := pipe{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: handler}
	done := make(chan error, 1)
	go func() { done <- server.Serve(network) }()
	transport := &http.Transport{DialContext: network.dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := server.Close(); err != nil {
			t.Errorf("close server: %v", err)
		}
		<-done
		time.Sleep(time.Second) // of fake time: net/http lingers over connections whose request it did not read
	})
	return &http.Client{Transport: transport}
}

// target is a fresh server for a row of the table.
func target(t *testing.T) servertable.Target {
	server := informertest.NewServer(informertest.ServerOptions{})
	maps := server.Add(configMaps)
	server.Add(events).SetQuirks(informertest.Quirks{NoWatchCache: true})
	status := server.Add(components)
	status.SetQuirks(informertest.Quirks{NoVersions: true})
	if _, err := status.Create(t.Context(), &unstructured.Unstructured{
		Object: map[string]any{"metadata": map[string]any{"name": "etcd-0"}},
	}); err != nil {
		t.Fatal(err)
	}
	namespaces := 0
	return servertable.Target{
		BaseURL: "http://pipe",
		Client:  serve(t, server),
		Namespace: func(testing.TB) string {
			namespaces++
			return fmt.Sprintf("row-%d", namespaces)
		},
		Expire:            func(testing.TB, string) { maps.Compact() },
		ComponentStatuses: true,
		Patient:           true,
	}
}

// TestServerTable runs what a real server answers against this one, on fake time.
func TestServerTable(t *testing.T) {
	for _, row := range servertable.Rows() {
		bubble(t, row.Name, func(t *testing.T) {
			target := target(t)
			if !row.Runs(target) {
				t.Fatal("the in-memory server lacks what this row needs")
			}
			row.Check(t, target)
		})
	}
}
