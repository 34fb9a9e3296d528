// SPDX-License-Identifier: Apache-2.0

package informertest

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/informerkit/informer"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource names a resource of a Server.
type Resource struct {
	Group      string // empty: the core group
	Version    string // such as "v1"; required
	Resource   string // the plural in the path, such as "configmaps"; required
	Kind       string // such as "ConfigMap"; required
	Namespaced bool   // its objects are in namespaces

	// ItemKinds gives the items of a list their kind and apiVersion, which the items of
	// custom resources have and those of built-in ones do not.
	ItemKinds bool
}

func (r Resource) kind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: r.Group, Version: r.Version, Kind: r.Kind}
}

// ServerOptions configures a Server. The zero value is ready to use.
type ServerOptions struct {
	// Token is the bearer token that every request must carry, or it is answered with 401.
	// Empty: none is asked for.
	Token string

	// Authorize decides whether a request may be served; false is answered with 403.
	// Nil: all may. verb is get, list, watch, create, update or delete.
	Authorize func(verb string, resource Resource, namespace string) bool

	// NoCompression serves lists as they are to clients that accept gzip.
	NoCompression bool
}

// Server is an API server in memory, an http.Handler for loopback. It serves create,
// update, delete, get, list and watch, as JSON, whole or as PartialObjectMetadata, and says
// what it serves (/api, /apis and below), so that rest.Discover finds it. Each resource is a
// Collection, through which it is filled and made to fail.
//
// Concurrency: all methods may be called at any time.
type Server struct {
	options  ServerOptions
	revision *atomic.Uint64

	mu        sync.RWMutex
	token     string
	resources map[schema.GroupVersionResource]*served
}

// served is a resource with what answers for it.
type served struct {
	Resource
	engine *engine
	prefix []byte // `{"kind":…,"apiVersion":…,`, which takes the place of the brace of an encoded object
}

// NewServer returns a server without resources. Its resources share one count of versions.
func NewServer(options ServerOptions) *Server {
	return &Server{
		options:   options,
		revision:  newRevision(),
		token:     options.Token,
		resources: map[schema.GroupVersionResource]*served{},
	}
}

// Add makes the server serve a resource, and returns its collection, which is empty. It
// panics if the resource is there already, or lacks a name.
func (s *Server) Add(resource Resource) *Collection[*unstructured.Unstructured] {
	kind := resource.kind()
	c := newCollection[*unstructured.Unstructured](newEngine(s.revision, kind, func() informer.Object {
		u := new(unstructured.Unstructured)
		u.SetGroupVersionKind(kind)
		return u
	}))
	Serve(s, resource, c)
	return c
}

// Serve makes the server serve a collection of its own versions, so that a test can use
// both faces of it. It panics if the resource is there already, or lacks a name.
func Serve[T informer.Object](s *Server, resource Resource, c *Collection[T]) {
	if resource.Version == "" || resource.Resource == "" || resource.Kind == "" {
		panic("informertest: Serve: Version, Resource and Kind are required")
	}
	e := c.engine
	e.mu.Lock()
	e.kind = resource.kind()
	e.resource = schema.GroupResource{Group: resource.Group, Resource: resource.Resource}
	e.mu.Unlock()
	apiVersion := resource.kind().GroupVersion().String()
	s.mu.Lock()
	defer s.mu.Unlock()
	name := schema.GroupVersionResource{Group: resource.Group, Version: resource.Version, Resource: resource.Resource}
	if s.resources[name] != nil {
		panic(fmt.Sprintf("informertest: Serve: %v is served already", name))
	}
	s.resources[name] = &served{
		Resource: resource,
		engine:   e,
		prefix:   fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,`, resource.Kind, apiVersion),
	}
}

// SetToken replaces the bearer token that requests must carry; empty: none. Watches that
// are open go on.
func (s *Server) SetToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch document, err := s.discovery(r); {
	case err != nil:
		writeError(w, err)
		return
	case document != nil:
		writeJSON(w, http.StatusOK, document)
		return
	}
	c, err := s.route(r)
	if err != nil {
		writeError(w, err)
		return
	}
	c.writer, c.request, c.compress = w, r, !s.options.NoCompression
	if err := c.serve(); err != nil {
		writeError(w, err)
	}
}

// route finds out what a request is about, and whether it may be served.
func (s *Server) route(r *http.Request) (*call, error) {
	if err := s.authenticate(r); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	name, c, known := parsePath(r.URL.Path)
	if c.resource = s.resources[name]; !known || c.resource == nil {
		return nil, errNoPath()
	}
	if c.verb = verbOf(r, c.name); c.verb == "" || (c.namespace != "") != c.resource.Namespaced && c.needsNamespace() {
		return nil, apierrors.NewMethodNotSupported(c.resource.engine.groupResource(), strings.ToLower(r.Method))
	}
	if s.options.Authorize != nil && !s.options.Authorize(c.verb, c.resource.Resource, c.namespace) {
		return nil, apierrors.NewForbidden(c.resource.engine.groupResource(), c.name,
			fmt.Errorf("cannot %s in namespace %q", c.verb, c.namespace))
	}
	return c, nil
}

// authenticate refuses a request without the token.
func (s *Server) authenticate(r *http.Request) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.token != "" && !sameToken(r.Header.Get("Authorization"), s.token) {
		return apierrors.NewUnauthorized("Unauthorized")
	}
	return nil
}

// errNoPath is the answer to a path that is not served.
func errNoPath() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: "the server could not find the requested resource", Details: &metav1.StatusDetails{},
	}}
}

func sameToken(header, token string) bool {
	return subtle.ConstantTimeCompare([]byte(header), []byte("Bearer "+token)) == 1
}

// parsePath reads /api/{version}/… or /apis/{group}/{version}/…, followed by
// [namespaces/{namespace}/]{resource}[/{name}].
func parsePath(path string) (schema.GroupVersionResource, *call, bool) {
	var name schema.GroupVersionResource
	c := new(call)
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		name.Version, parts = parts[1], parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		name.Group, name.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return name, c, false
	}
	if len(parts) >= 3 && parts[0] == "namespaces" {
		c.namespace, parts = parts[1], parts[2:]
	}
	name.Resource = parts[0]
	if len(parts) > 1 {
		c.name = parts[1]
	}
	return name, c, len(parts) <= 2
}

// verbOf returns the verb of a request, or nothing for one that is not served.
func verbOf(r *http.Request, name string) string {
	watch := r.URL.Query().Get("watch")
	switch {
	case r.Method == http.MethodGet && name != "":
		return "get"
	case r.Method == http.MethodGet && (watch == "true" || watch == "1"):
		return VerbWatch
	case r.Method == http.MethodGet:
		return VerbList
	case r.Method == http.MethodPost && name == "":
		return "create"
	case r.Method == http.MethodPut && name != "":
		return "update"
	case r.Method == http.MethodDelete && name != "":
		return "delete"
	}
	return ""
}
