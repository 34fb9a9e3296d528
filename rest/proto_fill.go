// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"maps"
	"math"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// scalar returns the filler of a type that is no message, and its wire type; nil: none.
func (p *protoPlanner) scalar(t reflect.Type) (protoFiller, uint64) {
	switch t.Kind() {
	case reflect.String:
		return p.fillString, wireBytes
	case reflect.Bool:
		return fillProtoBool, wireVarint
	case reflect.Int32, reflect.Int64:
		return fillProtoInt, wireVarint
	case reflect.Uint32, reflect.Uint64:
		return fillProtoUint, wireVarint
	case reflect.Float64:
		return fillProtoDouble, wire64
	case reflect.Float32:
		return fillProtoFloat, wire32
	case reflect.Slice:
		if t.Elem() == reflect.TypeFor[byte]() {
			return fillProtoBytes, wireBytes
		}
	}
	return nil, 0
}

func (p *protoPlanner) fillString(piece piece, v reflect.Value) bool {
	v.SetString(p.strings.share(piece.data))
	return true
}

func fillProtoBool(p piece, v reflect.Value) bool {
	v.SetBool(int64(p.n) != 0)
	return true
}

func fillProtoInt(p piece, v reflect.Value) bool {
	if v.Kind() == reflect.Int32 {
		v.SetInt(int64(int32(p.n)))
	} else {
		v.SetInt(int64(p.n))
	}
	return true
}

func fillProtoUint(p piece, v reflect.Value) bool {
	if v.Kind() == reflect.Uint32 {
		v.SetUint(uint64(uint32(p.n)))
	} else {
		v.SetUint(p.n)
	}
	return true
}

func fillProtoDouble(p piece, v reflect.Value) bool {
	v.SetFloat(math.Float64frombits(p.n))
	return true
}

func fillProtoFloat(p piece, v reflect.Value) bool {
	v.SetFloat(float64(math.Float32frombits(uint32(p.n))))
	return true
}

// fillProtoBytes makes a copy, which is not nil.
func fillProtoBytes(p piece, v reflect.Value) bool {
	out := make([]byte, len(p.data))
	copy(out, p.data)
	v.SetBytes(out)
	return true
}

// fillProtoItself is for types whose Unmarshal was written by hand.
func fillProtoItself(p piece, v reflect.Value) bool {
	return v.Addr().Interface().(protoMessage).Unmarshal(p.data) == nil
}

// fillProtoTime reads a Timestamp, of which Time takes the seconds.
func fillProtoTime(p piece, v reflect.Value) bool {
	return fillTimestamp(p, v.Addr().Interface().(*metav1.Time))
}

func fillTimestamp(p piece, to *metav1.Time) bool {
	if len(p.data) == 0 {
		return true
	}
	var seconds int64
	for m := (message{b: p.data}); m.i < len(m.b); {
		key, value := m.next()
		switch {
		case key == 0 || key&7 != wireVarint:
			return false
		case key>>3 == 1:
			seconds = int64(value.n)
		}
	}
	to.Time = time.Unix(seconds, 0).Local()
	return true
}

// protoSlice fills slices that are exactly as long as they need to be.
type protoSlice struct{ elem *protoPlan }

func (s *protoSlice) fill(m message, key uint64, first piece, v reflect.Value) (end int) {
	n := 1 + m.count(key)
	makeSlice(v, n)
	for i := range n {
		if !s.elem.fill(first, v.Index(i)) {
			return 0
		}
		if i < n-1 {
			_, first = m.next() // it has been counted, and so is sound
		}
	}
	return m.i
}

// protoMap fills maps that have room for exactly what comes.
type protoMap struct {
	t       reflect.Type
	value   *protoPlan
	strings *interner
	habits  habits
	scratch [2]reflect.Value // a key and a value; invalid while they are in use
	before  mapBefore        // of a map of strings
}

// mapBefore is the last map of strings in a place. Objects with the same labels follow each
// other, as those of one workload do in a list: to copy a map is less than to make it anew.
type mapBefore struct {
	row      []byte // its entries, as they came
	first    int    // length of the first one
	template map[string]string
	misses   uint8 // rows since, none of which was it; begins anew in the end
}

// rareRow is how many rows have to be new until only one in so many is kept: where each object
// has labels of its own, to keep them costs a twentieth of the decoding.
const rareRow = 8

// maxRow is how long a row of entries may be, in bytes, to be compared with the next one.
const maxRow = 1 << 10

