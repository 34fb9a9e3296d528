// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// heldPipeline has items of a batch each, that are named by their first byte. The item a is
// not decoded before c has been.
func heldPipeline(deliver func(name string) error) *pipeline[partial] {
	later := make(chan struct{})
	decode := func(raw []byte) (partial, error) {
		switch raw[0] {
		case 'a':
			<-later
		case 'c':
			close(later)
		case '!':
			panic("of an item")
		}
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: string(raw[:1])}}, nil
	}
	p := newPipeline(newCodec(identify, func() decodeFunc[partial] { return decode }), func(obj runtime.Object) error {
		return deliver(obj.(partial).Name)
	})
	p.limit, p.eager = 1, 0
	return p
}

func batchOf(name rune) []byte { return bytes.Repeat([]byte{byte(name)}, batchBytes) }

// Who reads decodes too where a worker takes long, and delivers in order.
func TestPipelineHelpsOut(t *testing.T) {
	t.Run("bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var delivered []string
			p := heldPipeline(func(name string) error {
				delivered = append(delivered, name)
				return nil
			})
			defer p.close()
			for _, name := range "abcdefghijk" {
				if err := p.add(batchOf(name)); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.flush(); err != nil {
				t.Fatal(err)
			}
			want := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}
			if !slices.Equal(delivered, want) {
				t.Errorf("delivered %q", delivered)
			}
		})
	})
}

// A panic, wherever the item was decoded, comes in its turn; an error ends the list.
func TestPipelinePanicsInTurn(t *testing.T) {
	t.Run("bubble", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var delivered []string
			enough := errors.New("enough")
			feed := func(names string, until string) (panicked any, err error) {
				delivered = nil
				p := heldPipeline(func(name string) error {
					if delivered = append(delivered, name); name == until {
						return enough
					}
					return nil
				})
				defer p.close()
				defer func() { panicked = recover() }()
				for _, name := range names {
					if err := p.add(batchOf(name)); err != nil {
						return nil, err
					}
				}
				return nil, p.flush()
			}
			if panicked, _ := feed("abc!defgh", ""); panicked != "of an item" || !slices.Equal(delivered, []string{"a", "b", "c"}) {
				t.Errorf("delivered %q before %v", delivered, panicked)
			}
			if _, err := feed("abcdefgh", "b"); err != enough || !slices.Equal(delivered, []string{"a", "b"}) {
				t.Errorf("delivered %q before %v", delivered, err)
			}
		})
	})
}
