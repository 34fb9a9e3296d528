// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/informertest"
	"github.com/informerkit/informer/rest"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"
)

// patience bounds each step; none takes more than a few seconds.
const patience = 30 * time.Second

// demo is a server in memory, and a mirror of it over HTTP.
type demo struct {
	log     *account
	widgets *informertest.Collection[object]
	mirror  *informer.Informer[object]
	told    chan informer.Change[object] // changes after the first list
}

// demonstrate runs the mirror through trouble. It returns nil if mirror and server are
// equal at the end.
func demonstrate(ctx context.Context, out io.Writer) error {
	ctx, stop := context.WithCancel(klog.NewContext(ctx, klog.Logger{})) // the account says it all
	defer stop()
	d := &demo{log: newAccount(out), told: make(chan informer.Change[object], 10_000)}
	url, err := d.serve(ctx)
	if err != nil {
		return err
	}
	if err := d.fill(ctx, 1000); err != nil {
		return err
	}
	d.log.printf("server in memory at %s, with %d widgets", url, d.widgets.Len())
	done, err := d.start(ctx, url)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{d.sync, d.follow, d.cut, d.compact, d.compare} {
		if err := d.within(ctx, step); err != nil {
			return err
		}
	}
	stop()
	return <-done
}

func (d *demo) within(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return step(ctx)
}

// serve starts the server on a loopback port, until ctx ends.
func (d *demo) serve(ctx context.Context) (url string, err error) {
	server := informertest.NewServer(informertest.ServerOptions{})
	d.widgets = server.Add(informertest.Resource{
		Group: "example.com", Version: "v1", Resource: "widgets", Kind: "Widget", Namespaced: true, ItemKinds: true,
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	httpServer := &http.Server{Handler: server, ReadHeaderTimeout: patience}
	context.AfterFunc(ctx, func() { _ = httpServer.Close() })
	go func() { _ = httpServer.Serve(listener) }()
	return "http://" + listener.Addr().String(), nil
}

func (d *demo) fill(ctx context.Context, n int) error {
	for i := range n {
		if err := d.create(ctx, fmt.Sprintf("widget-%04d", i)); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) create(ctx context.Context, name string) error {
	widget := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(1)}}}
	widget.SetNamespace("default")
	widget.SetName(name)
	_, err := d.widgets.Create(ctx, widget)
	return err
}

func (d *demo) resize(ctx context.Context, name string, size int64) error {
	widget, err := d.widgets.Get(ctx, "default", name)
	if err != nil {
		return err
	}
	widget = widget.DeepCopy()
	if err := unstructured.SetNestedField(widget.Object, size, "spec", "size"); err != nil {
		return err
	}
	_, err = d.widgets.Update(ctx, widget)
	return err
}

// start runs a mirror that lists page by page, so that there is a progress to print.
func (d *demo) start(ctx context.Context, url string) (done <-chan error, err error) {
	source, err := rest.New[object](rest.Config{BaseURL: url}, rest.Resource{Group: "example.com", Version: "v1", Resource: "widgets"})
	if err != nil {
		return nil, err
	}
	options := informer.Options[object]{}
	options.Name = "widgets"
	options.PageSize = 250
	options.MostRecent = true         // a consistent list comes in pages
	options.InitialEventsTimeout = -1 // and a list, instead of a stream of initial events
	options.OnError = func(_ context.Context, err error) { d.log.printf("trouble: %v", err) }
	options.Traces = []*informer.Trace{d.log.trace()}
	d.mirror = informer.New(source, options)
	if _, err := d.mirror.AddHandler(informer.HandlerFunc[object](d.hear), informer.HandlerOptions{}); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- d.mirror.Run(ctx) }()
	return ended, nil
}

// hear is the handler.
func (d *demo) hear(_ context.Context, change informer.Change[object]) {
	if change.Cause != informer.CauseInitial {
		d.log.change(change)
		d.told <- change
	}
}

// sync waits for the first list.
func (d *demo) sync(ctx context.Context) error {
	began := time.Now()
	if err := d.mirror.WaitForSync(ctx); err != nil {
		return err
	}
	d.log.printf("synced: %d objects in %v", d.mirror.Store().Len(), time.Since(began).Round(time.Millisecond))
	return nil
}

// follow makes a change of each kind.
func (d *demo) follow(ctx context.Context) error {
	err := errors.Join(
		d.create(ctx, "new"),
		d.resize(ctx, "widget-0000", 2),
		d.widgets.Delete(ctx, "default", "widget-0001"),
	)
	if err != nil {
		return err
	}
	return d.caughtUp(ctx, 3)
}

// cut ends every stream; the mirror goes on where it was.
func (d *demo) cut(ctx context.Context) error {
	d.log.printf("--- cutting all streams")
	d.widgets.CutStreams()
	if err := d.resize(ctx, "widget-0002", 2); err != nil {
		return err
	}
	return d.caughtUp(ctx, 1)
}

// compact has the server forget its history while it does not answer: the mirror cannot
// go on where it was, and lists again. Only what has changed is told.
func (d *demo) compact(ctx context.Context) error {
	d.log.printf("--- refusing two requests, and compacting the history meanwhile")
	d.widgets.FailNext(2, apierrors.NewServiceUnavailable("down for a moment"))
	d.widgets.CutStreams()
	err := errors.Join(
		d.resize(ctx, "widget-0003", 2),
		d.widgets.Delete(ctx, "default", "widget-0004"),
		d.create(ctx, "newer"),
	)
	if err != nil {
		return err
	}
	d.widgets.Compact()
	if err := d.caughtUp(ctx, 3); err != nil {
		return err
	}
	if relists := d.mirror.Status().Sources[0].Relists; relists["expired"] == 0 {
		return fmt.Errorf("the history was compacted, and there was no list for it: %v", relists)
	}
	return nil
}

// caughtUp waits until the mirror has reached the version of the server, and the handler
// has heard of so many changes.
func (d *demo) caughtUp(ctx context.Context, changes int) error {
	if err := d.mirror.WaitForResourceVersion(ctx, d.widgets.ResourceVersion()); err != nil {
		return err
	}
	for range changes {
		select {
		case <-d.told:
		case <-ctx.Done():
			return fmt.Errorf("wait for a change: %w", context.Cause(ctx))
		}
	}
	return nil
}

// compare compares mirror and server, object by object.
func (d *demo) compare(ctx context.Context) error {
	var different []string
	for key, got := range d.mirror.Store().All() {
		want, err := d.widgets.Get(ctx, got.GetNamespace(), got.GetName())
		if err != nil || !equality.Semantic.DeepEqual(got.Object["spec"], want.Object["spec"]) || got.GetResourceVersion() != want.GetResourceVersion() {
			different = append(different, key)
		}
	}
	if n := d.mirror.Store().Len(); len(different) > 0 || n != d.widgets.Len() {
		slices.Sort(different)
		return fmt.Errorf("mirror has %d objects, server %d, and they differ in %q", n, d.widgets.Len(), different)
	}
	d.log.printf("mirror and server are equal: %d objects at version %s", d.mirror.Store().Len(), d.mirror.Store().ResourceVersion())
	return nil
}
