// SPDX-License-Identifier: Apache-2.0

package dense

import (
	"fmt"
	"sync"
	"testing"
)

// held is what a reader keeps of one state of a table.
type held struct {
	see  func() string
	want string
}

func hold(table *Table[int]) held {
	objects, keys, notes, values := table.Objects(), table.Keys(), table.Notes(), table.Values(1)
	all, some := table.ObjectsOf(0, "all"), table.UnionOf(2, []string{"3", "5"})
	see := func() string {
		text := fmt.Sprint(objects.Collect(), keys.Collect(), values.Collect(), some.Collect())
		for _, note := range notes.Collect() {
			text += fmt.Sprint(note != nil)
		}
		if !all.Small() {
			text += fmt.Sprint(all.Collect())
		}
		return text
	}
	return held{see, see()}
}

// What readers hold of many states stays as it was, whether the writes behind it were in
// place, swaps or in forks, and whoever looks meanwhile.
func TestHeldThroughForks(t *testing.T) {
	s := newSteps(t)
	s.table.Apply(s.random(1500, 1500))
	var all []held
	for i := range 120 {
		ops := s.random(1+s.r.IntN(60), 1500+20*i)
		if i%7 == 0 { // pops that go down through a chunk
			for key := range 300 {
				ops = append(ops, s.delete(s.r.IntN(1500)+key%2))
			}
		}
		if i%3 == 0 {
			all = append(all, hold(s.table))
		}
		if i%2 == 0 && !s.table.NeedsRoom(ops) {
			if s.table.Plan(ops, nil) {
				s.table.Swap(ops)
			} else {
				s.table.Apply(ops)
			}
		} else {
			fork, found := s.table.Fork(), make(chan held, 2)
			var readers sync.WaitGroup
			for range cap(found) {
				readers.Go(func() {
					for key := range 300 {
						if id, ok := s.table.Find(fmt.Sprint(key * 7)); ok {
							s.table.Object(id)
						}
					}
					found <- hold(s.table)
				})
			}
			fork.MakeRoom(ops)
			fork.Apply(ops)
			readers.Wait()
			all = append(all, <-found, <-found)
			fork.Settle()
			s.table = fork
		}
		if i%10 == 0 {
			s.check()
		}
	}
	s.check()
	for i, h := range all {
		if h.see() != h.want {
			t.Fatalf("state %d of %d has changed", i, len(all))
		}
	}
}
