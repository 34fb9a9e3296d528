// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

// checkFactory runs the informer in a shared informer factory.
func checkFactory(e *env) {
	factory := informers.NewSharedInformerFactoryWithOptions(fake.NewClientset(), time.Minute,
		informers.WithTransform(func(obj any) (any, error) { return obj, nil }))
	factory.InformerFor(&corev1.ConfigMap{}, func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		e.renew(resync)
		return e.informer
	})
	r := &recorder{env: e}
	_, err := factory.Core().V1().ConfigMaps().Informer().AddEventHandler(r)
	e.noError(err)
	ctx, cancel := context.WithCancel(e.t.Context())
	factory.StartWithContext(ctx)
	factory.StartWithContext(ctx) // starts nothing twice
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		e.errorf("sync: %v", err)
	}
	if _, err := factory.Core().V1().ConfigMaps().Lister().ConfigMaps("ns").Get("a"); err != nil {
		e.errorf("lister: %v", err)
	}
	e.wantSet(r, "add a initial", "add b initial")
	down := make(chan struct{})
	go func() { factory.Shutdown(); close(down) }()
	synctest.Wait()
	select {
	case <-down:
		e.errorf("Shutdown did not wait")
	default:
	}
	cancel()
	<-down
	factory.Shutdown() // again
	if !e.informer.IsStopped() {
		e.errorf("the informer is not stopped")
	}
}
