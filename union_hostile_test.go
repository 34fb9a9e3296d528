// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/informertest"

	"k8s.io/apimachinery/pkg/watch"
)

// undecodableDelete is a DELETED of which nothing but the identity came.
func undecodableDelete(text string) watch.Event {
	return watch.Event{Type: watch.Deleted, Object: &informer.Undecodable{
		PartialObjectMetadata: *infObj(text), Err: errors.New("cut off"),
	}}
}

// A DELETED that cannot be decoded ends with the last known state, of a union's source too.
func TestUnionUndecodableDelete(t *testing.T) {
	east := infCollection("1", "a@1/a")
	unionTest(t, func(t *testing.T, u *infUnion) {
		u.told.told()
		east.set("2")
		east.send(undecodableDelete("a@2/a"))
		synctest.Wait()
		u.told.expect("Watch -east/a@1? east")
	}, informer.Source{Name: "east", ListerWatcher: east, KeyPrefix: "east/"})
}

// Keys that an identity does not give are found by a list, of a union's source too.
func TestUnionUndecodableDeleteWithKeyFunc(t *testing.T) {
	options := informer.Options[infObject]{KeyFunc: func(obj infObject) (string, error) {
		return obj.Labels["content"] + "/" + obj.Name, nil
	}}
	test := func(t *testing.T, union bool) {
		source := infCollection("1", "a@1/a {x}")
		i := informer.New(source, options)
		if union {
			i = informer.NewUnion(options)
			fifoMust(t, i.AddSource(informer.Source{Name: "one", ListerWatcher: source}))
		}
		r := infStart(t, i)
		defer r.end()
		source.set("2")
		source.send(undecodableDelete("a@2/a"))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if keys := i.Store().Keys(); len(keys) != 0 {
			t.Errorf("the store holds %q for ever", keys)
		}
	}
	for _, union := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { test(t, union) })
	}
}

// What is aside stays so, and is no repair.
func TestUnionVerifyLeavesWhatIsAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errs := &infErrors{}
		options := informer.Options[infObject]{}
		options.OnError, options.Verify = errs.add, 10*time.Minute
		i := informer.NewUnion(options)
		one, two := infCollection("1", "k@1/u1"), infCollection("100")
		fifoMust(t, i.AddSource(informer.Source{Name: "one", ListerWatcher: one}))
		fifoMust(t, i.AddSource(informer.Source{Name: "two", ListerWatcher: two}))
		r := infStart(t, i)
		defer r.end()
		two.event("+k@101/u2")
		time.Sleep(time.Hour)
		synctest.Wait()
		if told := errs.of("repaired"); len(told) != 0 {
			t.Errorf("told %q", told)
		}
	})
}

// A member that is removed before it runs is waited for no more.
func TestGroupWaitsNoMoreForWhatNeverRan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g informer.Group
		fifoMust(t, g.Add(namedInformer("a", infCollection("1"))))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- g.WaitForSync(ctx) }()
		synctest.Wait()
		fifoMust(t, g.Remove(t.Context(), "a"))
		synctest.Wait()
		select {
		case err := <-done:
			fifoMust(t, err)
		default:
			t.Error("still waiting")
		}
	})
}

// name while the handler was late.
func TestQueueEndsWhatWasShown(t *testing.T) {
	source := infCollection("1", "a@1/u1", "x@1/x")
	infTest(t, "late", source, func(t *testing.T, r *infRun, h *infRecorder) {
		h.told()
		h.block = make(chan struct{})
		source.event("~x@2/x")
		synctest.Wait()
		for _, text := range []string{"-a@3/u1", "+a@4/u2", "-a@5/u2"} {
			source.event(text)
			synctest.Wait()
		}
		close(h.block)
		synctest.Wait()
		h.expect("Watch ~x@1:2", "Watch -a@3")
	})
}

// A recreation that a shard has brought is a change, for a filter too.
func TestFilterPassesRecreationOfScope(t *testing.T) {
	source := &infSource{}
	here, there := "", ""
	half := informer.Shard{Count: 2}
	for n := 0; here == "" || there == ""; n++ {
		uid := fmt.Sprint("u", n)
		if selects(t, half, uid) {
			here = uid
		} else {
			there = uid
		}
	}
	source.set("1", "a@1/"+here)
	synctest.Test(t, func(t *testing.T) {
		options := informer.Options[infObject]{}
		options.Shard = half
		i := informer.New(source, options)
		h := &infRecorder{t: t}
		_, err := i.AddHandler(informer.Filter(func(infObject) bool { return true }, informer.Handler[infObject](h)), informer.HandlerOptions{MergeRecreated: true})
		fifoMust(t, err)
		r := infStart(t, i)
		defer r.end()
		h.told()
		source.set("2", "a@2/"+there)
		fifoMust(t, i.SetShard(informer.Shard{Index: 1, Count: 2}))
		time.Sleep(time.Minute)
		synctest.Wait()
		h.expect("Scope ~a@1:2")
		h.sameAs(i.Store())
	})
}

