// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding"
	stdjson "encoding/json"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// plan is how values of one type are filled from JSON that was found to be valid. It is
// made once a decoder, and only for types whose meaning is beyond doubt.
type plan struct {
	fill filler
}

// filler fills a zero value; false: the JSON has something in it that a general decoder
// has to judge, and what was filled so far is to be thrown away.
type filler func(c *cursor, v reflect.Value) bool

// planner makes the plans of a type and of all that it consists of. What the plans share
// is memory that is used again: a planner, and its plans, belong to one goroutine.
type planner struct {
	plans       map[reflect.Type]*plan
	strings     *interner
	quantities  *quantities // nil until a type has one
	walker      *walker
	root        reflect.Type // of the objects
	dropManaged bool         // leave metadata.managedFields out
}

// newPlan returns the plan of a type, nil if it holds something that only a general
// decoder knows.
func newPlan(t reflect.Type, dropManaged bool) *plan {
	w := newWalker()
	p := &planner{plans: map[reflect.Type]*plan{}, strings: w.strings, walker: w, root: t, dropManaged: dropManaged}
	if reflect.PointerTo(t).Implements(unmarshalerType) {
		return nil
	}
	out, ok := p.plan(t)
	if !ok {
		return nil
	}
	return &plan{fill: func(c *cursor, v reflect.Value) bool {
		p.strings.begin()
		return out.fill(c, v)
	}}
}

var (
	unmarshalerType     = reflect.TypeFor[stdjson.Unmarshaler]()
	unmarshalerFromType = reflect.TypeFor[json.UnmarshalerFrom]()
	textType            = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// plan returns the one plan of a type, which may still be in the making where a type
// holds itself.
func (p *planner) plan(t reflect.Type) (out *plan, ok bool) {
	if out, ok := p.plans[t]; ok {
		return out, true
	}
	out = &plan{}
	p.plans[t] = out
	out.fill, ok = p.fillerFor(t)
	return out, ok
}

func (p *planner) fillerFor(t reflect.Type) (filler, bool) {
	switch t {
	case reflect.TypeFor[metav1.Time]():
		return fillTime, true
	case reflect.TypeFor[metav1.MicroTime]():
		return fillMicroTime, true
	case reflect.TypeFor[intstr.IntOrString]():
		return p.fillIntOrString, true
	case reflect.TypeFor[resource.Quantity]():
		if p.quantities == nil {
			p.quantities = &quantities{}
		}
		return p.quantities.fillJSON, true
	case reflect.TypeFor[stdjson.Number]():
		return nil, false
	}
	if t.Kind() != reflect.Pointer {
		pointer := reflect.PointerTo(t)
		switch {
		case pointer.Implements(unmarshalerFromType):
			return nil, false
		case pointer.Implements(unmarshalerType):
			return itselfFiller(t), true
		case pointer.Implements(textType):
			return nil, false
		}
	}
	return p.fillerOfKind(t)
}

func (p *planner) fillerOfKind(t reflect.Type) (filler, bool) {
	switch t.Kind() {
	case reflect.String:
		return p.fillString, true
	case reflect.Bool:
		return fillBool, true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return fillInt, true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fillUint, true
	case reflect.Float32, reflect.Float64:
		return fillFloat, true
	case reflect.Interface:
		return p.fillAny, t.NumMethod() == 0
	case reflect.Pointer:
		return p.pointer(t)
	case reflect.Slice:
		return p.slice(t)
	case reflect.Map:
		return p.mapping(t)
	case reflect.Struct:
		return p.structure(t)
	}
	return nil, false
}

func (p *planner) pointer(t reflect.Type) (filler, bool) {
	elem, ok := p.plan(t.Elem())
	return func(c *cursor, v reflect.Value) bool {
		if c.next() == 'n' {
			return fillNull(c)
		}
		to := reflect.New(t.Elem())
		if !elem.fill(c, to.Elem()) {
			return false
		}
		v.Set(to)
		return true
	}, ok
}

func (p *planner) slice(t reflect.Type) (filler, bool) {
	if t.Elem() == reflect.TypeFor[byte]() {
		return fillBytes, true
	}
	if t.Elem().Kind() == reflect.Uint8 {
		return nil, false
	}
	elem, ok := p.plan(t.Elem())
	s := &slicePlan{elem: elem, t: t}
	return s.fill, ok
}

func (p *planner) mapping(t reflect.Type) (filler, bool) {
	if t.Key().Kind() != reflect.String || reflect.PointerTo(t.Key()).Implements(textType) {
		return nil, false
	}
	if t == reflect.TypeFor[map[string]string]() {
		return p.labelsFiller(), true
	}
	elem, ok := p.plan(t.Elem())
	m := &mapPlan{elem: elem, t: t, strings: p.strings}
	return m.fill, ok
}

// labelsFiller fills labels and the like, each in a way of its own: what comes again in
// one place is not what comes in another.
func (p *planner) labelsFiller() filler {
	habits := new(habits)
	return func(c *cursor, v reflect.Value) bool { return p.fillLabels(habits, c, v) }
}

// structure plans a struct whose names are all different, whatever is embedded in it.
func (p *planner) structure(t reflect.Type) (filler, bool) {
	return p.structureFiller(&structPlan{root: t == p.root}, t)
}

// structureFiller completes the plan of a struct, and returns what fills one.
func (p *planner) structureFiller(s *structPlan, t reflect.Type) (filler, bool) {
	s.names, s.strings = map[string]int{}, p.strings
	if !p.addFields(s, t, nil) || len(s.fields) > maxFields {
		return nil, false
	}
	s.follow = make([]int, len(s.fields)+1)
	for i := range s.follow {
		s.follow[i] = i
	}
	return s.fill, true
}

// addFields adds the fields of a struct that is embedded at a path.
func (p *planner) addFields(s *structPlan, t reflect.Type, path []int) bool {
	for i := range t.NumField() {
		field := t.Field(i)
		at := append(append([]int(nil), path...), i)
		tag, _ := field.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-" || !field.Anonymous && !field.IsExported():
			continue
		case !plainTag(name, options):
			return false
		case field.Anonymous && name == "":
			if field.Type.Kind() != reflect.Struct || !field.IsExported() || !p.addFields(s, field.Type, at) {
				return false
			}
			continue
		case name == "":
			name = field.Name
		}
		if !p.addField(s, fieldPlan{name: name, path: at}, field.Type) {
			return false
		}
	}
	return true
}

