// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/informerkit/informer/internal/quantity"

	"k8s.io/apimachinery/pkg/api/resource"
)

// errQuantity is a quantity that apimachinery would read for hours.
var errQuantity = errors.New("a quantity whose exponent is beyond 999, or of more than 1,024 bytes")

func errBoundless(t reflect.Type) error { return fmt.Errorf("%w %v: %w", errSchema, t, errQuantity) }

// measured says where values of a type have quantities. A nil one has none; others may have none
// either. Where a type is read by a decoder that is not this package's own, these have to be
// looked at before: the decoder cannot be stopped.
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
