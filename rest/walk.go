// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"fmt"
	"strconv"
)

// walker makes maps of JSON, as unstructured objects hold them: map[string]any, []any,
// string, int64, float64, bool and nil. It shares strings, such as the names of members,
// which are the same in every object of a collection, and keeps memory in which it counts
// members before it makes a map of the right size.
type walker struct {
	strings     *interner
	members     []member
	values      []any
	dropManaged bool // leave metadata.managedFields out
}

type member struct {
	name  string
	value any
}

func newWalker() *walker { return &walker{strings: newInterner()} }

// object makes a map of a JSON object that has been found to be valid.
//
// Errors: a number that is out of range.
func (w *walker) object(raw []byte) (map[string]any, error) {
	defer w.forget()
	return w.readObject(&cursor{b: raw}, atObject)
}

// value makes what an any holds of any valid JSON value.
func (w *walker) value(raw []byte) (any, error) {
	defer w.forget()
	return w.readValue(&cursor{b: raw})
}

// maxKept is how many members, and values, memory is kept for: 128 KB and 64.
const maxKept = 4096

// forget drops what an error has left behind, and what one large object has needed.
func (w *walker) forget() {
	w.members, w.values = kept(w.members), kept(w.values)
}

func kept[E any](scratch []E) []E {
	if cap(scratch) > maxKept {
		return nil
	}
	clear(scratch)
	return scratch[:0]
}

func (w *walker) readValue(c *cursor) (any, error) {
	switch c.next() {
	case '{':
		return w.readObject(c, elsewhere)
	case '[':
		return w.readArray(c)
	case '"':
		return w.strings.quoted(c.quoted()), nil
	case 't':
		c.i += len("true")
		return true, nil
	case 'f':
		c.i += len("false")
		return false, nil
	case 'n':
		c.i += len("null")
		return nil, nil
	}
	return readNumber(c.literal(), c.i)
}

// place is where in an object the walker is, as far as that matters.
type place uint8

const (
	elsewhere place = iota
	atObject
	atMetadata
)

func (w *walker) readObject(c *cursor, at place) (map[string]any, error) {
	base := len(w.members)
	for more := c.enter(); more; more = c.more() {
		name := w.strings.quoted(c.name())
		if at == atMetadata && w.dropManaged && name == "managedFields" {
			c.skip()
			continue
		}
		value, err := w.readMember(c, at, name)
		if err != nil {
			return nil, err
		}
		w.members = append(w.members, member{name, value})
	}
	mine := w.members[base:]
	out := make(map[string]any, len(mine))
	for _, m := range mine { // in their order: the last of a name counts
		out[m.name] = m.value
	}
	clear(mine)
	w.members = w.members[:base]
	return out, nil
}

// readMember reads the value of a member of an object at a place.
func (w *walker) readMember(c *cursor, at place, name string) (any, error) {
	if at == atObject && name == "metadata" && c.next() == '{' {
		return w.readObject(c, atMetadata)
	}
	return w.readValue(c)
}

func (w *walker) readArray(c *cursor) ([]any, error) {
	base := len(w.values)
	for more := c.enter(); more; more = c.more() {
		value, err := w.readValue(c)
		if err != nil {
			return nil, err
		}
		w.values = append(w.values, value)
	}
	mine := w.values[base:]
	out := make([]any, len(mine))
	copy(out, mine)
	clear(mine)
	w.values = w.values[:base]
	return out, nil
}

// maxScratch is the longest string with escapes that memory is kept for, in bytes.
const maxScratch = 64 << 10

// readNumber makes an int64 of what is written as an integer and fits, and a float64 of
// the rest, as apimachinery does.
func readNumber(text []byte, offset int) (any, error) {
	if !bytes.ContainsAny(text, ".eE") {
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			return n, nil
		}
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return nil, fmt.Errorf("%w: number out of range, offset %d", errSchema, offset)
	}
	return f, nil
}
