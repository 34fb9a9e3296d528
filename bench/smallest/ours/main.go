// SPDX-License-Identifier: Apache-2.0

// Command ours mirrors the pods of the cluster that it runs in.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/rest"

	corev1 "k8s.io/api/core/v1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	source, err := rest.New[*corev1.Pod](config, rest.Resource{Version: "v1", Resource: "pods"})
	if err != nil {
		return err
	}
	pods := informer.New(source, informer.Options[*corev1.Pod]{})
	_, err = pods.AddHandler(informer.HandlerFuncs[*corev1.Pod]{
		AddFunc:    func(pod *corev1.Pod) { fmt.Println("added", pod.Namespace, pod.Name) },
		DeleteFunc: func(pod *corev1.Pod) { fmt.Println("deleted", pod.Namespace, pod.Name) },
	}, informer.HandlerOptions{})
	if err != nil {
		return err
	}
	return pods.Run(ctx)
}
