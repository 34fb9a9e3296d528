// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"fmt"
	"hash/maphash"
	"io"
	"strings"

	"github.com/informerkit/informer"

	"github.com/go-json-experiment/json"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// hashSeed is one for the process, so that a hash of one list can be compared with that
// of the next, by whichever client it was read. It is never written again.
var hashSeed = maphash.MakeSeed()

// yieldError carries an error of the caller's function past the wrapping of our own.
type yieldError struct{ error }

// envelope is what a list says beside its items.
type envelope struct {
	kind, apiVersion string
	meta             metav1.ListMeta
	single           bool // its metadata names one object
	items            bool // it had a member items
	status           []byte
}

// itemKind is the kind of items that do not say it, as apimachinery infers it.
func (e *envelope) itemKind() string { return strings.TrimSuffix(e.kind, "List") }

// lister is one list on its way from a body to its reader.
type lister[T informer.Object] struct {
	form     *form[T]
	codec    *codec[T]
	pipe     *pipeline[T]
	known    func(item metav1.Object, hash uint64) bool
	yield    func(obj runtime.Object) error
	envelope envelope
	asked    asked            // what known is asked about
	held     []runtime.Object // items that wait for a kind that comes after them
	count    int
}

// start readies a lister for a body in one encoding; close has to follow.
func (l *lister[T]) start(codec *codec[T]) {
	l.codec = codec
	l.pipe = newPipeline(codec, l.deliver)
}

// read reads a list whose members may come in any order: those of typed lists begin with
// kind, those of custom resources are sorted.
func (l *lister[T]) read(in *input) error {
	if kind := in.peek(); kind != '{' && kind != 0 {
		return fmt.Errorf("%w: a JSON %s", informer.ErrNotAList, kindName(kind))
	}
	if _, err := in.token(); err != nil {
		return noBody(err)
	}
	for in.peek() != '}' {
		name, err := in.token()
		if err == nil {
			err = l.member(in, name.String())
		}
		if err != nil {
			return noBody(err)
		}
	}
	if _, err := in.token(); err != nil {
		return err
	}
	if err := in.end(); err != nil {
		return err
	}
	if err := l.envelope.check(); err != nil {
		return err
	}
	return l.finish()
}

func (l *lister[T]) about() *envelope { return &l.envelope }

// confirm takes note of the kind that the envelope says.
func (l *lister[T]) confirm() { l.form.kinds.confirm(l.envelope.itemKind()) }

