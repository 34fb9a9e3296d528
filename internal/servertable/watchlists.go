// SPDX-License-Identifier: Apache-2.0

package servertable

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// watchListQuery asks for the initial events; a version follows.
const watchListQuery = "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&resourceVersion="

func watchListRows() []Row {
	return []Row{
		row("watch-list", watchList),
		row("watch-list at a version too old for a watch", watchListOld),
		row("watch-list at a version of the future", watchListFuture),
		row("watch-list without a cache", watchListUncached),
		row("watch-list without bookmarks", watchListUnmarked),
		row("watch without version, with bookmarks", func(s *session) { watchFrom(s, "") }),
		row("watch at 0, with bookmarks", func(s *session) { watchFrom(s, "0") }),
	}
}

// initial reads the initial events: ADDED in key order with the objects' own versions, then the
// marker, with a version not older than floor.
func (w *stream) initial(want []object, floor string) {
	w.Helper()
	byName := slices.SortedFunc(slices.Values(want), func(a, b object) int {
		if a.Metadata.Name < b.Metadata.Name {
			return -1
		}
		return 1
	})
	for _, o := range byName {
		w.same(w.want("ADDED", o.Metadata.Name), o)
	}
	marker := w.want("BOOKMARK", "")
	if marker.Object.Metadata.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		w.Errorf("bookmark after the initial events has the annotations %v; want %s",
			marker.Object.Metadata.Annotations, metav1.InitialEventsAnnotationKey)
	}
	w.notOlder("the marker", marker.Object.version(), floor)
}

// watchList: whatever the version asked for, everything there is now, and then what happens.
func watchList(s *session) {
	made := s.fill(configMaps, "b", "c", "a")
	first := made[0].version()
	made[0] = s.update(configMaps, made[0], "two")
	now := made[0].version()
	s.list(configMaps, "") // Consistent, after which the cache has reached now.
	for _, version := range []string{"", "0", first, now} {
		w := s.watch(configMaps, watchListQuery+version)
		w.initial(made, now)
		d := s.create(configMaps, "d", "one")
		s.same(w.want("ADDED", "d"), d)
		s.remove(configMaps, "d")
		w.want("DELETED", "d")
		now = s.list(configMaps, "").Meta.ResourceVersion
	}
}

// watchListOld: a version that a watch would refuse is served.
func watchListOld(s *session) {
	made := s.fill(configMaps, "b", "c", "a")
	now := made[2].version()
	if s.target.Expire != nil {
		s.target.Expire(s, now)
	}
	s.watch(configMaps, watchListQuery+"1").initial(made, now)
}

// watchListFuture: 200, and then the error in the stream.
func watchListFuture(s *session) {
	now := s.create(configMaps, "a", "one").version()
	w := s.watch(configMaps, watchListQuery+s.after(now, future))
	s.tooLarge(w.want("ERROR", "").Status, 1)
	if rest := w.rest(); len(rest) != 0 {
		s.Errorf("after the error came %v; want the end", rest)
	}
}

// watchListUncached: a resource without a cache has initial events too, and their marker.
func watchListUncached(s *session) {
	made := s.fill(events, "b", "c", "a")
	w := s.watch(events, watchListQuery)
	w.initial(made, made[2].version())
	d := s.create(events, "d", "one")
	s.same(w.want("ADDED", "d"), d)
}

// watchListUnmarked: who does not allow bookmarks gets no marker either.
func watchListUnmarked(s *session) {
	made := s.fill(configMaps, "a", "b")
	w := s.watch(configMaps, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=")
	for _, o := range made {
		s.same(w.want("ADDED", o.Metadata.Name), o)
	}
	c := s.create(configMaps, "c", "one")
	s.same(w.want("ADDED", "c"), c)
}

// watchFrom: a watch without version, or at 0, that allows bookmarks is a watch-list.
func watchFrom(s *session, version string) {
	made := s.fill(configMaps, "b", "c", "a")
	s.list(configMaps, "") // Consistent, after which the cache has reached the last of them.
	w := s.watch(configMaps, "allowWatchBookmarks=true&resourceVersion="+version)
	w.initial(made, made[2].version())
	d := s.create(configMaps, "d", "one")
	s.same(w.want("ADDED", "d"), d)
}
