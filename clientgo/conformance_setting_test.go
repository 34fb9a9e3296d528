// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"syscall"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer/informertest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// settingBehaviours are about resyncs, transforms, watch errors and the lifecycle.
var settingBehaviours = []behaviour{
	{id: "R01", says: "a resync is an update for every object, and no request", check: func(e *env) {
		e.renew(time.Minute)
		r := e.handler()
		e.start()
		r.take()
		before := len(e.source.Requests())
		time.Sleep(70 * time.Second)
		e.wantSet(r, "update a >", "update b >")
		if after := len(e.source.Requests()); after != before {
			e.errorf("%d requests were made", after-before)
		}
	}},
	{id: "R02", says: "zero means that a handler does not care about resyncs", check: func(e *env) {
		e.renew(time.Minute)
		never := &recorder{env: e}
		_, err := e.informer.AddEventHandlerWithResyncPeriod(never, 0)
		e.noError(err)
		e.start()
		never.take()
		time.Sleep(5 * time.Minute)
		e.want(never)
	}},
	{id: "R03", says: "no period of the informer's own, and no resyncs by default", check: func(e *env) {
		r := e.handler()
		e.start()
		r.take()
		time.Sleep(time.Hour)
		e.want(r)
	}},
	{id: "R04", says: "each handler has the period that it asked for, or a longer one", check: func(e *env) {
		e.renew(time.Minute)
		own := &recorder{env: e}
		period := 10 * time.Minute
		_, err := e.informer.AddEventHandlerWithOptions(own, cache.HandlerOptions{ResyncPeriod: &period})
		e.noError(err)
		e.start()
		own.take()
		time.Sleep(9 * time.Minute)
		e.want(own)
		time.Sleep(4 * time.Minute)
		e.wantSet(own, "update a >", "update b >")
	}},
	{id: "T01", says: "a transform sees each object before it is stored, or anybody hears of it", check: func(e *env) {
		e.noError(e.informer.SetTransform(func(obj any) (any, error) {
			if m, ok := obj.(*corev1.ConfigMap); ok {
				m.Data = map[string]string{"value": "changed"}
			}
			return obj, nil
		}))
		r := e.handler()
		e.start()
		e.update("a", "1")
		for _, obj := range e.informer.GetStore().List() {
			if value(obj) != "changed" {
				e.errorf("%s was stored as %q", name(obj), value(obj))
			}
		}
		e.wantSet(r, "add a initial", "add b initial", "update a changed>changed")
	}},
	{id: "T02", says: "a transform may be nil", check: func(e *env) {
		e.noError(e.informer.SetTransform(nil))
		e.start()
		e.wantKeys("ns/a", "ns/b")
	}},
	{id: "L01", says: "setters that come after the start are errors", check: func(e *env) {
		e.start()
		if e.informer.SetTransform(nil) == nil || e.informer.SetWatchErrorHandler(nil) == nil || e.informer.SetWatchErrorHandlerWithContext(nil) == nil {
			e.errorf("there is none")
		}
	}},
	{id: "L02", says: "a stopped informer takes no handlers and no indexes", check: func(e *env) {
		if e.informer.IsStopped() {
			e.errorf("it is stopped before Run")
		}
		e.start()
		if e.informer.IsStopped() {
			e.errorf("it is stopped while it runs")
		}
		e.stop()
		_, err := e.informer.AddEventHandler(&recorder{env: e})
		if !e.informer.IsStopped() || err == nil || e.informer.AddIndexers(cache.Indexers{}) == nil {
			e.errorf("stopped %v, handler %v", e.informer.IsStopped(), err)
		}
		e.wantKeys("ns/a", "ns/b")
	}},
	{id: "L03", says: "Run ends with its channel, and cannot be repeated", check: func(e *env) {
		stop, over := make(chan struct{}), make(chan struct{})
		go func() { e.informer.Run(stop); close(over) }()
		e.settle()
		e.informer.Run(make(chan struct{})) // returns
		close(stop)
		<-over
		e.informer.Run(make(chan struct{}))
		if !e.informer.IsStopped() {
			e.errorf("it is not stopped")
		}
	}},
	{id: "L04", says: "the controller of the informer does nothing", check: func(e *env) {
		e.informer.GetController().Run(nil)
		e.informer.GetController().RunWithContext(e.t.Context())
		if e.informer.GetController().HasSynced() || cache.IsDone(e.informer.GetController().HasSyncedChecker()) {
			e.errorf("it has synced")
		}
		e.wantKeys()
	}},
	{id: "W01", says: "the watch error handler hears why a list fails", check: func(e *env) {
		e.source.FailWhile(func(informertest.Request) bool { return true }, apierrors.NewForbidden(corev1.Resource("configmaps"), "", errAway))
		heard := e.watchErrors()
		e.start()
		if !heard.any(apierrors.IsForbidden) {
			e.errorf("it heard %v", heard.take())
		}
	}},
	{id: "W02", says: "it hears of a watch whose connection is refused", fails: "such watches are repeated without it",
		check: func(e *env) {
			heard := e.watchErrors()
			e.start()
			e.source.FailWhile(func(informertest.Request) bool { return true },
				&url.Error{Op: "Get", URL: "http://server", Err: syscall.ECONNREFUSED})
			e.source.CutStreams()
			e.settle()
			if !heard.any(func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }) {
				e.errorf("it heard %v", heard.take())
			}
		}},
	{id: "W03", says: "it hears of a failure that the server sends inside a stream", fails: "the status is logged, and a list follows",
		check: checkStreamFailure},
	{id: "W04", says: "the last handler that was set counts, and the default one can be called from it", check: func(e *env) {
		e.source.FailNext(3, errAway)
		e.noError(e.informer.SetWatchErrorHandler(func(*cache.Reflector, error) { e.errorf("the first one was called") }))
		called := 0
		e.noError(e.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
			called++
			cache.DefaultWatchErrorHandler(ctx, r, apierrors.NewResourceExpired(fmt.Sprint(err)))
		}))
		e.start()
		if called == 0 {
			e.errorf("it was not called")
		}
	}},
}

// checkStreamFailure has the server end each stream with a status.
func checkStreamFailure(e *env) {
	failing := false
	open := func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		if !failing {
			return e.source.Watch(ctx, options)
		}
		w := watch.NewFakeWithChanSize(1, false)
		status := apierrors.NewInternalError(errAway).Status()
		w.Error(&status)
		return w, nil
	}
	e.lw = &cache.ListWatch{ListWithContextFunc: e.source.List, WatchFuncWithContext: open}
	e.renew(0)
	heard := e.watchErrors()
	e.start()
	failing = true
	e.source.CutStreams()
	e.settle()
	if !heard.any(apierrors.IsInternalError) {
		e.errorf("it heard %v", heard.take())
	}
}

// heardErrors is what a watch error handler was told.
type heardErrors struct{ errs chan error }

func (e *env) watchErrors() heardErrors {
	heard := heardErrors{make(chan error, 100)}
	e.noError(e.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, r *cache.Reflector, err error) {
		if r == nil {
			e.errorf("there is no Reflector")
		}
		select {
		case heard.errs <- err:
		default: // a hundred are enough
		}
	}))
	return heard
}

func (h heardErrors) take() (errs []error) {
	synctest.Wait()
	for {
		select {
		case err := <-h.errs:
			errs = append(errs, err)
		default:
			return errs
		}
	}
}

func (h heardErrors) any(match func(error) bool) bool {
	for _, err := range h.take() {
		if match(err) {
			return true
		}
	}
	return false
}
