// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/informertest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// shardingServer is a collection whose server knows shards, or does not.
type shardingServer struct {
	*informertest.Collection[infObject]
	echo func(selector string) *metav1.ShardInfo // nil: the gate is off
}

func (s *shardingServer) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := s.Collection.List(ctx, options)
	if l, ok := list.(*informer.ObjectList[infObject]); ok && s.echo != nil {
		l.ShardInfo = s.echo(options.ShardSelector)
	}
	return list, err
}

func shardObjects(n int) []infObject {
	var objs []infObject
	for i := range n {
		obj := infObj(fmt.Sprint("o", i))
		obj.Namespace = fmt.Sprint("ns", i%7)
		objs = append(objs, obj)
	}
	return objs
}

func shardKeys(i *informer.Informer[infObject]) []string {
	keys := i.Store().Keys()
	slices.Sort(keys)
	return keys
}

// The union of the shards is the collection, and no object is in two.
func TestShardsMakeUpTheCollection(t *testing.T) {
	for _, by := range []bool{false, true} {
		t.Run(fmt.Sprint("ByNamespace ", by), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := informertest.NewCollection(t, shardObjects(100)...)
				var all []string
				for n := range 3 {
					options := informer.Options[infObject]{}
					options.Shard = informer.Shard{Index: n, Count: 3, ByNamespace: by}
					r := infStart(t, informer.New(c, options))
					_, err := c.Create(t.Context(), infObj(fmt.Sprint("late", n)))
					fifoMust(t, err)
					synctest.Wait()
					if n == 2 {
						fifoMust(t, c.Delete(t.Context(), "", "late0"))
						synctest.Wait()
					}
					all = append(all, shardKeys(r.Informer)...)
					r.end()
				}
				slices.Sort(all)
				all = slices.DeleteFunc(slices.Compact(slices.Clone(all)), func(key string) bool { return strings.HasPrefix(key, "late") })
				if len(all) != 100 {
					t.Errorf("%d objects in the shards", len(all))
				}
			})
		})
	}
}

func TestSetShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := informertest.NewCollection(t, shardObjects(60)...)
		i := informer.New(c, informer.Options[infObject]{})
		h, _ := infRecord(t, i, informer.HandlerOptions{})
		r := infStart(t, i)
		defer r.end()
		h.told()
		held := []string{}
		for _, shard := range []informer.Shard{{Index: 0, Count: 2}, {Index: 1, Count: 4}, {Index: 0, Count: 1}, {Index: 2, Count: 3}, {}} {
			before := shardKeys(i)
			fifoMust(t, i.SetShard(shard))
			time.Sleep(time.Minute)
			synctest.Wait()
			held = shardKeys(i)
			for _, change := range h.told() { // only what is in one of the two says something
				cause, rest, _ := strings.Cut(change, " ")
				key, _, _ := strings.Cut(rest[1:], "@")
				if cause != "Scope" || strings.HasSuffix(change, "?") || slices.Contains(before, key) == slices.Contains(held, key) {
					t.Errorf("told %s on the way to %v", change, shard)
				}
			}
			h.sameAs(i.Store())
		}
		if len(held) != 60 {
			t.Errorf("%d objects in the end", len(held))
		}
		// What happens while the watch is closed is told with the list, as what it was.
		c.FailWhile(func(r informertest.Request) bool { return r.Verb == informertest.VerbList }, forbidden())
		fifoMust(t, i.SetShard(informer.Shard{Index: 0, Count: 1}))
		synctest.Wait()
		fifoMust(t, c.Delete(t.Context(), "ns0", "o0"))
		c.Recover()
		time.Sleep(time.Minute)
		synctest.Wait()
		if told := h.told(); len(told) != 1 || !strings.HasPrefix(told[0], "Relist -ns0/o0@") {
			t.Errorf("told %q", told)
		}
		if i.SetShard(informer.Shard{Index: 1}) == nil || i.SetShard(informer.Shard{Index: -1, Count: 2}) == nil {
			t.Error("a shard that is none was taken")
		}
	})
}

