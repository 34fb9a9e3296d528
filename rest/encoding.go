// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"fmt"
	"mime"
	"reflect"
	"strings"

	"github.com/informerkit/informer"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Encoding is how a server is asked to write objects: JSON, which is the zero value,
// Protobuf or CBOR. Encodings are compared with ==.
type Encoding struct{ format *format }

// JSON is what all servers have. The media types of this one and the others are those of
// https://kubernetes.io/docs/reference/using-api/api-concepts/.
var JSON Encoding

// String returns the media type.
func (e Encoding) String() string {
	if e.format == nil {
		return "application/json"
	}
	return e.format.media
}

// stream is the media type to ask for a watch in.
func (e Encoding) stream() string {
	if e.format == nil {
		return e.String()
	}
	return e.format.media + e.format.streamed
}

// format is what reads an encoding other than JSON. Nothing but the variable of an Encoding
// refers to one, and those of its functions to the code behind them: what a program does not
// name is not linked into it, nor is, for Protobuf, the generated code of all of an API.
type format struct {
	media    string
	streamed string // parameter of what a watch is asked for in
	sequence string // media type of a watch; "": media

	reads    func(t reflect.Type) bool // whether T has this form
	identify func(raw []byte, needKind bool) (identity, error)
	decoder  func(of decoded) decodeFunc[informer.Object]
	list     func(w *wire, to listReader) error
	watch    func(w *wire, to eventReader) eventSource
}

// decoded is what a decoder makes.
type decoded struct {
	elem        reflect.Type            // T points to it
	gvk         schema.GroupVersionKind // that all objects get
	dropManaged bool
}

// listReader is a lister[T], whatever T is.
type listReader interface {
	about() *envelope
	confirm()                  // the envelope's kind has been read
	numbered(raw []byte) error // adds an item
	finish() error             // after the last item
}

// eventReader is a watcher[T], whatever T is.
type eventReader interface {
	identified(id identity, err error, raw []byte) (runtime.Object, error)
	bookmarked(id identity, err error, raw []byte) (runtime.Object, error)
}

// eventSource reads a watch.
type eventSource interface {
	event() (watch.Event, error)
	ready() int // bytes that have come after the event; 0: not the whole next event
}

// decoderOf returns a decoder of objects of type T.
func decoderOf[T informer.Object](newDecoder func(decoded) decodeFunc[informer.Object], gvk schema.GroupVersionKind, dropManaged bool) decodeFunc[T] {
	decode := newDecoder(decoded{elem: reflect.TypeFor[T]().Elem(), gvk: gvk, dropManaged: dropManaged})
	return func(raw []byte) (T, error) {
		obj, err := decode(raw)
		if err != nil {
			var none T
			return none, err
		}
		return obj.(T), nil
	}
}

// encodingOf reads a content type. What is not said, or not clearly, is taken for JSON.
// An encoding that was not asked for is none that could be read.
func encodingOf(header string, asked Encoding) (Encoding, error) {
	media, _, err := mime.ParseMediaType(header)
	switch {
	case media == asked.String(), asked.format != nil && media != "" && media == asked.format.sequence:
		return asked, nil
	case header == "", media == "application/json", strings.HasSuffix(media, "+json"),
		media == "text/plain", media == "application/octet-stream":
		return JSON, nil
	case err != nil:
		return JSON, fmt.Errorf("%w: unreadable content type", ErrContentType)
	}
	return JSON, fmt.Errorf("%w but %s", ErrContentType, safeMedia(media))
}

// safeMedia is a media type for an error message, if it has the form of one.
func safeMedia(media string) string {
	if _, name, ok := strings.Cut(media, "/"); !ok || name == "" || len(media) > 127 {
		return "a content type of no known form"
	}
	return media
}