// end returns where the row ends if it is the one before once more; 0: it is not.
func (b *mapBefore) end(f *inRow) int {
	start := f.in.i - len(f.first.data)
	end := start + len(b.row)
	if len(b.row) == 0 || b.first != len(f.first.data) || end > len(f.in.b) || string(b.row) != string(f.in.b[start:end]) {
		return 0
	}
	if end < len(f.in.b) && f.in.b[end] == byte(f.key) {
		return 0 // one entry more
	}
	return end
}

// note takes note of a row. There is a template only once it has come again.
func (b *mapBefore) note(row []byte, first int) {
	if b.misses++; b.misses > rareRow && b.misses%rareRow != 0 {
		return
	}
	if b.row = b.row[:0]; len(row) <= maxRow {
		b.row = append(b.row, row...)
	}
	b.first, b.template = first, nil
}

// entry is the message that a key and its value come in.
func (p *protoMap) entry() *protoPlan {
	return &protoPlan{wire: wireBytes, fields: []*protoField{2: {plan: p.value}}}
}

func (p *protoMap) fill(m message, key uint64, first piece, v reflect.Value) (end int) {
	if p.t == reflect.TypeFor[map[string]string]() {
		return p.fillStrings(&inRow{m, key, first}, v.Addr().Interface().(*map[string]string))
	}
	n := 1 + m.count(key)
	out := reflect.MakeMapWithSize(p.t, n)
	name, value := p.take()
	for i := range n {
		one, two, ok := halves(first.data, p.value.wire)
		name.SetString(p.strings.share(one))
		value.SetZero()
		if p.value.itself && value.Kind() == reflect.Slice {
			value.Set(reflect.MakeSlice(value.Type(), 0, 0)) // an empty one is not nil in a map
		}
		if !ok || !p.value.fill(two, value) {
			return 0
		}
		out.SetMapIndex(name, value)
		if i < n-1 {
			_, first = m.next()
		}
	}
	v.Set(out)
	value.SetZero()
	p.scratch = [2]reflect.Value{name, value}
	return m.i
}

// take returns memory for a key and a value, which is used again.
func (p *protoMap) take() (key, value reflect.Value) {
	key, value = p.scratch[0], p.scratch[1]
	p.scratch = [2]reflect.Value{} // a value may hold a map of this kind
	if !key.IsValid() {
		key, value = reflect.New(p.t.Key()).Elem(), reflect.New(p.t.Elem()).Elem()
	}
	return key, value
}

// fillStrings reads labels and the like.
func (p *protoMap) fillStrings(f *inRow, to *map[string]string) (end int) {
	before := &p.before
	known := before.end(f)
	if known > 0 && before.template != nil {
		*to = maps.Clone(before.template)
		return known
	}
	start, first := f.in.i-len(f.first.data), len(f.first.data)
	n := f.count()
	out := make(map[string]string, n)
	*to = out
	switch end = p.makeStrings(f, n, out); {
	case end == 0:
	case end == known: // a key of more bytes than it needs may have one entry more follow
		before.template, before.misses = maps.Clone(out), 0 // which nobody else has
	case f.key < 0x80: // a longer key is not looked for behind a row
		before.note(f.in.b[start:end], first)
	}
	return end
}

func (p *protoMap) makeStrings(f *inRow, n int, out map[string]string) (end int) {
	for i := range n {
		one, two, ok := halves(f.first.data, wireBytes)
		if !ok {
			return 0
		}
		h := p.habits[2*(i%mapHabits):]
		name := p.strings.shareAs(&h[0], one)
		out[name] = p.strings.shareAs(&h[1], two.data)
		if i < n-1 {
			f.next()
		}
	}
	return f.in.i
}

// halves reads an entry of a map as encoders write it: its key, then its value.
func halves(entry []byte, wire uint64) (name []byte, value piece, ok bool) {
	m := message{b: entry}
	first, one := m.next()
	second, value := m.next()
	return one.data, value, first == 1<<3|wireBytes && second == 2<<3|wire && m.i == len(m.b)
}

// fillProto reads the message of a Quantity, which is one text.
func (q *quantities) fillProto(p piece, v reflect.Value) bool {
	m := message{b: p.data}
	key, text := m.next()
	if key != 1<<3|wireBytes || m.i != len(m.b) {
		return boundlessProto(p.data) == nil && fillProtoItself(p, v)
	}
	means, ok := q.read(text.data)
	if ok {
		*v.Addr().Interface().(*resource.Quantity) = means
	}
	return ok
}
