// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"

	"github.com/informerkit/informer"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Resource names a collection. Selectors are no part of it: they come with each request.
type Resource struct {
	Group     string // "" is the core group
	Version   string // "v1"; required
	Resource  string // the plural, "pods"; required
	Namespace string // "": all namespaces, or a resource that has none
}

// Client lists and watches one collection.
//
// Concurrency: its methods may be called by several goroutines.
//
// Lifetime: it needs no closing. Idle connections close by themselves.
type Client[T informer.Object] struct {
	endpoint *endpoint
	form     *form[T]
	max      int64
	inputs   sync.Pool // *input
}

var (
	_ informer.ListerWatcher = (*Client[*metav1.PartialObjectMetadata])(nil)
	_ informer.StreamLister  = (*Client[*metav1.PartialObjectMetadata])(nil)
)

// New returns a client for a resource. It sends nothing, but reads the certificates that
// the configuration names.
//
// Errors: a configuration, resource or type that cannot be; a file that cannot be read.
// The token file is not among them: it may come later.
func New[T informer.Object](config Config, resource Resource) (*Client[T], error) {
	client, err := newClient[T](config, resource)
	if err != nil {
		return nil, fmt.Errorf("rest: client for %q: %w", resource.Resource, err)
	}
	return client, nil
}

func newClient[T informer.Object](config Config, resource Resource) (*Client[T], error) {
	form, err := newForm[T](config.Encoding, config.DropManagedFields)
	if err != nil {
		return nil, err
	}
	name := schema.GroupResource{Group: resource.Group, Resource: resource.Resource}
	server, err := newServer(config, name.String())
	if err != nil {
		return nil, err
	}
	collection, err := resource.url(server.base)
	if err != nil {
		return nil, err
	}
	config = server.config
	c := &Client[T]{form: form, max: config.MaxItemSize, endpoint: &endpoint{
		server:   server,
		url:      collection,
		resource: name,
		encoding: config.Encoding,
	}}
	if form.codecs[config.Encoding] == nil {
		c.endpoint.encoding = JSON
	}
	c.inputs.New = func() any { return newInput(c.max) }
	return c, nil
}

// url is where the collection is served.
func (r Resource) url(base *url.URL) (*url.URL, error) {
	if r.Version == "" || r.Resource == "" {
		return nil, errors.New("version and resource are required")
	}
	segments := []string{"api", r.Version}
	if r.Group != "" {
		segments = []string{"apis", r.Group, r.Version}
	}
	if r.Namespace != "" {
		segments = append(segments, "namespaces", r.Namespace)
	}
	segments = append(segments, r.Resource)
	for _, segment := range segments {
		if faults := content.IsPathSegmentName(segment); len(faults) > 0 {
			return nil, fmt.Errorf("%q cannot be part of a path: %s", segment, faults[0])
		}
	}
	return base.JoinPath(segments...), nil
}

// String names the resource, and so an informer of it: "pods", or "deployments.apps".
func (c *Client[T]) String() string { return c.endpoint.resource.String() }

// ListStream implements informer.StreamLister.
//
// Ownership: the object that known is given is valid during the call, its strings beyond
// it; the objects that yield is given are its own to keep.
//
// known is called for items ahead of yield, by what is being decoded meanwhile; both are
// called on the goroutine of the caller.
//
// Errors: an *apierrors.StatusError for what the server refused; informer.ErrNotAList and
// informer.ErrTable; ErrContentType, ErrMalformed, ErrItemTooLarge, ErrListTooLarge and
// ErrNoIdentity; io.ErrUnexpectedEOF for a body that breaks off; ErrListTimeout; the error of
// yield as it is.
func (c *Client[T]) ListStream(ctx context.Context, options metav1.ListOptions, known func(item metav1.Object, hash uint64) bool, yield func(obj runtime.Object) error) (metav1.ListMeta, error) {
	meta, err := c.listStream(ctx, options, &lister[T]{form: c.form, known: known, yield: yield})
	if ours, ok := err.(yieldError); ok {
		return meta, ours.error
	}
	return meta, c.endpoint.describe(ctx, "list", err)
}

