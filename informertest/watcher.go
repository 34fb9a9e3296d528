// SPDX-License-Identifier: Apache-2.0

package informertest

import (
	"errors"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// errStopped is the cause of a stream that its reader stopped, errSlow of one that did not
// keep up.
var (
	errStopped = errors.New("informertest: the watch was stopped")
	errSlow    = errors.New("informertest: the reader of the watch is too slow")
)

// watcher makes a watch.Interface of a stream.
type watcher struct {
	stream *stream
	events chan watch.Event
}

// Stop ends the watch.
func (w *watcher) Stop() { w.stream.cancel(errStopped) }

// ResultChan returns the events; it is closed when the watch has ended.
func (w *watcher) ResultChan() <-chan watch.Event { return w.events }

func (w *watcher) run() {
	defer close(w.events)
	w.stream.run(w.emit, func() {})
}

// emit hands an event to the reader; false if the watch ends before it takes it.
func (w *watcher) emit(e event) bool {
	if w.stream.ctx.Err() != nil {
		return false // both could be ready below, and nothing is to follow a cut
	}
	if w.stream.quirks.Truncate && e.kind != watch.Error {
		return false
	}
	select {
	case w.events <- watch.Event{Type: e.kind, Object: w.object(e)}:
		return true
	case <-w.stream.ctx.Done():
		return false
	}
}

// object makes the object of an event, for the reader to keep.
func (w *watcher) object(e event) runtime.Object {
	switch e.kind {
	case watch.Error:
		return e.status.DeepCopy()
	case watch.Bookmark:
		obj := w.stream.engine.bookmarkObject()
		obj.SetResourceVersion(strconv.FormatUint(e.version, 10))
		if e.marker {
			obj.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		}
		return obj
	}
	return e.entry.copy(e.version)
}
