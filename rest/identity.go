// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// errWrongPart is a name, UID or version that is not a string.
var errWrongPart = fmt.Errorf("%w: a part of it has another type", ErrNoIdentity)

// errNameless is of an object with more than one name, the last of them empty.
var errNameless = fmt.Errorf("%w: it is taken back", ErrNoIdentity)

// identity is what can be said about an object without decoding it. Its parts lie in the
// object's bytes and are valid as long as they are.
type identity struct {
	apiVersion, kind              []byte
	namespace, name, uid, version []byte
	hasMetadata                   bool
}

// identify walks over an object until it knows who it is. Encoders put kind and metadata
// first; needKind goes on to the end for a kind that does not come before metadata, which
// only the items of a list can lack.
//
// Errors: ErrNoIdentity.
func identify(raw []byte, needKind bool) (identity, error) {
	var id identity
	c := cursor{b: raw}
	if c.next() != '{' {
		return id, fmt.Errorf("%w: not an object", ErrNoIdentity)
	}
	ok := true
	for more := c.enter(); more && ok; more = c.more() {
		switch string(unquote(c.name(), nil)) {
		case "kind":
			id.kind, ok = c.stringValue()
		case "apiVersion":
			id.apiVersion, ok = c.stringValue()
		case "metadata":
			ok = id.readMetadata(&c, !needKind || len(id.kind) > 0)
		default:
			c.skip()
		}
		if id.hasMetadata && (!needKind || len(id.kind) > 0) {
			break // before anything else is read: c may stand within the metadata
		}
	}
	switch {
	case !ok:
		return id, errWrongPart
	case !id.hasMetadata:
		return id, fmt.Errorf("%w: no metadata", ErrNoIdentity)
	case len(id.name) == 0:
		return id, ErrNoIdentity
	}
	return id, nil
}

// readMetadata reads what names an object, and reports false for a part of another type.
// If nothing else is needed it stops at the last of them, and leaves out managedFields.
func (id *identity) readMetadata(c *cursor, last bool) (ok bool) {
	if c.next() != '{' {
		return c.null()
	}
	id.hasMetadata, ok = true, true
	for more := c.enter(); more && ok; more = c.more() {
		switch string(unquote(c.name(), nil)) {
		case "name":
			id.name, ok = c.stringValue()
		case "namespace":
			id.namespace, ok = c.stringValue()
		case "uid":
			id.uid, ok = c.stringValue()
		case "resourceVersion":
			id.version, ok = c.stringValue()
		default:
			c.skip()
		}
		if last && ok && len(id.name) > 0 && len(id.namespace) > 0 && len(id.uid) > 0 && len(id.version) > 0 {
			break
		}
	}
	return ok
}

// stringValue reads a string, or null for none; ok is false for anything else.
func (c *cursor) stringValue() (value []byte, ok bool) {
	if c.next() == '"' {
		return unquote(c.quoted(), nil), true
	}
	return nil, c.null()
}

// null steps over a value and reports whether it is null.
func (c *cursor) null() bool {
	start := c.i
	c.skip()
	return bytes.Equal(c.b[start:c.i], []byte("null"))
}

// object makes metadata of an identity, in memory of its own.
func (id identity) object() (m metav1.PartialObjectMetadata) {
	id.describe(&m)
	return m
}

// describe is object for metadata that was described before.
func (id identity) describe(m *metav1.PartialObjectMetadata) {
	// One string for all of them: they live and die together.
	var space [256]byte
	whole := space[:0]
	for _, part := range [...][]byte{id.apiVersion, id.kind, id.namespace, id.name, id.uid, id.version} {
		whole = append(whole, part...)
	}
	all := string(whole)
	cut := func(part []byte) string {
		s := all[:len(part)]
		all = all[len(part):]
		return s
	}
	m.APIVersion, m.Kind = cut(id.apiVersion), cut(id.kind)
	m.Namespace, m.Name = cut(id.namespace), cut(id.name)
	m.UID, m.ResourceVersion = types.UID(cut(id.uid)), cut(id.version)
}

// isStatus and isTable report what the API sends in place of an object. Custom resources
// may have these kinds too, in other groups.
func (id identity) isStatus() bool {
	return string(id.kind) == "Status" && string(id.apiVersion) == "v1"
}

func (id identity) isTable() bool {
	return string(id.kind) == "Table" && bytes.HasPrefix(id.apiVersion, []byte("meta.k8s.io/"))
}
