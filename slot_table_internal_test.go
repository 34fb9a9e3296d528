// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// A slotTable holds what a map of lists holds, also where all hashes collide.
func TestSlotTable(t *testing.T) {
	for _, hashes := range []uint32{1, 7, 1 << 31} {
		draw := rand.New(rand.NewPCG(uint64(hashes), 1))
		var table slotTable
		want := map[uint32]uint32{} // hash of a number
		next := uint32(0xffff_ff00) // numbers wrap around
		for range 20_000 {
			numbers := slices.Sorted(maps.Keys(want))
			switch op := draw.IntN(10); {
			case op < 5 && len(want) < 40:
				hash := draw.Uint32N(hashes)
				table.insert(hash, next)
				want[next] = hash
				next++
			case len(numbers) == 0:
			case op < 8:
				number := numbers[draw.IntN(len(numbers))]
				table.remove(want[number], number)
				delete(want, number)
			case op < 9:
				number := numbers[draw.IntN(len(numbers))]
				table.renumber(want[number], number, next)
				want[next] = want[number]
				delete(want, number)
				next++
			case draw.IntN(200) == 0:
				table.clear()
				clear(want)
			case draw.IntN(50) == 0:
				table.filter(func(number uint32) bool { return number%3 > 0 })
				maps.DeleteFunc(want, func(number, _ uint32) bool { return number%3 == 0 })
			}
			if table.n != len(want) {
				t.Fatalf("%d numbers, want %d", table.n, len(want))
			}
			for number, hash := range want {
				if !slices.Contains(filed(&table, hash), number) {
					t.Fatalf("%d is not filed under %d", number, hash)
				}
			}
		}
	}
}

func filed(table *slotTable, hash uint32) (numbers []uint32) {
	for number, at, ok := table.next(hash, home(hash)); ok; number, at, ok = table.next(hash, at+1) {
		numbers = append(numbers, number)
	}
	return numbers
}
