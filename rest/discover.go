// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What limits discovery.
const (
	maxDiscovery   = 64 << 20 // bytes of a document, decompressed; one has about 100 KB
	discoverAtOnce = 8        // requests
)

// aggregated asks for all groups in one document, which servers have from 1.26 on, and
// from 1.30 on in its stable form:
// https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList," + plainJSON

const plainJSON = "application/json"

// rootDiscovery is what /api and /apis answer, as far as it is used: an
// APIGroupDiscoveryList, of v2 or v2beta1, or else APIVersions or an APIGroupList.
type rootDiscovery struct {
	Items    []groupDiscovery  `json:"items"`
	Versions []string          `json:"versions"`
	Groups   []metav1.APIGroup `json:"groups"`
}

type groupDiscovery struct {
	Metadata metav1.ObjectMeta  `json:"metadata"`
	Versions []versionDiscovery `json:"versions"`
}

type versionDiscovery struct {
	Version   string              `json:"version"`
	Resources []resourceDiscovery `json:"resources"`
	Freshness string              `json:"freshness"`
}

type resourceDiscovery struct {
	Resource     string                   `json:"resource"`
	ResponseKind *metav1.GroupVersionKind `json:"responseKind"`
	Scope        string                   `json:"scope"`
	Singular     string                   `json:"singularResource"`
	Verbs        []string                 `json:"verbs"`
	ShortNames   []string                 `json:"shortNames"`
}

// discoverer asks what a server serves.
type discoverer struct {
	server    *server
	resources []ServedResource
	failed    map[string]error
}

// discover asks for the core group and for the others. One of the two may be missing.
func (d *discoverer) discover(ctx context.Context) (*Discovery, error) {
	core := d.root(ctx, "api")
	others := d.root(ctx, "apis")
	switch {
	case others != nil && (apierrors.IsNotFound(core) || ctx.Err() != nil):
		return nil, others
	case core != nil && others != nil:
		return nil, core
	}
	for name, err := range map[string]error{"core group": core, "all other groups": others} {
		if err != nil && !apierrors.IsNotFound(err) {
			d.failed[name] = err
		}
	}
	return &Discovery{resources: d.resources, failed: d.failed}, nil
}

// root reads /api or /apis, whichever form it comes in.
func (d *discoverer) root(ctx context.Context, path string) error {
	var root rootDiscovery
	isAggregated, err := d.read(ctx, d.server.base.JoinPath(path), aggregated, &root)
	if err != nil {
		return err
	}
	if isAggregated {
		d.addAggregated(root.Items)
		return nil
	}
	var versions []schema.GroupVersion
	for _, version := range root.Versions {
		versions = append(versions, schema.GroupVersion{Version: version})
	}
	for _, group := range root.Groups {
		versions = append(versions, versionsOf(group)...)
	}
	d.readEach(ctx, versions)
	return context.Cause(ctx)
}

// versionsOf lists the versions of a group, the preferred one first.
func versionsOf(group metav1.APIGroup) []schema.GroupVersion {
	preferred := schema.GroupVersion{Group: group.Name, Version: group.PreferredVersion.Version}
	var versions []schema.GroupVersion
	if preferred.Version != "" {
		versions = append(versions, preferred)
	}
	for _, version := range group.Versions {
		if version.Version != preferred.Version {
			versions = append(versions, schema.GroupVersion{Group: group.Name, Version: version.Version})
		}
	}
	return versions
}

func (d *discoverer) addAggregated(groups []groupDiscovery) {
	for _, group := range groups {
		for _, version := range group.Versions {
			at := schema.GroupVersion{Group: group.Metadata.Name, Version: version.Version}
			if version.Freshness == "Stale" {
				d.failed[at.String()] = errStale
			}
			for _, r := range version.Resources {
				d.resources = append(d.resources, r.served(at))
			}
		}
	}
}

func (r resourceDiscovery) served(at schema.GroupVersion) ServedResource {
	out := ServedResource{
		Resource: Resource{Group: at.Group, Version: at.Version, Resource: r.Resource},
		Singular: r.Singular, ShortNames: r.ShortNames, Namespaced: r.Scope == "Namespaced", Verbs: r.Verbs,
	}
	if r.ResponseKind != nil {
		out.Kind = r.ResponseKind.Kind
	}
	return out
}

// errStale is why a group is not known, where the server has asked another one for it.
var errStale = errors.New("stale: the server that has it does not answer")

// readEach asks for versions of groups, some at a time, and keeps their order.
func (d *discoverer) readEach(ctx context.Context, versions []schema.GroupVersion) {
	lists := make([]metav1.APIResourceList, len(versions))
	errs := make([]error, len(versions))
	turns := make(chan struct{}, discoverAtOnce)
	var all sync.WaitGroup
	for i, version := range versions {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			at := d.server.base.JoinPath("apis", version.Group, version.Version)
			if version.Group == "" {
				at = d.server.base.JoinPath("api", version.Version)
			}
			_, errs[i] = d.read(ctx, at, plainJSON, &lists[i])
		})
	}
	all.Wait()
	for i, version := range versions {
		if errs[i] != nil {
			d.failed[version.String()] = errs[i]
		}
		for _, r := range lists[i].APIResources {
			if strings.Contains(r.Name, "/") {
				continue // part of another one
			}
			d.resources = append(d.resources, ServedResource{
				Resource: Resource{Group: version.Group, Version: version.Version, Resource: r.Name},
				Kind:     r.Kind, Singular: r.SingularName, ShortNames: r.ShortNames, Namespaced: r.Namespaced, Verbs: r.Verbs,
			})
		}
	}
}

// read reads a document, and reports whether it is one about all groups.
func (d *discoverer) read(ctx context.Context, at *url.URL, accept string, into any) (isAggregated bool, err error) {
	defer func() { err = describe(ctx, "discover", at, err) }()
	resp, err := d.server.get(ctx, call{url: at, accept: accept, about: schema.GroupResource{}})
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	header := resp.Header.Get("Content-Type")
	if _, err := encodingOf(header, JSON); err != nil {
		return false, err
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxDiscovery+1))
	if err != nil {
		return false, err
	}
	if len(data) > maxDiscovery {
		return false, fmt.Errorf("%w: more than %d bytes", ErrMalformed, maxDiscovery)
	}
	if err := json.Unmarshal(data, into, lenient()); err != nil {
		return false, fmt.Errorf("%w: %w", ErrMalformed, discreet(reflect.TypeOf(into).Elem(), err))
	}
	_, parameters, err := mime.ParseMediaType(header)
	return err == nil && parameters["as"] == "APIGroupDiscoveryList", nil
}
