// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/informerkit/informer/clientgo"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	host := flag.String("server", "", "`URL` of the server")
	tokenFile := flag.String("token-file", "", "`file` with a bearer token")
	caFile := flag.String("ca-file", "", "`file` with the certificate of the server's CA")
	flag.Parse()
	err := run(ctx, &rest.Config{
		Host: *host, BearerTokenFile: *tokenFile, TLSClientConfig: rest.TLSClientConfig{CAFile: *caFile},
	}, clientgo.NewInformerFunc(clientgo.Options{}))
	if err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
}

// newInformer is what cache.Options.NewInformer takes; nil: client-go's.
type newInformer = func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer

// run is the operator, until ctx ends.
func run(ctx context.Context, config *rest.Config, informers newInformer) error {
	mgr, err := newManager(config, klog.FromContext(ctx), informers)
	if err != nil {
		return err
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.ConfigMap{}, byOwner, ownerOf); err != nil {
		return err
	}
	err = builder.ControllerManagedBy(mgr).For(&Site{}).Owns(&corev1.ConfigMap{}).
		Complete(&reconciler{client: mgr.GetClient(), scheme: mgr.GetScheme()})
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// newManager makes a manager that serves no metrics.
func newManager(restConfig *rest.Config, logger logr.Logger, informers newInformer) (manager.Manager, error) {
	log.SetLogger(logger)
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	addToScheme(scheme)
	several := true
	return manager.New(restConfig, manager.Options{
		Scheme:     scheme,
		Logger:     logger,
		Cache:      cache.Options{NewInformer: informers}, // the one line
		Metrics:    server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &several},
	})
}