// selects reports whether a shard holds an object with the UID.
func selects(t *testing.T, shard informer.Shard, uid string) (held bool) {
	synctest.Test(t, func(t *testing.T) {
		options := informer.Options[infObject]{}
		options.Shard = shard
		i := informer.New(infCollection("1", "a@1/"+uid), options)
		infStart(t, i).end()
		held = i.Store().Len() == 1
	})
	return held
}

// Another shard is listed although the watch fails.
func TestSetShardWhileTheWatchFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := informertest.NewCollection(t, shardObjects(60)...)
		c.FailWhile(func(r informertest.Request) bool { return r.Verb == informertest.VerbWatch }, forbidden())
		i := informer.New(c, informer.Options[infObject]{})
		r := infStart(t, i)
		defer r.end()
		time.Sleep(time.Minute)
		if i.Store().Len() != 60 {
			t.Fatalf("%d objects", i.Store().Len())
		}
		fifoMust(t, i.SetShard(informer.Shard{Count: 2}))
		time.Sleep(time.Hour)
		synctest.Wait()
		if i.Store().Len() == 60 {
			t.Error("the shard is still the old one")
		}
	})
}

// A verify compares this part with what the server, which sends everything, has of it.
func TestVerifyKeepsToItsShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := informertest.NewCollection(t, shardObjects(60)...)
		errs := &infErrors{}
		options := informer.Options[infObject]{}
		options.Shard, options.Verify, options.OnError = informer.Shard{Count: 2}, 10*time.Minute, errs.add
		i := informer.New(c, options)
		r := infStart(t, i)
		defer r.end()
		before := i.Store().Len()
		time.Sleep(time.Hour)
		synctest.Wait()
		if i.Store().Len() != before || len(errs.of("repaired")) != 0 {
			t.Errorf("%d objects, then %d, told %q", before, i.Store().Len(), errs.of("repaired"))
		}
	})
}

// ctxMember is a Member that returns the error of its ctx, as many loops do.
type ctxMember struct{ informer.Member }

func (m ctxMember) Run(ctx context.Context) error {
	return errors.Join(m.Member.Run(ctx), ctx.Err())
}

// A member whose Run says that its ctx has ended is removed alone.
func TestGroupMemberReturnsItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g informer.Group
		fifoMust(t, g.Add(namedInformer("a", infCollection("1")), ctxMember{namedInformer("b", infCollection("1"))}))
		end := groupRun(t, &g)
		fifoMust(t, g.Remove(t.Context(), "b"))
		synctest.Wait()
		if g.Status()[0].Sources[0].Phase == informer.PhaseStopped {
			t.Error("the others have ended too")
		}
		fifoMust(t, g.Add(ctxMember{namedInformer("c", infCollection("1"))}))
		synctest.Wait()
		fifoMust(t, end())
	})
}

// What New refuses, NewUnion does, and not AddSource later.
func TestUnionRefusesTwoFirstVersions(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "informer: NewUnion: ") {
			t.Errorf("panic %q", got)
		}
	}()
	options := informer.Options[infObject]{}
	options.NotOlderThan, options.MostRecent = "5", true
	informer.NewUnion(options)
}

// A repair names the key as the source knows it.
func TestUnionRepairHasTheSourcesKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errs := &infErrors{}
		store := informer.NewStore(informer.StoreOptions[infObject]{KeyFunc: func(obj infObject) (string, error) { return "east/" + obj.Name, nil }})
		options := informer.Options[infObject]{Store: store, KeyFunc: informer.KeyOf[infObject]}
		options.OnError, options.Verify = errs.add, 10*time.Minute
		i := informer.NewUnion(options)
		fifoMust(t, i.AddSource(informer.Source{Name: "one", ListerWatcher: infCollection("1", "a@1/a"), KeyPrefix: "east/"}))
		r := infStart(t, i)
		defer r.end()
		lost, _ := store.Get("east/a")
		fifoMust(t, store.Delete(t.Context(), lost))
		time.Sleep(12 * time.Minute)
		synctest.Wait()
		if told := errs.of("repaired"); len(told) != 1 || !strings.Contains(told[0], `object "a"`) {
			t.Errorf("told %q", told)
		}
	})
}
