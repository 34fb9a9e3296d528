// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/binary"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxNumber is the highest number of a field that a plan has a place for: two words of bits.
const maxNumber = 127

// maxProtoDepth limits how deep messages are nested in each other.
const maxProtoDepth = 10000

// protoPlan is how messages are read into a type of the Kubernetes API, whose tags say the
// numbers of its fields. It does what the generated Unmarshal does, but shares strings,
// makes slices and maps of the right size at once, and does not read what is to be dropped.
// Whatever no encoder writes is left to Unmarshal, which has the last word.
type protoPlan struct {
	wire   uint64 // what values of it are written as
	fill   protoFiller
	itself bool          // its Unmarshal was written by hand
	elem   *protoPlan    // of a pointer
	fields []*protoField // of a struct or an entry of a map, by number; at 0: one out of place
	t      reflect.Type  // nil: an entry of a map
	made   bool          // the fields of a struct: most are never met, and never planned
}

// protoField is one field of a struct.
type protoField struct {
	index int
	plan  *protoPlan    // of its value, or of each of them; nil: none
	many  protoRepeated // nil: there is one value
	once  bool          // what comes again would be merged with what came before
	drop  bool
	habit habit // of a text

	strings *interner // nil: it is no text
}

// piece is the value of one field.
type piece struct {
	n    uint64 // of wire types 0, 1 and 5
	data []byte // of wire type 2
}

// protoFiller fills a value that is zero; false: it is for Unmarshal to judge.
type protoFiller func(p piece, v reflect.Value) bool

// protoRepeated fills a slice or a map from the pieces with one key that follow each other,
// and returns where the last of them ends; 0: it is for Unmarshal to judge. A message is
// passed by value, for a pointer to it would put it on the heap.
type protoRepeated func(m message, key uint64, first piece, v reflect.Value) (end int)

// protoPlanner makes plans, which belong to one goroutine, as it does.
type protoPlanner struct {
	plans       map[reflect.Type]*protoPlan
	strings     *interner
	quantities  *quantities
	depth       int // of the message that is being read; 1: the object, 2: its metadata among others
	beyond      int // entries of maps in it that end before their values do
	dropManaged bool
}

// newProtoPlan returns the plan to read a struct, nil if its package is none of Kubernetes: its
// tags say where fields are, not what its Unmarshal makes of them.
func newProtoPlan(t reflect.Type, dropManaged bool) (*protoPlanner, *protoPlan) {
	p := &protoPlanner{plans: map[reflect.Type]*protoPlan{}, strings: newInterner(), quantities: &quantities{}, dropManaged: dropManaged}
	if !strings.HasPrefix(t.PkgPath(), "k8s.io/") || writtenByHand(t) {
		return p, nil
	}
	return p, p.plan(t)
}

// plan returns the one plan of a type, nil if there is none.
func (p *protoPlanner) plan(t reflect.Type) *protoPlan {
	if out, ok := p.plans[t]; ok {
		return out
	}
	out := &protoPlan{wire: wireBytes, t: t}
	p.plans[t] = out
	switch {
	case t == reflect.TypeFor[metav1.Time]():
		out.itself, out.fill = true, fillProtoTime
	case t == reflect.TypeFor[resource.Quantity]():
		out.itself, out.fill = true, p.quantities.fillProto
	case embedsQuantity(t): // and so has its Unmarshal
		out.itself, out.fill = true, fillProtoBounded
	case writtenByHand(t):
		out.itself, out.fill = true, fillProtoItself
	case t == reflect.TypeFor[metav1.ObjectMeta]():
		own := newMetaReader(p.strings, p.dropManaged)
		out.fill = func(piece piece, v reflect.Value) bool {
			// That of the object itself: a template in it may keep its managed fields.
			return p.depth == 1 && own.read(piece.data, v.Addr().Interface().(*metav1.ObjectMeta)) || p.message(out, piece.data, v)
		}
	case t.Kind() == reflect.Struct && hasProto(reflect.PointerTo(t)):
		out.fill = func(piece piece, v reflect.Value) bool { return p.message(out, piece.data, v) }
	case t.Kind() == reflect.Pointer:
		p.pointer(out, t)
	default:
		out.fill, out.wire = p.scalar(t)
	}
	if out.fill == nil {
		p.plans[t] = nil
	}
	return p.plans[t]
}

// writtenByHand reports whether a type has an Unmarshal that says more than its tags.
func writtenByHand(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime](), reflect.TypeFor[metav1.FieldsV1](), reflect.TypeFor[resource.Quantity]():
		return true
	}
	return t.Kind() != reflect.Struct && hasProto(reflect.PointerTo(t))
}

func (p *protoPlanner) pointer(out *protoPlan, t reflect.Type) {
	elem := p.plan(t.Elem())
	if elem == nil || t.Elem().Kind() == reflect.Pointer {
		return
	}
	out.elem, out.wire, out.itself = elem, elem.wire, elem.itself
	out.fill = func(piece piece, v reflect.Value) bool {
		to := reflect.New(t.Elem())
		if !elem.fill(piece, to.Elem()) {
			return false
		}
		v.Set(to)
		return true
	}
}

