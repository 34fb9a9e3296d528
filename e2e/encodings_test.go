// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/e2e/internal/kube"
	"github.com/informerkit/informer/rest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
)

// overheard notes what was asked for and what was answered with.
type overheard struct {
	next http.RoundTripper

	mu      sync.Mutex
	refused int
	lists   map[string]int // by content type
	watches map[string]int
}

func (o *overheard) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := o.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	media, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	switch {
	case resp.StatusCode == http.StatusNotAcceptable || resp.StatusCode == http.StatusUnsupportedMediaType:
		o.refused++
	case resp.StatusCode != http.StatusOK:
	case req.URL.Query().Get("watch") != "":
		o.watches[media]++
	default:
		o.lists[media]++
	}
	return resp, err
}

// check wants that all answers of a kind came in one encoding.
func (o *overheard) check(t *testing.T, list, watch string, withList bool) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.watches) != 1 || o.watches[watch] == 0 {
		t.Errorf("watches came as %v, want %s alone", o.watches, watch)
	}
	if withList && (len(o.lists) != 1 || o.lists[list] == 0) {
		t.Errorf("lists came as %v, want %s alone", o.lists, list)
	}
	if o.refused > 1 {
		t.Errorf("refused %d times", o.refused)
	}
}

// encodingRun is a mirror of ConfigMaps in one encoding.
type encodingRun struct {
	*kube.Cluster
	encoding rest.Encoding
	listed   bool // not a watch-list
}

// mirrorAs leads a mirror of T through everything, and returns how it was answered.
func mirrorAs[T informer.Object](t *testing.T, run encodingRun, objects *collection, fresh lister) *overheard {
	t.Helper()
	heard := &overheard{
		next:  run.Client(t, run.Token).Transport,
		lists: map[string]int{}, watches: map[string]int{},
	}
	source := must(rest.New[T](
		rest.Config{BaseURL: run.URL, HTTPClient: &http.Client{Transport: heard}, Encoding: run.encoding},
		rest.Resource{Version: "v1", Resource: "configmaps", Namespace: objects.namespace},
	))(t)
	var options informer.Options[T]
	if run.listed {
		options.InitialEventsTimeout = -1
	}
	liveFrom(t, objects, source, fresh, options)
	return heard
}

// forms are the types that a collection can be mirrored as.
var forms = map[string]func(t *testing.T, run encodingRun, objects *collection) *overheard{
	"typed": func(t *testing.T, run encodingRun, objects *collection) *overheard {
		client := must(kubernetes.NewForConfig(run.RESTConfig()))(t).CoreV1().ConfigMaps(objects.namespace)
		return mirrorAs[*corev1.ConfigMap](t, run, objects, asLister(client.List))
	},
	"unstructured": func(t *testing.T, run encodingRun, objects *collection) *overheard {
		return mirrorAs[*unstructured.Unstructured](t, run, objects, asLister(objects.List))
	},
	"metadata": func(t *testing.T, run encodingRun, objects *collection) *overheard {
		client := must(metadata.NewForConfig(run.RESTConfig()))(t).Resource(configMapResource).Namespace(objects.namespace)
		return mirrorAs[*metav1.PartialObjectMetadata](t, run, objects, asLister(client.List))
	},
}

// mirrorForms mirrors the same in all forms, once with a list and once with a watch-list.
func mirrorForms(t *testing.T, c *kube.Cluster, encoding rest.Encoding, check func(t *testing.T, form string, run encodingRun, heard *overheard)) {
	for form, mirror := range forms {
		for how, listed := range map[string]bool{"list": true, "watch-list": false} {
			t.Run(form+"/"+how, func(t *testing.T) {
				t.Parallel()
				objects := &collection{kind: configMapResource.GroupVersion().WithKind("ConfigMap"), namespace: c.Namespace(t), cluster: c}
				objects.ResourceInterface = must(dynamic.NewForConfig(c.RESTConfig()))(t).Resource(configMapResource).Namespace(objects.namespace)
				run := encodingRun{Cluster: c, encoding: encoding, listed: listed}
				check(t, form, run, mirror(t, run, objects))
			})
		}
	}
}

// TestMirrorProtobuf mirrors in Protobuf what has it, and the rest in JSON.
func TestMirrorProtobuf(t *testing.T) {
	t.Parallel()
	mirrorForms(t, cluster, rest.Protobuf, func(t *testing.T, form string, run encodingRun, heard *overheard) {
		want := rest.Protobuf.String()
		if form == "unstructured" {
			want = rest.JSON.String()
		}
		heard.check(t, want, want, run.listed)
	})
}

// TestMirrorCBOR mirrors in CBOR.
func TestMirrorCBOR(t *testing.T) {
	c := ownCluster(t, kube.Options{FeatureGates: map[string]bool{"CBORServingAndStorage": true}})
	mirrorForms(t, c, rest.CBOR, func(t *testing.T, _ string, run encodingRun, heard *overheard) {
		heard.check(t, rest.CBOR.String(), "application/cbor-seq", run.listed)
	})
}

// TestMirrorWithoutCBOR asks a server for CBOR that does not have it: it gets JSON, and is not
// refused time and again.
func TestMirrorWithoutCBOR(t *testing.T) {
	t.Parallel()
	mirrorForms(t, cluster, rest.CBOR, func(t *testing.T, _ string, run encodingRun, heard *overheard) {
		heard.check(t, rest.JSON.String(), rest.JSON.String(), run.listed)
	})
}
