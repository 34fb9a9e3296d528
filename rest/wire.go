// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/informerkit/informer"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// wire reads a binary body in pieces that are limited in size.
type wire struct {
	r      *bufio.Reader
	offset int64
	max    int64
	piece  []byte // of the last call of bytes
}

func newWire(body io.Reader, max int64) *wire {
	return &wire{r: bufio.NewReaderSize(body, readBuffer), max: max}
}

// ReadByte implements io.ByteReader.
func (w *wire) ReadByte() (byte, error) {
	b, err := w.r.ReadByte()
	if err == nil {
		w.offset++
	}
	return b, err
}

// fault says where the reading ended. io.EOF becomes unexpected.
func (w *wire) fault(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("truncated at offset %d: %w", w.offset, io.ErrUnexpectedEOF)
	}
	return err
}

func (w *wire) malformed(what string) error {
	return fmt.Errorf("%w: %s at offset %d", ErrMalformed, what, w.offset)
}

// bytes reads a piece, which is valid until the next call. Memory grows with what has
// come, whatever the length says.
func (w *wire) bytes(n uint64) ([]byte, error) {
	if n > uint64(w.max) {
		return nil, fmt.Errorf("%w (%d bytes)", ErrItemTooLarge, w.max)
	}
	w.piece = w.piece[:0]
	err := w.more(n)
	return w.piece, err
}

// more appends to the piece.
func (w *wire) more(n uint64) error {
	if uint64(len(w.piece))+n > uint64(w.max) {
		return fmt.Errorf("%w (%d bytes)", ErrItemTooLarge, w.max)
	}
	for n > 0 {
		step := int(min(n, uint64(max(readBuffer, len(w.piece)))))
		at := len(w.piece)
		if cap(w.piece)-at < step {
			w.piece = append(make([]byte, 0, at+step), w.piece...)
		}
		w.piece = w.piece[:at+step]
		got, err := io.ReadFull(w.r, w.piece[at:])
		w.offset += int64(got)
		if err != nil {
			w.piece = w.piece[:at+got]
			return w.fault(err)
		}
		n -= uint64(step)
	}
	return nil
}

func (w *wire) skip(n uint64) error {
	for n > 0 {
		step := int(min(n, 1<<30))
		got, err := w.r.Discard(step)
		w.offset += int64(got)
		if err != nil {
			return w.fault(err)
		}
		n -= uint64(step)
	}
	return nil
}

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

// readProto reads a list in its envelope, item by item.
func (l *lister[T]) readProto(w *wire) error {
	magic, err := w.bytes(uint64(len(protoMagic)))
	if err != nil {
		return err
	}
	if string(magic) != protoMagic {
		return w.malformed("no Protobuf of Kubernetes")
	}
	raw := false
	err = w.fields(messageEnd, func(number int, length uint64) error {
		switch {
		case number == unknownTypeMeta:
			data, err := w.bytes(length)
			if err != nil {
				return err
			}
			meta := protoTypeMeta(data)
			l.envelope.kind, l.envelope.apiVersion = meta.Kind, meta.APIVersion
			l.form.kinds.confirm(l.envelope.itemKind())
			return nil
		case number == unknownRaw && !raw:
			raw = true
			return l.readProtoList(w, length)
		}
		return w.skip(length)
	})
	if err != nil {
		return err
	}
	if !raw {
		return fmt.Errorf("%w: nothing in the envelope", informer.ErrNotAList)
	}
	return l.pipe.flush()
}

// readProtoList reads the list itself.
func (l *lister[T]) readProtoList(w *wire, length uint64) error {
	e := &l.envelope
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
			err = l.numbered(data)
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
