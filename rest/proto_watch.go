// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// protoEvents reads a watch in Protobuf: frames that begin with their length, each a
// metav1.WatchEvent without an envelope, whose object has one.
type protoEvents[T informer.Object] struct {
	*watcher[T]
	wire *wire
}

func (w *protoEvents[T]) event() (event watch.Event, err error) {
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

func (w *protoEvents[T]) object(kind watch.EventType, data []byte) (runtime.Object, error) {
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
		return w.identified(id, err, raw)
	}
	if !id.hasMetadata {
		return nil, fmt.Errorf("bookmark: %w", err)
	}
	obj, err := w.decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: bookmark: %w", ErrMalformed, err)
	}
	return obj, nil
}
