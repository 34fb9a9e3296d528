// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/informerkit/informer/rest"
)

func Example() {
	var account strings.Builder
	if err := run(context.Background(), &account); err != nil {
		fmt.Println(err)
	}
	for line := range strings.Lines(account.String()) {
		for _, part := range []string{"---", "listing again", "equal"} {
			if _, rest, found := strings.Cut(line, part); found {
				fmt.Print(part, rest)
			}
		}
	}
	// Output:
	// --- cutting all streams
	// --- refusing two requests, and compacting the history meanwhile
	// listing again (expired)
	// equal: 1000 objects at version 1008
}

// kubeconfig writes a kubeconfig of a server that serves pods and nodes, and points to it.
func kubeconfig(t *testing.T) string {
	t.Helper()
	documents := map[string]string{
		"/api":    `{"versions":["v1"]}`,
		"/apis":   `{"groups":[]}`,
		"/api/v1": `{"resources":[{"name":"pods","namespaced":true,"kind":"Pod","shortNames":["po"]},{"name":"nodes","kind":"Node"}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, documents[req.URL.Path])
	}))
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "config")
	text := `{"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "namespace": "ns"}}],
		"clusters": [{"name": "c", "cluster": {"server": "` + server.URL + `"}}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
	return server.URL
}

func TestTarget(t *testing.T) {
	url := kubeconfig(t)
	for name, want := range map[string]rest.Resource{
		"po":                  {Version: "v1", Resource: "pods", Namespace: "ns"},
		"Node":                {Version: "v1", Resource: "nodes"},
		"v1/pods":             {Version: "v1", Resource: "pods", Namespace: "ns"},
		"apps/v1/deployments": {Group: "apps", Version: "v1", Resource: "deployments", Namespace: "ns"},
	} {
		var got target
		if err := got.reach(rest.KubeconfigOptions{}, nil); err != nil {
			t.Fatal(err)
		}
		if err := got.find(t.Context(), name); err != nil || got.resource != want || got.config.BaseURL != url {
			t.Errorf("%s: %+v, %v", name, got.resource, err)
		}
	}
	everywhere := target{}
	if err := everywhere.reach(rest.KubeconfigOptions{}, map[string]bool{"namespace": true}); err != nil || everywhere.resource.Namespace != "" {
		t.Errorf("%+v, %v", everywhere.resource, err)
	}
	for _, args := range [][]string{
		{"pods"}, {"-resource=none"}, {"-resource="}, {"-resource=/pods"}, {"-resource=a/b/c/d"}, {"-token-file=x"}, {"-context=none"},
		{"-kubeconfig=absent", "-resource=pods"}, {"-server=http://127.0.0.1:1", "-context=c"}, {"-server=http://127.0.0.1:1", "-resource=pods"},
	} {
		if err := run(context.Background(), io.Discard, args...); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
