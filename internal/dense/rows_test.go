// SPDX-License-Identifier: Apache-2.0

package dense

import (
	"fmt"
	"slices"
	"testing"
)

// Rows of all sizes, and as many of them as there may be in a chunk.
func TestCopyRows(t *testing.T) {
	copiesRows(t, func(i int) *int { return &i })
	copiesRows(t, func(i int) string { return fmt.Sprint(i) })
	copiesRows(t, func(i int) any { return i })
	copiesRows(t, func(i int) [3]any { return [3]any{i, nil, fmt.Sprint(i)} })
	copiesRows(t, func(int) struct{} { return struct{}{} })
}

func copiesRows[E comparable](t *testing.T, row func(int) E) {
	t.Run(fmt.Sprintf("%T", row(0)), func(t *testing.T) {
		for n := range chunkSize + 1 {
			from := make([]E, n)
			for i := range from {
				from[i] = row(i)
			}
			to := make([]E, n+2)
			touch(to)
			if copyRows(to, from); !slices.Equal(to[:n], from) {
				t.Fatalf("of %d rows", n)
			}
			if zero := *new(E); to[n] != zero || to[n+1] != zero {
				t.Fatalf("more than %d rows", n)
			}
		}
	})
}
