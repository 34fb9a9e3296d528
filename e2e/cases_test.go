// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	metadatafake "k8s.io/client-go/metadata/fake"
)

// TestCases holds the cases from the field that need client-go.
func TestCases(t *testing.T) {
	t.Run("R42", testFakes)
}

// testFakes: client-go's fakes cannot stream a first list and have no marker. A mirror of one has
// synced before any time has passed, and follows what is written to it.
func testFakes(t *testing.T) {
	labels := map[string]string{"tier": "front"}
	object := metav1.ObjectMeta{Namespace: "ns", Name: "a", Labels: labels}
	for name, run := range map[string]func(t *testing.T){
		"typed": func(t *testing.T) {
			client := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: object}).CoreV1().ConfigMaps("ns")
			mirrorFake[*corev1.ConfigMap](t, informer.FromClient(client), func(ctx context.Context) error {
				_, err := client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, metav1.CreateOptions{})
				return err
			}, client.Delete)
		},
		"dynamic": func(t *testing.T) {
			client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, &corev1.ConfigMap{ObjectMeta: object}).
				Resource(configMapResource).Namespace("ns")
			mirrorFake[*unstructured.Unstructured](t, informer.FromClient(client), func(ctx context.Context) error {
				b := decodeJSON(t, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "ns"}}`)
				_, err := client.Create(ctx, b, metav1.CreateOptions{})
				return err
			}, func(ctx context.Context, name string, options metav1.DeleteOptions) error {
				return client.Delete(ctx, name, options)
			})
		},
		"metadata": func(t *testing.T) {
			testScheme := metadatafake.NewTestScheme()
			if err := metav1.AddMetaToScheme(testScheme); err != nil {
				t.Fatal(err)
			}
			client := metadatafake.NewSimpleMetadataClient(testScheme, partial(object)).
				Resource(configMapResource).Namespace("ns")
			mirrorFake[*metav1.PartialObjectMetadata](t, informer.FromClient(client), func(context.Context) error {
				b := partial(metav1.ObjectMeta{Namespace: "ns", Name: "b"})
				_, err := client.(metadatafake.MetadataClient).CreateFake(b, metav1.CreateOptions{})
				return err
			}, func(ctx context.Context, name string, options metav1.DeleteOptions) error {
				return client.Delete(ctx, name, options)
			})
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, run) })
	}
}

func partial(object metav1.ObjectMeta) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: object,
	}
}

// mirrorFake runs inside a bubble, whose clock moves only when everything waits for it.
func mirrorFake[T informer.Object](
	t *testing.T,
	source informer.ListerWatcher,
	create func(ctx context.Context) error,
	remove func(ctx context.Context, name string, options metav1.DeleteOptions) error,
) {
	ctx, stop := context.WithCancel(t.Context())
	inf := informer.New(source, informer.Options[T]{})
	done := make(chan error, 1)
	began := time.Now()
	go func() { done <- inf.Run(ctx) }()
	if err := inf.WaitForSync(ctx); err != nil {
		t.Fatal(err)
	}
	if waited := time.Since(began); waited != 0 {
		t.Errorf("synced after %v; want without waiting", waited)
	}
	if _, ok := inf.Store().Get("ns/a"); !ok || inf.Store().Len() != 1 {
		t.Errorf("the mirror holds %v; want ns/a", inf.Store().Keys())
	}
	synctest.Wait() // The watch is open: fakes replay nothing.
	if err := create(ctx); err != nil {
		t.Fatal(err)
	}
	if err := remove(ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	if _, ok := inf.Store().Get("ns/b"); !ok || inf.Store().Len() != 1 {
		t.Errorf("the mirror holds %v; want ns/b", inf.Store().Keys())
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}