// noBody is the error for a body that ends before it has begun, or within the list.
func noBody(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// member reads one member of the list.
func (l *lister[T]) member(in *input, name string) (err error) {
	e := &l.envelope
	switch name {
	case "kind":
		e.kind, _, err = in.text()
		l.confirm()
	case "apiVersion":
		e.apiVersion, _, err = in.text()
	case "metadata":
		err = e.readMetadata(in)
	case "items":
		err = l.items(in)
	case "status", "message", "reason", "details", "code":
		err = e.readStatus(in, name)
	default:
		if e.kind == "Table" {
			return informer.ErrTable // without reading all its rows
		}
		err = in.skip()
	}
	return err
}

// readMetadata reads the list's metadata, or finds that it is an object's.
func (e *envelope) readMetadata(in *input) error {
	raw, err := in.value()
	if err != nil {
		return err
	}
	if id, _ := identify(append(append([]byte(`{"metadata":`), raw...), '}'), false); len(id.name)+len(id.uid) > 0 {
		e.single = true
		return nil
	}
	if err := json.Unmarshal(raw, &e.meta, lenient()); err != nil {
		return fmt.Errorf("%w: its metadata is no list's", informer.ErrNotAList)
	}
	return nil
}

// readStatus keeps what a Status may have, in case that the kind turns out to be that.
func (e *envelope) readStatus(in *input, name string) error {
	raw, err := in.value()
	if err != nil || e.items || len(e.status)+len(raw) > maxStatusSize {
		return err
	}
	e.status = fmt.Appendf(e.status, "%q:%s,", name, raw)
	return nil
}

// items reads the items, one at a time.
func (l *lister[T]) items(in *input) error {
	if l.envelope.items {
		return fmt.Errorf("%w: items twice", ErrMalformed)
	}
	l.envelope.items = true
	switch kind := in.peek(); kind {
	case 'n':
		return in.skip()
	case '[', 0:
	default:
		return fmt.Errorf("%w: items is a JSON %s", informer.ErrNotAList, kindName(kind))
	}
	if _, err := in.token(); err != nil {
		return err
	}
	for in.peek() != ']' {
		raw, err := in.value()
		if err != nil {
			return fmt.Errorf("item %d: %w", l.count, noBody(err))
		}
		if err := l.numbered(raw); err != nil {
			return err
		}
	}
	_, err := in.token()
	return err
}

// numbered is item; its error says which one it was.
func (l *lister[T]) numbered(raw []byte) error {
	err := l.item(raw)
	if _, ours := err.(yieldError); err == nil || ours {
		l.count++
		return err
	}
	return fmt.Errorf("item %d: %w", l.count, err)
}

// item has one item decoded and handed over, unless it is known. Those of another kind
// come as metadata alone, which whoever expects a T will notice.
func (l *lister[T]) item(raw []byte) error {
	id, err := l.codec.identify(raw, false)
	if err != nil {
		return err
	}
	if l.known != nil {
		l.asked.begin(id)
		if l.known(&l.asked, maphash.Bytes(hashSeed, raw)) {
			return nil
		}
	}
	if l.form.kinds.foreign(id.kind) {
		m := id.object()
		return l.pipe.addObject(&m)
	}
	return l.pipe.add(raw)
}

// deliver hands an object over, or holds it back.
func (l *lister[T]) deliver(obj runtime.Object) error {
	if l.waits(obj) {
		l.held = append(l.held, obj)
		return nil
	}
	return l.hand(obj)
}

// waits reports whether an object's kind is still to come, or it is to follow one for
// which that is so.
func (l *lister[T]) waits(obj runtime.Object) bool {
	if !l.form.inherits {
		return false
	}
	return len(l.held) > 0 || l.lacksKind(obj) && (l.envelope.kind == "" || l.envelope.apiVersion == "")
}

func (l *lister[T]) lacksKind(obj runtime.Object) bool {
	u, ok := obj.(*unstructured.Unstructured)
	return ok && u.GetKind() == "" && u.GetAPIVersion() == ""
}

// hand gives an object to the caller, with the kind of its list if it has none.
func (l *lister[T]) hand(obj runtime.Object) error {
	if l.form.inherits && l.lacksKind(obj) && l.envelope.kind != "" {
		u := obj.(*unstructured.Unstructured)
		u.SetKind(l.envelope.itemKind())
		u.SetAPIVersion(l.envelope.apiVersion)
	}
	if err := l.yield(obj); err != nil {
		return yieldError{err}
	}
	return nil
}

// finish delivers what was added, and hands over what was held back.
func (l *lister[T]) finish() error {
	if err := l.pipe.flush(); err != nil {
		return err
	}
	for _, obj := range l.held {
		if err := l.hand(obj); err != nil {
			return err
		}
	}
	return nil
}

// check says what has come, once all of it is known, if it was no list.
func (e *envelope) check() error {
	switch {
	case e.kind == "Table":
		return informer.ErrTable
	case e.kind == "Status":
		status, ok := parseStatus([]byte(`{"kind":"Status",` + string(e.status) + `"apiVersion":"v1"}`))
		if ok && status.Status == metav1.StatusFailure {
			return &apierrors.StatusError{ErrStatus: *status}
		}
		return fmt.Errorf("%w: a Status", informer.ErrNotAList)
	case e.single:
		return fmt.Errorf("%w: a single object %s", informer.ErrNotAList, safeKind(e.kind))
	case !e.items && !strings.HasSuffix(e.kind, "List"):
		return fmt.Errorf("%w: an object %s and without items", informer.ErrNotAList, safeKind(e.kind))
	}
	return nil
}
