// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"fmt"
	"hash/maphash"
	"runtime"
	"strings"
	"testing"
	"weak"
)

// bursts publishes changes to queues, a burst for each text, as an informer does.
func bursts(log *burstLog[thing], queues []*changeQueue[thing], texts ...string) {
	for _, text := range texts {
		var records []record[thing]
		for word := range strings.FieldsSeq(text) {
			r := queueChange(word)
			r.hash = hashOfKey(r.Key)
			records = append(records, r)
		}
		held := uint64(0)
		for _, q := range queues {
			if next := q.shared.next(); next > 0 && (held == 0 || next < held) {
				held = next
			}
		}
		b := log.append(records, held, 0)
		for _, q := range queues {
			q.addBurst(b)
		}
	}
}

func popped(q *changeQueue[thing], n int) string {
	var got []string
	for range n {
		c, ok := q.pop()
		if !ok {
			break
		}
		q.done()
		got = append(got, showChange(c))
	}
	return strings.Join(got, " ")
}

var keySeed = maphash.MakeSeed()

func hashOfKey(key string) uint32 { return uint32(maphash.String(keySeed, key)) }

// A burst is shared for as long as nothing has to be merged, by each queue on its own.
func TestBurstsAreShared(t *testing.T) {
	var log burstLog[thing]
	var fast, slow changeQueue[thing]
	queues := []*changeQueue[thing]{&fast, &slow}
	bursts(&log, queues, "W+a1 W+b1", "W+c1")
	if got := popped(&fast, 2); got != "W+a1 W+b1" {
		t.Errorf("fast got %s", got)
	}
	if len(fast.entries)+len(slow.entries) != 0 {
		t.Errorf("%d and %d entries of different keys", len(fast.entries), len(slow.entries))
	}
	bursts(&log, queues, "W~a1:2")
	if len(fast.entries) != 0 || len(slow.entries) != 3 {
		t.Errorf("%d and %d entries, want them where a is still queued", len(fast.entries), len(slow.entries))
	}
	if got := popped(&fast, 9); got != "W+c1 W~a1:2" {
		t.Errorf("fast got %s", got)
	}
	if got := popped(&slow, 9); got != "W+a2 W+b1 W+c1" {
		t.Errorf("slow got %s", got)
	}
	bursts(&log, queues, "W~a2:3 W~a3:4", "W~b1:2") // a key twice in a burst
	if got := popped(&slow, 9); got != "W~a2:4 W~b1:2" {
		t.Errorf("slow got %s", got)
	}
	bursts(&log, queues[1:], "W!b2:3")
	if got := popped(&slow, 9); got != "W-b2? W+b3" {
		t.Errorf("slow got %s", got)
	}
}

// What was queued before the mark counts for the sync, once, also if it is merged after it.
func TestBurstsMergedAfterTheMark(t *testing.T) {
	var log burstLog[thing]
	var q changeQueue[thing]
	bursts(&log, []*changeQueue[thing]{&q}, "I+a1 I+b1")
	q.mark()
	bursts(&log, []*changeQueue[thing]{&q}, "W-a1", "W+c1")
	if q.told() || q.open != 1 {
		t.Errorf("open %d, want that of b", q.open)
	}
	if got := popped(&q, 1); got != "I+b1" || !q.told() {
		t.Errorf("got %s, told %v", got, q.told())
	}
}

// What the log remembers is bounded by what is shared, whatever comes and goes.
func TestBurstLogMemory(t *testing.T) {
	var log burstLog[thing]
	for n := range uint64(100_000) {
		r := record[thing]{Change: Change[thing]{Type: Added, Key: fmt.Sprint(n)}, hash: hashOfKey(fmt.Sprint(n))}
		log.append([]record[thing]{r}, max(n, 10)-9, 0) // ten are always held
		if log.last.n > 2*10+maxIdleKeys+1 {
			t.Fatalf("%d keys after %d records", log.last.n, n)
		}
	}
	log.append(nil, 0, 0)
	if log.last.n != 0 {
		t.Errorf("%d keys where nothing is shared", log.last.n)
	}
}

// A list that all handlers were told of is not kept until the next change, however long that
// takes; one that waits is found.
func TestLargeBurstIsLetGo(t *testing.T) {
	var log burstLog[thing]
	var told, late changeQueue[thing]
	publish := func(n int, queues ...*changeQueue[thing]) weak.Pointer[burst[thing]] {
		records := make([]record[thing], n)
		for i := range records {
			key := fmt.Sprint(i + 7)
			records[i].Change = Change[thing]{Type: Updated, Key: key, Old: thing{key, 1}, New: thing{key, 2}}
			records[i].hash = hashOfKey(key)
		}
		b := log.append(records, late.shared.next(), 0)
		for _, q := range queues {
			q.addBurst(b)
		}
		return weak.Make(b)
	}
	list := publish(maxIdleKeys+1, &told, &late)
	popped(&told, maxIdleKeys+1)
	runtime.GC()
	if list.Value() == nil {
		t.Fatal("it is gone before every handler was told")
	}
	publish(1, &told, &late)
	if len(told.entries) != 0 || len(late.entries) != maxIdleKeys+1 {
		t.Errorf("%d and %d entries, want them where the key is still queued", len(told.entries), len(late.entries))
	}
	popped(&told, 1)
	popped(&late, maxIdleKeys+1)
	list = publish(maxIdleKeys+1, &told)
	popped(&told, maxIdleKeys+1)
	runtime.GC()
	if list.Value() != nil {
		t.Error("it is kept, and no handler needs it")
	}
}
