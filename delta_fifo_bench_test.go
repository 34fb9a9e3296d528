// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"testing"
)

// One event of one of 1,000 known objects, applied in batches of 100.
func BenchmarkDeltaFIFOBatch(b *testing.B) {
	known := newFIFOMap()
	objs := known.fill(1000)
	f := newBatchFIFO(known)
	ctx := b.Context()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_ = f.Update(ctx, objs[i%len(objs)])
		if i%100 == 99 {
			_, _ = f.takeBatch(ctx)
			f.batchDone()
		}
	}
}

// One event, popped.
func BenchmarkDeltaFIFOPop(b *testing.B) {
	known := newFIFOMap()
	objs := known.fill(1000)
	f := newBatchFIFO(known)
	ctx := b.Context()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_ = f.Update(ctx, objs[i%len(objs)])
		_ = f.Pop(ctx, func(Deltas[fifoMeta]) error { return nil })
	}
}

// A list of what is known already, with copies of the objects.
func BenchmarkDeltaFIFOReplaceUnchanged(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			known := newFIFOMap()
			items := known.fill(n)
			for i, obj := range items {
				items[i] = obj.DeepCopy()
			}
			f := newBatchFIFO(known)
			b.ReportAllocs()
			for b.Loop() {
				_ = f.Replace(b.Context(), items, "")
			}
			if f.Len() != 0 {
				b.Fatalf("%d keys queued", f.Len())
			}
		})
	}
}

// A first list, taken as one batch.
func BenchmarkDeltaFIFOFirstList(b *testing.B) {
	items := newFIFOMap().fill(100_000)
	b.ReportAllocs()
	for b.Loop() {
		f := newBatchFIFO(newFIFOMap())
		_ = f.Replace(b.Context(), items, "1")
		_, _ = f.takeBatch(b.Context())
		f.batchDone()
	}
}
