// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"errors"
	"testing"

	"github.com/informerkit/informer"
)

// A Store under a queue has synced when the queue has, also where the list has no items,
// or no version.
func TestQueueSyncsItsStore(t *testing.T) {
	for name, list := range map[string]struct {
		items   []*pod
		version string
	}{
		"items":                {[]*pod{parse("a@1"), parse("b@2")}, "7"},
		"no items":             {nil, "7"},
		"items and no version": {[]*pod{parse("a")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			store := informer.NewStore(informer.StoreOptions[*pod]{})
			queue := informer.NewDeltaFIFO(informer.DeltaFIFOOptions[*pod]{KnownObjects: store})
			if err := queue.Replace(t.Context(), list.items, list.version); err != nil {
				t.Fatal(err)
			}
			for range list.items {
				if store.HasSynced() {
					t.Error("synced before the last item")
				}
				if err := queue.Pop(t.Context(), store.Apply); err != nil {
					t.Error(err)
				}
			}
			if !store.HasSynced() || !queue.HasSynced() || store.ResourceVersion() != list.version {
				t.Errorf("synced: store %v, queue %v, at %q", store.HasSynced(), queue.HasSynced(), store.ResourceVersion())
			}
		})
	}
}

// What an index function has to say is reported once: the object was stored.
func TestPopWithABrokenIndex(t *testing.T) {
	broken := errors.New("broken")
	store := informer.NewStore(informer.StoreOptions[*pod]{Indexers: informer.Indexers[*pod]{
		"broken": func(*pod) ([]string, error) { return nil, broken },
	}})
	queue := informer.NewDeltaFIFO(informer.DeltaFIFOOptions[*pod]{KnownObjects: store})
	if err := queue.Add(t.Context(), parse("a@1")); err != nil {
		t.Fatal(err)
	}
	if err := queue.Pop(t.Context(), store.Apply); !errors.Is(err, broken) {
		t.Errorf("Pop: %v", err)
	}
	if queue.Len() != 0 || store.Len() != 1 {
		t.Errorf("%d keys queued, %d objects stored", queue.Len(), store.Len())
	}
}
