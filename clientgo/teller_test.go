// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/cache"
)

// A watch error handler that blocks holds up one of source and store, and not the other; it
// hears what the other one has to say afterwards.
func TestBlockedWatchErrorHandler(t *testing.T) {
	t.Parallel()
	inBubble(t, "blocked", func(e *env) {
		indexed, release := make(chan struct{}), make(chan struct{})
		var heard []string // without a lock: the race detector sees two at once
		e.noError(e.informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) {
			if heard = append(heard, err.Error()); len(heard) == 1 {
				close(indexed)
				<-release
			}
		}))
		e.noError(e.informer.AddIndexers(cache.Indexers{"odd": func(any) ([]string, error) { return nil, errAway }}))
		e.start()
		<-indexed // the store is held up
		before := len(e.source.Requests())
		e.source.FailNext(3, errAway)
		e.source.CutStreams()
		time.Sleep(time.Minute)
		synctest.Wait()
		if requests := e.source.Requests()[before:]; len(requests) < 4 || len(heard) != 1 {
			e.errorf("the source was asked %d times, the handler called %d times", len(requests), len(heard))
		}
		close(release)
		synctest.Wait()
		if len(heard) < 3 || !strings.Contains(heard[0], "odd") || !slices.Contains(heard, errAway.Error()) {
			e.errorf("it heard %q", heard)
		}
	})
}
