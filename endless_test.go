// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"
)

// Periods that are meant to be for ever are.
func TestEndlessPeriods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := infCollection("10", "a@5")
		i := informer.New(source, informer.Options[infObject]{ReflectorOptions: informer.ReflectorOptions{
			Resync: math.MaxInt64, WatchTimeout: math.MaxInt64,
		}})
		h, _ := infRecord(t, i, informer.HandlerOptions{})
		also, _ := infRecord(t, i, informer.HandlerOptions{Resync: math.MaxInt64})
		r := infStart(t, i)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		h.expect("Initial +a@5")
		also.expect("Initial +a@5")
		if len(source.asked) != 1 {
			t.Errorf("watches: %q", source.asked)
		}
		r.end()
	})
}