func (p *planner) addField(s *structPlan, f fieldPlan, t reflect.Type) (ok bool) {
	if _, twice := s.names[f.name]; twice {
		return false
	}
	switch {
	case s.bare && f.name == "managedFields":
		f.plan, ok = &plan{fill: fillNothing}, true
	case s.root && p.dropManaged && f.name == "metadata" && t == reflect.TypeFor[metav1.ObjectMeta]():
		f.plan, ok = p.bareMetadata(t)
	case t == reflect.TypeFor[map[string]string]():
		f.plan, ok = &plan{fill: p.labelsFiller()}, true
	default:
		f.plan, ok = p.plan(t)
		f.text = ok && t.Kind() == reflect.String && !reflect.PointerTo(t).Implements(unmarshalerType)
	}
	s.names[f.name] = len(s.fields)
	s.fields = append(s.fields, f)
	return ok
}

// bareMetadata plans the metadata of the object itself without its managed fields: a
// template in it may have some, too, and keeps them.
func (p *planner) bareMetadata(t reflect.Type) (*plan, bool) {
	s := &structPlan{bare: true}
	fill, ok := p.structureFiller(s, t)
	return &plan{fill: fill}, ok
}

// plainTag reports whether a tag says what all decoders understand alike.
func plainTag(name, options string) bool {
	odd := func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.$/", r)
	}
	if strings.ContainsFunc(name, odd) {
		return false
	}
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "", "omitempty", "omitzero", "inline":
		default:
			return false
		}
	}
	return true
}
