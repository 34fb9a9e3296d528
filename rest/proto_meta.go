// SPDX-License-Identifier: Apache-2.0

package rest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Fields of ObjectMeta and of OwnerReference, in the generated.proto of apimachinery.
const (
	metaGenerateName, metaSelfLink, metaGeneration, metaCreation = 2, 4, 7, 8
	metaLabels, metaAnnotations, metaOwners, metaFinalizers      = 11, 12, 13, 14
	ownerKind, ownerName, ownerUID, ownerVersion                 = 1, 3, 4, 5
	ownerController, ownerBlocks                                 = 6, 7
)

// metaReader reads the metadata of objects, which is all that some of them have, without
// reflection. What is rare or odd in it is left to the plan, as all is in other types.
type metaReader struct {
	strings     *interner
	maps        [2]protoMap // labels and annotations
	habits      [6]habit
	dropManaged bool
}

func newMetaReader(strings *interner, dropManaged bool) *metaReader {
	return &metaReader{strings: strings, maps: [2]protoMap{{strings: strings}, {strings: strings}}, dropManaged: dropManaged}
}

// read reads a message into a zero ObjectMeta, and leaves it zero where it cannot.
func (r *metaReader) read(data []byte, m *metav1.ObjectMeta) bool {
	in := message{b: data}
	for in.i < len(in.b) {
		key, p := in.next()
		switch key {
		case metaName<<3 | wireBytes:
			m.Name = r.strings.keep(p.data)
		case metaUID<<3 | wireBytes:
			m.UID = types.UID(r.strings.keep(p.data))
		case metaVersion<<3 | wireBytes:
			m.ResourceVersion = r.strings.keep(p.data)
		case metaGenerateName<<3 | wireBytes:
			m.GenerateName = r.strings.shareAs(&r.habits[0], p.data)
		case metaNamespace<<3 | wireBytes:
			m.Namespace = r.strings.shareAs(&r.habits[1], p.data)
		case metaSelfLink<<3 | wireBytes: // encoders write empty texts, too
			//lint:ignore SA1019 what comes is decoded, also what is deprecated
			m.SelfLink = r.strings.share(p.data)
		case metaGeneration << 3:
			m.Generation = int64(p.n)
		default:
			if key>>3 == metaManaged && key&7 == wireBytes && r.dropManaged {
				continue
			}
			if in.i = r.more(in, key, p, m); in.i == 0 {
				*m = metav1.ObjectMeta{}
				return false
			}
		}
	}
	return true
}

// more reads a field that there is once, or several times in a row, and returns where the
// message goes on; 0: it cannot.
func (r *metaReader) more(in message, key uint64, p piece, m *metav1.ObjectMeta) (end int) {
	switch key {
	case metaCreation<<3 | wireBytes:
		if !m.CreationTimestamp.IsZero() || !fillTimestamp(p, &m.CreationTimestamp) {
			return 0
		}
		return in.i
	case metaLabels<<3 | wireBytes:
		return r.entries(inRow{in, key, p}, 0, &m.Labels)
	case metaAnnotations<<3 | wireBytes:
		return r.entries(inRow{in, key, p}, 1, &m.Annotations)
	case metaOwners<<3 | wireBytes:
		return r.owners(inRow{in, key, p}, &m.OwnerReferences)
	case metaFinalizers<<3 | wireBytes:
		return r.texts(inRow{in, key, p}, &m.Finalizers)
	}
	return 0
}

func (r *metaReader) entries(f inRow, at int, to *map[string]string) (end int) {
	if *to != nil {
		return 0
	}
	return r.maps[at].fillLabels(&f, to)
}

func (r *metaReader) texts(f inRow, to *[]string) (end int) {
	if *to != nil {
		return 0
	}
	*to = make([]string, f.count())
	for i := range *to {
		if i > 0 {
			f.next()
		}
		(*to)[i] = r.strings.share(f.first.data)
	}
	return f.in.i
}

func (r *metaReader) owners(f inRow, to *[]metav1.OwnerReference) (end int) {
	if *to != nil {
		return 0
	}
	*to = make([]metav1.OwnerReference, f.count())
	for i := range *to {
		if i > 0 {
			f.next()
		}
		if !r.owner(f.first.data, &(*to)[i]) {
			return 0
		}
	}
	return f.in.i
}

func (r *metaReader) owner(data []byte, o *metav1.OwnerReference) bool {
	var says *[2]bool // an owner that says one says the other
	for in := (message{b: data}); in.i < len(in.b); {
		key, p := in.next()
		switch key {
		case ownerKind<<3 | wireBytes:
			o.Kind = r.strings.shareAs(&r.habits[2], p.data)
		case ownerName<<3 | wireBytes:
			o.Name = r.strings.shareAs(&r.habits[3], p.data)
		case ownerUID<<3 | wireBytes:
			o.UID = types.UID(r.strings.shareAs(&r.habits[4], p.data))
		case ownerVersion<<3 | wireBytes:
			o.APIVersion = r.strings.shareAs(&r.habits[5], p.data)
		case ownerController << 3, ownerBlocks << 3:
			if says == nil {
				says = new([2]bool)
			}
			if key == ownerController<<3 {
				says[0] = p.n != 0
				o.Controller = &says[0]
			} else {
				says[1] = p.n != 0
				o.BlockOwnerDeletion = &says[1]
			}
		default:
			return false
		}
	}
	return true
}
