// SPDX-License-Identifier: Apache-2.0

package servertable

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func bookmarkRows() []Row {
	return []Row{
		row("bookmark before the deadline", bookmarkDeadline),
		row("no bookmark of the version the watch began at", bookmarkUnmoved),
		row("no bookmark unless asked for", bookmarkNotAllowed),
		row("no bookmark without a cache", bookmarkUncached),
		{Name: "bookmarks every minute", Patient: true, Check: bookmarkMinutes},
	}
}

// bookmarkDeadline: a watch of 4 s gets a bookmark before it ends, with a version that is not
// older than the last event, and that can be resumed from.
func bookmarkDeadline(s *session) {
	a := s.create(configMaps, "a", "one")
	w := s.watch(configMaps, "timeoutSeconds=4&allowWatchBookmarks=true&resourceVersion="+a.version())
	b := s.create(configMaps, "b", "one")
	s.same(w.want("ADDED", "b"), b)
	rest := w.rest()
	if len(rest) == 0 {
		s.Fatalf("the watch ended without a bookmark")
	}
	floor := b.version()
	for _, got := range rest {
		s.bookmark(got, "ConfigMap", floor)
		floor = got.Object.version()
	}
	c := s.create(configMaps, "c", "one")
	s.same(s.watch(configMaps, "resourceVersion="+floor).want("ADDED", "c"), c)
}

// bookmarkUnmoved: the deadline draws no bookmark of the version that the watch began at, so one of
// 4 s on a collection where nothing happens ends without a word. Rows that run beside this one may
// move the version; then a bookmark has the version that they moved it to.
func bookmarkUnmoved(s *session) {
	for _, selector := range []string{"", "&labelSelector=row%3Dnone"} {
		now := s.create(configMaps, "a", "one").version()
		s.remove(configMaps, "a")
		gone := s.list(configMaps, "").Meta.ResourceVersion
		w := s.watch(configMaps, "timeoutSeconds=4&allowWatchBookmarks=true&resourceVersion="+gone+selector)
		for _, got := range w.rest() {
			s.bookmark(got, "ConfigMap", s.after(gone, 1))
		}
		s.notOlder("list", gone, s.after(now, 1))
	}
}

// bookmark checks that an event is a bookmark, of the kind of the resource, with nothing but a
// version that is not older than floor.
func (s *session) bookmark(got event, kind, floor string) {
	s.Helper()
	meta := got.Object.Metadata
	if got.Type != "BOOKMARK" || got.Object.Kind != kind || meta.Name != "" || meta.UID != "" {
		s.Fatalf("got %v of kind %q; want a bookmark of kind %s", got, got.Object.Kind, kind)
	}
	if _, marked := meta.Annotations[metav1.InitialEventsAnnotationKey]; marked {
		s.Errorf("a bookmark that ends no initial events has their mark")
	}
	s.notOlder("bookmark", got.Object.version(), floor)
}

// bookmarkNotAllowed: a client that does not allow bookmarks gets none.
func bookmarkNotAllowed(s *session) {
	a := s.create(configMaps, "a", "one")
	w := s.watch(configMaps, "timeoutSeconds=4&resourceVersion="+a.version())
	b := s.create(configMaps, "b", "one")
	s.same(w.want("ADDED", "b"), b)
	if rest := w.rest(); len(rest) != 0 {
		s.Errorf("got %v; want the end", rest)
	}
}

// bookmarkUncached: a resource without a cache has no bookmarks.
func bookmarkUncached(s *session) {
	a := s.create(events, "a", "one")
	w := s.watch(events, "timeoutSeconds=4&allowWatchBookmarks=true&resourceVersion="+a.version())
	b := s.create(events, "b", "one")
	s.same(w.want("ADDED", "b"), b)
	if rest := w.rest(); len(rest) != 0 {
		s.Errorf("got %v; want the end", rest)
	}
}

// bookmarkMinutes: on a watch of 130 s there is a bookmark about every 60 s and one before the
// deadline, so at least three of them with a change before each.
func bookmarkMinutes(t *testing.T, target Target) {
	s := newSession(t, target)
	a := s.create(configMaps, "a", "one")
	w := s.watch(configMaps, "timeoutSeconds=130&allowWatchBookmarks=true&resourceVersion="+a.version())
	floor := a.version()
	for round := range 3 {
		o := s.create(configMaps, fmt.Sprintf("b%d", round), "one")
		floor = w.bookmarksUntil("ADDED", floor)
		s.notOlder("the event", floor, o.version())
		floor = w.bookmarksUntil("BOOKMARK", floor)
	}
	for _, got := range w.rest() {
		s.bookmark(got, "ConfigMap", floor)
		floor = got.Object.version()
	}
}

// bookmarksUntil reads bookmarks up to the first event of the type and returns its version. A
// bookmark may be followed by a second one, and so come before a change that was made after it.
func (w *stream) bookmarksUntil(eventType, floor string) string {
	w.Helper()
	for {
		got, ok := w.next()
		if !ok {
			w.Fatalf("the watch ended; want %s", eventType)
		}
		if got.Type == eventType {
			w.notOlder(eventType, got.Object.version(), floor)
			return got.Object.version()
		}
		w.bookmark(got, "ConfigMap", floor)
		floor = got.Object.version()
	}
}
