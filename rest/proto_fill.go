// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"math"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// scalar returns the filler of a type that is no message, and its wire type; nil: none.
func (p *protoPlanner) scalar(t reflect.Type) (protoFiller, uint64) {
	switch t.Kind() {
	case reflect.String:
		return p.fillString, wireBytes
	case reflect.Bool:
		return fillProtoBool, wireVarint
	case reflect.Int32, reflect.Int64:
		return fillProtoInt, wireVarint
	case reflect.Uint32, reflect.Uint64:
		return fillProtoUint, wireVarint
	case reflect.Float64:
		return fillProtoDouble, wire64
	case reflect.Float32:
		return fillProtoFloat, wire32
	case reflect.Slice:
		if t.Elem() == reflect.TypeFor[byte]() {
			return fillProtoBytes, wireBytes
		}
	}
	return nil, 0
}

func (p *protoPlanner) fillString(piece piece, v reflect.Value) bool {
	v.SetString(p.strings.share(piece.data))
	return true
}

func fillProtoBool(p piece, v reflect.Value) bool {
	v.SetBool(int64(p.n) != 0)
	return true
}

func fillProtoInt(p piece, v reflect.Value) bool {
	if v.Kind() == reflect.Int32 {
		v.SetInt(int64(int32(p.n)))
	} else {
		v.SetInt(int64(p.n))
	}
	return true
}

func fillProtoUint(p piece, v reflect.Value) bool {
	if v.Kind() == reflect.Uint32 {
		v.SetUint(uint64(uint32(p.n)))
	} else {
		v.SetUint(p.n)
	}
	return true
}

func fillProtoDouble(p piece, v reflect.Value) bool {
	v.SetFloat(math.Float64frombits(p.n))
	return true
}

func fillProtoFloat(p piece, v reflect.Value) bool {
	v.SetFloat(float64(math.Float32frombits(uint32(p.n))))
	return true
}

// fillProtoBytes makes a copy, which is not nil.
func fillProtoBytes(p piece, v reflect.Value) bool {
	out := make([]byte, len(p.data))
	copy(out, p.data)
	v.SetBytes(out)
	return true
}

// fillProtoItself is for types whose Unmarshal was written by hand.
func fillProtoItself(p piece, v reflect.Value) bool {
	return v.Addr().Interface().(protoMessage).Unmarshal(p.data) == nil
}

// fillProtoTime reads a Timestamp, of which Time takes the seconds.
func fillProtoTime(p piece, v reflect.Value) bool {
	return fillTimestamp(p, v.Addr().Interface().(*metav1.Time))
}

func fillTimestamp(p piece, to *metav1.Time) bool {
	if len(p.data) == 0 {
		return true
	}
	var seconds int64
	for m := (message{b: p.data}); m.i < len(m.b); {
		key, value := m.next()
		switch {
		case key == 0 || key&7 != wireVarint:
			return false
		case key>>3 == 1:
			seconds = int64(value.n)
		}
	}
	to.Time = time.Unix(seconds, 0).Local()
	return true
}

// protoSlice fills slices that are exactly as long as they need to be.
type protoSlice struct{ elem *protoPlan }

func (s *protoSlice) fill(m message, key uint64, first piece, v reflect.Value) (end int) {
	n := 1 + m.count(key)
	makeSlice(v, n)
	for i := range n {
		if !s.elem.fill(first, v.Index(i)) {
			return 0
		}
		if i < n-1 {
			_, first = m.next() // it has been counted, and so is sound
		}
	}
	return m.i
}

// fillProto reads the message of a Quantity, which is one text.
func (q *quantities) fillProto(p piece, v reflect.Value) bool {
	m := message{b: p.data}
	key, text := m.next()
	if key != 1<<3|wireBytes || m.i != len(m.b) {
		return fillProtoBounded(p, v)
	}
	means, ok := q.read(text.data)
	if ok {
		*v.Addr().Interface().(*resource.Quantity) = means
	}
	return ok
}

// fillProtoBounded is fillProtoItself for what is read as a Quantity.
func fillProtoBounded(p piece, v reflect.Value) bool {
	return boundlessProto(p.data) == nil && fillProtoItself(p, v)
}
