// SPDX-License-Identifier: Apache-2.0

package servertable

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func watchRows() []Row {
	return []Row{
		row("watch refused", watchRefused),
		row("watch at N", watchReplay),
		row("watch at a version of the future", watchFuture),
		row("watch older than the window", watchExpired),
		row("watch, update without a change", watchUnchanged),
		row("watch, DELETED", watchDeleted),
		row("watch, DELETED out of the selector", watchOutOfSelector),
	}
}

// watchRefused: a match belongs to the initial events, and they need one.
func watchRefused(s *session) {
	for _, resource := range []string{configMaps, events} {
		for _, query := range []string{
			"resourceVersion=0&resourceVersionMatch=NotOlderThan",
			"sendInitialEvents=true&allowWatchBookmarks=true",
			"sendInitialEvents=true&allowWatchBookmarks=true&resourceVersion=1&resourceVersionMatch=Exact",
		} {
			s.refuse(resource, "watch=true&"+query, http.StatusUnprocessableEntity)
		}
	}
}

// watchReplay: what happened after the version, in order, and then what happens.
func watchReplay(s *session) {
	for _, resource := range []string{configMaps, events} {
		a := s.create(resource, "a", "one")
		b := s.create(resource, "b", "one")
		a2 := s.update(resource, a, "two")
		w := s.watch(resource, "resourceVersion="+a.version())
		s.same(w.want("ADDED", "b"), b)
		s.same(w.want("MODIFIED", "a"), a2)
		c := s.create(resource, "c", "one")
		s.same(w.want("ADDED", "c"), c)
	}
}

// same checks that an event is about the object as it was written.
func (s *session) same(got event, want object) {
	s.Helper()
	meta := got.Object.Metadata
	if meta.Name != want.Metadata.Name || meta.UID != want.Metadata.UID || got.Object.version() != want.version() ||
		meta.Labels["row"] != want.Metadata.Labels["row"] || got.Object.Data["value"] != want.Data["value"] {
		s.Errorf("%v with label %q and UID %s; want %s@%s with label %q and UID %s", got, meta.Labels["row"], meta.UID,
			want.Metadata.Name, want.version(), want.Metadata.Labels["row"], want.Metadata.UID)
	}
}

// watchFuture: 200, and then nothing until the stream ends: what happens below that version is
// withheld. That it has happened is seen on a second watch, which is opened after the first.
func watchFuture(s *session) {
	for _, resource := range []string{configMaps, events} {
		now := s.create(resource, "a", "one").version()
		silent := s.watch(resource, "timeoutSeconds=4&resourceVersion="+s.after(now, future))
		other := s.watch(resource, "resourceVersion="+now)
		s.create(resource, "b", "one")
		other.want("ADDED", "b")
		s.remove(resource, "b")
		other.want("DELETED", "b")
		if got := silent.rest(); len(got) != 0 {
			s.Errorf("%s: watch at a version of the future got %v; want silence", resource, got)
		}
	}
}

// watchExpired: 200, and then the error in the stream, which ends.
func watchExpired(s *session) {
	a := s.create(configMaps, "a", "one")
	a = s.update(configMaps, a, "two")
	if s.target.Expire != nil {
		s.target.Expire(s, a.version())
	}
	w := s.watch(configMaps, "resourceVersion=1")
	got := w.want("ERROR", "")
	if got.Status.Code != http.StatusGone || got.Status.Reason != metav1.StatusReasonExpired {
		s.Errorf("error is %d %q; want 410 Expired", got.Status.Code, got.Status.Reason)
	}
	if rest := w.rest(); len(rest) != 0 {
		s.Errorf("after the error came %v; want the end", rest)
	}
}

// watchUnchanged: an update that changes nothing makes no version and no event.
func watchUnchanged(s *session) {
	for _, resource := range []string{configMaps, events} {
		a := s.create(resource, "a", "one")
		w := s.watch(resource, "resourceVersion="+a.version())
		if again := s.update(resource, a, "one"); again.version() != a.version() {
			s.Errorf("%s: an update without a change made version %s of %s", resource, again.version(), a.version())
		}
		b := s.create(resource, "b", "one")
		s.same(w.want("ADDED", "b"), b)
	}
}

// watchDeleted: the version of the deletion on the content of the last object.
func watchDeleted(s *session) {
	for _, resource := range []string{configMaps, events} {
		a := s.create(resource, "a", "one")
		b := s.create(resource, "b", "one")
		w := s.watch(resource, "resourceVersion="+b.version())
		s.remove(resource, "a")
		got := w.want("DELETED", "a")
		if s.number(got.Object.version()) <= s.number(b.version()) {
			s.Errorf("%s: %v; want a version above %s", resource, got, b.version())
		}
		a.Metadata.ResourceVersion = got.Object.version()
		s.same(got, a)
		c := s.create(resource, "c", "one")
		s.same(s.watch(resource, "resourceVersion="+got.Object.version()).want("ADDED", "c"), c)
	}
}

// watchOutOfSelector: an object that leaves the selector is DELETED, with the version of the
// update and the content from before it; one that enters is ADDED.
func watchOutOfSelector(s *session) {
	for _, resource := range []string{configMaps, events} {
		a := s.create(resource, "a", "one")
		w := s.watch(resource, "labelSelector=row%3Done&resourceVersion="+a.version())
		moved := s.update(resource, a, "two")
		before := a
		before.Metadata.ResourceVersion = moved.version()
		s.same(w.want("DELETED", "a"), before)
		unseen := s.update(resource, moved, "three")
		back := s.update(resource, unseen, "one")
		s.same(w.want("ADDED", "a"), back)
		s.update(resource, back, "two")
		w.want("DELETED", "a")
		s.remove(resource, "a")
		b := s.create(resource, "b", "one")
		s.same(w.want("ADDED", "b"), b)
	}
}
