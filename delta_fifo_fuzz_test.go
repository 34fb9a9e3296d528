// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sort"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestDeltaFIFOModel runs the fuzz target over random inputs, so that every test run has it.
func TestDeltaFIFOModel(t *testing.T) {
	for seed := range uint64(200) {
		source := rand.New(rand.NewPCG(seed, 1))
		input := make([]byte, 400)
		for i := range input {
			input[i] = byte(source.UintN(256))
		}
		runFIFOModel(t, input)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzDeltaFIFO(f *testing.F) {
	f.Add([]byte("0aAbBcCdDeEfFgGhHiIjJkKlL"))
	f.Add([]byte("1lLkKjJiIhHgGfFeEdDcCbBaA"))
	f.Fuzz(runFIFOModel)
}

// fifoModel is a server, a queue, and a consumer that keeps what it processes.
type fifoModel struct {
	t      *testing.T
	f      *DeltaFIFO[*metav1.PartialObjectMetadata]
	input  []byte
	clock  int
	server map[string]*metav1.PartialObjectMetadata
	known  *fifoMap
	missed bool // the server changed and the queue was not told

	events  []fifoEvent    // that the queue was told and has to hand out
	applied map[string]int // the newest version processed, by key
	written string         // version of the last write
	batch   *batch[*metav1.PartialObjectMetadata]
}

type fifoEvent struct {
	key     string
	version int
}

var errFIFOModel = errors.New("model")

func runFIFOModel(t *testing.T, input []byte) {
	m := &fifoModel{
		t: t, input: input, known: newFIFOMap(), applied: map[string]int{},
		server: map[string]*metav1.PartialObjectMetadata{},
	}
	m.f = NewDeltaFIFO(DeltaFIFOOptions[*metav1.PartialObjectMetadata]{KnownObjects: m.known})
	mode := m.next()
	batches := mode%2 == 1
	if mode%4 == 3 {
		m.f.batching, m.f.wholeFrom = true, 1 // first lists are queued whole
	}
	for len(m.input) > 0 && !t.Failed() {
		switch op := m.next() % 8; {
		case op < 5:
			m.write()
		case batches && m.batch == nil:
			m.takeBatch()
		case batches:
			m.batchDone()
		case op < 7:
			m.pop(m.next())
		default:
			m.pop(0)
		}
		m.checkVersion()
	}
	m.rest(batches)
}

// next returns the next byte of the input, 0 at its end.
func (m *fifoModel) next() byte {
	if len(m.input) == 0 {
		return 0
	}
	b := m.input[0]
	m.input = m.input[1:]
	return b
}

// write lets the server change, or not, and the queue hear of it, or not.
func (m *fifoModel) write() {
	key := string(rune('a' + m.next()%5))
	switch op := m.next() % 16; {
	case op < 6:
		m.put(key, true)
	case op < 9:
		m.remove(key, true)
	case op == 9:
		m.put(key, false)
	case op == 10:
		m.remove(key, false)
	case op == 11:
		m.strayDeletes(key)
	case op == 12:
		m.must(m.f.Resync(context.Background()))
	case op == 13:
		m.clock++
		m.written = strconv.Itoa(m.clock)
		m.must(m.f.Bookmark(context.Background(), m.written))
	default:
		m.list()
	}
}

func (m *fifoModel) put(key string, told bool) {
	m.clock++
	obj := &metav1.PartialObjectMetadata{}
	obj.Name, obj.ResourceVersion = key, strconv.Itoa(m.clock)
	old := m.server[key]
	obj.UID = types.UID("u" + obj.ResourceVersion)
	if old != nil {
		obj.UID = old.UID
	}
	m.server[key] = obj
	switch {
	case !told:
		m.missed = true
		return
	case old == nil:
		m.must(m.f.Add(context.Background(), obj))
	default:
		m.must(m.f.Update(context.Background(), obj))
	}
	m.told(key)
}

func (m *fifoModel) told(key string) {
	m.written = strconv.Itoa(m.clock)
	m.events = append(m.events, fifoEvent{key, m.clock})
}

func (m *fifoModel) remove(key string, told bool) {
	old := m.server[key]
	if old == nil {
		return
	}
	m.clock++
	delete(m.server, key)
	if !told {
		m.missed = true
		return
	}
	last := old.DeepCopy()
	last.ResourceVersion = strconv.Itoa(m.clock)
	_, uid, held := m.f.Identity(old)
	m.must(m.f.Delete(context.Background(), last))
	m.written = last.ResourceVersion
	if held && uid == old.UID {
		m.events = append(m.events, fifoEvent{key, m.clock})
	}
}

// strayDeletes are of objects that are not there: nothing may come of them.
func (m *fifoModel) strayDeletes(key string) {
	for _, name := range []string{"never", key} {
		m.clock++
		m.written = strconv.Itoa(m.clock)
		obj := &metav1.PartialObjectMetadata{}
		obj.Name, obj.UID, obj.ResourceVersion = name, "other", m.written
		m.must(m.f.Delete(context.Background(), obj))
	}
}

func (m *fifoModel) list() {
	var items []*metav1.PartialObjectMetadata
	for _, obj := range m.server {
		items = append(items, obj.DeepCopy())
	}
	sort.Slice(items, func(i, j int) bool { return items[i].Name < items[j].Name })
	m.clock++
	m.written = strconv.Itoa(m.clock)
	r, err := m.f.BeginReplace(context.Background())
	m.must(err)
	for _, item := range items {
		m.listItem(r, item, m.next())
	}
	m.must(r.Commit(m.written))
	m.missed = false
}

// listItem puts an item in, or keeps what is known of it, or several of these.
func (m *fifoModel) listItem(r Replacement[*metav1.PartialObjectMetadata], item *metav1.PartialObjectMetadata, how byte) {
	version, uid, ok := m.f.Identity(item)
	same := ok && version == item.ResourceVersion && uid == item.UID
	if how&8 != 0 {
		m.must(r.Put(item.DeepCopy()))
	}
	if how&4 != 0 {
		m.must(r.Remove(item))
	}
	if same && how&2 != 0 {
		r.Keep(&bareName{*item})
	}
	if !same || how&3 != 2 {
		m.must(r.Put(item))
	}
}

// bareName is an item that is no object of the queue's type.
type bareName struct{ metav1.PartialObjectMetadata }

// pop succeeds, fails or panics, and may write from within.
func (m *fifoModel) pop(how byte) {
	if m.f.Len() == 0 {
		return
	}
	defer func() {
		if p := recover(); p != nil && p != errFIFOModel {
			panic(p)
		}
	}()
	err := m.f.Pop(context.Background(), func(deltas Deltas[*metav1.PartialObjectMetadata]) error {
		if how&4 != 0 {
			m.write()
		}
		switch how & 3 {
		case 1:
			return errFIFOModel
		case 2:
			panic(errFIFOModel)
		}
		m.apply(deltas)
		return nil
	})
	if err != nil && err != errFIFOModel {
		m.t.Errorf("Pop: %v", err)
	}
}

func (m *fifoModel) takeBatch() {
	if m.f.Len() == 0 {
		return
	}
	b, err := m.f.takeBatch(context.Background())
	m.must(err)
	m.batch = &b
}

func (m *fifoModel) batchDone() {
	for deltas := range m.batch.all {
		m.apply(deltas)
	}
	m.f.batchDone()
	m.batch = nil
}

// apply checks the life of the key, delta by delta.
func (m *fifoModel) apply(deltas Deltas[*metav1.PartialObjectMetadata]) {
	last, present := m.known.last[deltas.Key()]
	for _, d := range deltas {
		if d.Key != deltas.Key() || d.Object == nil || d.Object.Name != d.Key {
			m.t.Errorf("delta of %s among those of %s", d.Key, deltas.Key())
		}
		if (d.Type == DeltaDeleted || d.Type == DeltaSync) && !present {
			m.t.Errorf("%s %s, which is not present", d.Type, d.Key)
		}
		if d.Type == DeltaDeleted && d.UID != last.UID {
			m.t.Errorf("Deleted %s of UID %s, present is %s", d.Key, d.UID, last.UID)
		}
		last, present = d, d.Type != DeltaDeleted
		version, _ := strconv.Atoi(d.ResourceVersion)
		m.applied[d.Key] = max(m.applied[d.Key], version)
	}
	if present {
		m.known.last[deltas.Key()] = last
	} else {
		delete(m.known.last, deltas.Key())
	}
}

// checkVersion wants all that was told up to the completed version to be processed.
func (m *fifoModel) checkVersion() {
	completed, _ := strconv.Atoi(m.f.ResourceVersion())
	for _, e := range m.events {
		if e.version <= completed && m.applied[e.key] < e.version {
			m.t.Errorf("version %d with %s@%d not processed", completed, e.key, e.version)
		}
	}
}

// rest lets everything be processed, and compares consumer and server.
func (m *fifoModel) rest(batches bool) {
	if m.missed {
		m.list()
	}
	for (m.f.Len() > 0 || m.batch != nil) && !m.t.Failed() {
		switch {
		case !batches:
			m.pop(0)
		case m.batch == nil:
			m.takeBatch()
		default:
			m.batchDone()
		}
	}
	m.checkVersion()
	if got := m.f.ResourceVersion(); !batches && got != m.written {
		m.t.Errorf("version at rest %q, want %q", got, m.written)
	}
	if !batches && m.known.version != m.written {
		m.t.Errorf("known objects were told %q, want %q", m.known.version, m.written)
	}
	for key, obj := range m.server {
		if got := m.known.last[key]; got.ResourceVersion != obj.ResourceVersion || got.UID != obj.UID {
			m.t.Errorf("%s is @%s/%s, want @%s/%s", key, got.ResourceVersion, got.UID, obj.ResourceVersion, obj.UID)
		}
	}
	if len(m.known.last) != len(m.server) {
		m.t.Errorf("%d keys, want %d", len(m.known.last), len(m.server))
	}
}

func (m *fifoModel) must(err error) {
	if err != nil {
		m.t.Errorf("unexpected: %v", err)
	}
}

// fifoMap is a consumer's map, for one goroutine.
type fifoMap struct {
	last    map[string]Delta[*metav1.PartialObjectMetadata]
	version string
}

func newFIFOMap() *fifoMap {
	return &fifoMap{last: map[string]Delta[*metav1.PartialObjectMetadata]{}}
}

func (k *fifoMap) Len() int { return len(k.last) }

func (k *fifoMap) Keys() []string {
	var keys []string
	for key := range k.last {
		keys = append(keys, key)
	}
	return keys
}

func (k *fifoMap) Get(key string) (*metav1.PartialObjectMetadata, bool) {
	d, ok := k.last[key]
	return d.Object, ok
}

func (k *fifoMap) Identity(key string) (string, types.UID, bool) {
	d, ok := k.last[key]
	return d.ResourceVersion, d.UID, ok
}

func (k *fifoMap) Bookmark(_ context.Context, version string) error {
	k.version = version
	return nil
}

func (k *fifoMap) fill(n int) []*metav1.PartialObjectMetadata {
	objs := make([]*metav1.PartialObjectMetadata, n)
	for i := range objs {
		obj := &metav1.PartialObjectMetadata{}
		obj.Namespace, obj.Name = "ns", fmt.Sprintf("obj-%d", i)
		obj.UID, obj.ResourceVersion = types.UID(obj.Name), strconv.Itoa(i+1)
		key := JoinKey(obj.Namespace, obj.Name)
		k.last[key] = Delta[*metav1.PartialObjectMetadata]{Key: key, Object: obj, UID: obj.UID, ResourceVersion: obj.ResourceVersion}
		objs[i] = obj
	}
	return objs
}
