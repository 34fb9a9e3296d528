// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"runtime"
	"sync"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/internal/carry"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

// Bounds of a pipeline. A batch is large enough that handing it over costs nothing beside
// decoding it; what is on its way counts by its bytes, so that large items take turns.
const (
	batchBytes  = 32 << 10
	flightBytes = 4 * batchBytes // for each worker
	maxWorkers  = 8
)

// pipeline decodes the items of a list on several goroutines while the next ones are
// read, and delivers them in their order, on the goroutine that adds them. It holds
// flightBytes a worker, or one item, and two batches again.
type pipeline[T informer.Object] struct {
	codec   *codec[T]
	deliver func(obj apiruntime.Object) error
	limit   int           // of workers; 0: all is decoded where it is read
	eager   int           // bytes that are decoded where they are read, before workers are called in
	decode  decodeFunc[T] // of the goroutine that reads; nil: it has none at the moment

	filling *decodeBatch
	spare   []*decodeBatch
	flight  []*decodeBatch // the oldest first
	bytes   int            // of those in flight
	workers int
	work    chan *decodeBatch
	wait    sync.WaitGroup
}

// decodeBatch is some items in a row.
type decodeBatch struct {
	raw     []byte
	ends    []int               // of each item in raw
	objects []apiruntime.Object // nil: to be decoded
	left    *carry.Left         // nil: all are decoded
	done    chan struct{}
}

func newPipeline[T informer.Object](codec *codec[T], deliver func(apiruntime.Object) error) *pipeline[T] {
	limit := min(runtime.GOMAXPROCS(0)-1, maxWorkers)
	return &pipeline[T]{codec: codec, deliver: deliver, limit: limit, eager: batchBytes, filling: newBatch()}
}

func newBatch() *decodeBatch { return &decodeBatch{done: make(chan struct{}, 1)} }

// add has an item decoded. Those of a short list, and the first ones of a long one, are
// delivered at once.
func (p *pipeline[T]) add(raw []byte) error {
	if p.limit < 1 || p.eager > 0 {
		p.eager -= len(raw)
		return p.deliver(p.codec.object(p.mine(), raw))
	}
	return p.append(raw, nil)
}

// mine returns the decoder of the goroutine that reads.
func (p *pipeline[T]) mine() decodeFunc[T] {
	if p.decode == nil {
		p.decode = p.codec.take()
	}
	return p.decode
}

// addObject adds what needs no decoding.
func (p *pipeline[T]) addObject(obj apiruntime.Object) error {
	if p.limit < 1 || p.eager > 0 {
		return p.deliver(obj)
	}
	return p.append(nil, obj)
}

// append takes a copy of an item's bytes.
func (p *pipeline[T]) append(raw []byte, obj apiruntime.Object) error {
	b := p.filling
	if len(b.ends) > 0 && len(b.raw)+len(raw) > batchBytes {
		if err := p.submit(); err != nil {
			return err
		}
		b = p.filling
	}
	if b.raw == nil {
		b.raw = make([]byte, 0, max(batchBytes, len(raw)))
	}
	b.raw = append(b.raw, raw...)
	b.ends = append(b.ends, len(b.raw))
	b.objects = append(b.objects, obj)
	return nil
}

// submit has the batch decoded, and delivers what is due.
func (p *pipeline[T]) submit() error {
	b := p.filling
	p.filling = p.fresh()
	if p.work == nil {
		p.work = make(chan *decodeBatch, maxWorkers*flightBytes/batchBytes)
	}
	if p.workers < p.limit && p.workers <= len(p.flight) {
		p.workers++
		p.wait.Go(p.run)
	}
	for len(p.flight) > 0 && (p.bytes+len(b.raw) > p.limit*flightBytes || len(p.flight) == cap(p.work)) {
		if err := p.deliverOldest(); err != nil {
			return err
		}
	}
	p.flight = append(p.flight, b)
	p.bytes += len(b.raw)
	p.work <- b // there is room for all in flight
	return nil
}

func (p *pipeline[T]) fresh() *decodeBatch {
	last := len(p.spare) - 1
	if last < 0 {
		return newBatch()
	}
	b := p.spare[last]
	p.spare = p.spare[:last]
	return b
}

// run is one worker. A panic ends it, and nothing behind that will be delivered.
func (p *pipeline[T]) run() {
	decode := p.codec.take()
	for b := range p.work {
		if !p.decodeSafely(decode, b) {
			return
		}
	}
	p.codec.give(decode)
}

// decodeSafely reports whether all was decoded. If not, b says why, and the decoder may be in
// any state.
func (p *pipeline[T]) decodeSafely(decode decodeFunc[T], b *decodeBatch) (whole bool) {
	carry.Catch(func() { p.decodeBatch(decode, b) }, func(left *carry.Left) {
		b.left, whole = left, left == nil
		b.done <- struct{}{} // b is not this goroutine's any more
	})
	return whole
}

func (p *pipeline[T]) decodeBatch(decode decodeFunc[T], b *decodeBatch) {
	start := 0
	for i, end := range b.ends {
		if b.objects[i] == nil {
			b.objects[i] = p.codec.object(decode, b.raw[start:end:end])
		}
		start = end
	}
}

func (p *pipeline[T]) deliverOldest() error {
	b := p.flight[0]
	copy(p.flight, p.flight[1:])
	p.flight[len(p.flight)-1] = nil
	p.flight = p.flight[:len(p.flight)-1]
	p.await(b)
	p.bytes -= len(b.raw)
	b.left.GoOn()
	return p.hand(b)
}

// await waits for a batch. Where reading is faster than decoding, who reads decodes meanwhile
// what no worker has begun with.
func (p *pipeline[T]) await(b *decodeBatch) {
	for {
		select {
		case <-b.done:
			return
		default:
		}
		select {
		case <-b.done:
			return
		case next := <-p.work:
			mine := p.mine()
			p.decode = nil // unless it comes back whole
			if p.decodeSafely(mine, next) {
				p.decode = mine
			}
		}
	}
}

// hand delivers the objects of a batch, and keeps its memory for the next.
func (p *pipeline[T]) hand(b *decodeBatch) error {
	for _, obj := range b.objects {
		if err := p.deliver(obj); err != nil {
			return err
		}
	}
	if cap(b.raw) <= 2*batchBytes {
		clear(b.objects)
		b.raw, b.ends, b.objects = b.raw[:0], b.ends[:0], b.objects[:0]
		p.spare = append(p.spare, b)
	}
	return nil
}

// flush delivers all that was added.
func (p *pipeline[T]) flush() error {
	if len(p.filling.ends) > 0 {
		if err := p.submit(); err != nil {
			return err
		}
	}
	for len(p.flight) > 0 {
		if err := p.deliverOldest(); err != nil {
			return err
		}
	}
	return nil
}

// close ends the workers and waits for them.
func (p *pipeline[T]) close() {
	if p.work != nil {
		close(p.work)
	}
	p.wait.Wait()
	if p.decode != nil {
		p.codec.give(p.decode)
	}
}
