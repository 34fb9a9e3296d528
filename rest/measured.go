// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/informerkit/informer/internal/quantity"

	"k8s.io/apimachinery/pkg/api/resource"
)

// errQuantity is a quantity that apimachinery would read for hours.
var errQuantity = errors.New("a quantity whose exponent is beyond 999, or of more than 1,024 bytes")

func errBoundless(t reflect.Type) error { return fmt.Errorf("%w %v: %w", errSchema, t, errQuantity) }

// measured are the names of the members of a type that hold quantities, or slices or maps of
// them. Where a type is read by a decoder that is not this package's own, it is these that have
// to be looked at before: the decoder cannot be stopped.
type measured map[string]bool

// measuredIn returns those of a struct and of all that it consists of. What a type with an
// UnmarshalJSON of its own does with its bytes is not known.
func measuredIn(t reflect.Type) measured {
	m := measured{}
	m.add(t, map[reflect.Type]bool{})
	return m
}

func (m measured) add(t reflect.Type, seen map[reflect.Type]bool) {
	if seen[t] {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		m.add(t.Elem(), seen)
	case reflect.Struct:
		for field := range t.Fields() {
			m.addField(field, seen)
		}
	}
}

func (m measured) addField(field reflect.StructField, seen map[reflect.Type]bool) {
	switch name, _, _ := strings.Cut(field.Tag.Get("json"), ","); {
	case !field.IsExported() && !field.Anonymous:
	case !isMeasure(field.Type):
		m.add(field.Type, seen)
	case name == "":
		m[field.Name] = true
	default:
		m[name] = true
	}
}

// maxMeasure is how many slices, maps and structs a quantity is looked for in.
const maxMeasure = 16

// isMeasure reports whether a value of type t is a quantity, or consists of some, or embeds
// one, and so has its methods.
func isMeasure(t reflect.Type) bool { return isMeasureWithin(t, maxMeasure) }

func isMeasureWithin(t reflect.Type, left int) bool {
	if t == reflect.TypeFor[resource.Quantity]() || left == 0 {
		return left > 0
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return isMeasureWithin(t.Elem(), left-1)
	case reflect.Struct:
		for field := range t.Fields() {
			if field.Anonymous && isMeasureWithin(field.Type, left-1) {
				return true
			}
		}
	}
	return false
}

// inJSON reports whether one of them, in a value that was found to be valid, is boundless.
func (m measured) inJSON(raw []byte) bool {
	return len(m) > 0 && m.below(&cursor{b: raw}, false)
}

// below looks at the value that begins here; inside: it is part of a measured one.
func (m measured) below(c *cursor, inside bool) bool {
	switch c.next() {
	case '{':
		for more := c.enter(); more; more = c.more() {
			name := unquote(c.name(), nil)
			if m.below(c, inside || m[string(name)]) {
				return true
			}
		}
		return false
	case '[':
		for more := c.enter(); more; more = c.more() {
			if m.below(c, inside) {
				return true
			}
		}
		return false
	case '"':
		text := c.quoted()
		return inside && quantity.Boundless(string(text[1:len(text)-1]))
	}
	text := c.literal()
	return inside && quantity.Boundless(string(text))
}

// inCBOR is inJSON for a data item that was found to be well-formed.
func (m measured) inCBOR(raw []byte) bool {
	if len(m) == 0 {
		return false
	}
	w := cborWalk{m, raw, 0}
	boundless, _ := w.item(false)
	return boundless
}

// cborWalk goes through a data item. It ends early at what is not well-formed.
type cborWalk struct {
	measured measured
	b        []byte
	i        int
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
func (w *cborWalk) item(inside bool) (boundless, ended bool) {
	switch h := w.head(); h.major {
	case cborBytes, cborText:
		text := w.text(h)
		return inside && quantity.Boundless(string(bytes.TrimSpace(text))), false
	case cborTag:
		return w.item(inside)
	case cborArray:
		return w.each(h, func() (bool, bool) { return w.item(inside) }), false
	case cborMap:
		return w.each(h, func() (bool, bool) { return w.member(inside) }), false
	default:
		return false, h.major == cborOther && h.indefinite()
	}
}

func (w *cborWalk) each(of head, look func() (boundless, ended bool)) bool {
	for n := uint64(0); of.indefinite() || n < of.n; n++ {
		if boundless, ended := look(); boundless || ended {
			return boundless
		}
	}
	return false
}

func (w *cborWalk) member(inside bool) (boundless, ended bool) {
	h := w.head()
	if h.major == cborOther && h.indefinite() {
		return false, true
	}
	var name []byte
	if h.major == cborBytes || h.major == cborText {
		name = w.text(h)
	}
	return w.item(inside || w.measured[string(name)])
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
