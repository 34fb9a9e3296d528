// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/rest"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

const octopusCRD = `{
	"apiVersion": "apiextensions.k8s.io/v1",
	"kind": "CustomResourceDefinition",
	"metadata": {"name": "octopodes.sea.example.com"},
	"spec": {
		"group": "sea.example.com",
		"scope": "Cluster",
		"names": {"plural": "octopodes", "singular": "octopus", "kind": "Octopus", "listKind": "OctopusList", "shortNames": ["octo"]},
		"versions": [{
			"name": "v1", "served": true, "storage": true,
			"schema": {"openAPIV3Schema": {"type": "object"}}
		}, {
			"name": "v1beta1", "served": true, "storage": false, "deprecated": true, "deprecationWarning": "swims no more",
			"schema": {"openAPIV3Schema": {"type": "object"}}
		}]
	}
}`

var octopodes = schema.GroupVersionResource{Group: "sea.example.com", Version: "v1", Resource: "octopodes"}

// plainly asks for JSON without the form that has everything in one document.
type plainly struct{ http.RoundTripper }

func (p plainly) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Accept", "application/json")
	return p.RoundTripper.RoundTrip(req)
}

// counting counts requests.
type counting struct {
	http.RoundTripper
	n *atomic.Int64
}

func (c counting) RoundTrip(req *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.RoundTripper.RoundTrip(req)
}

// TestDiscovery: a built-in resource and a custom one by each of their names, in both forms that
// the server has.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	define(t, octopodes, octopusCRD)
	old := restConfig()
	client := *cluster.Client(t, cluster.Token)
	client.Transport = plainly{client.Transport}
	old.HTTPClient, old.CAFile, old.BearerTokenFile = &client, "", ""
	for form, config := range map[string]rest.Config{"aggregated": restConfig(), "group by group": old} {
		found := discoverUntil(t, config, "octopodes.sea.example.com")
		for _, name := range []string{"deploy", "Deployment", "deployments", "deployments.apps", "deployments.v1.apps", "apps/v1/deployments"} {
			got, err := found.Find(name)
			if err != nil || got.In("x") != (rest.Resource{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "x"}) {
				t.Errorf("%s: %s: %+v, %v", form, name, got, err)
			}
		}
		want := rest.Resource{Group: "sea.example.com", Version: "v1", Resource: "octopodes"}
		for _, name := range []string{"octo", "Octopus", "octopodes", "octopus.sea"} {
			if got, err := found.Find(name); err != nil || got.In("x") != want {
				t.Errorf("%s: %s: %+v, %v", form, name, got, err)
			}
		}
		if got, err := found.FindKind(schema.GroupVersionKind{Group: "sea.example.com", Kind: "Octopus"}); err != nil || got.Resource != want {
			t.Errorf("%s: by kind: %+v, %v", form, got, err)
		}
		if got, err := found.FindObject(scheme.Scheme, &appsv1.Deployment{}); err != nil || got.Resource.Resource != "deployments" {
			t.Errorf("%s: by type: %+v, %v", form, got, err)
		}
		if _, err := found.Find("tokenreviews"); !errors.Is(err, rest.ErrNotListable) {
			t.Errorf("%s: what cannot be listed: %v", form, err)
		}
		if _, err := found.Find("squids"); !errors.Is(err, rest.ErrResourceNotFound) || len(found.Failed()) > 0 {
			t.Errorf("%s: what is not there: %v", form, err)
		}
	}
	var requests atomic.Int64
	counted := *cluster.Client(t, cluster.Token)
	counted.Transport = counting{counted.Transport, &requests}
	must(rest.Discover(t.Context(), rest.Config{BaseURL: cluster.URL, HTTPClient: &counted}))(t)
	if n := requests.Load(); n != 2 {
		t.Errorf("%d requests; want one for the core group and one for all others", n)
	}
	one, other := discoverUntil(t, restConfig(), "octopodes").Resources(), discoverUntil(t, old, "octopodes").Resources()
	if fmt.Sprint(one) != fmt.Sprint(other) || !reflect.DeepEqual(one, other) {
		t.Errorf("the forms differ:\n%v\n%v", one, other)
	}
}

// discoverUntil asks until a name is served: the server says so some time after it is.
func discoverUntil(t *testing.T, config rest.Config, name string) *rest.Discovery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), failSafe)
	defer cancel()
	for {
		found := must(rest.Discover(ctx, config))(t)
		_, err := found.Find(name)
		if err == nil {
			return found
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

// TestWarnings: what the server says of a version that is to go comes once, however often it is
// listed and watched.
func TestWarnings(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []string
	config := restConfig()
	config.OnWarning = func(_ context.Context, warning string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, warning)
	}
	client := must(rest.New[*metav1.PartialObjectMetadata](config, rest.Resource{Version: "v1", Resource: "endpoints"}))(t)
	for range 2 {
		list := must(client.List(t.Context(), metav1.ListOptions{}))(t).(*informer.ObjectList[*metav1.PartialObjectMetadata])
		must(client.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion}))(t).Stop()
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 1 || !strings.Contains(told[0], "v1 Endpoints is deprecated") {
		t.Errorf("%q", told)
	}
}
