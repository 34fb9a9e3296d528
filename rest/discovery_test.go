// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/informerkit/informer/rest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const all = `"verbs":["get","list","watch"]`

// old is discovery as servers before 1.26 have it, by path.
var old = map[string]string{
	"/k8s/api": `{"kind":"APIVersions","versions":["v1"]}`,
	"/k8s/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[
		{"name":"bindings","singularName":"binding","namespaced":true,"kind":"Binding","verbs":["create"]},
		{"name":"namespaces","singularName":"namespace","namespaced":false,"kind":"Namespace","shortNames":["ns"],` + all + `},
		{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","shortNames":["po"],` + all + `},
		{"name":"pods/log","singularName":"","namespaced":true,"kind":"Pod","verbs":["get"]},
		{"name":"secrets","singularName":"","namespaced":true,"kind":"Secret",` + all + `}]}`,
	"/k8s/apis": `{"kind":"APIGroupList","groups":[
		{"name":"apps","versions":[{"version":"v1beta1"},{"version":"v1"}],"preferredVersion":{"version":"v1"}},
		{"name":"example.com","versions":[{"version":"v1"}]},
		{"name":"broken.example.com","versions":[{"version":"v2"}],"preferredVersion":{"version":"v2"}}]}`,
	"/k8s/apis/apps/v1": `{"kind":"APIResourceList","groupVersion":"apps/v1","resources":[
		{"name":"deployments","singularName":"deployment","namespaced":true,"kind":"Deployment","shortNames":["deploy"],` + all + `}]}`,
	"/k8s/apis/apps/v1beta1": `{"kind":"APIResourceList","groupVersion":"apps/v1beta1","resources":[
		{"name":"deployments","singularName":"deployment","namespaced":true,"kind":"Deployment","shortNames":["deploy"],` + all + `},
		{"name":"oldies","singularName":"oldie","namespaced":true,"kind":"Oldie",` + all + `}]}`,
	"/k8s/apis/example.com/v1": `{"kind":"APIResourceList","groupVersion":"example.com/v1","resources":[
		{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod",` + all + `},
		{"name":"deploys","singularName":"deploy","namespaced":false,"kind":"Deploy",` + all + `}]}`,
}

// aggregated is the same in two documents.
var aggregated = map[string]string{
	"/k8s/api": `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{},"versions":[{"version":"v1","freshness":"Current","resources":[
		{"resource":"bindings","scope":"Namespaced","singularResource":"binding","responseKind":{"kind":"Binding"},"verbs":["create"]},
		{"resource":"namespaces","scope":"Cluster","singularResource":"namespace","responseKind":{"kind":"Namespace"},"shortNames":["ns"],` + all + `},
		{"resource":"pods","scope":"Namespaced","singularResource":"pod","responseKind":{"kind":"Pod"},"shortNames":["po"],` + all + `,"subresources":[{"subresource":"log"}]},
		{"resource":"secrets","scope":"Namespaced","responseKind":{"kind":"Secret"},` + all + `}]}]}]}`,
	"/k8s/apis": `{"kind":"APIGroupDiscoveryList","items":[
		{"metadata":{"name":"apps"},"versions":[
			{"version":"v1","resources":[{"resource":"deployments","scope":"Namespaced","singularResource":"deployment","responseKind":{"kind":"Deployment"},"shortNames":["deploy"],` + all + `}]},
			{"version":"v1beta1","resources":[{"resource":"deployments","scope":"Namespaced","singularResource":"deployment","responseKind":{"kind":"Deployment"},"shortNames":["deploy"],` + all + `},
				{"resource":"oldies","scope":"Namespaced","singularResource":"oldie","responseKind":{"kind":"Oldie"},` + all + `}]}]},
		{"metadata":{"name":"example.com"},"versions":[{"version":"v1","resources":[
			{"resource":"pods","scope":"Namespaced","singularResource":"pod","responseKind":{"kind":"Pod"},` + all + `},
			{"resource":"deploys","scope":"Cluster","singularResource":"deploy","responseKind":{"kind":"Deploy"},` + all + `}]}]},
		{"metadata":{"name":"broken.example.com"},"versions":[{"version":"v2","freshness":"Stale"}]}]}`,
}

// serveDiscovery answers documents by path, as a server that has the aggregated form does,
// or as one that does not.
func serveDiscovery(t *testing.T, documents map[string]string, contentType string) rest.Config {
	server := serve(t, func(w http.ResponseWriter, req *http.Request) {
		document, ok := documents[req.URL.Path]
		if !ok {
			answer(503, "text/html", "<html>"+marker)(w, req)
			return
		}
		if !strings.Contains(req.Header.Get("Accept"), "application/json") || req.Header.Get("User-Agent") != "me" {
			t.Errorf("%s: Accept %q, User-Agent %q", req.URL, req.Header.Get("Accept"), req.Header.Get("User-Agent"))
		}
		answer(200, contentType, document)(w, req)
	})
	return rest.Config{BaseURL: server.URL + "/k8s", UserAgent: "me"}
}

func TestDiscovery(t *testing.T) {
	for form, config := range map[string]rest.Config{
		"old":        serveDiscovery(t, old, "application/json"),
		"aggregated": serveDiscovery(t, aggregated, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
		"v2beta1":    serveDiscovery(t, aggregated, "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"),
	} {
		t.Run(form, func(t *testing.T) {
			found, err := rest.Discover(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(found.Resources()); n != 9 {
				t.Errorf("%d resources: %+v", n, found.Resources())
			}
			checkFind(t, found)
			checkFindKind(t, found)
			if failed := found.Failed(); len(failed) != 1 || failed["broken.example.com/v2"] == nil {
				t.Errorf("%v", failed)
			}
		})
	}
}

func checkFind(t *testing.T, found *rest.Discovery) {
	t.Helper()
	for name, want := range map[string]string{
		"pods": "/v1/pods", "pod": "/v1/pods", "Pod": "/v1/pods", "PO": "/v1/pods", "pods.v1.": "/v1/pods", "v1/pods": "/v1/pods",
		"secret": "/v1/secrets", "ns": "/v1/namespaces",
		"deployments": "apps/v1/deployments", "deployments.apps": "apps/v1/deployments", "deployments.v1beta1.apps": "apps/v1beta1/deployments",
		"apps/v1beta1/deploy": "apps/v1beta1/deployments", "oldies": "apps/v1beta1/oldies", "deploy.apps": "apps/v1/deployments",
		"deploy":       "example.com/v1/deploys", // a singular comes before a short name
		"pods.example": "example.com/v1/pods", "pods.example.com": "example.com/v1/pods",
	} {
		got, err := found.Find(name)
		if text := got.Group + "/" + got.Version + "/" + got.Resource.Resource; err != nil || text != want {
			t.Errorf("%s: %s, %v; want %s", name, text, err, want)
		}
	}
	for name, want := range map[string]error{
		"": rest.ErrResourceNotFound, "none": rest.ErrResourceNotFound, "pods.none": rest.ErrResourceNotFound, ".": rest.ErrResourceNotFound,
		"pods/log": rest.ErrResourceNotFound, "v2/pods": rest.ErrResourceNotFound, "pods.exam": rest.ErrResourceNotFound, "bindings": rest.ErrNotListable,
	} {
		got, err := found.Find(name)
		if !errors.Is(err, want) {
			t.Errorf("%q: %+v, %v", name, got, err)
		}
		wantDiscreet(t, err)
		if want == rest.ErrResourceNotFound && !strings.Contains(err.Error(), "broken.example.com/v2") {
			t.Errorf("does not name what could not be asked: %v", err)
		}
	}
}

func checkFindKind(t *testing.T, found *rest.Discovery) {
	t.Helper()
	got, err := found.FindKind(schema.GroupVersionKind{Group: "apps", Kind: "Deployment"})
	if err != nil || got.In("a") != (rest.Resource{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "a"}) {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = found.FindKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	if err != nil || got.In("a") != (rest.Resource{Version: "v1", Resource: "namespaces"}) {
		t.Errorf("a namespace in a namespace: %+v, %v", got, err)
	}
	if _, err := found.FindKind(schema.GroupVersionKind{Version: "v2", Kind: "Pod"}); !errors.Is(err, rest.ErrResourceNotFound) {
		t.Error(err)
	}
	scheme := runtime.NewScheme()
	if _, err := found.FindObject(scheme, &Secret{}); err == nil {
		t.Error("a type that the scheme does not know")
	}
	scheme.AddKnownTypes(schema.GroupVersion{Group: "none", Version: "v1"}, &Secret{})
	if _, err := found.FindObject(scheme, &Secret{}); !errors.Is(err, rest.ErrResourceNotFound) {
		t.Error(err)
	}
	scheme.AddKnownTypes(schema.GroupVersion{Version: "v1"}, &Secret{})
	if got, err = found.FindObject(scheme, &Secret{}); err != nil || got.Resource.Resource != "secrets" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := found.FindObject(nil, &Secret{}); err == nil {
		t.Error("a type without a scheme")
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Deploy"})
	if got, err = found.FindObject(nil, u); err != nil || got.Resource.Resource != "deploys" || got.GroupVersionKind() != u.GroupVersionKind() {
		t.Errorf("%+v, %v", got, err)
	}
}

// What cannot be asked at all is an error, and names what was asked for.
func TestDiscoveryFails(t *testing.T) {
	const status = `{"kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`
	for name, row := range map[string]struct {
		handler http.HandlerFunc
		want    func(error) bool
		text    string
	}{
		"403":          {answer(403, "application/json", status), apierrors.IsForbidden, "/api: no"},
		"404":          {answer(404, "text/plain", "none"), apierrors.IsNotFound, "/apis: "},
		"HTML":         {answer(200, "text/html", marker), is(rest.ErrContentType), "text/html"},
		"no JSON":      {answer(200, "application/json", "{"+marker), is(rest.ErrMalformed), "discover http://"},
		"another form": {answer(200, "application/json", `{"groups":["`+marker+`"],"versions":"`+marker+`"}`), is(rest.ErrMalformed), "discover http://"},
		"truncated":    {truncated, is(io.ErrUnexpectedEOF), "discover http://"},
		"no gzip":      {compressed(marker), is(rest.ErrMalformed), "discover http://"},
	} {
		server := serve(t, row.handler)
		_, err := rest.Discover(t.Context(), rest.Config{BaseURL: server.URL})
		if err == nil || !row.want(err) || !strings.Contains(err.Error(), row.text) {
			t.Errorf("%s: %v", name, err)
		}
		wantDiscreet(t, err)
	}
	if _, err := rest.Discover(t.Context(), rest.Config{}); err == nil {
		t.Error("no BaseURL: no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	server := serve(t, func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path != "/apis" && req.URL.Path != "/api" {
			cancel()
			<-req.Context().Done()
		}
		answerJSON(old["/k8s"+req.URL.Path])(w, req)
	})
	if _, err := rest.Discover(ctx, rest.Config{BaseURL: server.URL}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func is(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }

func truncated(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"kind":"`)
}

// compressed says that a body is compressed.
func compressed(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		answerJSON(body)(w, req)
	}
}

