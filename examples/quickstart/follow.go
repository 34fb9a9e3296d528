// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/rest"
	"github.com/informerkit/informer/transform"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"
)

// object is what is mirrored: any resource, without a Go type of its own.
type object = *unstructured.Unstructured

// target is a collection of a real server.
type target struct {
	config   rest.Config
	resource rest.Resource
	selector string
}

// follow mirrors a collection of a real server, and prints its changes until ctx ends.
func follow(ctx context.Context, out io.Writer, t target) error {
	source, err := rest.New[object](t.config, t.resource)
	if err != nil {
		return err
	}
	log := newAccount(out)
	ctx = klog.NewContext(ctx, klog.Logger{}) // the account says it all
	options := informer.Options[object]{Transform: transform.DropManagedFields[object]}
	options.Name = t.resource.Resource
	options.LabelSelector = t.selector
	options.OnError = func(_ context.Context, err error) { log.printf("trouble: %v", err) }
	options.Traces = []*informer.Trace{log.trace()}
	mirror := informer.New(source, options)

	began := time.Now()
	done := make(chan error, 1)
	go func() { done <- mirror.Run(ctx) }()
	go log.progress(ctx, mirror)
	go func() {
		if mirror.WaitForSync(ctx) == nil {
			log.printf("synced: %d objects in %v", mirror.Store().Len(), time.Since(began).Round(time.Millisecond))
		}
	}()
	for change := range mirror.Changes(ctx) {
		if change.Cause != informer.CauseInitial {
			log.change(change)
		}
	}
	return <-done
}

// progress prints how far the first list has come, once a second.
func (a *account) progress(ctx context.Context, mirror *informer.Informer[object]) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-mirror.Store().Synced():
			return
		case <-tick.C:
			source := mirror.Status().Sources[0]
			if source.Phase == informer.PhaseBackoff {
				continue // which was said
			}
			remain := ""
			if source.Remaining >= 0 {
				remain = fmt.Sprintf(", %d remain", source.Remaining)
			}
			a.printf("%s: %d objects so far%s", source.Phase, source.Listed, remain)
		}
	}
}
