// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// thing is an object of the model: n counts the states of the whole world.
type thing struct {
	key string
	n   int
}

// queueModel drives a changeQueue by a program, plays store and handler, and checks what
// the handler is told against what is so.
type queueModel struct {
	t      *testing.T
	queue  changeQueue[thing]
	log    burstLog[thing]
	burst  []record[thing] // applied, not published yet
	world  *Store[thing]
	n      int
	alone  bool // changes come one by one, not in bursts
	bursts int  // changes in a burst
	sent   int  // changes, as a handler of every change sees them
	got    int  // of those

	shown map[string]thing // what the handler holds to be there
	told  map[string]int   // the newest state of a key that the handler was told of
	due   map[string]int   // what it has to be told of to have synced
}

func newQueueModel(t *testing.T, flags byte) *queueModel {
	m := &queueModel{
		t:     t,
		world: NewStore(StoreOptions[thing]{KeyFunc: func(o thing) (string, error) { return o.key, nil }}),
		shown: map[string]thing{}, told: map[string]int{},
	}
	m.queue.every, m.queue.merge = flags&1 != 0, flags&2 != 0
	m.alone, m.bursts = flags&8 != 0, 1+int(flags>>4)%4
	if flags&4 != 0 { // a late handler
		for k := range 5 {
			m.put(fmt.Sprint("k", k))
		}
		m.queue.startSweep(CauseInitial, snapshotOf(m.world.view), 0)
		m.mark()
	}
	return m
}

func (m *queueModel) put(key string) (old thing, there bool) {
	old, there = m.world.Get(key)
	m.n++
	if err := m.world.Add(context.Background(), thing{key, m.n}); err != nil {
		m.t.Fatal(err)
	}
	return old, there
}

func (m *queueModel) mark() {
	m.publish()
	m.queue.mark()
	m.due = map[string]int{}
	for key, obj := range m.world.All() {
		m.due[key] = obj.n
	}
}

// step does what one byte of the program says.
func (m *queueModel) step(op byte) {
	key := fmt.Sprint("k", op>>4)
	switch op & 15 {
	case 0, 1, 2, 3:
		m.send(key, false)
	case 4:
		m.send(key, true)
	case 5, 6:
		m.remove(key)
	case 7:
		m.handle(m.queue.popAll(int(op>>4) % 4))
	case 8:
		m.sweep(CauseResync)
	case 9:
		m.sweep(CauseScope)
	case 10:
		if m.due == nil {
			m.mark()
		}
	default:
		if c, ok := m.queue.pop(); ok {
			m.handle([]Change[thing]{c})
		}
	}
	m.check()
}

func (m *queueModel) send(key string, recreated bool) {
	old, there := m.put(key)
	obj, _ := m.world.Get(key)
	m.sent++
	r := record[thing]{Change: Change[thing]{Type: Added, Key: key, New: obj, Cause: CauseWatch}}
	if there {
		r.Type, r.Old, r.recreated = Updated, old, recreated
		if recreated && !m.queue.merge {
			m.sent++
			delete(m.due, key) // the one that was there is gone
		}
	}
	m.queueUp(r)
}

func (m *queueModel) remove(key string) {
	old, there := m.world.Get(key)
	if !there {
		return
	}
	if err := m.world.Delete(context.Background(), old); err != nil {
		m.t.Fatal(err)
	}
	m.sent++
	delete(m.due, key) // there is nothing left to be told of
	m.queueUp(record[thing]{Change: Change[thing]{Type: Deleted, Key: key, Old: old, Cause: CauseWatch}})
}

// queueUp queues a change, in a burst of as many as the program asks for, or by itself.
func (m *queueModel) queueUp(r record[thing]) {
	r.hash = hashOfKey(r.Key)
	if m.alone {
		m.queue.add(&r, time.Duration(m.n))
		return
	}
	// Records of one key lie side by side.
	at := len(m.burst)
	for n := range m.burst {
		if m.burst[n].Key == r.Key {
			at = n + 1
		}
	}
	m.burst = slices.Insert(m.burst, at, r)
	if len(m.burst) >= m.bursts {
		m.publish()
	}
}

// publish hands the burst over, as an informer does at the end of a batch.
func (m *queueModel) publish() {
	if len(m.burst) == 0 {
		return
	}
	m.queue.addBurst(m.log.append(m.burst, m.queue.shared.next(), time.Duration(m.n)))
	m.burst = nil
}

func (m *queueModel) sweep(cause Cause) {
	m.publish() // a sweep begins between two batches
	if m.queue.sweep == nil {
		m.queue.startSweep(cause, snapshotOf(m.world.view), time.Duration(m.n))
	}
}

