// SPDX-License-Identifier: Apache-2.0

package pager

import (
	"context"
	"errors"
	"fmt"
)

// Errors of a page that cannot be used. Neither is retried.
var (
	// ErrRepeatedToken means that the server sent a continue token for the second time in one list,
	// which would go round for ever.
	ErrRepeatedToken = errors.New("continue token came before in this list")
	// ErrNotList means that the answer is no list: nil, a single object, a Table.
	ErrNotList = errors.New("answer is not a list")
)

// PanicError is what a panic of a list function becomes in the goroutine of the caller, where it is
// panicked again.
type PanicError struct {
	Value any    // what the list function panicked with
	Stack []byte // of the goroutine that called the list function, at the panic
}

// Error returns the value and the stack.
func (e *PanicError) Error() string {
	return fmt.Sprintf("list function panicked: %v\n\n%s", e.Value, e.Stack)
}

// Unwrap returns Value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// pageError says which page err is of. Page one needs no mention: most lists have no other.
func pageError(page int, err error) error {
	if err == nil || page <= 1 {
		return err
	}
	return fmt.Errorf("page %d: %w", page, err)
}

// endedError describes a walk that ended with ctx, at a page whose last failure is last or nil.
func endedError(ctx context.Context, page int, last error) error {
	err := context.Cause(ctx)
	if !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	if last != nil && !saysNoMore(ctx, last) {
		err = fmt.Errorf("%w: last failure: %w", err, last)
	}
	return pageError(page, err)
}

// saysNoMore reports whether a failure says no more than that ctx has ended.
func saysNoMore(ctx context.Context, err error) bool {
	return errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))
}
