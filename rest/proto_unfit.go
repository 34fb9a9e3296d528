// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/internal/quantity"

	"k8s.io/apimachinery/pkg/api/resource"
)

var (
	errTooDeep = errors.New("nested too deep")
	errBeyond  = errors.New("entries of maps that end before their values do")
)

// maxBeyond is how many of them may be in an object. There are none but for faults.
const maxBeyond = 8

// fit keeps what is unfit from a decoder of a type, as far as its tags tell: of types outside
// Kubernetes too, where a plan to read them would ask more of the tags.
func (p *protoPlanner) fit(t reflect.Type, decode decodeFunc[informer.Object]) decodeFunc[informer.Object] {
	plan := p.plan(t)
	return func(raw []byte) (informer.Object, error) {
		p.beyond = 0
		if err := p.unfit(plan, raw, maxProtoDepth); err != nil {
			return nil, fmt.Errorf("%w %v: %w", errSchema, t, err)
		}
		return decode(raw)
	}
}

// unfit tells what of a message Unmarshal must not be let to read, for nothing would end it:
// messages nested too deep, entries of maps that overlap, and quantities that are boundless.
func (p *protoPlanner) unfit(plan *protoPlan, data []byte, left int) error {
	switch {
	case plan.elem != nil:
		return p.unfit(plan.elem, data, left)
	case plan.t == reflect.TypeFor[resource.Quantity]():
		return boundlessProto(data)
	case plan.itself || plan.wire != wireBytes || plan.t != nil && plan.t.Kind() != reflect.Struct:
		return nil
	case left == 0:
		return errTooDeep
	case plan.t != nil && !plan.made:
		p.structure(plan)
	}
	in := &generated{data}
	return in.each(func(number int32, value []byte) error {
		if int(number) >= len(plan.fields) || plan.fields[number] == nil || plan.fields[number].plan == nil {
			return nil
		}
		field := plan.fields[number].plan
		if field.t == nil {
			return p.unfitEntry(field.fields[2].plan, value[:len(value)+len(in.b)], len(value), left-1)
		}
		return p.unfit(field, value, left-1)
	})
}

// unfitEntry is unfit for an entry of a map, of which data begins with size bytes. Generated code
// reads its key and value whatever wire type they say, and beyond its end: there, each of many
// entries may hold all that follows it.
func (p *protoPlanner) unfitEntry(of *protoPlan, data []byte, size, left int) error {
	in := &generated{data}
	for len(data)-len(in.b) < size {
		key, ok := in.varint()
		if !ok {
			return nil
		}
		number, wire := int32(key>>3), key&7
		switch number {
		case 1:
			wire = wireBytes
		case 2:
			wire = of.wire
		}
		value, ok := in.value(wire)
		if !ok {
			return nil
		}
		if number == 2 {
			if err := p.unfit(of, value, left); err != nil {
				return err
			}
		}
	}
	if len(data)-len(in.b) == size {
		return nil
	}
	if p.beyond++; p.beyond > maxBeyond {
		return errBeyond
	}
	return nil
}

// boundlessProto looks at all texts of a Quantity, each of which is read.
func boundlessProto(data []byte) error {
	return (&generated{data}).each(func(number int32, text []byte) error {
		if number == 1 && quantity.Boundless(string(text)) {
			return errQuantity
		}
		return nil
	})
}

// generated is what is left of a message, and read as generated code reads it: varints may lose
// bits, the numbers of fields too, and groups are stepped over. What such code does not accept
// ends the reading, for that ends there, too.
type generated struct{ b []byte }

// each calls a function for the fields that have a length, until one returns an error.
func (g *generated) each(look func(number int32, value []byte) error) error {
	for len(g.b) > 0 {
		key, ok := g.varint()
		if !ok || int32(key>>3) <= 0 {
			return nil
		}
		value, ok := g.value(key & 7)
		if !ok {
			return nil
		}
		if key&7 != wireBytes {
			continue
		}
		if err := look(int32(key>>3), value); err != nil {
			return err
		}
	}
	return nil
}

// value steps over a value of a wire type, and returns that of one with a length.
func (g *generated) value(wire uint64) (value []byte, ok bool) {
	switch wire {
	case wireVarint:
		_, ok = g.varint()
		return nil, ok
	case wire64:
		return g.take(8)
	case wire32:
		return g.take(4)
	case wireBytes:
		n, ok := g.varint()
		if !ok {
			return nil, false
		}
		return g.take(n)
	case wireGroup:
		return nil, g.group()
	}
	return nil, false
}

func (g *generated) take(n uint64) (value []byte, ok bool) {
	if n > uint64(len(g.b)) {
		return nil, false
	}
	value, g.b = g.b[:n], g.b[n:]
	return value, true
}

func (g *generated) varint() (n uint64, ok bool) {
	for i, b := range g.b[:min(len(g.b), 10)] {
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			g.b = g.b[i+1:]
			return n, true
		}
	}
	return 0, false
}

// group steps over what is left of one, with those in it.
func (g *generated) group() (ok bool) {
	for depth := 1; depth > 0; {
		key, ok := g.varint()
		if !ok {
			return false
		}
		switch key & 7 {
		case wireGroup:
			depth++
		case wireGroupEnd:
			depth--
		default:
			if _, ok := g.value(key & 7); !ok {
				return false
			}
		}
	}
	return true
}