// handle is the handler: the automaton of a lifecycle for each key.
func (m *queueModel) handle(changes []Change[thing]) {
	m.check() // nothing of this counts before it is done
	for _, c := range changes {
		shown, there := m.shown[c.Key]
		idle := c.Cause == CauseResync || c.Cause == CauseScope
		if !idle && c.Cause != CauseInitial {
			m.got++
		}
		switch {
		case c.Type == Added && !there:
			m.shown[c.Key] = c.New
		case c.Type == Updated && there && c.Old == shown && (c.New.n > shown.n && !idle || c.New == shown && idle):
			m.shown[c.Key] = c.New
		case c.Type == Deleted && there && c.Old.n >= shown.n:
			delete(m.shown, c.Key)
		default:
			m.t.Fatalf("told %+v, was shown %+v %v", c, shown, there)
		}
		m.told[c.Key] = max(c.New.n, c.Old.n)
	}
	m.queue.done()
}

// check holds at any moment: no early sync, and memory by keys.
func (m *queueModel) check() {
	if m.queue.told() {
		for key, n := range m.due {
			if m.told[key] < n {
				m.t.Fatalf("synced without %s at %d, told %v", key, n, m.told)
			}
		}
	}
	if !m.queue.every && m.queue.count > 2*16 {
		m.t.Fatalf("%d entries for 16 keys", m.queue.count)
	}
}

// rest takes what is left, after which handler and world agree.
func (m *queueModel) rest() {
	m.publish()
	for {
		c, ok := m.queue.pop()
		if !ok {
			break
		}
		m.handle([]Change[thing]{c})
	}
	m.check()
	if got, want := fmt.Sprint(slices.Sorted(maps.Keys(m.shown))), m.world.Keys(); got != fmt.Sprint(slices.Sorted(slices.Values(want))) {
		m.t.Fatalf("handler has %v, store %v", got, want)
	}
	for key, obj := range m.world.All() {
		if m.shown[key] != obj {
			m.t.Fatalf("handler has %v, store %v", m.shown[key], obj)
		}
	}
	if m.due != nil && !m.queue.told() {
		m.t.Fatalf("all was told, and no sync: %d open", m.queue.open)
	}
	if m.queue.every && m.got != m.sent {
		m.t.Fatalf("%d of %d changes", m.got, m.sent)
	}
	if m.queue.depth() != 0 || len(m.queue.pending) != 0 || !m.queue.shared.empty() || m.queue.head != 0 || m.queue.tail != 0 {
		m.t.Fatalf("left over: %+v", m.queue)
	}
}

func runQueueModel(t *testing.T, program []byte) {
	if len(program) == 0 {
		return
	}
	m := newQueueModel(t, program[0])
	for _, op := range program[1:] {
		m.step(op)
	}
	m.rest()
}

func FuzzChangeQueue(f *testing.F) {
	for flags := range byte(64) {
		f.Add(append([]byte{flags}, "\x00\x10\x20\x0a\x0f\x00\x14\x25\x08\x00\x0f\x07\x09\x05\x00\x17"...))
	}
	f.Fuzz(runQueueModel)
}

func TestChangeQueueModel(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 4))
		program := make([]byte, 1+random.IntN(200))
		for n := range program {
			program[n] = byte(random.Uint32())
		}
		ok := t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { runQueueModel(t, program) })
		if !ok {
			t.Fatalf("program %x", program)
		}
	}
}

// queueChange reads "+a1", "~a1:2", "-a2", "-a2?" (final state unknown), "!a1:2"
// (recreated); a letter in front is the cause: I, W, V, R, S, P (resync).
func queueChange(text string) record[thing] {
	causes := map[byte]Cause{'I': CauseInitial, 'W': CauseWatch, 'V': CauseVerify, 'R': CauseRelist, 'S': CauseScope, 'P': CauseResync}
	kind, key, states := text[1], text[2:3], text[3:]
	states, unknown := strings.CutSuffix(states, "?")
	var from, to int
	if n, _ := fmt.Sscanf(states, "%d:%d", &from, &to); n == 1 {
		to = from
	}
	r := record[thing]{Change: Change[thing]{Key: key, Cause: causes[text[0]], FinalStateUnknown: unknown}}
	switch kind {
	case '+':
		r.Type, r.New = Added, thing{key, to}
	case '-':
		r.Type, r.Old = Deleted, thing{key, from}
	default:
		r.Type, r.Old, r.New, r.recreated = Updated, thing{key, from}, thing{key, to}, kind == '!'
	}
	return r
}

