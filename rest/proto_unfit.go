// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"errors"
	"reflect"

	"github.com/informerkit/informer/internal/quantity"
)

var (
	errTooDeep = errors.New("nested too deep")
	errBeyond  = errors.New("entries of maps that end before their values do")
)

// maxBeyond is how many of them may be in an object. There are none but for faults.
const maxBeyond = 8

// unfitFor returns what looks at messages of a type, as far as its tags tell. It does so for types
// outside Kubernetes too: to look takes less of the tags than to read.
func (p *protoPlanner) unfitFor(t reflect.Type) func(raw []byte) error {
	plan := p.plan(t)
	return func(raw []byte) error {
		p.beyond = 0
		return p.unfit(plan, raw, maxProtoDepth)
	}
}

// unfit says why Unmarshal must not be given a message, nil if it may be: nothing would end it where
// messages are nested too deep, entries of maps overlap, or quantities are boundless.
func (p *protoPlanner) unfit(plan *protoPlan, data []byte, left int) error {
	switch {
	case plan.elem != nil:
		return p.unfit(plan.elem, data, left)
	case plan.itself && embedsQuantity(plan.t):
		return boundlessProto(data)
	case plan.itself || plan.wire != wireBytes || plan.t.Kind() != reflect.Struct:
		return nil
	case left == 0:
		return errTooDeep
	case !plan.made:
		p.structure(plan)
	}
	in := &generated{b: data}
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
	in := &generated{b: data}
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
		if in.deep {
			return errTooDeep
		}
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
	return (&generated{b: data}).each(func(number int32, text []byte) error {
		if number == 1 && quantity.Boundless(string(text)) {
			return errQuantity
		}
		return nil
	})
}

// generated is what is left of a message, and read as generated code reads it: varints may lose
// bits, the numbers of fields too, and groups are stepped over. What such code does not accept
// ends the reading, for that ends there, too.
type generated struct {
	b    []byte
	deep bool // groups are nested too deep: generated code recurses
}

// each calls a function for the fields that have a length, until one returns an error.
func (g *generated) each(look func(number int32, value []byte) error) error {
	for len(g.b) > 0 {
		key, ok := g.varint()
		if !ok || int32(key>>3) <= 0 {
			return nil
		}
		value, ok := g.value(key & 7)
		if g.deep {
			return errTooDeep
		}
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
			if depth++; depth > maxProtoDepth {
				g.deep = true
				return false
			}
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
