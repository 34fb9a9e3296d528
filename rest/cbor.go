// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/watch"
)

// Major types of CBOR, RFC 8949 section 3.1, and limits.
const (
	cborBytes, cborText, cborArray, cborMap, cborTag, cborOther = 2, 3, 4, 5, 6, 7

	cborIndefinite = 31
	cborBreak      = 0xff
	maxCBORDepth   = 10000 // as apimachinery's decoder has it

	// Arrays without a length, and tags, in each other: apimachinery's decoder goes through all
	// that is in such an array to count its elements, and from each tag to the last. Servers of
	// Kubernetes write two tags, of the whole and of bytes in it, and no such array.
	maxAgain = 32
)

// CBOR is what servers of Kubernetes have for all types, from 1.32 on and where it is switched
// on. For a watch they send a sequence, and say so, but do not know application/cbor-seq where
// it is asked for.
var CBOR = Encoding{&format{
	media: "application/cbor", sequence: "application/cbor-seq",
	reads: hasCBOR, identify: identifyCBOR, decoder: cborDecoder, list: readCBORList, watch: newCBOREvents,
}}

func hasCBOR(reflect.Type) bool { return true }

// cborTarget has apimachinery's serializer decode into one object, whose type no scheme
// need know, and whatever kind the data says.
type cborTarget struct{ into runtime.Object }

// ObjectKinds implements runtime.ObjectTyper: a kind for items of lists, which say none.
func (c cborTarget) ObjectKinds(runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	return []schema.GroupVersionKind{{Version: "v1", Kind: "Object"}}, false, nil
}

// Recognizes implements runtime.ObjectTyper.
func (c cborTarget) Recognizes(schema.GroupVersionKind) bool { return true }

// New implements runtime.ObjectCreater.
func (c cborTarget) New(schema.GroupVersionKind) (runtime.Object, error) { return c.into, nil }

// cborDecoder reads objects with apimachinery's serializer.
func cborDecoder(of decoded) decodeFunc[informer.Object] {
	places := measuredIn(of.elem)
	return func(raw []byte) (informer.Object, error) {
		if places.inCBOR(raw) {
			return nil, errBoundless(of.elem)
		}
		obj := reflect.New(of.elem).Interface().(informer.Object)
		if err := decodeCBOR(raw, obj); err != nil {
			return nil, fmt.Errorf("%w %v: CBOR", errSchema, of.elem)
		}
		if of.dropManaged {
			obj.SetManagedFields(nil)
		}
		if _, maps := obj.(*unstructured.Unstructured); !maps {
			setKind(obj, of.gvk)
		}
		return obj, nil
	}
}

// decodeCBOR decodes into an object. Maps are read directly: items of a list need no kind.
func decodeCBOR(raw []byte, into runtime.Object) error {
	if u, ok := into.(*unstructured.Unstructured); ok {
		return direct.Unmarshal(raw, &u.Object)
	}
	_, _, err := cbor.NewSerializer(cborTarget{into}, cborTarget{into}).Decode(raw, nil, into)
	return err
}

// identifyCBOR is identify for CBOR. Its parts are in memory of their own.
func identifyCBOR(raw []byte, _ bool) (identity, error) {
	var m metav1.PartialObjectMetadata
	if err := decodeCBOR(raw, &m); err != nil {
		return identity{}, fmt.Errorf("%w: CBOR", ErrNoIdentity)
	}
	id := identity{
		apiVersion: []byte(m.APIVersion), kind: []byte(m.Kind), hasMetadata: true,
		namespace: []byte(m.Namespace), name: []byte(m.Name), uid: []byte(m.UID), version: []byte(m.ResourceVersion),
	}
	if m.Name == "" {
		return id, ErrNoIdentity
	}
	return id, nil
}

// head is the beginning of a data item.
type head struct {
	major, info byte
	n           uint64 // its argument: a value, a length or a number of items
}

func (h head) indefinite() bool { return h.info == cborIndefinite }

// headOf reads the first byte of a head; so many more have its argument.
func headOf(first byte) (h head, size int) {
	h = head{major: first >> 5, info: first & 31}
	switch {
	case h.info < 24:
		h.n = uint64(h.info)
	case h.info < 28:
		size = 1 << (h.info - 24)
	}
	return h, size
}

