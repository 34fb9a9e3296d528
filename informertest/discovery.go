// SPDX-License-Identifier: Apache-2.0

package informertest

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// servedVerbs are what every resource can be asked for.
var servedVerbs = metav1.Verbs{"create", "delete", "get", "list", "update", "watch"}

// discovery answers a path that says what is served: /api, /apis and what is below them, down
// to the versions. The documents are those about one group or version each, which all servers
// have, not the one about all groups; nil: the path is another one.
func (s *Server) discovery(r *http.Request) (document any, err error) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var at []string // group and version
	switch {
	case parts[0] == "api" && len(parts) <= 2:
		at = append([]string{""}, parts[1:]...)
	case parts[0] == "apis" && len(parts) <= 3:
		at = parts[1:]
	default:
		return nil, nil
	}
	if err := s.authenticate(r); err != nil {
		return nil, err
	}
	if r.Method != http.MethodGet {
		return nil, apierrors.NewMethodNotSupported(schema.GroupResource{}, strings.ToLower(r.Method))
	}
	switch groups := s.groups(); {
	case len(at) == 0:
		list := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
		for _, name := range slices.Sorted(maps.Keys(groups)) {
			if name != "" {
				list.Groups = append(list.Groups, groupOf(name, groups[name]))
			}
		}
		return list, nil
	case groups[at[0]] == nil:
		return nil, errNoPath()
	case len(at) == 2:
		return resourcesOf(at[1], groups[at[0]])
	case at[0] == "":
		return &metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: versionsOf(groups[""])}, nil
	default:
		group := groupOf(at[0], groups[at[0]])
		group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
		return &group, nil
	}
}

// groups returns the resources that are served, sorted by name, by group.
func (s *Server) groups() map[string][]Resource {
	s.mu.RLock()
	defer s.mu.RUnlock()
	groups := map[string][]Resource{}
	for _, served := range s.resources {
		groups[served.Group] = append(groups[served.Group], served.Resource)
	}
	for _, resources := range groups {
		slices.SortFunc(resources, func(a, b Resource) int { return cmp.Compare(a.Resource, b.Resource) })
	}
	return groups
}

// versionsOf returns the versions of a group, the preferred one first.
func versionsOf(resources []Resource) []string {
	var versions []string
	for _, r := range resources {
		if !slices.Contains(versions, r.Version) {
			versions = append(versions, r.Version)
		}
	}
	slices.SortFunc(versions, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
	return versions
}

func groupOf(name string, resources []Resource) metav1.APIGroup {
	group := metav1.APIGroup{Name: name}
	for _, v := range versionsOf(resources) {
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + v, Version: v})
	}
	group.PreferredVersion = group.Versions[0]
	return group
}

// resourcesOf returns those of a group that are of the version v.
func resourcesOf(v string, resources []Resource) (*metav1.APIResourceList, error) {
	list := &metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: schema.GroupVersion{Group: resources[0].Group, Version: v}.String(),
	}
	for _, r := range resources {
		if r.Version == v {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: r.Resource, SingularName: strings.ToLower(r.Kind), Kind: r.Kind, Namespaced: r.Namespaced, Verbs: servedVerbs,
			})
		}
	}
	if list.APIResources == nil {
		return nil, errNoPath()
	}
	return list, nil
}
