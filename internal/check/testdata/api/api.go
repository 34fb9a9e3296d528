// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"io"

	"example.org/a/api/internal/hidden"
	v1 "example.org/a/api/sub/v1"
)

const (
	Text  Kind = "te\"xt"
	Count      = 2
	small      = 1
)

var Err error

type Kind string

func (k Kind) String() string { return string(k) }

func (k *Kind) Set(text string) {}

type Alias = v1.Meta

type GenericAlias[T any] = []T

type Object interface {
	v1.Meta
	comparable
	named
}

type named interface{ Name() string }

type Sealed interface{ sealed() }

type Number interface{ ~int | ~int64 }

type Func[T Object] func(ctx context.Context, obj T, each func(index int, value T) error) (done bool, err error)

type view[T any] struct {
	inner
	Shared T
}

type inner struct{ Deep int }

func (inner) Get(key string) (found bool) { return false }

func (v *view[T]) List() []T { return nil }

type View[T any] struct{ view[T] }

type Store[T any] struct {
	*view[T]
	io.Reader
	hidden.Secret
	Next  *Store[T]
	limit int
}

func (s *Store[T]) Get(key string) T { panic(key) }

func New[T Object, K comparable](first K, rest ...func(T)) *Store[T] { return nil }

func Chans(in <-chan func(a int), out map[string][2]func(b int)) {}

func unexported() {}