// A sharded source is asked with the selector each time, first by a list, and listed
// again not older than the version that the watch had reached.
func TestShardRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := informertest.NewCollection(t, shardObjects(10)...)
		options := informer.Options[infObject]{}
		options.Shard = informer.Shard{Index: 1, Count: 2}
		i := informer.New(c, options)
		r := infStart(t, i)
		defer r.end()
		at := i.Status().Sources[0].ResourceVersion
		fifoMust(t, i.SetShard(informer.Shard{Index: 0, Count: 2, ByNamespace: true}))
		synctest.Wait()
		want := []string{
			"list 0  shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')",
			"watch " + at + "  shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')",
			"list " + at + " NotOlderThan shardRange(object.metadata.namespace, '0x0000000000000000', '0x8000000000000000')",
		}
		for n, request := range c.Requests() {
			got := fmt.Sprint(request.Verb, " ", request.Options.ResourceVersion, " ", request.Options.ResourceVersionMatch, " ", request.Options.ShardSelector)
			if n < len(want) && got != want[n] {
				t.Errorf("request %q, want %q", got, want[n])
			}
		}
		if len(c.Requests()) < 3 {
			t.Errorf("%d requests", len(c.Requests()))
		}
	})
}

func TestServerShard(t *testing.T) {
	for name, test := range map[string]struct {
		echo func(string) *metav1.ShardInfo
		want bool
	}{
		"gate off": {nil, false},
		"gate on":  {func(s string) *metav1.ShardInfo { return &metav1.ShardInfo{Selector: s} }, true},
		"another":  {func(s string) *metav1.ShardInfo { return &metav1.ShardInfo{Selector: s + "x"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				options := informer.Options[infObject]{}
				options.Shard = informer.Shard{Index: 1, Count: 2}
				i := informer.New(&shardingServer{informertest.NewCollection(t, shardObjects(10)...), test.echo}, options)
				r := infStart(t, i)
				defer r.end()
				if got := i.Status().Sources[0].ServerShard; got != test.want {
					t.Errorf("ServerShard is %v", got)
				}
			})
		})
	}
}

// An object that takes the name of one of this shard, and is of another, pushes it out.
func TestShardPushedOut(t *testing.T) {
	here, there := "", ""
	for n := 0; here == "" || there == ""; n++ { // which UID is where
		uid := fmt.Sprint("u", n)
		store := informer.NewStore(informer.StoreOptions[infObject]{})
		options := informer.ReflectorOptions{Shard: informer.Shard{Index: 0, Count: 2}, InitialEventsTimeout: -1}
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			reflector := informer.NewReflector(infCollection("1", "a@1/"+uid), store, options) // a bare reflector cuts too
			go func() { done <- reflector.Run(ctx) }()
			synctest.Wait()
			cancel()
			fifoMust(t, <-done)
		})
		if store.Len() == 1 {
			here = uid
		} else {
			there = uid
		}
	}
	synctest.Test(t, func(t *testing.T) {
		options := informer.Options[infObject]{}
		options.Shard = informer.Shard{Index: 0, Count: 2}
		source := infCollection("1", "a@1/"+here)
		i := informer.New(source, options)
		h, _ := infRecord(t, i, informer.HandlerOptions{})
		r := infStart(t, i)
		defer r.end()
		source.event("+b@2/" + there)
		source.event("-b@3/" + there)
		source.event("~a@4/" + there)
		source.event("-a@5/" + there)
		source.event("+a@6/" + here)
		synctest.Wait()
		h.expect("Initial +a@1", "Watch -a@1?", "Watch +a@6")
		if got := i.Store().ResourceVersion(); got != "6" {
			t.Errorf("store at %s", got)
		}
	})
}

// The shards of a union follow SetShard where they have none of their own.
func TestUnionShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := informertest.NewCollection(t, shardObjects(50)...), informertest.NewCollection(t, shardObjects(50)...)
		u := informer.NewUnion(informer.Options[infObject]{})
		fifoMust(t, u.AddSource(informer.Source{Name: "one", ListerWatcher: one, KeyPrefix: "1/"}))
		fifoMust(t, u.AddSource(informer.Source{Name: "two", ListerWatcher: two, KeyPrefix: "2/", Shard: informer.Shard{Count: 1}}))
		h, _ := infRecord(t, u, informer.HandlerOptions{})
		r := infStart(t, u)
		defer r.end()
		if u.Store().Len() != 100 {
			t.Errorf("%d objects", u.Store().Len())
		}
		h.told()
		fifoMust(t, u.SetShard(informer.Shard{Count: 2}))
		synctest.Wait()
		if n := u.Store().Len(); n <= 50 || n >= 100 {
			t.Errorf("%d objects", n)
		}
		for _, change := range h.told() {
			if !strings.HasPrefix(change, "Scope -1/") {
				t.Errorf("told %s", change)
			}
		}
		h.sameAs(u.Store())
	})
}