// Groups are asked for some at a time, and their order stays.
func TestDiscoveryIsBounded(t *testing.T) {
	var under, most atomic.Int64
	var groups []string
	for i := range 40 {
		groups = append(groups, fmt.Sprintf(`{"name":"g%02d","versions":[{"version":"v1"}]}`, i))
	}
	server := serve(t, func(w http.ResponseWriter, req *http.Request) {
		switch n := under.Add(1); req.URL.Path {
		case "/api":
			answer(404, "text/plain", "")(w, req)
		case "/apis":
			answerJSON(`{"groups":[`+strings.Join(groups, ",")+`]}`)(w, req)
		default:
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			answerJSON(`{"resources":[{"name":"things","kind":"Thing"}]}`)(w, req)
		}
		under.Add(-1)
	})
	found, err := rest.Discover(t.Context(), rest.Config{BaseURL: server.URL})
	if err != nil || len(found.Resources()) != 40 || most.Load() > 8 {
		t.Fatal(len(found.Resources()), most.Load(), err)
	}
	for i, resource := range found.Resources() {
		if resource.Group != fmt.Sprintf("g%02d", i) {
			t.Fatalf("%d: %s", i, resource.Group)
		}
	}
	client, err := rest.New[*metav1.PartialObjectMetadata](rest.Config{BaseURL: server.URL}, found.Resources()[3].In(""))
	if err != nil || client.String() != "things.g03" {
		t.Error(client, err)
	}
}
