// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"
)

// Refusals of nobody in particular do not count among those after which a watch-list is
// given up.
func TestUnansweredWatchListsAreNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript().list(podList("10"))
		s.watchList = true
		s.watch(status(http.StatusServiceUnavailable, "")).watch(status(http.StatusServiceUnavailable, "")).
			watch("+a@5", "close").watch("+a@5", "BM*@10")
		m := s.run(t, informer.ReflectorOptions{}, informer.StoreOptions[*pod]{})
		time.Sleep(time.Minute)
		if got := m.String(); got != "WL() WL() WL() WL()" {
			t.Errorf("calls: %s", got)
		}
		m.end(t)
	})
}
