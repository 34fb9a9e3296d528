// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// entryOf is an entry of labels as encoders write it.
func entryOf(name, value string) []byte {
	return protoPart(protoPart(nil, 1, []byte(name)), 2, []byte(value))
}

// labelled is the metadata of an object with such labels.
func labelled(entries ...[]byte) []byte {
	raw := protoPart(nil, metaName, []byte("n"))
	for _, entry := range entries {
		raw = protoPart(raw, metaLabels, entry)
	}
	return protoPart(raw, metaFinalizers, []byte("f"))
}

// readLabels reads the metadata of several objects, one after the other, and compares each with
// what the generated code makes of it.
func readLabels(t *testing.T, r *metaReader, raw []byte) map[string]string {
	t.Helper()
	var got, want metav1.ObjectMeta
	r.strings.begin()
	if err := want.Unmarshal(raw); err != nil || !r.read(raw, &got) || !reflect.DeepEqual(got, want) {
		t.Fatalf("%x: read %v, want %v, %v", raw, got.Labels, want.Labels, err)
	}
	return got.Labels
}

// Labels that come again are a copy, and what is done to it is done to no other object.
func TestLabelsAgain(t *testing.T) {
	r := newMetaReader(newInterner(), false)
	raw := labelled(entryOf("a", "1"), entryOf("b", "2"))
	for i := range 10 {
		labels := readLabels(t, r, raw)
		if i > 1 && r.maps[0].before.template == nil {
			t.Error("they are made anew")
		}
		labels["a"], labels[fmt.Sprint(i)] = "changed", "x"
		delete(labels, "b")
	}
}

// Rows that begin alike, end alike, or have the same bytes with other bounds are told apart.
func TestLabelsAlike(t *testing.T) {
	a, b := entryOf("a", "1"), entryOf("b", "2")
	// One entry whose value has the bytes of what stands between two, and of the second.
	joined := entryOf("a", "1"+string(protoPart(nil, metaLabels, b)))
	rows := [][]byte{
		labelled(a), labelled(a, b), labelled(b), labelled(b, a), labelled(a, b, a), labelled(joined), labelled(),
		labelled(a, entryOf("b", "22")), labelled(entryOf("", ""), a), labelled(entryOf("", "")),
		labelled(entryOf("long", string(make([]byte, maxRow)))), labelled(a)[:len(labelled(a))-3],
	}
	for seed := range uint64(20) {
		draw := rand.New(rand.NewPCG(seed, 5))
		r := newMetaReader(newInterner(), false)
		for range 500 {
			raw := rows[draw.IntN(len(rows))]
			for range 1 + draw.IntN(4) {
				readLabels(t, r, raw)
			}
		}
	}
}

// An entry whose key is written with more bytes than it needs ends no row, and is in no template
// of the row before it.
func TestLabelsLongKey(t *testing.T) {
	a, b := entryOf("a", "1"), entryOf("b", "2")
	long := append([]byte{metaLabels<<3 | wireBytes | 0x80, 0x00, byte(len(b))}, b...)
	plain := protoPart(protoPart(nil, metaName, []byte("n")), metaLabels, a)
	rows := [][]byte{plain, append(slices.Clone(plain), long...)}
	for seed := range uint64(20) {
		draw := rand.New(rand.NewPCG(seed, 6))
		r := newMetaReader(newInterner(), false)
		for range 100 {
			raw := rows[draw.IntN(len(rows))]
			var got, want metav1.ObjectMeta
			r.strings.begin()
			if err := want.Unmarshal(raw); err != nil || r.read(raw, &got) && !reflect.DeepEqual(got, want) {
				t.Fatalf("%x: read %v, want %v, %v", raw, got.Labels, want.Labels, err)
			}
		}
	}
}

// Where each object has other labels, few of them are kept; a row that stays is noticed soon.
func TestLabelsRare(t *testing.T) {
	r := newMetaReader(newInterner(), false)
	kept := 0
	for i := range 400 {
		before := string(r.maps[0].before.row)
		readLabels(t, r, labelled(entryOf("a", fmt.Sprint(1000+i))))
		if string(r.maps[0].before.row) != before {
			kept++
		}
	}
	if kept > 400/rareRow+2*rareRow {
		t.Errorf("%d rows of 400 were kept", kept)
	}
	raw := labelled(entryOf("stays", "1"))
	for range rareRow + 2 {
		readLabels(t, r, raw)
	}
	if !maps.Equal(r.maps[0].before.template, map[string]string{"stays": "1"}) {
		t.Errorf("a row that stays is not noticed: %v", r.maps[0].before.template)
	}
}
