// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/binary"
	"errors"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// protoEvents reads a watch in Protobuf: frames that begin with their length, each a
// metav1.WatchEvent without an envelope, whose object has one.
type protoEvents struct {
	wire *wire
	to   eventReader
}

func newProtoEvents(w *wire, to eventReader) eventSource { return &protoEvents{w, to} }

func (w *protoEvents) event() (event watch.Event, err error) {
	frame, err := w.wire.frame()
	if err != nil {
		return event, err
	}
	var object []byte
	sound := fields(frame, func(f field) bool {
		switch f.number {
		case eventType:
			event.Type = watch.EventType(f.value)
		case eventObject:
			sound := fields(f.value, func(f field) bool {
				if f.number == 1 { // of runtime.RawExtension
					object = f.value
				}
				return true
			})
			return sound
		}
		return true
	})
	if !sound || event.Type == "" || object == nil {
		return event, errEmptyEvent
	}
	event.Object, err = w.object(event.Type, object)
	return event, err
}

// frame reads a frame; io.EOF is the end between two of them.
func (w *wire) frame() ([]byte, error) {
	var header [4]byte
	n, err := io.ReadFull(w.r, header[:])
	w.offset += int64(n)
	if err != nil {
		return nil, err
	}
	return w.bytes(uint64(binary.BigEndian.Uint32(header[:])))
}

func (w *protoEvents) object(kind watch.EventType, data []byte) (runtime.Object, error) {
	typeMeta, raw, err := unwrap(data)
	if err != nil {
		return nil, err
	}
	if kind == watch.Error {
		status := &metav1.Status{}
		if typeMeta.Kind != "Status" || status.Unmarshal(raw) != nil {
			return faultStatus(errors.New("an ERROR event without a Status")), nil
		}
		status.TypeMeta = typeMeta
		return status, nil
	}
	id, err := identifyProto(raw, true)
	id.kind, id.apiVersion = []byte(typeMeta.Kind), []byte(typeMeta.APIVersion)
	if kind != watch.Bookmark {
		return w.to.identified(id, err, raw)
	}
	return w.to.bookmarked(id, err, raw)
}

// ready implements eventSource.
func (w *protoEvents) ready() int {
	const header = 4
	buffered := w.wire.r.Buffered()
	if buffered < header {
		return 0
	}
	length, _ := w.wire.r.Peek(header)
	if int64(binary.BigEndian.Uint32(length)) > int64(buffered-header) {
		return 0
	}
	return buffered
}
