// SPDX-License-Identifier: Apache-2.0

// Command ours mirrors pods with this library.
package main

import (
	"context"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/bench/mirror"
	"github.com/informerkit/informer/rest"
	"github.com/informerkit/informer/transform"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func main() { mirror.Main(ours) }

func ours(ctx context.Context, task mirror.Task) (*mirror.State, error) {
	config := rest.Config{BaseURL: task.Server, DropManagedFields: true}
	switch task.Mode {
	case mirror.Unstructured:
		return oursOf[*unstructured.Unstructured](ctx, config, task)
	case mirror.Metadata:
		config.Encoding = rest.Protobuf
		return oursOf[*metav1.PartialObjectMetadata](ctx, config, task)
	case mirror.Protobuf:
		config.Encoding = rest.Protobuf
	}
	return oursOf[*corev1.Pod](ctx, config, task)
}

func oursOf[T informer.Object](ctx context.Context, config rest.Config, task mirror.Task) (*mirror.State, error) {
	source, err := rest.New[T](config, rest.Resource{Version: "v1", Resource: "pods"})
	if err != nil {
		return nil, err
	}
	options := informer.Options[T]{Transform: transform.DropManagedFields[T]}
	if task.Mode == mirror.Intern {
		options.Transform = transform.Chain(transform.DropManagedFields[T], transform.Intern[T])
	}
	if task.Mode != mirror.WatchList {
		options.InitialEventsTimeout = -1
	}
	pods := informer.New(source, options)
	state := &mirror.State{Count: pods.Store().Len, Version: pods.Store().ResourceVersion, Delivered: &mirror.Deliveries{}}
	if task.Mode == mirror.Relist {
		handler := informer.HandlerFunc[T](func(_ context.Context, change informer.Change[T]) {
			if change.Cause != informer.CauseInitial {
				state.Delivered.Add()
			}
		})
		if _, err := pods.AddHandler(handler, informer.HandlerOptions{}); err != nil {
			return nil, err
		}
	}
	go func() { _ = pods.Run(ctx) }()
	if err := pods.WaitForSync(ctx); err != nil {
		return nil, err
	}
	for task.Last != "" && pods.Store().ResourceVersion() != task.Last {
		if err := mirror.Pause(ctx); err != nil {
			return nil, err
		}
	}
	return state, nil
}
