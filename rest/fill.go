// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"encoding/base64"
	stdjson "encoding/json"
	"math"
	"reflect"
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// Nulls leave the zero value, as in encoding/json.
func fillNull(c *cursor) bool {
	c.literal()
	return true
}

func fillNothing(c *cursor, _ reflect.Value) bool {
	c.skip()
	return true
}

// itselfFiller is for types that read JSON themselves.
func itselfFiller(t reflect.Type) filler {
	places := measuredIn(t)
	return func(c *cursor, v reflect.Value) bool {
		c.next()
		start := c.i
		c.skip()
		raw := c.b[start:c.i:c.i]
		return !places.inJSON(raw) && v.Addr().Interface().(stdjson.Unmarshaler).UnmarshalJSON(raw) == nil
	}
}

func (p *planner) fillString(c *cursor, v reflect.Value) bool {
	switch c.next() {
	case '"':
		v.SetString(p.strings.quoted(c.quoted()))
		return true
	case 'n':
		return fillNull(c)
	}
	return false
}

func fillBool(c *cursor, v reflect.Value) bool {
	switch c.next() {
	case 't', 'f':
		v.SetBool(c.b[c.i] == 't')
		c.literal()
		return true
	case 'n':
		return fillNull(c)
	}
	return false
}

func fillInt(c *cursor, v reflect.Value) bool {
	if c.next() == 'n' {
		return fillNull(c)
	}
	n, ok := parseInt(c)
	if !ok || v.OverflowInt(n) {
		return false
	}
	v.SetInt(n)
	return true
}

func fillUint(c *cursor, v reflect.Value) bool {
	if c.next() == 'n' {
		return fillNull(c)
	}
	n, ok := parseInt(c)
	if !ok || n < 0 || v.OverflowUint(uint64(n)) {
		return false
	}
	v.SetUint(uint64(n))
	return true
}

