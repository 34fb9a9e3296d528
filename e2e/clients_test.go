// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"testing"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/e2e/internal/kube"
	"github.com/informerkit/informer/rest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
)

var (
	configMapResource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	crdResource       = schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	}
)

// must returns the value, or ends the test.
func must[V any](value V, err error) func(t testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func clientset(t testing.TB) *kubernetes.Clientset {
	return must(kubernetes.NewForConfig(cluster.RESTConfig()))(t)
}

func dynamicClient(t testing.TB) *dynamic.DynamicClient {
	return must(dynamic.NewForConfig(cluster.RESTConfig()))(t)
}

func metadataClient(t testing.TB) metadata.Interface {
	return must(metadata.NewForConfig(cluster.RESTConfig()))(t)
}

// restClient is this library's own client for a collection of the cluster.
func restClient[T informer.Object](t testing.TB, resource schema.GroupVersionResource, namespace string) *rest.Client[T] {
	return must(rest.New[T](restConfig(), rest.Resource{
		Group: resource.Group, Version: resource.Version, Resource: resource.Resource, Namespace: namespace,
	}))(t)
}

func restConfig() rest.Config {
	return rest.Config{BaseURL: cluster.URL, BearerTokenFile: cluster.TokenFile, CAFile: cluster.CAFile}
}

// collection writes to what a test mirrors, through client-go.
type collection struct {
	dynamic.ResourceInterface
	kind      schema.GroupVersionKind
	namespace string
	cluster   *kube.Cluster // nil: the one that the tests share
}

func configMaps(t testing.TB, namespace string) *collection {
	return &collection{
		ResourceInterface: dynamicClient(t).Resource(configMapResource).Namespace(namespace),
		kind:              configMapResource.GroupVersion().WithKind("ConfigMap"),
		namespace:         namespace,
	}
}

// create makes an object with the label tier, and returns its version.
func (c *collection) create(t *testing.T, name, tier string) string {
	t.Helper()
	return c.createWith(t, name, func(obj *unstructured.Unstructured) {
		obj.SetLabels(map[string]string{"tier": tier})
	})
}

// createWith makes an object with what fill gives it.
func (c *collection) createWith(t *testing.T, name string, fill func(*unstructured.Unstructured)) string {
	t.Helper()
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(c.kind)
	obj.SetName(name)
	fill(obj)
	made, err := c.Create(t.Context(), obj, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create %s: %v", name, err)
	}
	return made.GetResourceVersion()
}

// update changes one annotation.
func (c *collection) update(t *testing.T, name, value string) string {
	t.Helper()
	return c.modify(t, name, func(obj *unstructured.Unstructured) {
		obj.SetAnnotations(map[string]string{"e2e": value})
	})
}

// relabel moves an object to another tier.
func (c *collection) relabel(t *testing.T, name, tier string) string {
	t.Helper()
	return c.modify(t, name, func(obj *unstructured.Unstructured) {
		obj.SetLabels(map[string]string{"tier": tier})
	})
}

func (c *collection) modify(t *testing.T, name string, change func(*unstructured.Unstructured)) string {
	t.Helper()
	obj, err := c.Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("get %s: %v", name, err)
	}
	change(obj)
	made, err := c.Update(t.Context(), obj, metav1.UpdateOptions{})
	if err != nil {
		t.Fatalf("update %s: %v", name, err)
	}
	return made.GetResourceVersion()
}

func (c *collection) delete(t *testing.T, name string) {
	t.Helper()
	if err := c.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatalf("delete %s: %v", name, err)
	}
}

// deleteNamespace does what the namespace controller does, which is not part of the cluster:
// removes what the namespace holds of this collection, and then the finalizer of the namespace.
func (c *collection) deleteNamespace(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	config := cluster.RESTConfig()
	if c.cluster != nil {
		config = c.cluster.RESTConfig()
	}
	spaces := must(kubernetes.NewForConfig(config))(t).CoreV1().Namespaces()
	if err := spaces.Delete(ctx, c.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatalf("delete namespace: %v", err)
	}
	if err := c.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatalf("delete everything in the namespace: %v", err)
	}
	space, err := spaces.Get(ctx, c.namespace, metav1.GetOptions{})
	if err != nil {
		t.Fatalf("get namespace: %v", err)
	}
	space.Spec.Finalizers = nil
	if _, err := spaces.Finalize(ctx, space, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("finalize namespace: %v", err)
	}
	if _, err := spaces.Get(ctx, c.namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("namespace after its deletion: %v; want not found", err)
	}
}

// decodeJSON reads what a test has written down as text.
func decodeJSON(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}
