// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/backoff"
	"github.com/informerkit/informer/e2e/internal/kube"
	"github.com/informerkit/informer/e2e/internal/proxy"
	"github.com/informerkit/informer/rest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clientrest "k8s.io/client-go/rest"
)

// rig is a collection of ConfigMaps, and two mirrors of it: one over this library's own client,
// unstructured, and one over client-go's, typed.
type rig struct {
	*kube.Cluster
	objects  *collection
	rest     *mirror[*unstructured.Unstructured]
	clientGo *mirror[*corev1.ConfigMap]
}

// both is what a test does with either mirror.
type both interface {
	sync(t *testing.T)
	reach(t *testing.T, version, after string)
	converge(t *testing.T, after string)
	log() *story
	status() informer.SourceStatus
}

func (m *mirror[T]) log() *story { return m.story }

func (m *mirror[T]) status() informer.SourceStatus { return m.Status().Sources[0] }

// rigOptions says how the mirrors reach the cluster. The zero value is the direct way.
type rigOptions struct {
	proxy        *proxy.Proxy
	tokenFile    string
	watchTimeout time.Duration
	token        string // what the test writes with; "": the cluster's
}

// direct is how the test itself reaches the cluster.
func (o rigOptions) direct(c *kube.Cluster) *clientrest.Config {
	config := c.RESTConfig()
	config.BearerToken = cmp.Or(o.token, c.Token)
	return config
}

// ownCluster is for tests that disturb it. They run beside others.
func ownCluster(t *testing.T, options kube.Options) *kube.Cluster {
	t.Helper()
	t.Parallel()
	return kube.New(t, options)
}

// newRig creates some objects and starts the mirrors, which then have synced.
func newRig(t *testing.T, c *kube.Cluster, options rigOptions) *rig {
	t.Helper()
	r := newCollection(t, c, options)
	r.start(t, options)
	for _, m := range r.mirrors() {
		m.sync(t)
	}
	return r
}

// newCollection is a rig without mirrors.
func newCollection(t *testing.T, c *kube.Cluster, options rigOptions) *rig {
	t.Helper()
	namespace := c.Namespace(t)
	writes := options.direct(c)
	r := &rig{Cluster: c, objects: &collection{
		ResourceInterface: must(dynamic.NewForConfig(writes))(t).Resource(configMapResource).Namespace(namespace),
		kind:              configMapResource.GroupVersion().WithKind("ConfigMap"),
		namespace:         namespace,
	}}
	for i := range 5 {
		r.objects.create(t, fmt.Sprintf("old-%d", i), "front")
	}
	return r
}

// start starts the mirrors. The fresh lists that they are compared with go the direct way.
func (r *rig) start(t *testing.T, options rigOptions) {
	t.Helper()
	url, tokenFile := r.URL, r.TokenFile
	if options.proxy != nil {
		url = "https://" + options.proxy.Addr
	}
	if options.tokenFile != "" {
		tokenFile = options.tokenFile
	}
	settings := informer.ReflectorOptions{
		Name:         "rest",
		Backoff:      backoff.Options{Initial: 100 * time.Millisecond, Max: 2 * time.Second},
		WatchTimeout: options.watchTimeout,
	}
	own := must(rest.New[*unstructured.Unstructured](
		rest.Config{BaseURL: url, BearerTokenFile: tokenFile, CAFile: r.CAFile},
		rest.Resource{Version: "v1", Resource: "configmaps", Namespace: r.objects.namespace},
	))(t)
	r.rest = startMirror(t, own, asLister(r.objects.List), informer.Options[*unstructured.Unstructured]{ReflectorOptions: settings})

	settings.Name = "client-go"
	theirs := must(kubernetes.NewForConfig(&clientrest.Config{
		Host: url, BearerTokenFile: tokenFile, QPS: -1,
		TLSClientConfig: clientrest.TLSClientConfig{CAFile: r.CAFile},
	}))(t).CoreV1().ConfigMaps(r.objects.namespace)
	direct := must(kubernetes.NewForConfig(options.direct(r.Cluster)))(t).CoreV1().ConfigMaps(r.objects.namespace)
	r.clientGo = startMirror(t, informer.FromClient(theirs), asLister(direct.List), informer.Options[*corev1.ConfigMap]{ReflectorOptions: settings})
}

func (r *rig) mirrors() map[string]both {
	return map[string]both{"rest": r.rest, "client-go": r.clientGo}
}

// alive writes, and checks that both mirrors follow, end equal to a fresh list, and have logged
// what happened in a few lines, the last of which says that all is well.
func (r *rig) alive(t *testing.T, after string) {
	t.Helper()
	r.objects.update(t, "old-0", after)
	r.objects.create(t, "made-"+strings.ReplaceAll(after, " ", "-"), "front")
	r.objects.delete(t, "old-1")
	r.objects.create(t, "old-1", "front")
	r.objects.delete(t, "old-4")
	r.objects.create(t, "old-4", "front")
	r.objects.delete(t, "old-3")
	r.objects.create(t, "old-3", "back")
	for name, m := range r.mirrors() {
		m.converge(t, after+", "+name)
		m.log().await(t, "the end of the failures", func() bool { return m.status().Failures == 0 })
		m.log().short(t)
	}
}

// proxied makes a proxy before the server.
func proxied(t *testing.T, c *kube.Cluster) *proxy.Proxy {
	t.Helper()
	return proxy.New(t, strings.TrimPrefix(c.URL, "https://"))
}

// start starts a server again; it has to be ready in two minutes.
func start(t *testing.T, servers ...*kube.Process) {
	t.Helper()
	for _, p := range servers {
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// outage is a time in which nothing is there.
func outage(d time.Duration) { <-time.After(d) }

// copyOf copies a small file, so that a test can change it.
func copyOf(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	write(t, to, string(must(os.ReadFile(path))(t)))
	return to
}

// write replaces a file at once, as a kubelet does.
func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}
