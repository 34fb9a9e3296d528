// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/informerkit/informer/internal/quantity"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
)

// errQuantity is a quantity that apimachinery would read for hours.
var errQuantity = errors.New("a quantity whose exponent is beyond 999, or of more than 1,024 bytes")

func errBoundless(t reflect.Type) error { return fmt.Errorf("%w %v: %w", errSchema, t, errQuantity) }

// measured says where values of a type have quantities. A nil one has none; others may have none
// either. Where a type is read by a
// decoder that is not this package's own, these have to be looked at before: the decoder cannot
// be stopped.
type measured struct {
	quantity bool                 // it is one, or is read as the one that it embeds
	elem     *measured            // of a slice, an array or a map
	members  map[string]*measured // of a struct
	folded   map[string]*measured // these by fold, which some decoders go by, if they may have any
}

// measuredTypes keeps what is known of types, *measured: each decoder asks, and there are as many
// types as the program names.
var measuredTypes sync.Map

// measuredIn finds the quantities of a type. One with an UnmarshalJSON of its own is taken for
// one that is read as its tags say.
func measuredIn(t reflect.Type) *measured {
	if known, ok := measuredTypes.Load(t); ok {
		return known.(*measured)
	}
	f := finder{found: map[reflect.Type]*measured{}}
	m := f.of(t)
	if !f.any {
		m = nil
	}
	measuredTypes.Store(t, m)
	return m
}

// finder makes one measured a type, since types may hold themselves.
type finder struct {
	found map[reflect.Type]*measured
	any   bool // quantity
}

func (f *finder) of(t reflect.Type) *measured {
	t = pointedTo(t)
	if m, ok := f.found[t]; ok {
		return m
	}
	m := &measured{}
	f.found[t] = m
	if readAsQuantity(t) {
		m.quantity, f.any = true, true
	}
	switch t.Kind() {
	case reflect.Struct:
		m.members, m.folded = map[string]*measured{}, map[string]*measured{}
		f.addFields(m, t, map[reflect.Type]bool{})
	case reflect.Slice, reflect.Array, reflect.Map:
		m.elem = f.of(t.Elem())
	}
	if m.elem == nil && m.members == nil && !m.quantity {
		f.found[t] = nil
	}
	return f.found[t]
}

// addFields adds the members that a struct has, by what is embedded in it too. Of two with one
// name the outer one counts, but for one without quantities: decoders do not agree on all of that.
func (f *finder) addFields(m *measured, t reflect.Type, embedded map[reflect.Type]bool) {
	embedded[t] = true
	var within []reflect.Type
	for field := range t.Fields() {
		tag := field.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		inner := pointedTo(field.Type)
		switch {
		case tag == "-" || !field.IsExported() && !field.Anonymous:
			continue
		case field.Anonymous && name == "" && inner.Kind() == reflect.Struct:
			within = append(within, inner)
			continue
		case name == "":
			name = field.Name
		}
		if m.members[name] == nil {
			m.members[name] = f.of(inner)
		}
		if m.members[name] != nil {
			m.folded[fold(name)] = m.members[name]
		}
	}
	for _, inner := range within {
		if !embedded[inner] {
			f.addFields(m, inner, embedded)
		}
	}
}

// maxPointers is how many pointers, and levels of embedding, are followed: a type may be one to
// itself.
const maxPointers = 16

func pointedTo(t reflect.Type) reflect.Type {
	for range maxPointers {
		if t.Kind() != reflect.Pointer {
			break
		}
		t = t.Elem()
	}
	return t
}

// readAsQuantity reports whether a type is a quantity, or has the methods of one that it embeds.
func readAsQuantity(t reflect.Type) bool {
	return embedsQuantity(t) && reflect.PointerTo(t).Implements(unmarshalerType)
}

func embedsQuantity(t reflect.Type) bool { return embedsQuantityWithin(t, maxPointers) }

func embedsQuantityWithin(t reflect.Type, left int) bool {
	if t == reflect.TypeFor[resource.Quantity]() || t.Kind() != reflect.Struct || left == 0 {
		return t == reflect.TypeFor[resource.Quantity]()
	}
	for field := range t.Fields() {
		if field.Anonymous && embedsQuantityWithin(pointedTo(field.Type), left-1) {
			return true
		}
	}
	return false
}

// member returns what is known of a member, of a struct or of a map.
func (m *measured) member(name []byte) *measured {
	if m == nil || m.members == nil {
		return m.element()
	}
	if known, ok := m.members[string(name)]; ok {
		return known
	}
	return m.folded[fold(string(name))]
}