// read reads the argument.
func (h *head) read(argument []byte) {
	for _, b := range argument {
		h.n = h.n<<8 | uint64(b)
	}
}

// head reads a head, and adds it to the piece. A break is {cborOther, cborIndefinite}.
func (w *wire) head() (h head, err error) {
	at := len(w.piece)
	if err := w.more(1); err != nil {
		return h, err
	}
	h, size := headOf(w.piece[at])
	if h.info >= 28 && (!h.indefinite() || h.major < cborBytes || h.major == cborTag) {
		return h, w.malformed("invalid CBOR")
	}
	at = len(w.piece)
	if err := w.more(uint64(size)); err != nil {
		return h, err
	}
	h.read(w.piece[at:])
	return h, nil
}

// item reads a whole data item, which is valid until the next read. io.EOF is the end of
// the body before it.
func (w *wire) item() ([]byte, error) {
	w.piece = w.piece[:0]
	if _, err := w.r.Peek(1); err != nil {
		return nil, err
	}
	_, err := w.nested(0, 0)
	return w.piece, err
}

// nested adds a data item to the piece, and reports whether it was a break. It lies depth items
// deep, and in again items that the decoder goes through more than once.
func (w *wire) nested(depth, again int) (ended bool, err error) {
	h, err := w.head()
	if err != nil {
		return false, err
	}
	if h.major == cborTag || h.major == cborArray && h.indefinite() {
		again++
	}
	if depth > maxCBORDepth || again > maxAgain {
		return false, w.malformed("CBOR nested too deep")
	}
	count := h.n
	switch h.major {
	case cborBytes, cborText:
		if !h.indefinite() {
			return false, w.more(h.n)
		}
	case cborMap:
		if count = 2 * h.n; count < h.n {
			return false, w.malformed("invalid CBOR")
		}
	case cborArray:
	case cborTag:
		count = 1
	default:
		return h.major == cborOther && h.indefinite(), nil
	}
	for i := uint64(0); h.indefinite() || i < count; i++ {
		ended, err := w.nested(depth+1, again)
		if err != nil || ended && h.indefinite() {
			return false, err
		}
		if ended {
			return false, w.malformed("invalid CBOR")
		}
	}
	return false, nil
}

// open reads the head of what is said to hold items, past the tags before it.
func (w *wire) open() (head, error) {
	for {
		w.piece = w.piece[:0]
		h, err := w.head()
		if err != nil || h.major != cborTag {
			return h, err
		}
	}
}

// each calls a function for each of the items, or members, of what was opened.
func (w *wire) each(h head, read func() error) error {
	for i := uint64(0); h.indefinite() || i < h.n; i++ {
		if h.indefinite() {
			next, err := w.r.Peek(1)
			if err != nil {
				return w.fault(err)
			}
			if next[0] == cborBreak {
				return w.skip(1)
			}
		}
		if err := read(); err != nil {
			return err
		}
	}
	return nil
}

// text reads an item that is a string; "" for another one.
func (w *wire) text() (string, error) {
	raw, err := w.item()
	if err != nil {
		return "", w.fault(err)
	}
	var text string
	if direct.Unmarshal(raw, &text) != nil {
		return "", nil
	}
	return text, nil
}

// readCBORList reads a list whose members may come in any order.
func readCBORList(w *wire, to listReader) error {
	h, err := w.open()
	if err != nil {
		return err
	}
	if h.major != cborMap {
		return fmt.Errorf("%w: CBOR, but no map", informer.ErrNotAList)
	}
	if err := w.each(h, func() error { return cborMember(w, to) }); err != nil {
		return err
	}
	if _, err := w.r.Peek(1); err != io.EOF {
		return w.malformed("more than one value")
	}
	if err := to.about().check(); err != nil {
		return err
	}
	return to.finish()
}

