// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// lifeHandler holds what it is told against the life of an object: Added, Updated, Deleted.
type lifeHandler struct {
	t     *testing.T
	name  string
	pace  time.Duration
	shown map[string]fifoMeta
}

func (h *lifeHandler) Handle(_ context.Context, c Change[fifoMeta]) {
	time.Sleep(h.pace)
	old, there := h.shown[c.Key]
	if there != (c.Type != Added) {
		h.t.Errorf("%s: %s of %s, which it was shown: %v", h.name, c.Type, c.Key, there)
	}
	if there && (c.Old.UID != old.UID || c.Type == Updated && c.Old.ResourceVersion != old.ResourceVersion) {
		h.t.Errorf("%s: %s of %s from %s, shown at %s", h.name, c.Type, c.Key, c.Old.ResourceVersion, old.ResourceVersion)
	}
	if delete(h.shown, c.Key); c.Type != Deleted {
		h.shown[c.Key] = c.New
	}
}

// lifeBatches is a lifeHandler that takes batches.
type lifeBatches struct{ *lifeHandler }

func (h lifeBatches) HandleBatch(ctx context.Context, changes []Change[fifoMeta]) {
	for _, c := range changes {
		h.Handle(ctx, c)
	}
}

// life is an informer whose first list is queued whole, with what its source has.
type life struct {
	t             *testing.T
	r             *rand.Rand
	i             *Informer[fifoMeta]
	events        *watch.FakeWatcher
	version       int
	model         map[string]fifoMeta
	handlers      []*lifeHandler
	registrations []*Registration
}

func newLife(t *testing.T, r *rand.Rand) *life {
	l := &life{t: t, r: r, events: watch.NewFakeWithChanSize(1000, false), version: 1, model: map[string]fifoMeta{}}
	list := &ObjectList[fifoMeta]{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for n := range 2 + r.IntN(20) {
		obj := fifoNamed(fmt.Sprint("k", n), "1")
		obj.UID = types.UID(fmt.Sprint("u", n))
		l.model[obj.Name] = obj
		list.Items = append(list.Items, obj)
	}
	slow := time.Duration(r.IntN(3)) * time.Millisecond
	l.i = New[fifoMeta](&ListWatch{
		ListFunc:    func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list, nil },
		WatchFunc:   func(context.Context, metav1.ListOptions) (watch.Interface, error) { return l.events, nil },
		NoWatchList: true,
	}, Options[fifoMeta]{Indexers: Indexers[fifoMeta]{"slow": func(obj fifoMeta) ([]string, error) {
		time.Sleep(slow) // handlers join meanwhile
		return []string{obj.ResourceVersion}, nil
	}}})
	l.i.queue.wholeFrom = 2
	return l
}

// send sends an event: of a new object, of one that is there, or was recreated, or is gone.
func (l *life) send() {
	l.version++
	obj := fifoNamed(fmt.Sprint("k", l.r.IntN(25)), fmt.Sprint(l.version))
	old := l.model[obj.Name]
	if old == nil {
		obj.UID = types.UID("u-" + obj.ResourceVersion)
		l.model[obj.Name] = obj
		l.events.Add(obj)
		return
	}
	switch obj.UID = old.UID; l.r.IntN(6) {
	case 0, 1:
		delete(l.model, obj.Name)
		l.events.Delete(obj)
		return
	case 2:
		obj.UID += "x"
	}
	l.model[obj.Name] = obj
	l.events.Modify(obj)
}

// join adds a handler of some kind.
func (l *life) join() {
	h := &lifeHandler{t: l.t, name: fmt.Sprint("handler ", len(l.handlers)), shown: map[string]fifoMeta{}}
	h.pace = time.Duration(l.r.IntN(4)) * time.Millisecond
	options := HandlerOptions{Name: h.name, EveryChange: l.r.IntN(2) == 0, Resync: time.Duration(l.r.IntN(3)) * 70 * time.Millisecond}
	if options.EveryChange && l.r.IntN(3) == 0 {
		options.Limit = 1 + l.r.IntN(5)
	}
	handler := Handler[fifoMeta](h)
	if l.r.IntN(3) == 0 {
		handler = lifeBatches{h}
	}
	registration, err := l.i.AddHandler(handler, options)
	fifoCheck(l.t, err)
	l.handlers, l.registrations = append(l.handlers, h), append(l.registrations, registration)
}

func (l *life) check() {
	for n, h := range l.handlers {
		if !l.registrations[n].HasSynced() || len(h.shown) != len(l.model) {
			l.t.Errorf("%s has synced: %v, and was shown %d objects of %d", h.name, l.registrations[n].HasSynced(), len(h.shown), len(l.model))
		}
		for key, obj := range l.model {
			if h.shown[key] != obj {
				l.t.Errorf("%s was not shown the last state of %s", h.name, key)
			}
		}
	}
	s := l.i.store
	if !l.i.HasSynced() || s.Len() != len(l.model) || s.ResourceVersion() != fmt.Sprint(l.version) {
		l.t.Errorf("synced %v, %d objects of %d, at %s of %d", l.i.HasSynced(), s.Len(), len(l.model), s.ResourceVersion(), l.version)
	}
	fifoCheck(l.t, s.s.table.Check())
}

// Whatever comes while a first list is applied whole, each handler is told the life of each
// object, and in the end all of it.
func TestLivesBehindWholeList(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLife(t, rand.New(rand.NewPCG(seed, 7)))
				for range l.r.IntN(3) {
					l.join()
				}
				ctx, cancel := context.WithCancel(t.Context())
				over := make(chan error, 1)
				go func() { over <- l.i.Run(ctx) }()
				for range 30 {
					for range l.r.IntN(12) {
						l.send()
					}
					if l.r.IntN(6) == 0 {
						l.join()
					}
					time.Sleep(time.Duration(l.r.IntN(9)) * time.Millisecond)
				}
				time.Sleep(5 * time.Second)
				cancel()
				fifoCheck(t, <-over)
				l.check()
			})
		})
	}
}