// fold makes one of names that encoding/json takes for the same, as types do that read themselves
// by way of it.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }

func (m *measured) element() *measured {
	if m == nil {
		return nil
	}
	return m.elem
}

// inJSON reports whether a value that was found to be valid holds a boundless quantity.
func (m *measured) inJSON(raw []byte) bool { return m != nil && m.below(&cursor{b: raw}) }

// below looks at the value that begins here, and steps over it if nothing is boundless.
func (m *measured) below(c *cursor) bool {
	first := c.next()
	switch {
	case m == nil || first != '{' && first != '[' && !m.quantity:
		c.skip()
	case first == '{':
		for more := c.enter(); more; more = c.more() {
			if m.member(unquote(c.name(), nil)).below(c) {
				return true
			}
		}
	case first == '[':
		for more := c.enter(); more; more = c.more() {
			if m.elem.below(c) {
				return true
			}
		}
	case first == '"':
		text := c.quoted()
		return boundless(text[1 : len(text)-1])
	default:
		return boundless(c.literal())
	}
	return false
}

// boundless looks at the text of a quantity as its methods do, without the spaces around it.
func boundless(text []byte) bool { return quantity.Boundless(string(bytes.TrimSpace(text))) }

// inCBOR is inJSON for a data item that was found to be well-formed.
func (m *measured) inCBOR(raw []byte) bool {
	if m == nil {
		return false
	}
	w := cborWalk{raw, 0}
	found, _ := w.item(m)
	return found
}

// cborWalk goes through a data item. It ends early at what is not well-formed.
type cborWalk struct {
	b []byte
	i int
}

// head reads a head. The end of the data is a break.
func (w *cborWalk) head() (h head) {
	if w.i >= len(w.b) {
		return head{major: cborOther, info: cborIndefinite}
	}
	first := w.b[w.i]
	w.i++
	h = head{major: first >> 5, info: first & 31, n: uint64(first & 31)}
	if h.info >= 24 && h.info < 28 {
		size := 1 << (h.info - 24)
		var argument [8]byte
		copy(argument[8-size:], w.b[w.i:min(w.i+size, len(w.b))])
		h.n = binary.BigEndian.Uint64(argument[:])
		w.i += size
	}
	return h
}

// item looks at the next data item, and reports whether it was a break.
func (w *cborWalk) item(m *measured) (found, ended bool) {
	start := w.i
	h := w.head()
	for h.major == cborTag {
		h = w.head()
	}
	switch h.major {
	case cborBytes, cborText:
		w.text(h)
		return m != nil && m.quantity && boundlessCBOR(w.b[start:min(w.i, len(w.b))]), false
	case cborArray:
		return w.each(h, func() (bool, bool) { return w.item(m.element()) }), false
	case cborMap:
		return w.each(h, func() (bool, bool) { return w.member(m) }), false
	default:
		return false, h.major == cborOther && h.indefinite()
	}
}

// boundlessCBOR looks at the text that apimachinery makes of a string: tags may say that bytes are
// to be written as base64, or in hexadecimal digits, one of which is e.
func boundlessCBOR(raw []byte) bool {
	var text string
	return direct.Unmarshal(raw, &text) == nil && boundless([]byte(text))
}

func (w *cborWalk) each(of head, look func() (found, ended bool)) bool {
	for n := uint64(0); of.indefinite() || n < of.n; n++ {
		if found, ended := look(); found || ended {
			return found
		}
	}
	return false
}

// member looks at a name, which may be anything, and at its value.
func (w *cborWalk) member(of *measured) (found, ended bool) {
	start := w.i
	h := w.head()
	for h.major == cborTag {
		h = w.head()
	}
	var name []byte
	switch {
	case h.major == cborOther && h.indefinite():
		return false, true
	case h.major == cborBytes || h.major == cborText:
		name = w.text(h)
	default:
		w.i = start
		w.item(nil)
	}
	return w.item(of.member(name))
}

// text returns a string, put together from its chunks.
func (w *cborWalk) text(h head) []byte {
	if !h.indefinite() {
		start := min(w.i, len(w.b))
		w.i = start + int(min(h.n, uint64(len(w.b)-start)))
		return w.b[start:w.i]
	}
	var whole []byte
	for {
		chunk := w.head()
		if chunk.indefinite() {
			return whole
		}
		whole = append(whole, w.text(chunk)...)
	}
}
