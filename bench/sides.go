// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/rest"
	"github.com/informerkit/informer/transform"

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

// What a child can mirror.
const (
	modeList         = "list"
	modeWatchList    = "watch-list"
	modeIntern       = "interned list"
	modeUnstructured = "unstructured list"
	modeProtobuf     = "Protobuf list"
	modeMetadata     = "metadata list"
	modeWatch        = "watch"
)

var podsResource = corev1.SchemeGroupVersion.WithResource("pods")

func ours(ctx context.Context, server, mode string) (func() int, error) {
	config := rest.Config{BaseURL: server, DropManagedFields: true}
	switch mode {
	case modeUnstructured:
		return oursOf[*unstructured.Unstructured](ctx, config, mode)
	case modeMetadata:
		config.Encoding = rest.Protobuf
		return oursOf[*metav1.PartialObjectMetadata](ctx, config, mode)
	case modeProtobuf:
		config.Encoding = rest.Protobuf
	}
	return oursOf[*corev1.Pod](ctx, config, mode)
}

func oursOf[T informer.Object](ctx context.Context, config rest.Config, mode string) (func() int, error) {
	source, err := rest.New[T](config, rest.Resource{Version: "v1", Resource: "pods"})
	if err != nil {
		return nil, err
	}
	options := informer.Options[T]{Transform: transform.DropManagedFields[T]}
	if mode == modeIntern {
		options.Transform = transform.Chain(transform.DropManagedFields[T], transform.Intern[T])
	}
	if mode != modeWatchList {
		options.InitialEventsTimeout = -1
	}
	pods := informer.New(source, options)
	go func() { _ = pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		return nil, err
	}
	last, wantsEvents := lastEvent(config.BaseURL, mode)
	for wantsEvents && pods.Store().ResourceVersion() != last {
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
	return func() int { return pods.Store().Len() }, nil
}

// lastEvent is the version of the last event that a server sends.
func lastEvent(server, mode string) (string, bool) {
	match := regexp.MustCompile("/events/([0-9]+)$").FindStringSubmatch(server)
	if mode != modeWatch || match == nil {
		return "", false
	}
	n, err := strconv.Atoi(match[1])
	return fmt.Sprintf("%08d", firstVersion+n-1), err == nil
}

func clientGo(ctx context.Context, server, mode string) (func() int, error) {
	all, example, err := clientGoSource(server, mode)
	if err != nil {
		return nil, err
	}
	var source cache.ListerWatcher = all
	if mode != modeWatchList {
		source = listOnly{all}
	}
	pods := cache.NewSharedIndexInformer(source, example, 0, cache.Indexers{})
	if err := pods.SetTransform(func(obj any) (any, error) {
		obj.(metav1.Object).SetManagedFields(nil)
		return obj, nil
	}); err != nil {
		return nil, err
	}
	go pods.RunWithContext(ctx)
	last, wantsEvents := lastEvent(server, mode)
	for !pods.HasSynced() || wantsEvents && pods.LastSyncResourceVersion() != last {
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
	return func() int { return len(pods.GetStore().ListKeys()) }, nil
}

// pause is how long both sides wait before they look again.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(10 * time.Millisecond):
		return nil
	}
}

// clientGoSource is the client for a mode, with its own defaults but for the encoding.
func clientGoSource(server, mode string) (*cache.ListWatch, runtime.Object, error) {
	config := &clientrest.Config{Host: server}
	switch mode {
	case modeUnstructured:
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
	case modeMetadata:
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
	case modeProtobuf:
		config.ContentType = "application/vnd.kubernetes.protobuf"
		config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	return cache.NewFilteredListWatchFromClient(client.CoreV1().RESTClient(), "pods", "", func(*metav1.ListOptions) {}), &corev1.Pod{}, nil
}
