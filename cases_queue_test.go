// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"testing"

	"github.com/informerkit/informer"
)

// casesQueue are the cases Q01 to Q08 and Q19 of the queue.
func casesQueue(t *testing.T) {
	for _, c := range queueCases {
		t.Run(c.id, func(t *testing.T) {
			known := newFifoKnown(c.known...)
			f := newFifo(known)
			c.write(t, f)
			fifoWant(t, f, known, c.want...)
			if !f.HasSynced() && !c.noList {
				t.Error("not synced after all was processed")
			}
		})
	}
	t.Run("Q04", caseQ04)
	t.Run("Q05", caseQ05)
	t.Run("Q06", caseQ06)
	t.Run("Q08", caseQ08)
}

type queueCase struct {
	id     string
	known  []string
	write  func(t *testing.T, f *informer.DeltaFIFO[fifoObject])
	want   []string
	noList bool
}

var queueCases = []queueCase{
	{"Q01", []string{"x@1/u1"}, func(t *testing.T, f *informer.DeltaFIFO[fifoObject]) {
		fifoMust(t, f.Delete(t.Context(), fifoObj("x@2/u1")))
		fifoMust(t, f.Replace(t.Context(), fifoObjs("x@3/u2"), "3"))
	}, []string{"Deleted x@2; Replaced x@3"}, false},
	{"Q02", nil, func(t *testing.T, f *informer.DeltaFIFO[fifoObject]) {
		fifoMust(t, f.Add(t.Context(), fifoObj("o@1")))
		fifoMust(t, f.Replace(t.Context(), nil, "2"))
	}, []string{"Added o@1; Deleted? o@1"}, false},
	{"Q03", []string{"k@1"}, func(t *testing.T, f *informer.DeltaFIFO[fifoObject]) {
		fifoMust(t, f.Delete(t.Context(), fifoObj("k@2")))
		fifoMust(t, f.Add(t.Context(), fifoObj("k@3")))
		fifoMust(t, f.Replace(t.Context(), nil, "4"))
	}, []string{"Deleted k@2; Added k@3; Deleted? k@3"}, false},
	{"Q07", []string{"k@1", "m@1"}, func(t *testing.T, f *informer.DeltaFIFO[fifoObject]) {
		fifoMust(t, f.Delete(t.Context(), fifoObj("k@2")))
		fifoMust(t, f.Resync(t.Context()))
	}, []string{"Deleted k@2", "Sync m@1"}, true},
	{"Q19", []string{"a@5"}, func(t *testing.T, f *informer.DeltaFIFO[fifoObject]) {
		fifoMust(t, f.Update(t.Context(), fifoObj("a@9")))
		fifoMust(t, f.Replace(t.Context(), fifoObjs("a@9"), "9"))
	}, []string{"Updated a@9"}, false},
}

func caseQ04(t *testing.T) {
	known := newFifoKnown("gone@1")
	f := newFifo(known)
	fifoMust(t, f.Replace(t.Context(), nil, "2"))
	if f.HasSynced() {
		t.Error("synced before the delete was processed")
	}
	fifoWant(t, f, known, "Deleted? gone@1")
	if !f.HasSynced() {
		t.Error("not synced after the delete was processed")
	}
}

func caseQ05(t *testing.T) {
	f := newFifo(newFifoKnown())
	fifoMust(t, f.Replace(t.Context(), nil, "2"))
	if !f.HasSynced() {
		t.Error("not synced by an empty list")
	}
}

func caseQ06(t *testing.T) {
	f := newFifo(newFifoKnown())
	fifoMust(t, f.Replace(t.Context(), fifoObjs("a@1", "b@2"), "2"))
	for f.Len() > 0 {
		fifoMust(t, f.Pop(t.Context(), func(deltas informer.Deltas[fifoObject]) error {
			if f.HasSynced() {
				t.Errorf("synced while %s is processed", deltas.Key())
			}
			return nil
		}))
	}
	select {
	case <-f.Synced():
	default:
		t.Error("not synced after the last item was processed")
	}
}

func caseQ08(t *testing.T) {
	for range 10_000 {
		f := newFifo(nil)
		popped := make(chan error)
		go func() {
			popped <- f.Pop(context.Background(), func(informer.Deltas[fifoObject]) error { return nil })
		}()
		f.Close()
		if err := <-popped; !errors.Is(err, informer.ErrClosed) {
			t.Fatalf("Pop returned %v, want ErrClosed", err)
		}
	}
}