func showChange(c Change[thing]) string {
	cause := map[Cause]string{CauseInitial: "I", CauseWatch: "W", CauseVerify: "V", CauseRelist: "R", CauseScope: "S", CauseResync: "P"}[c.Cause]
	switch c.Type {
	case Added:
		return fmt.Sprintf("%s+%s%d", cause, c.Key, c.New.n)
	case Updated:
		return fmt.Sprintf("%s~%s%d:%d", cause, c.Key, c.Old.n, c.New.n)
	}
	unknown := ""
	if c.FinalStateUnknown {
		unknown = "?"
	}
	return fmt.Sprintf("%s-%s%d%s", cause, c.Key, c.Old.n, unknown)
}

func TestChangeQueueMerges(t *testing.T) {
	for _, test := range []struct {
		name, in, want string
		every, merge   bool
	}{
		{name: "first old to last new", in: "W~a1:2 W~a2:3 W~a3:4", want: "W~a1:4"},
		{name: "unseen and updated", in: "I+a1 W~a1:2", want: "I+a2"},
		{name: "unseen and gone", in: "W+a1 W-a1 W+b1", want: "W+b1"},
		{name: "unseen, gone and back", in: "I+a1 W-a1 W+a2", want: "W+a2"},
		{name: "seen and gone", in: "W~a1:2 R-a2?", want: "R-a2?"},
		{name: "gone with the final state", in: "R~a1:2 W-a3", want: "W-a3"},
		{name: "gone and back", in: "W-a1 W+a2", want: "W-a1 W+a2"},
		{name: "gone, back and updated", in: "W-a1 R+a2 W~a2:3", want: "W-a1 W+a3"},
		{name: "gone, back and gone", in: "W-a1 W+a2 W~a2:3 R-a3?", want: "R-a3?"},
		{name: "gone, back, gone and back", in: "W-a1 W+a2 W-a2 W+a3", want: "W-a2 W+a3"},
		{name: "order of arrival", in: "W~a1:2 W~b1:2 W~a2:3", want: "W~a1:3 W~b1:2"},
		{name: "recreated", in: "R!a1:2", want: "R-a1? R+a2"},
		{name: "recreated unseen", in: "I+a1 R!a1:2", want: "R+a2"},
		{name: "recreated and updated", in: "R!a1:2 W~a2:3", want: "R-a1? W+a3"},
		{name: "recreated, merged", merge: true, in: "R!a1:2", want: "R~a1:2"},
		{name: "relist and event", in: "R~a1:2 W~a2:3", want: "W~a1:3"},
		{name: "event and relist", in: "W~a1:2 R~a2:3", want: "W~a1:3"},
		{name: "verify and relist", in: "R~a1:2 V~a2:3", want: "V~a1:3"},
		{name: "every change", every: true, in: "W+a1 W~a1:2 W-a2 W+a3", want: "W+a1 W~a1:2 W-a2 W+a3"},
		{name: "every change, recreated", every: true, in: "R!a1:2 W~a2:3", want: "R-a1? R+a2 W~a2:3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := changeQueue[thing]{every: test.every, merge: test.merge}
			for text := range strings.FieldsSeq(test.in) {
				r := queueChange(text)
				q.add(&r, 0)
			}
			var got []string
			for _, c := range q.popAll(0) {
				got = append(got, showChange(c))
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// A blocked handler costs memory by keys, also where keys come and go.
func TestChangeQueueMemory(t *testing.T) {
	var q changeQueue[thing]
	for n := range 100_000 {
		key := fmt.Sprint("job-", n)
		q.add(&record[thing]{Change: Change[thing]{Type: Added, Key: key, New: thing{key, n}}}, 0)
		q.add(&record[thing]{Change: Change[thing]{Type: Updated, Key: "a", Old: thing{"a", n}, New: thing{"a", n + 1}}}, 0)
		q.add(&record[thing]{Change: Change[thing]{Type: Deleted, Key: key, Old: thing{key, n}}}, 0)
	}
	if q.depth() != 1 || len(q.entries) > 2 {
		t.Errorf("depth %d, %d entries", q.depth(), len(q.entries))
	}
	if c, ok := q.pop(); !ok || c.Old.n != 0 || c.New.n != 100_000 {
		t.Errorf("got %+v", c)
	}
}

// What an idle queue keeps is small, whatever went through it.
func TestChangeQueueShrinks(t *testing.T) {
	var q changeQueue[thing]
	for n := range 10 * maxIdleEntries {
		key := fmt.Sprint(n)
		q.add(&record[thing]{Change: Change[thing]{Type: Added, Key: key}}, 0)
	}
	if got := len(q.popAll(0)); got != 10*maxIdleEntries {
		t.Errorf("%d changes", got)
	}
	q.done()
	if cap(q.entries) > maxIdleEntries {
		t.Errorf("keeps %d entries", cap(q.entries))
	}
}
