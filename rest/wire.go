// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
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
	if n <= readBuffer { // as a rule it lies in the reader's memory, and stays there until the next read
		if piece, err := w.r.Peek(int(n)); err == nil {
			_, err = w.r.Discard(len(piece))
			w.offset += int64(n)
			return piece[:n:n], err
		}
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
		w.piece = slices.Grow(w.piece, step)[:at+step] // by more than that: a step may be one byte
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
