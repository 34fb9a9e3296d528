// SPDX-License-Identifier: Apache-2.0

package servertable

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func listVersionRows() []Row {
	return []Row{
		row("list at N", listAt),
		row("list at N, limit", listAtLimit),
		row("list at N, limit, NotOlderThan", listAtLimitNotOlder),
		row("list at N, Exact", listExact),
		row("list at a version of the future", func(s *session) { listFuture(s, configMaps, 1) }),
		row("list at a version of the future without a cache", func(s *session) { listFuture(s, events, 0) }),
	}
}

// history creates a, b and c, and returns the version at which there was only a.
func (s *session) history(resource string) string {
	s.Helper()
	return s.fill(resource, "a", "b", "c")[0].version()
}

// listAt: without limit the version is a lower bound.
func listAt(s *session) {
	for _, resource := range []string{configMaps, events} {
		s.history(resource)
		last := s.create(resource, "d", "one").version()
		for _, match := range []string{"", "&resourceVersionMatch=NotOlderThan"} {
			got := s.list(resource, "resourceVersion="+last+match)
			s.page(got, "abcd", 0)
			s.notOlder("list at N", got.Meta.ResourceVersion, last)
		}
	}
}

// listAtLimit: with a limit and no match the version is exactly the one asked for.
func listAtLimit(s *session) {
	for _, resource := range []string{configMaps, events} {
		old := s.history(resource)
		s.exactly(s.list(resource, "limit=10&resourceVersion="+old), "a", old)
	}
}

// listAtLimitNotOlder: with a match the version is a lower bound again, and the limit counts.
func listAtLimitNotOlder(s *session) {
	for _, resource := range []string{configMaps, events} {
		s.history(resource)
		last := s.create(resource, "d", "one").version()
		got := s.list(resource, "limit=3&resourceVersionMatch=NotOlderThan&resourceVersion="+last)
		s.page(got, "abc", 1)
		s.notOlder("list at N", got.Meta.ResourceVersion, last)
		s.page(s.list(resource, "limit=3&continue="+got.Meta.Continue), "d", 0)
	}
}

// listExact: the version asked for, with the objects of then.
func listExact(s *session) {
	for _, resource := range []string{configMaps, events} {
		old := s.history(resource)
		s.exactly(s.list(resource, "resourceVersionMatch=Exact&resourceVersion="+old), "a", old)
		s.exactly(s.list(resource, "limit=10&resourceVersionMatch=Exact&resourceVersion="+old), "a", old)
	}
}

func (s *session) exactly(got answer, names, version string) {
	s.Helper()
	s.page(got, names, 0)
	if got.Meta.ResourceVersion != version {
		s.Errorf("list has version %s; want exactly %s", got.Meta.ResourceVersion, version)
	}
}

// listFuture: a server that has not reached the version says so, in a form that can be recognised.
// Only a cache, which has waited for the version, says when to try again.
func listFuture(s *session, resource string, retryAfter int32) {
	version := s.after(s.create(resource, "a", "one").version(), future)
	for _, match := range []string{"", "&resourceVersionMatch=NotOlderThan", "&resourceVersionMatch=Exact",
		"&limit=1", "&limit=1&resourceVersionMatch=NotOlderThan"} {
		got := s.refuse(resource, "resourceVersion="+version+match, http.StatusGatewayTimeout)
		s.tooLarge(got.Status, retryAfter)
		if header := got.Header.Get("Retry-After"); (header != "") != (retryAfter > 0) {
			s.Errorf("the header Retry-After is %q beside %d in the Status", header, retryAfter)
		}
	}
}

// tooLarge checks the form of "too large resource version".
func (s *session) tooLarge(status metav1.Status, retryAfter int32) {
	s.Helper()
	if status.Code != http.StatusGatewayTimeout || status.Reason != metav1.StatusReasonTimeout {
		s.Errorf("status %d %q; want 504 Timeout", status.Code, status.Reason)
	}
	if status.Details == nil || len(status.Details.Causes) != 1 ||
		status.Details.Causes[0].Type != metav1.CauseTypeResourceVersionTooLarge {
		s.Fatalf("details are %+v; want the cause %s", status.Details, metav1.CauseTypeResourceVersionTooLarge)
	}
	if status.Details.RetryAfterSeconds != retryAfter {
		s.Errorf("retryAfterSeconds is %d; want %d", status.Details.RetryAfterSeconds, retryAfter)
	}
}

// componentStatuses: a resource that is computed has no versions and cannot be watched.
func componentStatuses(t *testing.T, target Target) {
	s := &session{TB: t, target: target}
	url := target.BaseURL + "/api/v1/componentstatuses"
	got := s.getURL(url)
	if got.Code != http.StatusOK || got.Meta.ResourceVersion != "" || len(got.Items) == 0 {
		t.Errorf("list: %d, version %q, %d items; want 200, no version, some items",
			got.Code, got.Meta.ResourceVersion, len(got.Items))
	}
	for _, item := range got.Items {
		if item.version() != "" || item.Metadata.UID != "" {
			t.Errorf("item %s has version %q and UID %q; want neither",
				item.Metadata.Name, item.version(), item.Metadata.UID)
		}
	}
	if got := s.getURL(url + "?watch=true"); got.Code != http.StatusMethodNotAllowed {
		t.Errorf("watch: %d; want 405", got.Code)
	}
}
