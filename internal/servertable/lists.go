// SPDX-License-Identifier: Apache-2.0

package servertable

import (
	"net/http"
	"slices"
	"strings"
)

func listRows() []Row {
	return []Row{
		row("list without version", listConsistent),
		row("list without version, limit", listPaged),
		row("list without version, limit and selector", listPagedSelector),
		row("list at 0", listAtZero),
		row("list at 0 without a cache", listAtZeroUncached),
		row("list refused", listRefused),
		row("list malformed", listMalformed),
		row("continue with a version", listContinueVersion),
		{Name: "componentstatuses", ComponentStatuses: true, Check: componentStatuses},
	}
}

// listConsistent: a list without version holds everything written before, in key order.
func listConsistent(s *session) {
	for _, resource := range []string{configMaps, events} {
		made := s.fill(resource, "b", "c", "a")
		got := s.list(resource, "")
		if want := []string{"a", "b", "c"}; !slices.Equal(got.names(), want) {
			s.Errorf("%s: got %v; want %v", resource, got.names(), want)
		}
		s.notOlder("list of "+resource, got.Meta.ResourceVersion, made[2].version())
		if !strings.HasSuffix(got.Kind, "List") {
			s.Errorf("%s: kind is %q", resource, got.Kind)
		}
		s.remove(resource, "b")
		if got := s.list(resource, ""); !slices.Equal(got.names(), []string{"a", "c"}) {
			s.Errorf("%s after the deletion: got %v", resource, got.names())
		}
	}
}

// pages checks one page: its names, whether more follow, and how many the server says remain.
// A negative remaining says that the server must not tell.
func (s *session) page(got answer, names string, remaining int64) {
	s.Helper()
	if have := strings.Join(got.names(), ""); have != names {
		s.Errorf("page holds %q; want %q", have, names)
	}
	if more := remaining != 0; (got.Meta.Continue != "") != more {
		s.Errorf("page %q has the token %q; want one: %v", names, got.Meta.Continue, more)
	}
	told := got.Meta.RemainingItemCount
	if remaining <= 0 && told != nil {
		s.Errorf("page %q says that %d remain; want nothing said", names, *told)
	}
	if remaining > 0 && (told == nil || *told != remaining) {
		s.Errorf("page %q says that %v remain; want %d", names, told, remaining)
	}
}

// listPaged: pages of one version, with the number of items that remain.
func listPaged(s *session) {
	for _, resource := range []string{configMaps, events} {
		s.fill(resource, "a", "b", "c", "d", "e")
		first := s.list(resource, "limit=2")
		s.page(first, "ab", 3)
		s.create(resource, "f", "one")
		second := s.list(resource, "limit=2&continue="+first.Meta.Continue)
		s.page(second, "cd", 1)
		third := s.list(resource, "limit=2&continue="+second.Meta.Continue)
		s.page(third, "e", 0)
		for _, later := range []answer{second, third} {
			if later.Meta.ResourceVersion != first.Meta.ResourceVersion {
				s.Errorf("%s: page at version %s; want that of page one, %s",
					resource, later.Meta.ResourceVersion, first.Meta.ResourceVersion)
			}
		}
	}
}

// listPagedSelector: with a selector the server does not say how many remain.
func listPagedSelector(s *session) {
	for _, resource := range []string{configMaps, events} {
		s.fill(resource, "a", "b", "c", "d", "e")
		for _, selector := range []string{"labelSelector=row%3Done", "fieldSelector=metadata.name!%3Dz"} {
			first := s.list(resource, "limit=2&"+selector)
			s.page(first, "ab", -1)
			s.page(s.list(resource, "limit=4&"+selector+"&continue="+first.Meta.Continue), "cde", 0)
		}
		s.page(s.list(resource, "limit=2&fieldSelector=metadata.name%3Dd"), "d", 0)
	}
}

// listAtZero: the cache answers with everything, whatever the limit.
func listAtZero(s *session) {
	s.fill(configMaps, "a", "b", "c", "d", "e")
	s.list(configMaps, "") // Consistent, after which the cache holds all five.
	for _, query := range []string{"", "&limit=2", "&limit=2&resourceVersionMatch=NotOlderThan"} {
		s.page(s.list(configMaps, "resourceVersion=0"+query), "abcde", 0)
	}
}

// listAtZeroUncached: without a cache the limit is honoured.
func listAtZeroUncached(s *session) {
	s.fill(events, "a", "b", "c", "d", "e")
	for _, query := range []string{"", "&resourceVersionMatch=NotOlderThan"} {
		s.page(s.list(events, "resourceVersion=0&limit=2"+query), "ab", 3)
	}
}

// listRefused: combinations of options that are invalid.
func listRefused(s *session) {
	for _, resource := range []string{configMaps, events} {
		s.fill(resource, "a", "b", "c")
		first := s.list(resource, "limit=1")
		for _, query := range []string{
			"resourceVersionMatch=NotOlderThan",
			"resourceVersionMatch=Exact",
			"resourceVersion=0&resourceVersionMatch=Exact",
			"limit=1&resourceVersionMatch=NotOlderThan&continue=" + first.Meta.Continue,
			"limit=1&resourceVersionMatch=Exact&continue=" + first.Meta.Continue,
			"sendInitialEvents=true",
			"sendInitialEvents=true&resourceVersion=0&resourceVersionMatch=NotOlderThan",
		} {
			s.refuse(resource, query, http.StatusUnprocessableEntity)
		}
	}
}

// listMalformed: options that cannot be read.
func listMalformed(s *session) {
	for _, resource := range []string{configMaps, events} {
		for _, query := range []string{
			"resourceVersion=abc",
			"limit=1&continue=abc",
			"labelSelector=%3D%3D",
			"fieldSelector=spec.none%3Dx",
		} {
			s.refuse(resource, query, http.StatusBadRequest)
		}
		s.refuse(resource, "resourceVersion=1&resourceVersionMatch=Newest", http.StatusUnprocessableEntity)
	}
}

// listContinueVersion: a token and a version exclude each other, except for version 0, which is
// accepted and makes the server forget the limit.
func listContinueVersion(s *session) {
	made := s.fill(configMaps, "a", "b", "c", "d", "e")
	token := s.list(configMaps, "limit=2").Meta.Continue
	s.refuse(configMaps, "limit=2&continue="+token+"&resourceVersion="+made[0].version(), http.StatusBadRequest)
	s.page(s.list(configMaps, "limit=2&resourceVersion=0&continue="+token), "cde", 0)
}
