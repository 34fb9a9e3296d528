// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// streamedScript is a script whose lists are streamed, as rest/ does, with the hash of an item
// made of its name and content.
type streamedScript struct {
	*script
	decoded []string
	broken  string        // the item of that name cannot be decoded
	pace    time.Duration // of the items
}

func (s *streamedScript) ListStream(ctx context.Context, options metav1.ListOptions, known func(metav1.Object, uint64) bool, yield func(runtime.Object) error) (metav1.ListMeta, error) {
	answer, err := s.List(ctx, options)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	list := answer.(*informer.ObjectList[*pod])
	for _, item := range list.Items {
		if time.Sleep(s.pace); ctx.Err() != nil {
			return metav1.ListMeta{}, context.Cause(ctx)
		}
		bare := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: item.Namespace, Name: item.Name, UID: item.UID, ResourceVersion: item.ResourceVersion,
		}}
		hash := uint64(len(item.Spec))<<8 + uint64(item.Name[0])
		if known != nil && known(bare, hash) {
			continue
		}
		s.decoded = append(s.decoded, show([]*pod{item})[0])
		var obj runtime.Object = item
		if item.Name == s.broken {
			obj = &informer.Undecodable{PartialObjectMetadata: *bare, Err: errors.New("garbled")}
		}
		if err := yield(obj); err != nil {
			return metav1.ListMeta{}, err
		}
	}
	return list.ListMeta, nil
}

// Items that are known by their bytes are kept, whatever the keys of the sink are made of.
func TestKnownItemsStay(t *testing.T) {
	for name, keyFunc := range map[string]informer.KeyFunc[*pod]{
		"keys by name":    nil,
		"keys by content": func(p *pod) (string, error) { return p.Spec, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &streamedScript{script: newScript().list(podList("10", "a@5/u {x}", "b@6/u {y}"), podList("20", "a@5/u {x}", "b@12/u {yy}")).watch("ERR410")}
				store := informer.NewStore(informer.StoreOptions[*pod]{KeyFunc: keyFunc})
				run(t, informer.NewReflector[*pod](s, store, informer.ReflectorOptions{}))
				time.Sleep(time.Second)
				synctest.Wait()
				if got := len(store.List()); got != 2 || store.ResourceVersion() != "20" {
					t.Errorf("%d objects at %s", got, store.ResourceVersion())
				}
				want := map[bool]int{true: 3, false: 4}[keyFunc == nil]
				if len(s.decoded) != want {
					t.Errorf("decoded %q", s.decoded)
				}
			})
		})
	}
}

// A list is not late while items come that are known, or of another part.
func TestKnownItemsAreProgress(t *testing.T) {
	for name, shard := range map[string]informer.Shard{"known": {}, "of another part": {Index: 0, Count: 1 << 20}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var items []string
				for i := range 400 {
					items = append(items, fmt.Sprintf("%c%d@5/u%d {x}", 'a'+i%26, i, i))
				}
				s := &streamedScript{pace: 2 * time.Second, script: newScript().list(podList("10", items...), podList("20", items...)).watch("ERR410")}
				store := informer.NewStore(informer.StoreOptions[*pod]{})
				r := informer.NewReflector[*pod](s, store, informer.ReflectorOptions{Shard: shard})
				run(t, r)
				time.Sleep(30 * time.Minute)
				synctest.Wait()
				if got := r.Status(); store.ResourceVersion() != "20" || got.Failures != 0 {
					t.Errorf("at version %q, %+v", store.ResourceVersion(), got)
				}
			})
		})
	}
}

// Where an object's key is in the part that cannot be decoded, nothing can be concluded
// from the list.
func TestUndecodableWithoutAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &streamedScript{broken: "b", script: newScript().list(podList("10", "a@5/u {x}"), podList("20", "a@5/u {x}", "b@12/u {yy}")).watch("ERR410")}
		store := informer.NewStore(informer.StoreOptions[*pod]{KeyFunc: func(p *pod) (string, error) { return p.Spec, nil }})
		r := informer.NewReflector[*pod](s, store, informer.ReflectorOptions{Quarantine: true})
		run(t, r)
		time.Sleep(time.Second)
		synctest.Wait()
		if store.ResourceVersion() != "10" || store.Len() != 1 || r.Status().Failures == 0 {
			t.Errorf("%d objects at %s, status %+v", store.Len(), store.ResourceVersion(), r.Status())
		}
	})
}

// run runs a reflector until the test ends.
func run(t *testing.T, r *informer.Reflector) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
