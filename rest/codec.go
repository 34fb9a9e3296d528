// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"sync"

	"github.com/informerkit/informer"

	"k8s.io/apimachinery/pkg/runtime"
)

// codec is how objects of type T are read in one encoding.
type codec[T informer.Object] struct {
	identify func(raw []byte, needKind bool) (identity, error)
	idle     sync.Pool // decodeFunc[T]: each belongs to one goroutine at a time
}

func newCodec[T informer.Object](identify func([]byte, bool) (identity, error), newDecoder func() decodeFunc[T]) *codec[T] {
	return &codec[T]{identify: identify, idle: sync.Pool{New: func() any { return newDecoder() }}}
}

func (c *codec[T]) take() decodeFunc[T]       { return c.idle.Get().(decodeFunc[T]) }
func (c *codec[T]) give(decode decodeFunc[T]) { c.idle.Put(decode) }

// object makes of an object's bytes an object of type T, or an Undecodable that stands
// for it.
func (c *codec[T]) object(decode decodeFunc[T], raw []byte) runtime.Object {
	obj, err := decode(raw)
	if err == nil && obj.GetName() != "" {
		return obj
	}
	if err == nil {
		err = errNameless
	}
	id, _ := c.identify(raw, true) // it could be identified before
	return &informer.Undecodable{PartialObjectMetadata: id.object(), Err: err}
}
