// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"fmt"
	"strconv"
)

// Bounds of a table of names: a collection has a few hundred, and a hostile one has as
// many as it likes.
const (
	maxNames   = 4096
	maxNameLen = 64 // bytes
)

// walker makes maps of JSON, as unstructured objects hold them: map[string]any, []any,
// string, int64, float64, bool and nil. It keeps the names of members, which are the same
// in every object of a collection, and memory in which it counts members before it makes
// a map of the right size.
type walker struct {
	names   map[string]string
	members []member
	values  []any
	scratch []byte
}

type member struct {
	name  string
	value any
}

func newWalker() *walker { return &walker{names: map[string]string{}} }

// object makes a map of a JSON object that has been found to be valid.
//
// Errors: a number that is out of range.
func (w *walker) object(raw []byte) (map[string]any, error) {
	defer w.forget()
	return w.readObject(&cursor{b: raw})
}

// value makes what an any holds of any valid JSON value.
func (w *walker) value(raw []byte) (any, error) {
	defer w.forget()
	return w.readValue(&cursor{b: raw})
}

// forget drops what an error has left behind.
func (w *walker) forget() {
	clear(w.members)
	clear(w.values)
	w.members, w.values = w.members[:0], w.values[:0]
}

func (w *walker) readValue(c *cursor) (any, error) {
	switch c.next() {
	case '{':
		return w.readObject(c)
	case '[':
		return w.readArray(c)
	case '"':
		return w.readString(c.quoted()), nil
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

func (w *walker) readObject(c *cursor) (map[string]any, error) {
	base := len(w.members)
	for more := c.enter(); more; more = c.more() {
		name := w.readName(c.name())
		value, err := w.readValue(c)
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

// readName returns the one copy of a name.
func (w *walker) readName(quoted []byte) string {
	name := w.unquote(quoted)
	if known, ok := w.names[string(name)]; ok {
		return known
	}
	out := string(name)
	if len(out) <= maxNameLen && len(w.names) < maxNames {
		w.names[out] = out
	}
	return out
}

func (w *walker) readString(quoted []byte) string { return string(w.unquote(quoted)) }

func (w *walker) unquote(quoted []byte) []byte {
	out := unquote(quoted, w.scratch)
	if cap(w.scratch) < len(quoted) && len(quoted) <= maxScratch && bytes.IndexByte(quoted, '\\') >= 0 {
		w.scratch = make([]byte, 0, 2*len(quoted))
	}
	return out
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
