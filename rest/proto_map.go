// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"maps"
	"reflect"
)

// protoMap fills maps that have room for exactly what comes.
type protoMap struct {
	t       reflect.Type
	value   *protoPlan
	strings *interner
	habits  habits
	scratch mapScratch
	before  mapBefore // of a map of strings
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
		return p.fillLabels(&inRow{m, key, first}, v.Addr().Interface().(*map[string]string))
	}
	n := 1 + m.count(key)
	out := reflect.MakeMapWithSize(p.t, n)
	name, value := p.scratch.take(p.t)
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
	p.scratch.give(name, value)
	return m.i
}

// fillLabels reads labels and the like.
func (p *protoMap) fillLabels(f *inRow, to *map[string]string) (end int) {
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
	switch end = p.makeLabels(f, n, out); {
	case end == 0:
	case end == known: // a key of more bytes than it needs may have one entry more follow
		before.template, before.misses = maps.Clone(out), 0 // which nobody else has
	case f.key < 0x80: // a longer key is not looked for behind a row
		before.note(f.in.b[start:end], first)
	}
	return end
}

func (p *protoMap) makeLabels(f *inRow, n int, out map[string]string) (end int) {
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

// inRow are the fields with one key that follow each other.
type inRow struct {
	in    message // behind the first
	key   uint64
	first piece
}

// count returns how many there are.
func (f *inRow) count() int { return 1 + f.in.count(f.key) }

// next steps to the next one of those that were counted, and so are sound.
func (f *inRow) next() { _, f.first = f.in.next() }
