// SPDX-License-Identifier: Apache-2.0

package informertest

import "k8s.io/apimachinery/pkg/watch"

// slowly has a stream rest before each event. What was sent before is on its way then.
func (s *stream) slowly(emit func(event) bool, flush func()) func(event) bool {
	if s.quirks.Slow <= 0 {
		return emit
	}
	return func(e event) bool {
		flush()
		return rest(s.ctx, s.quirks.Slow) && emit(e)
	}
}

// mangled has a stream lose, repeat and reorder events.
func (s *stream) mangled(emit func(event) bool) func(event) bool {
	m := &mangler{quirks: s.quirks, emit: emit}
	return m.send
}

// mangler counts the events of a stream.
type mangler struct {
	quirks Quirks
	emit   func(event) bool
	count  int
	held   *event // sent after the next one
}

func (m *mangler) send(e event) bool {
	if e.kind == watch.Bookmark || e.kind == watch.Error {
		return m.emit(e)
	}
	m.count++
	switch {
	case m.each(m.quirks.DropEvents):
		return true
	case m.each(m.quirks.ReorderEvents) && m.held == nil:
		m.held = &e
		return true
	}
	if !m.emit(e) || m.each(m.quirks.DuplicateEvents) && !m.emit(e) {
		return false
	}
	if m.held == nil {
		return true
	}
	e, m.held = *m.held, nil
	return m.emit(e)
}

// each reports whether the event is one of every n.
func (m *mangler) each(n int) bool { return n > 0 && m.count%n == 0 }
