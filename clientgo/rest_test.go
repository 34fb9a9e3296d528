// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/clientgo"
	"github.com/informerkit/informer/informertest"
	"github.com/informerkit/informer/rest"

	corev1 "k8s.io/api/core/v1"
	restclient "k8s.io/client-go/rest"
)

var configMaps = rest.Resource{Version: "v1", Resource: "configmaps", Namespace: "ns"}

// TestRESTConfig mirrors with a configuration of client-go: its token, impersonation, user agent
// and wrappers reach the server.
func TestRESTConfig(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var headers []http.Header
	maps := informertest.NewCollection(t, configMap("a"))
	server := informertest.NewServer(informertest.ServerOptions{Token: "secret"})
	informertest.Serve(server, informertest.Resource{Version: "v1", Resource: "configmaps", Kind: "ConfigMap", Namespaced: true}, maps)
	loopback := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		headers = append(headers, r.Header.Clone())
		mu.Unlock()
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(loopback.Close)

	config := &restclient.Config{
		Host:        loopback.URL,
		BearerToken: "secret",
		UserAgent:   "operator/1",
		Impersonate: restclient.ImpersonationConfig{UserName: "somebody"},
		WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				r = r.Clone(r.Context())
				r.Header.Set("Wrapped", "yes")
				return next.RoundTrip(r)
			})
		},
	}
	source, err := clientgo.NewForConfig[*corev1.ConfigMap](config, configMaps)
	if err != nil {
		t.Fatal(err)
	}
	mirror := informer.New(source, informer.Options[*corev1.ConfigMap]{})
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- mirror.Run(ctx) }()
	if err := mirror.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	maps.RequireEqual(t, mirror.Store())
	cancel()
	if err := <-over; err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, header := range headers {
		for name, want := range map[string]string{
			"Authorization": "Bearer secret", "User-Agent": "operator/1", "Impersonate-User": "somebody", "Wrapped": "yes",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
	if len(headers) == 0 {
		t.Error("the server was asked nothing")
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRESTConfigErrors(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]*restclient.Config{
		"nil":                    nil,
		"a host that is no URL":  {Host: "http://[::1"},
		"a CA that is not there": {Host: "https://server", TLSClientConfig: restclient.TLSClientConfig{CAFile: "/none"}},
		"two authentications":    {Host: "https://server", Username: "u", BearerToken: "t"},
	} {
		if _, err := clientgo.NewForConfig[*corev1.ConfigMap](config, configMaps); err == nil {
			t.Errorf("%s is no error", name)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	defaults, err := clientgo.RESTConfig(&restclient.Config{Host: "server:1", DisableCompression: true, TLSClientConfig: restclient.TLSClientConfig{Insecure: true}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(defaults.BaseURL, "https://server:1") || defaults.UserAgent != restclient.DefaultKubernetesUserAgent() || !defaults.DisableCompression {
		t.Errorf("defaults: %+v", defaults)
	}
}