func cborMember(w *wire, to listReader) error {
	e := to.about()
	name, err := w.text()
	if err != nil {
		return err
	}
	switch name {
	case "kind":
		e.kind, err = w.text()
		to.confirm()
		return err
	case "apiVersion":
		e.apiVersion, err = w.text()
		return err
	case "items":
		return cborItems(w, to)
	}
	raw, err := w.item()
	if err != nil {
		return w.fault(err)
	}
	switch name {
	case "metadata":
		return e.cborMetadata(raw)
	case "status", "message", "reason", "details", "code":
		return e.cborStatus(name, raw)
	}
	return nil
}

func cborItems(w *wire, to listReader) error {
	e := to.about()
	if e.items {
		return fmt.Errorf("%w: items twice", ErrMalformed)
	}
	e.items = true
	h, err := w.open()
	if err != nil {
		return err
	}
	switch {
	case h.major == cborOther: // null
		return nil
	case h.major != cborArray:
		return fmt.Errorf("%w: items is no array", informer.ErrNotAList)
	}
	return w.each(h, func() error {
		raw, err := w.item()
		if err != nil {
			return w.fault(err)
		}
		return to.numbered(raw)
	})
}

// cborMetadata reads the list's metadata, or finds that it is an object's.
func (e *envelope) cborMetadata(raw []byte) error {
	var m map[string]any
	if err := direct.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("%w: its metadata is no list's", informer.ErrNotAList)
	}
	if m["name"] != nil || m["uid"] != nil {
		e.single = true
		return nil
	}
	e.meta.ResourceVersion, _ = m["resourceVersion"].(string)
	e.meta.Continue, _ = m["continue"].(string)
	if n, ok := m["remainingItemCount"].(int64); ok {
		e.meta.RemainingItemCount = &n
	}
	if shard, ok := m["shardInfo"]; ok {
		return decodeValue(shard, &e.meta.ShardInfo)
	}
	return nil
}

// decodeValue brings a value by way of CBOR into a struct.
func decodeValue(value, to any) error {
	raw, err := direct.Marshal(value)
	if err == nil {
		err = direct.Unmarshal(raw, to)
	}
	if err != nil {
		return fmt.Errorf("%w: its metadata is no list's", informer.ErrNotAList)
	}
	return nil
}

// cborStatus keeps what a Status may have, as JSON.
func (e *envelope) cborStatus(name string, raw []byte) error {
	var value any
	if e.items || len(e.status)+len(raw) > maxStatusSize || direct.Unmarshal(raw, &value) != nil {
		return nil
	}
	if text, err := (&unstructured.Unstructured{Object: map[string]any{"kind": "Status", name: value}}).MarshalJSON(); err == nil {
		member := strings.TrimSuffix(strings.TrimSpace(string(text)), "}")
		e.status = append(e.status, strings.TrimPrefix(member, `{"kind":"Status",`)+","...)
	}
	return nil
}

// cborEvents reads a watch in CBOR: one map after the other.
type cborEvents struct {
	wire *wire
	to   eventReader
}

func newCBOREvents(w *wire, to eventReader) eventSource { return &cborEvents{w, to} }

// ready implements eventSource: items end where their content says.
func (w *cborEvents) ready() int { return 0 }

func (w *cborEvents) event() (event watch.Event, err error) {
	raw, err := w.wire.item()
	if err == io.EOF {
		return event, err
	}
	if err != nil {
		return event, w.wire.fault(err)
	}
	var e metav1.WatchEvent
	if direct.Unmarshal(raw, &e) != nil || e.Type == "" || len(e.Object.Raw) == 0 {
		return event, errEmptyEvent
	}
	event.Type = watch.EventType(e.Type)
	event.Object, err = w.object(event.Type, e.Object.Raw)
	return event, err
}

func (w *cborEvents) object(kind watch.EventType, raw []byte) (runtime.Object, error) {
	if kind == watch.Error {
		status := &metav1.Status{}
		if decodeCBOR(raw, status) != nil || status.Kind != "Status" {
			return faultStatus(errors.New("an ERROR event without a Status")), nil
		}
		return status, nil
	}
	id, err := identifyCBOR(raw, true)
	if kind != watch.Bookmark {
		return w.to.identified(id, err, raw)
	}
	return w.to.bookmarked(id, err, raw)
}
