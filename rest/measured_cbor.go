// SPDX-License-Identifier: Apache-2.0

package rest

import "k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

// inCBOR is inJSON for a data item that was found to be well-formed.
func (m *measured) inCBOR(raw []byte) bool {
	if m == nil {
		return false
	}
	w := cborWalk{raw, 0}
	found, _ := w.item(m)
	return found
}

// cborWalk goes through a data item. It ends early at what is not well-formed.
type cborWalk struct {
	b []byte
	i int
}

// head reads a head. The end of the data is a break.
func (w *cborWalk) head() (h head) {
	if w.i >= len(w.b) {
		return head{major: cborOther, info: cborIndefinite}
	}
	h, size := headOf(w.b[w.i])
	w.i++
	h.read(w.b[w.i:min(w.i+size, len(w.b))])
	w.i += size
	return h
}

// untagged reads a head, past the tags before it.
func (w *cborWalk) untagged() (h head) {
	for h = w.head(); h.major == cborTag; {
		h = w.head()
	}
	return h
}

// item looks at the next data item, and reports whether it was a break.
func (w *cborWalk) item(m *measured) (found, ended bool) {
	start := w.i
	h := w.untagged()
	switch h.major {
	case cborBytes, cborText:
		w.text(h)
		return m != nil && m.quantity && boundlessCBOR(w.b[start:min(w.i, len(w.b))]), false
	case cborArray:
		return w.each(h, func() (bool, bool) { return w.item(m.element()) }), false
	case cborMap:
		return w.each(h, func() (bool, bool) { return w.member(m) }), false
	default:
		return false, h.major == cborOther && h.indefinite()
	}
}

// boundlessCBOR looks at the text that apimachinery makes of a string: tags may say that bytes are
// to be written as base64, or in hexadecimal digits, one of which is e.
func boundlessCBOR(raw []byte) bool {
	var text string
	return direct.Unmarshal(raw, &text) == nil && boundless([]byte(text))
}

func (w *cborWalk) each(of head, look func() (found, ended bool)) bool {
	for n := uint64(0); of.indefinite() || n < of.n; n++ {
		if found, ended := look(); found || ended {
			return found
		}
	}
	return false
}

// member looks at a name, which may be anything, and at its value.
func (w *cborWalk) member(of *measured) (found, ended bool) {
	start := w.i
	h := w.untagged()
	var name []byte
	switch {
	case h.major == cborOther && h.indefinite():
		return false, true
	case h.major == cborBytes || h.major == cborText:
		name = w.text(h)
	default:
		w.i = start
		w.item(nil)
	}
	return w.item(of.member(name))
}

// text returns a string, put together from its chunks.
func (w *cborWalk) text(h head) []byte {
	if !h.indefinite() {
		start := min(w.i, len(w.b))
		w.i = start + int(min(h.n, uint64(len(w.b)-start)))
		return w.b[start:w.i]
	}
	var whole []byte
	for {
		chunk := w.head()
		if chunk.indefinite() {
			return whole
		}
		whole = append(whole, w.text(chunk)...)
	}
}