// structure plans the fields of a struct by their tags. What has no tag is in no message.
func (p *protoPlanner) structure(out *protoPlan) {
	t := out.t
	out.made = true
	for i := range t.NumField() {
		tag, ok := t.Field(i).Tag.Lookup("protobuf")
		if !ok {
			continue
		}
		_, tag, _ = strings.Cut(tag, ",")
		tag, _, _ = strings.Cut(tag, ",")
		number, err := strconv.Atoi(tag)
		if err != nil || number < 1 || number > maxNumber || !t.Field(i).IsExported() {
			number = 0 // which no field has: all messages of the type are left to Unmarshal
		}
		out.fields = append(out.fields, make([]*protoField, max(0, number+1-len(out.fields)))...)
		f := p.field(t.Field(i).Type)
		f.index = i
		f.drop = p.dropManaged && t == reflect.TypeFor[metav1.ObjectMeta]() && number == metaManaged
		out.fields[number] = f
	}
}

// field plans one field; without a plan it is left to Unmarshal.
func (p *protoPlanner) field(t reflect.Type) *protoField {
	f := &protoField{}
	hand := writtenByHand(t)
	switch {
	case t.Kind() == reflect.Map && !hand:
		m := &protoMap{t: t, value: p.plan(t.Elem()), strings: p.strings}
		if t.Key().Kind() == reflect.String && m.value != nil {
			f.plan, f.many = m.entry(), m.fill
		}
	case t.Kind() == reflect.Slice && !hand && t.Elem().Kind() != reflect.Uint8:
		f.plan = p.plan(t.Elem())
		f.many = (&protoSlice{elem: f.plan}).fill
	default:
		f.plan = p.plan(t)
		if t.Kind() == reflect.String && !hand {
			f.strings = p.strings
		}
	}
	f.once = f.plan != nil && (f.many != nil || hand || f.plan.elem != nil || t.Kind() == reflect.Struct)
	return f
}

// message reads a message into a struct. After false the depth is wrong: it begins anew with
// the next object.
func (p *protoPlanner) message(plan *protoPlan, data []byte, v reflect.Value) bool {
	if !plan.made {
		p.structure(plan)
	}
	if p.depth++; p.depth > maxProtoDepth || len(plan.fields) > 0 && plan.fields[0] != nil {
		return false
	}
	var seen [(maxNumber + 1) / 64]uint64
	for m := (message{b: data}); m.i < len(m.b); {
		key, value := m.next()
		if key == 0 {
			return false
		}
		number := key >> 3
		if number >= uint64(len(plan.fields)) || plan.fields[number] == nil {
			continue
		}
		f := plan.fields[number]
		word, bit := number/64, uint64(1)<<(number%64)
		if f.drop && p.depth == 2 && key&7 == wireBytes {
			continue // those of the object itself, not of a template in it
		}
		if f.plan == nil || key&7 != f.plan.wire || f.once && seen[word]&bit != 0 {
			return false
		}
		seen[word] |= bit
		if m.i = f.value(m, key, value, v.Field(f.index)); m.i == 0 {
			return false
		}
	}
	p.depth--
	return true
}

// value fills a field, and returns where the message goes on; 0: it is for Unmarshal to judge.
func (f *protoField) value(m message, key uint64, first piece, to reflect.Value) (end int) {
	switch {
	case f.strings != nil:
		to.SetString(f.strings.shareAs(&f.habit, first.data))
	case f.many != nil:
		return f.many(m, key, first, to)
	case !f.plan.fill(first, to):
		return 0
	}
	return m.i
}

// message is what is left of one that is being read.
type message struct {
	b []byte
	i int
}

// Wire types: https://protobuf.dev/programming-guides/encoding/#structure
const wireVarint, wire64, wireBytes, wireGroup, wireGroupEnd, wire32 = 0, 1, 2, 3, 4, 5

// next reads a field; its key is 0 if there is none that is sound.
func (m *message) next() (key uint64, p piece) {
	b, i := m.b, m.i
	if len(b)-i >= 2 && b[i]&0x87 == wireBytes && b[i] > 7 && int(b[i+1]) <= min(len(b)-i-2, 0x7f) {
		m.i = i + 2 + int(b[i+1]) // most fields have small numbers and are short
		return uint64(b[i]), piece{data: b[i+2 : m.i : m.i]}
	}
	return m.nextSlowly()
}

func (m *message) nextSlowly() (key uint64, p piece) {
	key, ok := m.varint()
	if !ok || key < 1<<3 || key >= 1<<32 {
		return 0, p
	}
	left := len(m.b) - m.i
	switch key & 7 {
	case wireVarint:
		p.n, ok = m.varint()
	case wire64:
		if ok = left >= 8; ok {
			p.n = binary.LittleEndian.Uint64(m.b[m.i:])
			m.i += 8
		}
	case wire32:
		if ok = left >= 4; ok {
			p.n = uint64(binary.LittleEndian.Uint32(m.b[m.i:]))
			m.i += 4
		}
	case wireBytes:
		var length uint64
		length, ok = m.varint()
		if ok = ok && length <= uint64(len(m.b)-m.i); ok {
			p.data = m.b[m.i : m.i+int(length) : m.i+int(length)]
			m.i += int(length)
		}
	default:
		ok = false
	}
	if !ok {
		key = 0
	}
	return key, p
}

func (m *message) varint() (n uint64, ok bool) {
	if m.i < len(m.b) && m.b[m.i] < 0x80 {
		m.i++
		return uint64(m.b[m.i-1]), true
	}
	n, size := binary.Uvarint(m.b[m.i:])
	m.i += max(size, 0)
	return n, size > 0
}

// count returns how many more fields with a key follow each other here.
func (m message) count(key uint64) (n int) {
	for ; m.i < len(m.b); n++ {
		if next, _ := m.next(); next != key {
			break
		}
	}
	return n
}
