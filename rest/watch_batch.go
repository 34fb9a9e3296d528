// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"runtime"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/internal/carry"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Bounds of a batch of events: few of them, so that none waits long for the last. A burst is
// worth a goroutine and its decoder where so much of it is there already.
const (
	eventBytes = 16 << 10
	burstBytes = 8 << 10
)

// undecoded is an object of an event that has not been decoded yet. Its bytes are valid
// until the next event is read.
type undecoded struct{ raw []byte }

func (u *undecoded) GetObjectKind() schema.ObjectKind     { return schema.EmptyObjectKind }
func (u *undecoded) DeepCopyObject() apiruntime.Object    { return &undecoded{bytes.Clone(u.raw)} }
func (u *undecoded) is(event watch.Event, err error) bool { return err == nil && event.Object == u }

// batches has events decoded while the next ones are read, where these are there already:
// a burst, such as the initial events of a watch. A single event is decoded where it was
// read, and delivered at once. Each batch is decoded by a goroutine of its own, which ends
// with it and delivers after the one before, so that a watch without events has none.
type batches[T informer.Object] struct {
	w       *watcher[T]
	free    chan *eventBatch[T] // all that may be in flight; nil: none
	filling *eventBatch[T]
	last    *eventBatch[T] // handed over; nil: none
}

type eventBatch[T informer.Object] struct {
	types []watch.EventType
	raw   []byte
	ends  []int // of each object in raw
	done  chan struct{}
}

func newBatches[T informer.Object](w *watcher[T]) *batches[T] {
	b := &batches[T]{w: w}
	limit := min(runtime.GOMAXPROCS(0)-1, maxWorkers)
	if limit < 1 {
		return b
	}
	b.free = make(chan *eventBatch[T], limit+1)
	for range cap(b.free) {
		b.free <- &eventBatch[T]{}
	}
	return b
}

// takes reports whether an event is to be added: others are there, before it or after it.
func (b *batches[T]) takes() bool {
	return b.free != nil && (b.busy() || b.w.source.ready() >= burstBytes)
}

// busy reports whether a batch is not delivered yet.
func (b *batches[T]) busy() bool {
	if b.filling != nil {
		return true
	}
	if b.last == nil {
		return false
	}
	select {
	case <-b.last.done:
		b.last = nil
		return false
	default:
		return true
	}
}

// add takes a copy of an object's bytes, and hands the batch over when it is full, or the
// next event is not there yet.
func (b *batches[T]) add(kind watch.EventType, raw []byte) {
	if b.filling == nil {
		b.filling = <-b.free // given back even when the watch has been stopped
	}
	f := b.filling
	f.types = append(f.types, kind)
	f.raw = append(f.raw, raw...)
	f.ends = append(f.ends, len(f.raw))
	if len(f.raw) >= eventBytes || b.w.source.ready() == 0 {
		b.submit()
	}
}

func (b *batches[T]) submit() {
	batch, before := b.filling, b.last
	if batch == nil {
		return
	}
	batch.done = make(chan struct{})
	var after chan struct{}
	if before != nil {
		after = before.done
	}
	b.filling, b.last = nil, &eventBatch[T]{done: batch.done}
	go b.run(batch, after)
}

// run decodes a batch, and delivers it once the one before it is.
func (b *batches[T]) run(batch *eventBatch[T], after chan struct{}) {
	done := batch.done
	events := make([]watch.Event, 0, len(batch.ends))
	start := 0 // of the object that is being decoded
	carry.Catch(func() {
		decode := b.w.codec.take()
		for i, end := range batch.ends {
			obj := b.w.codec.object(decode, batch.raw[start:end:end])
			events = append(events, watch.Event{Type: batch.types[i], Object: obj})
			start = end
		}
		b.w.codec.give(decode)
	}, func(left *carry.Left) {
		defer close(done)
		if after != nil {
			<-after
		}
		wanted := b.w.sendAll(events)
		if left != nil && wanted {
			b.w.abandon(left, batch.raw[start:batch.ends[len(events)]])
		}
		b.reuse(batch)
	})
}

// reuse takes back the memory of a batch.
func (b *batches[T]) reuse(batch *eventBatch[T]) {
	batch.types, batch.raw, batch.ends = batch.types[:0], batch.raw[:0], batch.ends[:0]
	if cap(batch.raw) > 4*eventBytes {
		batch.raw = nil
	}
	b.free <- batch // there is room for all
}

// settle waits until all events are delivered, or nobody wants them any more.
func (b *batches[T]) settle() {
	b.submit()
	if b.last != nil {
		<-b.last.done
		b.last = nil
	}
}

// ready returns how much has been read from the connection beyond the last event; 0: less
// than the next one, so that reading it may wait. Servers end each event with a new line.
func (w *jsonEvents[T]) ready() int {
	first := bytes.TrimLeft(w.in.decoder.UnreadBuffer(), space)
	second, _ := w.in.buffer.Peek(w.in.buffer.Buffered())
	if len(first) == 0 {
		second = bytes.TrimLeft(second, space)
	}
	if !endsEvent(first) && !endsEvent(second) {
		return 0
	}
	return len(first) + len(second)
}

const space = " \t\r\n"

// endsEvent looks for a new line that is none within an event, if that has several lines:
// there, what is behind one or, at the end of what has come, before it is indented.
func endsEvent(b []byte) bool {
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return false
		}
		line, rest := b[:i], bytes.TrimLeft(b[i+1:], space)
		if len(rest) == 0 {
			line = bytes.TrimRight(line, space)
			return bytes.HasSuffix(line, []byte("}")) && line[0] != ' ' && line[0] != '\t'
		}
		blank := b[:len(b)-len(rest)] // this line, and those behind it that say nothing
		if b = b[bytes.LastIndexByte(blank, '\n')+1:]; b[0] == '{' {
			return true
		}
	}
}
