// SPDX-License-Identifier: Apache-2.0

package rest

import (
	stdjson "encoding/json"
	"hash/maphash"
	"reflect"

	"github.com/informerkit/informer/internal/quantity"

	"k8s.io/apimachinery/pkg/api/resource"
)

// quantitySlots bounds the quantities that are kept.
const quantitySlots = 256

// quantities keeps what texts of quantities mean: there are few of them, and parsing one
// takes longer than all else in a container.
type quantities struct {
	slots [quantitySlots]struct {
		text  string
		means resource.Quantity
	}
}

// read returns what a text means, false if it means nothing or is boundless.
func (q *quantities) read(text []byte) (resource.Quantity, bool) {
	slot := &q.slots[maphash.Bytes(hashSeed, text)%quantitySlots]
	if slot.text != string(text) || len(text) == 0 {
		if quantity.Boundless(string(text)) {
			return resource.Quantity{}, false
		}
		means, err := resource.ParseQuantity(string(text))
		if err != nil || len(text) > maxInternLen {
			return means, err == nil
		}
		slot.text, slot.means = string(text), means
	}
	return slot.means.DeepCopy(), true
}

// fillJSON reads a quantity as its own method does. What is no string, or needs to be trimmed,
// is left to that method.
func (q *quantities) fillJSON(c *cursor, v reflect.Value) bool {
	c.next()
	start := c.i
	c.skip()
	value := c.b[start:c.i:c.i]
	if len(value) > 2 && value[0] == '"' {
		if means, ok := q.read(value[1 : len(value)-1]); ok {
			*v.Addr().Interface().(*resource.Quantity) = means
			return true
		}
	}
	return !quantity.Boundless(string(value)) && v.Addr().Interface().(stdjson.Unmarshaler).UnmarshalJSON(value) == nil
}
