// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// pastSource is a source that has all of its events from the start on: of a list it serves the
// state at the version that the last watch has come to, of a watch what comes after R, at
// once if its channel has room.
type pastSource struct {
	room   int
	events []watch.Event
	at     int // of the list: so many events have happened
}

func (p *pastSource) version(n int) string { return fmt.Sprint(100 + n) }

func (p *pastSource) List(context.Context, metav1.ListOptions) (runtime.Object, error) {
	list := podList(p.version(p.at))
	state := map[string]*pod{}
	var names []string
	for _, event := range p.events[:p.at] {
		obj, ok := event.Object.(*pod)
		if !ok || obj.Name == "" || event.Type == watch.Bookmark {
			continue
		}
		name := obj.Namespace + "/" + obj.Name
		if _, known := state[name]; !known {
			names = append(names, name)
		}
		state[name] = obj
		if event.Type == watch.Deleted {
			state[name] = nil
		}
	}
	for _, name := range names {
		if obj := state[name]; obj != nil {
			list.Items = append(list.Items, obj)
		}
	}
	return list, nil
}

func (p *pastSource) Watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	from := 0
	for p.version(from) != options.ResourceVersion {
		from++
	}
	events := make(chan watch.Event, p.room)
	var send []watch.Event
	broken := false
	for n := from; n < len(p.events) && !broken; n++ {
		obj, ok := p.events[n].Object.(*pod)
		broken = !ok || obj.Name == "" && p.events[n].Type != watch.Bookmark
		if broken && n < p.at {
			broken = false // this has broken a watch before, and does not come again
			continue
		}
		send = append(send, p.events[n])
		if broken {
			p.at = n + 1
		}
	}
	w := watch.NewProxyWatcher(events)
	go func() {
		for _, event := range send {
			select {
			case events <- event:
			case <-w.StopChan():
				return
			}
		}
	}()
	if p.room > 0 {
		synctest.Wait() // all are there before the first is read
	}
	return w, nil
}

// past draws events: plain ones, and what a run of them must not gloss over.
func past(draw *rand.Rand, n int) []watch.Event {
	p := &pastSource{}
	var events []watch.Event
	there := map[string]bool{} // of two DELETED in a queue, the later counts: that is seen
	for len(events) < n {
		version := p.version(len(events) + 1)
		obj := &pod{}
		obj.Name, obj.ResourceVersion = string(rune('a'+draw.IntN(9))), version
		obj.UID = types.UID("u" + obj.Name + string(rune('0'+draw.IntN(20)/19)))
		if draw.IntN(3) > 0 {
			obj.Namespace = "ns"
		}
		event := watch.Event{Type: []watch.EventType{watch.Added, watch.Modified, watch.Deleted}[draw.IntN(3)], Object: obj}
		key := obj.Namespace + "/" + obj.Name
		if event.Type == watch.Deleted && !there[key] {
			event.Type = watch.Added
		}
		switch draw.IntN(60) {
		case 0:
			event = watch.Event{Type: watch.Error, Object: &apierrors.NewResourceExpired("expired").ErrStatus}
		case 1:
			event = watch.Event{Type: watch.Error, Object: &metav1.Status{Code: http.StatusInternalServerError, Message: "broken"}}
		case 2:
			obj.Labels = map[string]string{"poison": "yes"}
		case 3:
			obj.Name = ""
		case 4, 5:
			event = watch.Event{Type: watch.Bookmark, Object: &pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}}
		case 6:
			event.Object = &metav1.Table{ListMeta: metav1.ListMeta{ResourceVersion: version}}
		case 7:
			if event.Type == watch.Added {
				obj.ResourceVersion = ""
			}
		}
		if event.Object == runtime.Object(obj) && obj.Name != "" {
			there[key] = event.Type != watch.Deleted && obj.Labels == nil // a poison one may end another
		}
		events = append(events, event)
	}
	return events
}

// told is all that an informer tells of its source and of its objects.
func told(t *testing.T, source *pastSource) (all []string) {
	tell := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	transforms := map[string]int{}
	mirror := informer.New(source, informer.Options[*pod]{
		Transform: func(obj *pod) (*pod, error) {
			transforms[obj.Name+"@"+obj.ResourceVersion]++
			if obj.Labels["poison"] != "" {
				return nil, errors.New("poison")
			}
			return obj, nil
		},
		ReflectorOptions: informer.ReflectorOptions{
			Name: "past", InitialEventsTimeout: -1, WatchTimeout: 100 * time.Hour,
			OnError: func(_ context.Context, err error) { tell("error: %v", err) },
			Traces: []*informer.Trace{{
				Event:    func(_, event, key, version string) { tell("%s %s@%s", event, key, version) },
				Relist:   func(_, reason string) { tell("relist: %s", reason) },
				WatchEnd: func(_, reason string, events int, _ time.Duration) { tell("end: %s after %d", reason, events) },
			}},
		},
	})
	var changes []string
	_, err := mirror.AddHandler(informer.HandlerFunc[*pod](func(_ context.Context, c informer.Change[*pod]) {
		changes = append(changes, fmt.Sprintln(c.Key, c.Type, c.Cause, c.FinalStateUnknown, versionOf(c.Old), versionOf(c.New)))
	}), informer.HandlerOptions{EveryChange: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- mirror.Run(ctx) }()
	time.Sleep(time.Hour)
	synctest.Wait()
	s := mirror.Status()
	tell("at %s and %s, %d relists, %d set aside", s.ResourceVersion, s.Sources[0].ResourceVersion, len(s.Sources[0].Relists), len(s.Quarantined))
	for _, key := range slices.Sorted(slices.Values(mirror.Store().Keys())) {
		obj, _ := mirror.Store().Get(key)
		tell("%s@%s", key, obj.ResourceVersion)
	}
	stop()
	<-done
	slices.SortStableFunc(changes, func(a, b string) int { // changes of one key are in order
		return strings.Compare(strings.Fields(a)[0], strings.Fields(b)[0])
	})
	return append(append(all, changes...), fmt.Sprint(transforms))
}

func versionOf(obj *pod) string {
	if obj == nil {
		return ""
	}
	return obj.ResourceVersion
}

// Events that are handed on together come to the same as those that come one by one.
func TestRunsDifferInNothing(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			var got [2]string
			for room := range got {
				synctest.Test(t, func(t *testing.T) {
					events := past(rand.New(rand.NewPCG(seed, 1)), 200)
					source := &pastSource{room: room * len(events), events: events}
					got[room] = strings.Join(told(t, source), "\n")
				})
			}
			if got[0] != got[1] {
				one, together := strings.Split(got[0], "\n"), strings.Split(got[1], "\n")
				for n := range min(len(one), len(together)) {
					if one[n] != together[n] {
						t.Fatalf("line %d is %q one by one, %q together", n, one[n], together[n])
					}
				}
				t.Fatalf("%d lines one by one, %d together", len(one), len(together))
			}
		})
	}
}
