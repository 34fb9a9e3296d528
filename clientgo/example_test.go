// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"fmt"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/clientgo"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// podInformer is what a factory needs to have this library's informer for pods.
func podInformer(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
	lw := clientgo.ToListerWatcher(informer.FromClient(client.CoreV1().Pods("")))
	return clientgo.NewSharedIndexInformer(lw, &corev1.Pod{}, resync, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})
}

// One line puts this library under everything that a shared informer factory hands out for a
// type, the generated lister among it. It has to come before anything else asks for the type.
func Example_sharedInformerFactory() {
	client := fake.NewClientset(
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "a"}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: "b"}},
	)
	factory := informers.NewSharedInformerFactory(client, 0)
	ours := factory.InformerFor(&corev1.Pod{}, podInformer)

	pods := factory.Core().V1().Pods()
	fmt.Println("one store:", pods.Informer().GetStore() == ours.GetStore())

	ctx, cancel := context.WithCancel(context.Background())
	factory.StartWithContext(ctx)
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		fmt.Println(err)
	}
	inWeb, err := pods.Lister().Pods("web").List(labels.Everything())
	fmt.Println(len(inWeb), err)
	_, err = pods.Lister().Pods("web").Get("b")
	fmt.Println(err)
	cancel()
	factory.Shutdown()
	// Output:
	// one store: true
	// 1 <nil>
	// pod "b" not found
}

// A test of a controller seeds its lister without a server, and without Run.
func ExampleNewSharedIndexInformer() {
	pods := clientgo.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Pod{}, 0, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})
	err := pods.GetIndexer().Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "a"}})
	fmt.Println(err)
	pod, err := corelisters.NewPodLister(pods.GetIndexer()).Pods("web").Get("a")
	fmt.Println(pod.Name, err)
	// Output:
	// <nil>
	// a <nil>
}
