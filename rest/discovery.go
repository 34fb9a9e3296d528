// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ServedResource is a collection as its server describes it. Its Namespace is empty.
type ServedResource struct {
	Resource
	Kind       string   // of its objects
	Singular   string   // "": the server does not say
	ShortNames []string // "po"
	Namespaced bool     // its objects are in namespaces
	Verbs      []string // "list" and "watch" among them, or it cannot be mirrored
}

// In returns the resource in a namespace, or everywhere: "", and for a resource that has
// none.
func (s ServedResource) In(namespace string) Resource {
	resource := s.Resource
	if s.Namespaced {
		resource.Namespace = namespace
	}
	return resource
}

// GroupVersionKind is the kind of its objects.
func (s ServedResource) GroupVersionKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: s.Group, Version: s.Version, Kind: s.Kind}
}

// Discovery is what a server serves, at the time when it was asked.
//
// Concurrency: it does not change.
type Discovery struct {
	resources []ServedResource // in the order of preference
	failed    map[string]error // by group and version
}

// Discover asks a server what it serves: in one document where it has that, and otherwise
// group by group, at most 8 at a time.
//
// Errors: those of a request, if nothing could be read. A group that cannot be asked is no
// error; it is named where something is not found, and by Failed.
func Discover(ctx context.Context, config Config) (*Discovery, error) {
	s, err := newServer(config, "discovery")
	if err != nil {
		return nil, fmt.Errorf("rest: discovery: %w", err)
	}
	if config.HTTPClient == nil {
		defer s.client.CloseIdleConnections()
	}
	d := &discoverer{server: s, failed: map[string]error{}}
	return d.discover(ctx)
}

// Resources returns all that is served and can be listed, in the order of preference:
// the core group first, groups and versions as the server orders them.
//
// Ownership: the slice is the caller's; what it holds is shared and read-only.
func (d *Discovery) Resources() []ServedResource { return slices.Clone(d.resources) }

// Failed returns the groups and versions that could not be asked, as "apps/v1", and why.
//
// Ownership: the map is the caller's.
func (d *Discovery) Failed() map[string]error { return maps.Clone(d.failed) }

// Find finds a resource by a name that a person writes: its plural, singular, kind or
// short name ("deployments", "deployment", "Deployment", "deploy"), alone, with a group or
// the first labels of one after it ("deployments.apps", "ingresses.networking"), with version
// and group ("deployments.v1.apps"), or with both before it ("apps/v1/deployments",
// "v1/pods"). Case is ignored. Of several, a plural comes before a singular, then a kind,
// then a short name, and then the order of Resources decides.
//
// Errors: ErrResourceNotFound, with the groups that could not be asked; ErrNotListable.
func (d *Discovery) Find(name string) (ServedResource, error) {
	for _, q := range parseQuery(strings.ToLower(name)) {
		for _, has := range naming {
			i := slices.IndexFunc(d.resources, func(s ServedResource) bool {
				return q.name != "" && q.place(s) && has(s, q.name)
			})
			if i >= 0 {
				return d.resources[i], listable(d.resources[i])
			}
		}
	}
	return ServedResource{}, d.notFound(fmt.Sprintf("%q", printable(name, 100)))
}

// nameOfKind is a kind as people write it.
func nameOfKind(kind schema.GroupVersionKind) string {
	if kind.Version == "" {
		return kind.GroupKind().String()
	}
	return kind.String()
}

// FindKind finds a resource by the kind of its objects. Version may be empty: the one that
// the server prefers.
//
// Errors: as Find has them.
func (d *Discovery) FindKind(kind schema.GroupVersionKind) (ServedResource, error) {
	for _, resource := range d.resources {
		if resource.Kind == kind.Kind && resource.Group == kind.Group && (kind.Version == "" || resource.Version == kind.Version) {
			return resource, listable(resource)
		}
	}
	return ServedResource{}, d.notFound(fmt.Sprintf("kind %q", printable(nameOfKind(kind), 200)))
}

// FindObject finds a resource by the type of its objects, which a scheme knows by the
// AddToScheme of its package; one that says its kind itself, as unstructured objects do,
// needs no scheme. Of several kinds, the one that the server prefers is taken.
//
// Errors: as Find has them; those of the scheme.
func (d *Discovery) FindObject(scheme *runtime.Scheme, obj runtime.Object) (ServedResource, error) {
	kinds := []schema.GroupVersionKind{obj.GetObjectKind().GroupVersionKind()}
	if kinds[0].Kind == "" {
		if scheme == nil {
			return ServedResource{}, fmt.Errorf("rest: %T says no kind, and there is no scheme", obj)
		}
		var err error
		if kinds, _, err = scheme.ObjectKinds(obj); err != nil {
			return ServedResource{}, fmt.Errorf("rest: kind of %T: %w", obj, err)
		}
	}
	for _, resource := range d.resources {
		if slices.Contains(kinds, resource.GroupVersionKind()) {
			return resource, listable(resource)
		}
	}
	return ServedResource{}, d.notFound(fmt.Sprintf("kind of %T", obj))
}

// notFound is the error for what was not found.
func (d *Discovery) notFound(what string) error {
	if len(d.failed) == 0 {
		return fmt.Errorf("%w: %s", ErrResourceNotFound, what)
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(d.failed)) {
		errs = append(errs, fmt.Errorf("%s: %w", name, d.failed[name]))
	}
	return fmt.Errorf("%w: %s; it may be in what could not be asked: %w", ErrResourceNotFound, what, joined(errs))
}

// joined puts errors in one line.
type joined []error

func (j joined) Error() string {
	const most = 10
	var texts []string
	for i, err := range j {
		if i == most {
			texts = append(texts, fmt.Sprintf("and %d more", len(j)-most))
			break
		}
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

// Unwrap is for errors.Is and errors.As.
func (j joined) Unwrap() []error { return j }

func listable(resource ServedResource) error {
	if len(resource.Verbs) == 0 || slices.Contains(resource.Verbs, "list") {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNotListable, schema.GroupResource{Group: resource.Group, Resource: resource.Resource.Resource})
}

// naming is how a resource may be named, in the order in which it is looked for.
var naming = []func(s ServedResource, name string) bool{
	func(s ServedResource, name string) bool { return s.Resource.Resource == name },
	func(s ServedResource, name string) bool { return s.Singular == name },
	func(s ServedResource, name string) bool { return strings.ToLower(s.Kind) == name },
	func(s ServedResource, name string) bool { return slices.Contains(s.ShortNames, name) },
}

// query is one way to read a name.
type query struct {
	name  string
	place func(ServedResource) bool
}

var versionForm = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// parseQuery lists the ways to read a name, the likeliest first.
func parseQuery(text string) []query {
	if parts := strings.Split(text, "/"); len(parts) > 1 {
		group, version := strings.Join(parts[:len(parts)-2], "/"), parts[len(parts)-2]
		return []query{{parts[len(parts)-1], func(s ServedResource) bool { return s.Group == group && s.Version == version }}}
	}
	name, place, dotted := strings.Cut(text, ".")
	if !dotted {
		return []query{{name, func(ServedResource) bool { return true }}}
	}
	queries := []query{{name, func(s ServedResource) bool { return s.Group == place }}}
	if version, group, _ := strings.Cut(place, "."); versionForm.MatchString(version) {
		queries = append(queries, query{name, func(s ServedResource) bool { return s.Version == version && s.Group == group }})
	}
	if place == "" {
		return queries
	}
	return append(queries, query{name, func(s ServedResource) bool { return strings.HasPrefix(s.Group, place+".") }})
}
