// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/clientgo"
	"github.com/informerkit/informer/e2e/internal/kube"
	"github.com/informerkit/informer/rest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// failSafe ends a test that waits in vain. No test asserts how long anything takes.
const failSafe = 4 * time.Minute

func TestMain(m *testing.M) {
	if side := os.Getenv(sideEnv); side != "" {
		os.Exit(measure(side))
	}
	os.Exit(m.Run())
}

// world is a cluster with an operator, mirrors of what it does, and somebody who changes things.
type world struct {
	t       *testing.T
	ctx     context.Context
	cluster *kube.Cluster
	client  client.Client // without a cache
	sites   *informer.Informer[*Site]
	pages   *informer.Informer[*corev1.ConfigMap]
}

// TestOperator has the operator converge, through a restart of the server too.
func TestOperator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var made atomic.Int32
	ours := clientgo.NewInformerFunc(clientgo.Options{})
	w.goRun(func(ctx context.Context) error {
		return run(ctx, w.cluster.RESTConfig(), func(lw toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
			made.Add(1)
			return ours(lw, example, resync, indexers)
		})
	})
	for i := range 5 {
		w.create("site"+strconv.Itoa(i), map[string]string{"index": "hello", "about": "us"})
	}
	for i := range 5 {
		w.published("site"+strconv.Itoa(i), map[string]string{"index": "hello", "about": "us"})
	}
	w.owned("site0-index", "site0")

	w.deletePage("site1-index") // the operator brings it back
	w.change("site0", map[string]string{"index": "new"})
	w.published("site0", map[string]string{"index": "new"})
	w.gone("site0-about")

	// The server goes without a word, and comes back; the operator picks up what happens then.
	w.cluster.APIServer.Kill()
	if err := w.cluster.APIServer.Start(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.change("site2", map[string]string{"index": "after", "more": "pages", "third": "page"})
	w.deletePage("site3-index")
	w.create("late", map[string]string{"index": "hello"})
	w.delete("site4")
	w.published("site2", map[string]string{"index": "after", "more": "pages", "third": "page"})
	w.published("site3", map[string]string{"index": "hello", "about": "us"})
	w.published("late", map[string]string{"index": "hello"})
	w.gone("site4-index")
	w.gone("site4-about")
	if _, err := w.sites.WaitFor(w.ctx, "default/site4", func(_ *Site, ok bool) bool { return !ok }); err != nil {
		t.Errorf("the finalizer of site4: %v", err)
	}
	if made.Load() != 2 {
		t.Errorf("the manager made %d informers, want 2", made.Load())
	}
}

func newWorld(t *testing.T) *world {
	ctx, cancel := context.WithTimeout(t.Context(), failSafe)
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, cluster: kube.New(t, kube.Options{})}
	w.define()
	scheme := runtime.NewScheme()
	w.must(corev1.AddToScheme(scheme))
	addToScheme(scheme)
	var err error
	w.client, err = client.New(w.cluster.RESTConfig(), client.Options{Scheme: scheme})
	w.must(err)
	w.sites = mirror[*Site](w, rest.Resource{Group: siteVersion.Group, Version: siteVersion.Version, Resource: "sites"})
	w.pages = mirror[*corev1.ConfigMap](w, rest.Resource{Version: "v1", Resource: "configmaps", Namespace: "default"})
	return w
}

// define creates the CRD and waits until it is served.
func (w *world) define() {
	crd := &unstructured.Unstructured{}
	w.must(json.Unmarshal([]byte(SiteCRD), &crd.Object))
	dynamics, err := dynamic.NewForConfig(w.cluster.RESTConfig())
	w.must(err)
	crds := dynamics.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	_, err = crds.Create(w.ctx, crd, metav1.CreateOptions{})
	w.must(err)
	definitions := mirrorOf[*unstructured.Unstructured](w, informer.FromClient(crds))
	_, err = definitions.WaitFor(w.ctx, crd.GetName(), func(obj *unstructured.Unstructured, ok bool) bool {
		if !ok {
			return false
		}
		conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
		for _, condition := range conditions {
			if c, ok := condition.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
				return true
			}
		}
		return false
	})
	w.must(err)
}

func mirror[T informer.Object](w *world, resource rest.Resource) *informer.Informer[T] {
	source, err := clientgo.NewForConfig[T](w.cluster.RESTConfig(), resource)
	w.must(err)
	return mirrorOf[T](w, source)
}

func mirrorOf[T informer.Object](w *world, source informer.ListerWatcher) *informer.Informer[T] {
	m := informer.New(source, informer.Options[T]{})
	w.goRun(m.Run)
	return m
}

// goRun runs something until the test is over, which fails if that returns an error.
func (w *world) goRun(run func(ctx context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	w.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(name string, pages map[string]string) {
	w.t.Helper()
	site := &Site{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: SiteSpec{Pages: pages}}
	w.must(w.client.Create(w.ctx, site))
}

// change writes without the version that it read: the operator writes too.
func (w *world) change(name string, pages map[string]string) {
	w.t.Helper()
	patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec/pages", "value": pages}})
	w.must(err)
	site := &Site{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	w.must(w.client.Patch(w.ctx, site, client.RawPatch(types.JSONPatchType, patch)))
}

func (w *world) delete(name string) {
	w.t.Helper()
	w.must(w.client.Delete(w.ctx, &Site{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}))
}

// deletePage does what the operator has to undo, and waits until it has: by another UID.
func (w *world) deletePage(name string) {
	w.t.Helper()
	page := &corev1.ConfigMap{}
	w.must(w.client.Get(w.ctx, client.ObjectKey{Namespace: "default", Name: name}, page))
	w.must(w.client.Delete(w.ctx, page))
	_, err := w.pages.WaitFor(w.ctx, "default/"+name, func(now *corev1.ConfigMap, ok bool) bool { return ok && now.UID != page.UID })
	w.must(err)
}

// published waits until the operator has written the pages and the status of a site.
func (w *world) published(name string, pages map[string]string) {
	w.t.Helper()
	for page, text := range pages {
		_, err := w.pages.WaitFor(w.ctx, "default/"+name+"-"+page, func(obj *corev1.ConfigMap, ok bool) bool { return ok && obj.Data[textKey] == text })
		w.must(err)
	}
	_, err := w.sites.WaitFor(w.ctx, "default/"+name, func(site *Site, ok bool) bool {
		return ok && len(site.Finalizers) == 1 && site.Status.Pages == len(pages) && site.Status.ObservedGeneration == site.Generation
	})
	w.must(err)
}

func (w *world) gone(page string) {
	w.t.Helper()
	_, err := w.pages.WaitFor(w.ctx, "default/"+page, func(_ *corev1.ConfigMap, ok bool) bool { return !ok })
	w.must(err)
}

// owned checks the owner reference, by which a garbage collector would find the page.
func (w *world) owned(page, name string) {
	w.t.Helper()
	obj, _ := w.pages.Store().Get("default/" + page)
	site, _ := w.sites.Store().Get("default/" + name)
	if owner := metav1.GetControllerOf(obj); owner == nil || owner.UID != site.UID || owner.Kind != "Site" {
		w.t.Errorf("%s is owned by %v", page, owner)
	}
}
