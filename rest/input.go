// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// readBuffer is how much is read from a connection at once, in bytes. The decoder alone
// asks for 4 KiB at a time.
const readBuffer = 64 << 10

// itemSlack allows for what stands around an item: white space, a comma, a type.
const itemSlack = 4 << 10

// input reads a body as JSON, in pieces that are limited in size.
type input struct {
	max     int64
	buffer  *bufio.Reader
	decoder *jsontext.Decoder
	left    int64 // bytes that the piece being read may still take from the body
	err     error // of the body itself, or the limit
}

func newInput(max int64) *input {
	return &input{max: max, buffer: bufio.NewReaderSize(nil, readBuffer), decoder: new(jsontext.Decoder)}
}

// reset starts on a body, keeping the buffers.
func (in *input) reset(body io.Reader) {
	in.buffer.Reset(body)
	in.err, in.left = nil, 0
	in.decoder.Reset(in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// release forgets the body.
func (in *input) release() { in.buffer.Reset(nil) }

// Read implements io.Reader for the decoder.
func (in *input) Read(p []byte) (int, error) {
	if in.err != nil {
		return 0, in.err
	}
	if in.left <= 0 {
		in.err = fmt.Errorf("%w (%d bytes)", ErrItemTooLarge, in.max)
		return 0, in.err
	}
	n, err := in.buffer.Read(p[:min(int64(len(p)), in.left)])
	in.left -= int64(n)
	if err != nil && err != io.EOF {
		in.err = err
	}
	return n, err
}

// arm grants the next piece its size. What the decoder holds already is part of it.
func (in *input) arm() {
	in.left = in.max + itemSlack - int64(len(in.decoder.UnreadBuffer()))
}

// peek returns the kind of the next piece; an error comes with the read that follows.
func (in *input) peek() jsontext.Kind {
	in.arm()
	return in.decoder.PeekKind()
}

// value reads a whole value. It is valid until the next read.
func (in *input) value() (jsontext.Value, error) {
	in.arm()
	value, err := in.decoder.ReadValue()
	if err != nil {
		return nil, in.fault(err)
	}
	if int64(len(value)) > in.max {
		return nil, fmt.Errorf("%w (%d bytes)", ErrItemTooLarge, in.max)
	}
	return value, nil
}

// token reads a token: a delimiter, a name or a literal. It is valid until the next read.
func (in *input) token() (jsontext.Token, error) {
	in.arm()
	token, err := in.decoder.ReadToken()
	if err != nil {
		return token, in.fault(err)
	}
	return token, nil
}

// skip reads a value and forgets it.
func (in *input) skip() error {
	in.arm()
	if err := in.decoder.SkipValue(); err != nil {
		return in.fault(err)
	}
	return nil
}

// text reads a string; ok is false for another value, which is read too.
func (in *input) text() (text string, ok bool, err error) {
	if in.peek() != '"' {
		return "", false, in.skip()
	}
	token, err := in.token()
	if err != nil {
		return "", false, err
	}
	return token.String(), true, nil
}

// end checks that nothing follows.
func (in *input) end() error {
	_, err := in.token()
	if err == nil {
		return fmt.Errorf("%w: more than one value, at offset %d", ErrMalformed, in.decoder.InputOffset())
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// fault says what ended the reading, without the piece of input that the decoder's errors
// quote. io.EOF is the end of the body between two values.
func (in *input) fault(err error) error {
	if in.err != nil {
		return in.err
	}
	if err == io.EOF {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("truncated at offset %d: %w", in.decoder.InputOffset(), io.ErrUnexpectedEOF)
	}
	offset := in.decoder.InputOffset()
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		offset = syntactic.ByteOffset
	}
	return fmt.Errorf("%w: invalid JSON at offset %d", ErrMalformed, offset)
}
