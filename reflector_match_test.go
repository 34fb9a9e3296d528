// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"
)

// A collection that is away for a while, as that of a CRD, says nothing of what its
// server knows: it is paged afterwards as it was before.
func TestNotFoundIsNoRefusalOfTheMatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript().list(podList("10"), status(http.StatusNotFound, ""), podList("20")).watch(status(http.StatusNotFound, ""))
		m := s.run(t, informer.ReflectorOptions{}, informer.StoreOptions[*pod]{})
		time.Sleep(time.Minute)
		calls := m.made()
		last := calls[len(calls)-2].options
		if m.String() != "L(0) W(10) L(10) L(10) W(20)" || last.Limit != 500 || last.ResourceVersionMatch == "" {
			t.Errorf("calls: %s, the last list with %+v", m, last)
		}
		m.end(t)
	})
}
