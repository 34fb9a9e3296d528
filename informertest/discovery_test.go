// SPDX-License-Identifier: Apache-2.0

package informertest_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/informerkit/informer/informertest"
	"github.com/informerkit/informer/rest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// discoverable is a server with two groups beside the core, one of them in two versions.
func discoverable() *informertest.Server {
	server := informertest.NewServer(informertest.ServerOptions{Token: "secret"})
	for _, resource := range []informertest.Resource{
		configMaps, components,
		{Group: "example.com", Version: "v1beta1", Resource: "gadgets", Kind: "Gadget"},
		{Group: "example.com", Version: "v1", Resource: "widgets", Kind: "Widget", Namespaced: true},
		{Group: "example.com", Version: "v1beta1", Resource: "widgets", Kind: "Widget", Namespaced: true},
		{Group: "apps", Version: "v1", Resource: "deployments", Kind: "Deployment", Namespaced: true},
	} {
		server.Add(resource)
	}
	return server
}

func TestDiscovery(t *testing.T) {
	bubble(t, "found", func(t *testing.T) {
		config := rest.Config{BaseURL: "http://server", BearerToken: "secret", HTTPClient: serve(t, discoverable())}
		found, err := rest.Discover(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range found.Resources() {
			got = append(got, fmt.Sprintf("%s/%s %s %s %v", r.Group, r.Version, r.Resource.Resource, r.Kind, r.Namespaced))
		}
		want := []string{
			"/v1 componentstatuses ComponentStatus false", "/v1 configmaps ConfigMap true", "apps/v1 deployments Deployment true",
			"example.com/v1 widgets Widget true", "example.com/v1beta1 gadgets Gadget false", "example.com/v1beta1 widgets Widget true",
		}
		if !slices.Equal(got, want) || len(found.Failed()) > 0 {
			t.Errorf("got %q, failed %v", got, found.Failed())
		}
		for _, name := range []string{"widgets", "Widget", "widget", "widgets.example", "example.com/v1/widgets"} {
			if r, err := found.Find(name); err != nil || r.Version != "v1" || !slices.Contains(r.Verbs, "watch") {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		}
		if _, err := found.Find("nothing"); !errors.Is(err, rest.ErrResourceNotFound) {
			t.Error(err)
		}
		config.BearerToken = "another"
		if _, err := rest.Discover(t.Context(), config); !apierrors.IsUnauthorized(err) {
			t.Error(err)
		}
	})
}

// What is not served is not found, and nothing can be written to what is.
func TestDiscoveryRefuses(t *testing.T) {
	bubble(t, "refused", func(t *testing.T) {
		client := serve(t, discoverable())
		for request, want := range map[string]int{
			"GET /api": 200, "GET /apis/": 200, "GET /api/v1": 200, "GET /apis/apps": 200, "GET /apis/apps/v1": 200,
			"GET /api/v2": 404, "GET /apis/none": 404, "GET /apis/apps/v2": 404, "GET /apis/none/v1": 404, "GET /": 404, "POST /api": 405,
		} {
			var method, path string
			if _, err := fmt.Sscan(request, &method, &path); err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequestWithContext(t.Context(), method, "http://server"+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer secret")
			answer, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if answer.StatusCode != want {
				t.Errorf("%s: %d, want %d", request, answer.StatusCode, want)
			}
		}
	})
}
