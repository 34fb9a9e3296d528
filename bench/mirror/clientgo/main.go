// SPDX-License-Identifier: Apache-2.0

// Command clientgo mirrors pods with client-go.
package main

import (
	"context"

	"github.com/informerkit/informer/bench/mirror"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	clientrest "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

var podsResource = corev1.SchemeGroupVersion.WithResource("pods")

func main() { mirror.Main(clientGo) }

// listOnly keeps client-go from asking for a watch-list.
type listOnly struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is how client-go asks.
func (listOnly) IsWatchListSemanticsUnSupported() bool { return true }

func clientGo(ctx context.Context, task mirror.Task) (*mirror.State, error) {
	all, example, err := clientGoSource(task)
	if err != nil {
		return nil, err
	}
	var source cache.ListerWatcher = all
	if task.Mode != mirror.WatchList {
		source = listOnly{all}
	}
	pods := cache.NewSharedIndexInformer(source, example, 0, cache.Indexers{})
	if err := pods.SetTransform(func(obj any) (any, error) {
		obj.(metav1.Object).SetManagedFields(nil)
		return obj, nil
	}); err != nil {
		return nil, err
	}
	state := &mirror.State{
		Count:     func() int { return len(pods.GetStore().ListKeys()) },
		Version:   pods.LastSyncResourceVersion,
		Delivered: &mirror.Deliveries{},
	}
	if task.Mode == mirror.Relist {
		handler := cache.ResourceEventHandlerFuncs{
			UpdateFunc: func(any, any) { state.Delivered.Add() },
			DeleteFunc: func(any) { state.Delivered.Add() },
		}
		if _, err := pods.AddEventHandler(handler); err != nil {
			return nil, err
		}
	}
	go pods.RunWithContext(ctx)
	for !pods.HasSynced() || task.Last != "" && pods.LastSyncResourceVersion() != task.Last {
		if err := mirror.Pause(ctx); err != nil {
			return nil, err
		}
	}
	return state, nil
}

// clientGoSource is the client for a mode, with its own defaults but for the encoding.
func clientGoSource(task mirror.Task) (*cache.ListWatch, runtime.Object, error) {
	config := &clientrest.Config{Host: task.Server}
	switch task.Mode {
	case mirror.Unstructured:
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, nil, err
		}
		resource := client.Resource(podsResource)
		return &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return resource.List(ctx, o) },
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return resource.Watch(ctx, o)
			},
		}, &unstructured.Unstructured{}, nil
	case mirror.Metadata:
		client, err := metadata.NewForConfig(config)
		if err != nil {
			return nil, nil, err
		}
		resource := client.Resource(podsResource)
		return &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return resource.List(ctx, o) },
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return resource.Watch(ctx, o)
			},
		}, &metav1.PartialObjectMetadata{}, nil
	case mirror.Protobuf:
		config.ContentType = "application/vnd.kubernetes.protobuf"
		config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	return cache.NewFilteredListWatchFromClient(client.CoreV1().RESTClient(), "pods", "", func(*metav1.ListOptions) {}), &corev1.Pod{}, nil
}