func (c *Client[T]) listStream(ctx context.Context, options metav1.ListOptions, l *lister[T]) (metav1.ListMeta, error) {
	options.Watch = false
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // closes the connection where the body was not read to its end
	body, encoding, err := c.endpoint.open(ctx, request{operation: "list", accept: c.form.accept, options: options})
	if err != nil {
		return metav1.ListMeta{}, err
	}
	defer func() { _ = body.Close() }()
	l.start(c.form.codecs[encoding])
	defer l.pipe.close()
	if other := encoding.format; other != nil {
		err = other.list(newWire(body, c.max), l)
	} else {
		err = c.readJSON(body, l)
	}
	return l.envelope.meta, err
}

func (c *Client[T]) readJSON(body io.Reader, l *lister[T]) error {
	in := c.inputs.Get().(*input)
	in.reset(body)
	if err := l.read(in); err != nil {
		return err // and not the input, whose buffer may be large
	}
	in.release()
	c.inputs.Put(in)
	return nil
}

// List implements informer.ListerWatcher: it returns an *informer.ObjectList[T]. It is
// for those who want the whole list; a Reflector calls ListStream.
//
// Errors: those of ListStream; an *informer.ObjectError for the first object that cannot
// be decoded or is of another kind, for a whole list cannot set single objects aside.
func (c *Client[T]) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list := &informer.ObjectList[T]{Items: []T{}}
	l := &lister[T]{form: c.form, yield: func(obj runtime.Object) error {
		item, ok := obj.(T)
		if !ok {
			return objectError(obj)
		}
		list.Items = append(list.Items, item)
		return nil
	}}
	meta, err := c.listStream(ctx, options, l)
	if err != nil {
		if ours, ok := err.(yieldError); ok {
			err = ours.error
		}
		return nil, c.endpoint.describe(ctx, "list", err)
	}
	list.ListMeta = meta
	list.Kind, list.APIVersion = l.envelope.kind, l.envelope.apiVersion
	return list, nil
}

// objectError is the error for an object that is no T.
func objectError(obj runtime.Object) error {
	if u, ok := obj.(*informer.Undecodable); ok {
		return newObjectError(u, u.Err)
	}
	return newObjectError(obj.(*metav1.PartialObjectMetadata), informer.ErrWrongType)
}

func newObjectError(m metav1.Object, err error) error {
	return &informer.ObjectError{Key: informer.JoinKey(m.GetNamespace(), m.GetName()), UID: m.GetUID(), ResourceVersion: m.GetResourceVersion(), Err: err}
}

// Watch implements informer.ListerWatcher. The stream ends with ctx, with Stop, and when
// the server ends it. An object whose identity could be read and whose content could not
// comes as an *informer.Undecodable, one of another kind as *metav1.PartialObjectMetadata;
// anything else that cannot be read ends the stream with an event of type ERROR whose
// Status is an internal error that names operation and URL.
//
// A panic of T in its own decoding, as in a method UnmarshalJSON, ends the stream with such
// an event too. The stream then has a method Rethrow() that goes on with it in the goroutine
// of the caller; a Reflector calls it, so that the panic reaches the caller of Run.
//
// Lifetime: a reader that leaves before the stream has ended calls Stop.
//
// Errors: an *apierrors.StatusError for what the server refused; ErrContentType.
func (c *Client[T]) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	ctx, cancel := context.WithCancel(ctx)
	body, encoding, err := c.endpoint.open(ctx, request{operation: "watch", accept: c.form.accept, options: options})
	if err != nil {
		err = c.endpoint.describe(ctx, "watch", err)
		cancel()
		return nil, err
	}
	w := &watcher[T]{
		form:     c.form,
		codec:    c.form.codecs[encoding],
		describe: func(err error) error { return c.endpoint.describe(ctx, "watch", err) },
		body:     body,
		ctx:      ctx,
		cancel:   cancel,
		result:   make(chan watch.Event, watchBuffer),
	}
	w.decode = w.codec.take()
	w.open(encoding, c.max)
	go w.receive()
	return w, nil
}