// parseInt reads an integer of up to 18 digits; the few that are longer are for others.
func parseInt(c *cursor) (n int64, ok bool) {
	text := c.literal()
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	if len(text) == 0 || len(text) > 18 {
		return 0, false
	}
	for _, b := range text {
		if b < '0' || b > '9' {
			return 0, false
		}
		n = 10*n + int64(b-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

func fillFloat(c *cursor, v reflect.Value) bool {
	switch b := c.next(); {
	case b == 'n':
		return fillNull(c)
	case b != '-' && (b < '0' || b > '9'):
		return false
	}
	f, err := strconv.ParseFloat(string(c.literal()), v.Type().Bits())
	if err != nil || math.IsInf(f, 0) {
		return false
	}
	v.SetFloat(f)
	return true
}

// fillBytes reads base64.
func fillBytes(c *cursor, v reflect.Value) bool {
	if c.next() == 'n' {
		return fillNull(c)
	}
	if c.b[c.i] != '"' {
		return false
	}
	quoted := c.quoted()
	plain := quoted[1 : len(quoted)-1]
	out := make([]byte, base64.StdEncoding.DecodedLen(len(plain)))
	n, err := base64.StdEncoding.Decode(out, plain)
	if err != nil { // by a backslash too
		return false
	}
	v.SetBytes(out[:n:n])
	return true
}

func (p *planner) fillAny(c *cursor, v reflect.Value) bool {
	defer p.walker.forget()
	value, err := p.walker.readValue(c)
	if err != nil {
		return false
	}
	if value != nil {
		v.Set(reflect.ValueOf(value))
	}
	return true
}

func (p *planner) fillIntOrString(c *cursor, v reflect.Value) bool {
	to := v.Addr().Interface().(*intstr.IntOrString)
	switch c.next() {
	case '"':
		to.Type, to.StrVal = intstr.String, p.strings.quoted(c.quoted())
		return true
	case 'n':
		return fillNull(c)
	}
	n, ok := parseInt(c)
	to.Type, to.IntVal = intstr.Int, int32(n)
	return ok && int64(to.IntVal) == n
}

// fillLabels reads labels and the like.
func (p *planner) fillLabels(habits *habits, c *cursor, v reflect.Value) bool {
	if c.next() == 'n' {
		return fillNull(c)
	}
	if c.b[c.i] != '{' {
		return false
	}
	n := c.count()
	out := make(map[string]string, n)
	at := 0
	for more := c.enter(); more; more = c.more() {
		h := habits[2*(at%mapHabits):]
		at++
		name := p.strings.quotedAs(&h[0], c.name())
		switch c.next() {
		case '"':
			out[name] = p.strings.quotedAs(&h[1], c.quoted())
		case 'n':
			out[name] = ""
			c.literal()
		default:
			return false
		}
	}
	*v.Addr().Interface().(*map[string]string) = out
	return len(out) == n
}

// count returns the number of members or elements of what begins here. It reads all of it: what
// may hold itself is counted at the outermost level only.
func (c *cursor) count() (n int) {
	ahead := *c // which leaves c at the first byte
	for more := ahead.enter(); more; more = ahead.more() {
		if c.b[c.i] == '{' {
			ahead.name()
		}
		ahead.skip()
		n++
	}
	return n
}

// slicePlan fills slices that are exactly as long as they need to be: elements are
// gathered in memory that is used again.
type slicePlan struct {
	t       reflect.Type
	elem    *plan
	scratch reflect.Value // invalid while it is in use
}

// maxGathered bounds the memory that is kept for gathering, in bytes.
const maxGathered = 64 << 10

func (s *slicePlan) fill(c *cursor, v reflect.Value) bool {
	if c.next() == 'n' {
		return fillNull(c)
	}
	if c.b[c.i] != '[' {
		return false
	}
	gathered := s.scratch
	s.scratch = reflect.Value{} // a type may hold itself
	if !gathered.IsValid() {
		gathered = reflect.New(s.t).Elem()
		gathered.Grow(8)
	}
	n := 0
	for more := c.enter(); more; more = c.more() {
		gathered.Grow(1)
		gathered.SetLen(n + 1)
		if !s.elem.fill(c, gathered.Index(n)) {
			return false // and let go of the memory: what was gathered in it is not zero
		}
		n++
	}
	makeSlice(v, n)
	reflect.Copy(v, gathered)
	gathered.Clear()
	gathered.SetLen(0)
	if gathered.Cap()*int(s.t.Elem().Size()) <= maxGathered {
		s.scratch = gathered
	}
	return true
}

// makeSlice makes an empty slice one of n elements, and of no more. reflect.MakeSlice would
// allocate its header, too.
func makeSlice(v reflect.Value, n int) {
	if n == 0 {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return
	}
	v.Grow(n)
	v.SetLen(n)
	v.SetCap(n)
}

// mapPlan fills maps from strings to anything.
type mapPlan struct {
	t       reflect.Type
	elem    *plan
	strings *interner
	scratch mapScratch
	within  bool // one is being filled: others are within it
}

func (m *mapPlan) fill(c *cursor, v reflect.Value) bool {
	if c.next() == 'n' {
		return fillNull(c)
	}
	if c.b[c.i] != '{' {
		return false
	}
	expected := 0
	if !m.within { // otherwise each level would be counted by all above it
		expected = c.count()
	}
	out := reflect.MakeMapWithSize(m.t, expected)
	key, value := m.scratch.take(m.t)
	defer m.leave(m.within)
	m.within = true
	n := 0
	for more := c.enter(); more; more = c.more() {
		n++
		key.SetString(m.strings.quoted(c.name()))
		value.SetZero()
		if !m.elem.fill(c, value) {
			return false
		}
		out.SetMapIndex(key, value)
	}
	v.Set(out)
	m.scratch.give(key, value)
	return out.Len() == n
}

func (m *mapPlan) leave(within bool) { m.within = within }

// mapScratch is memory for a key and a value, which is used again; invalid while it is in use.
type mapScratch [2]reflect.Value

func (s *mapScratch) take(t reflect.Type) (key, value reflect.Value) {
	key, value = s[0], s[1]
	*s = mapScratch{} // a value may hold a map of this type
	if !key.IsValid() {
		key, value = reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
	}
	return key, value
}

func (s *mapScratch) give(key, value reflect.Value) {
	value.SetZero()
	*s = mapScratch{key, value}
}

// maxFields is as many as two words have bits.
const maxFields = 128

// structPlan fills structs. Servers write members in the same order each time, so the one
// that came after another the last time is tried first.
type structPlan struct {
	fields []fieldPlan
	names  map[string]int
	follow []int // by the index of the field before, plus one
	root   bool  // of the objects themselves
	bare   bool  // of their metadata, without the managed fields

	strings *interner
}

type fieldPlan struct {
	name  string
	path  []int // through what is embedded
	plan  *plan
	text  bool
	habit habit // of a text
}

func (s *structPlan) fill(c *cursor, v reflect.Value) bool {
	if c.next() == 'n' {
		return fillNull(c)
	}
	if c.b[c.i] != '{' {
		return false
	}
	var seen [maxFields / 64]uint64
	before := 0
	for more := c.enter(); more; more = c.more() {
		i, ok := s.field(c.name(), before)
		if !ok {
			c.skip()
			continue
		}
		word, bit := i/64, uint64(1)<<(i%64)
		if seen[word]&bit != 0 {
			return false // who wins is for others to say
		}
		seen[word] |= bit
		to := v
		for _, at := range s.fields[i].path {
			to = to.Field(at)
		}
		if f := &s.fields[i]; f.text && c.next() == '"' {
			to.SetString(s.strings.quotedAs(&f.habit, c.quoted()))
		} else if !f.plan.fill(c, to) {
			return false
		}
		before = i + 1
	}
	return true
}

// field finds the field of a name that has its quotes on.
func (s *structPlan) field(quoted []byte, before int) (int, bool) {
	name := quoted[1 : len(quoted)-1]
	if next := s.follow[before]; next < len(s.fields) && s.fields[next].name == string(name) {
		return next, true
	}
	if bytes.IndexByte(name, '\\') >= 0 {
		name = unquote(quoted, nil)
	}
	i, ok := s.names[string(name)]
	if ok {
		s.follow[before] = i
	}
	return i, ok
}
