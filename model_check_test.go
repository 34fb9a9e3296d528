// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/informerkit/informer"

	"k8s.io/apimachinery/pkg/sharding"
)

// modelHandler checks that each key lives as it should, and that the store is never behind.
type modelHandler struct {
	m            *model
	name         string
	registration *informer.Registration
	filter       func(obj infObject) bool // nil: none
	gate         chan struct{}            // nil: open

	mu      sync.Mutex
	shown   map[string]informer.Change[infObject] // the last one of what is there
	problem string
}

func (h *modelHandler) Handle(ctx context.Context, c informer.Change[infObject]) {
	if h.gate != nil {
		select {
		case <-h.gate:
		case <-ctx.Done():
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	last, there := h.shown[c.Key]
	switch {
	case there == (c.Type == informer.Added):
		h.fail("P2: %s was told %s, was shown %s", h.name, infShow(c), infShow(last))
	case c.Type != informer.Added && c.Source != last.Source:
		h.fail("P2: %s was told %s of %s, was shown that of %s", h.name, infShow(c), c.Source, last.Source)
	case c.Type == informer.Updated && c.Old != last.New:
		h.fail("P2: %s was told %s, was shown %s", h.name, infShow(c), infShow(last))
	}
	if c.Type == informer.Deleted {
		delete(h.shown, c.Key)
		return
	}
	h.shown[c.Key] = c
	if obj, ok := h.m.union.Store().Get(c.Key); ok && obj.UID == c.New.UID && modelVersion(obj) < modelVersion(c.New) {
		h.fail("P3: %s was told %s, the store has %s", h.name, infShow(c), obj.ResourceVersion)
	}
}

func modelVersion(obj infObject) uint64 {
	version, _ := strconv.ParseUint(obj.ResourceVersion, 10, 64)
	return version
}

func (h *modelHandler) fail(format string, args ...any) {
	if h.problem == "" {
		h.problem = fmt.Sprintf(format, args...)
	}
}

func (h *modelHandler) failed() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.problem
}

// unblock opens the gate.
func (h *modelHandler) unblock() {
	select {
	case <-h.gate:
	default:
		if h.gate != nil {
			close(h.gate)
		}
	}
}

// addHandler adds one of several kinds.
func (m *model) addHandler(o modelOp) {
	if len(m.handlers) > 8 {
		return
	}
	h := &modelHandler{m: m, name: "merging", shown: map[string]informer.Change[infObject]{}}
	options := informer.HandlerOptions{}
	var handler informer.Handler[infObject] = h
	switch o.arg % 5 {
	case 1:
		h.name, options.EveryChange = "every", true
	case 2:
		h.name, options.EveryChange, options.Limit = "limited", true, 2
	case 3:
		h.gate = make(chan struct{})
	case 4:
		h.filter = func(obj infObject) bool { return len(obj.ResourceVersion)%2 == (o.arg/5)%2 }
		handler = informer.Filter(h.filter, handler)
	}
	h.name = fmt.Sprint(h.name, len(m.handlers))
	options.Name = h.name
	registration, err := m.union.AddHandler(handler, options)
	if err != nil {
		m.fail("AddHandler: %v", err)
		return
	}
	h.registration = registration
	m.handlers = append(m.handlers, h)
}

func (m *model) removeHandler(o modelOp) {
	if n := o.arg % len(m.handlers); n > 0 { // the first one stays
		h := m.handlers[n]
		h.registration.Remove()
		h.unblock()
		m.handlers = append(m.handlers[:n:n], m.handlers[n+1:]...)
	}
}

func (m *model) refilter(o modelOp) { m.handlers[o.arg%len(m.handlers)].registration.Refilter() }

// inPart reports whether the part that is mirrored has the object.
func (m *model) inPart(obj infObject) bool {
	hash, _ := strconv.ParseUint(sharding.HashField(string(obj.UID)), 16, 64)
	return m.parted < 0 || hash>>63 == uint64(m.parted)
}

// checkRest checks what holds when nothing has happened for long.
func (m *model) checkRest() {
	m.checkStep()
	if !m.union.HasSynced() {
		m.fail("P1: not synced: %+v", m.union.Status())
	}
	quarantined := map[string]bool{}
	for _, q := range m.union.Status().Quarantined {
		quarantined[q.Source+" "+q.Key] = true
	}
	for n := range modelKeys {
		m.checkKey(modelOp{arg: n}.key(), quarantined)
	}
	if m.union.Store().Len() > modelKeys {
		m.fail("P1: the store holds %q", m.union.Store().Keys())
	}
	for _, h := range m.handlers {
		m.checkShown(h)
	}
	m.errors.mu.Lock()
	defer m.errors.mu.Unlock()
	if m.waits != 0 {
		m.fail("P6: %d waits have not ended", m.waits)
	}
}

// checkKey compares the store with the sources.
func (m *model) checkKey(key string, quarantined map[string]bool) {
	held, stored := m.union.Store().Get(key)
	justified, wanted := false, false
	for n, source := range m.sources {
		obj, err := source.Get(m.ctx, "", key)
		name := fmt.Sprint("s", n)
		if err != nil || !m.active[n] || !m.inPart(obj) {
			if quarantined[name+" "+key] {
				m.fail("P5: %s of %s is set aside, and not there", key, name)
			}
			continue
		}
		poison := obj.Labels["poison"] != ""
		if poison != quarantined[name+" "+key] {
			m.fail("P5: %s of %s is poison: %v, and set aside: %v", key, name, poison, !poison)
		}
		wanted = wanted || !poison
		justified = justified || stored && held.UID == obj.UID && (poison || held.ResourceVersion == obj.ResourceVersion)
	}
	switch {
	case stored && !justified:
		m.fail("P1: the store has %s at %s, which no source has", key, held.ResourceVersion)
	case wanted && !stored:
		m.fail("P1: the store lacks %s", key)
	}
}

// checkShown compares what a handler knows with the store.
func (m *model) checkShown(h *modelHandler) {
	h.mu.Lock()
	defer h.mu.Unlock()
	want := 0
	for key, obj := range m.union.Store().All() {
		c, ok := h.shown[key]
		matches := h.filter == nil || h.filter(obj)
		if matches {
			want++
		}
		if ok != matches || ok && c.New != obj {
			m.fail("P2: the store has %s at %s, %s was shown %s, %v", key, obj.ResourceVersion, h.name, infShow(c), ok)
		}
		if n := strings.TrimPrefix(c.Source, "s"); ok && (n == c.Source || len(n) != 1) {
			m.fail("P2: %s was shown %s of source %q", h.name, key, c.Source)
		}
	}
	if want != len(h.shown) {
		m.fail("P2: %s was shown %d objects, of %d", h.name, len(h.shown), want)
	}
}

// checkStopped checks that Run has ended everything.
func (m *model) checkStopped() {
	for _, s := range m.sources {
		if n := s.OpenWatches(); n > 0 {
			m.fail("P9: %d watches are open", n)
		}
	}
}
