// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"testing"
	"testing/synctest"

	"github.com/informerkit/informer"
)

// P2: a store that is filled between AddHandler and Run is told to the handler like one
// that was filled before.
func TestStoreFilledBeforeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := informer.NewStore(informer.StoreOptions[infObject]{})
		source := infCollection("10", "a@5/u1")
		i := informer.New(source, informer.Options[infObject]{Store: store})
		h, _ := infRecord(t, i, informer.HandlerOptions{})
		if err := store.Replace(t.Context(), []infObject{infObj("a@5/u1"), infObj("b@6/u2")}, "9"); err != nil {
			t.Fatal(err)
		}
		r := infStart(t, i)
		source.event("-a@11/u1")
		synctest.Wait()
		h.sameAs(i.Store())
		r.end()
	})
}
