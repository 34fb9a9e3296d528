// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/informerkit/informer"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// messageEnd is the end of a message that ends with the body.
const messageEnd = 1<<63 - 1

// fields reads the fields of a message up to an offset. The function reads what a field
// with a length holds.
func (w *wire) fields(end int64, each func(number int, length uint64) error) error {
	for w.offset < end {
		key, err := binary.ReadUvarint(w)
		if err == io.EOF && end == messageEnd {
			return nil
		}
		if err != nil {
			return w.broken(err)
		}
		switch key & 7 {
		case 0:
			_, err = binary.ReadUvarint(w)
			err = w.broken(err)
		case 1:
			err = w.skip(8)
		case 5:
			err = w.skip(4)
		case 2:
			var length uint64
			if length, err = binary.ReadUvarint(w); err != nil {
				return w.broken(err)
			}
			if length > uint64(end-w.offset) {
				return w.malformed("a length beyond its message")
			}
			err = each(int(key>>3), length)
		default:
			err = w.malformed("invalid Protobuf")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// broken is the error for a number that could not be read.
func (w *wire) broken(err error) error {
	if err == nil || err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		if err == nil {
			return nil
		}
		return w.fault(err)
	}
	if strings.Contains(err.Error(), "overflow") {
		return w.malformed("invalid Protobuf")
	}
	return err
}

// readProtoList reads a list in its envelope, item by item.
func readProtoList(w *wire, to listReader) error {
	magic, err := w.bytes(uint64(len(protoMagic)))
	if err != nil {
		return err
	}
	if string(magic) != protoMagic {
		return w.malformed("no Protobuf of Kubernetes")
	}
	e, raw := to.about(), false
	err = w.fields(messageEnd, func(number int, length uint64) error {
		switch {
		case number == unknownTypeMeta:
			data, err := w.bytes(length)
			if err != nil {
				return err
			}
			meta := protoTypeMeta(data)
			e.kind, e.apiVersion = meta.Kind, meta.APIVersion
			to.confirm()
			return nil
		case number == unknownRaw && !raw:
			raw = true
			return readProtoItems(w, length, to)
		}
		return w.skip(length)
	})
	if err != nil {
		return err
	}
	if !raw {
		return fmt.Errorf("%w: nothing in the envelope", informer.ErrNotAList)
	}
	return to.finish()
}

// readProtoItems reads the list itself.
func readProtoItems(w *wire, length uint64, to listReader) error {
	e := to.about()
	switch {
	case e.kind == "Status":
		data, err := w.bytes(min(length, uint64(w.max)+1))
		if err != nil {
			return err
		}
		return protoStatusError(data)
	case e.kind == "Table":
		return informer.ErrTable
	case !strings.HasSuffix(e.kind, "List"):
		return fmt.Errorf("%w: a single object %s", informer.ErrNotAList, safeKind(e.kind))
	}
	return w.fields(w.offset+int64(length), func(number int, length uint64) error {
		if number != objectMetadata && number != listItems {
			return w.skip(length)
		}
		data, err := w.bytes(length)
		if err == nil && number == objectMetadata && e.meta.Unmarshal(data) != nil {
			err = fmt.Errorf("%w: its metadata is no list's", informer.ErrNotAList)
		}
		if err == nil && number == listItems {
			err = to.numbered(data)
		}
		return err
	})
}

func protoStatusError(data []byte) error {
	status := metav1.Status{}
	if status.Unmarshal(data) == nil && status.Status == metav1.StatusFailure {
		return &apierrors.StatusError{ErrStatus: status}
	}
	return fmt.Errorf("%w: a Status", informer.ErrNotAList)
}
