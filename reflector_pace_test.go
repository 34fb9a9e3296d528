// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer"
)

// P8: a source that expires every stream after an event is not asked without pause, by
// watch-list or by list.
func TestExpiredAfterProgressIsPaced(t *testing.T) {
	for _, initial := range []bool{false, true} {
		t.Run(fmt.Sprint(initial), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript().list(podList("10"))
				s.watchList = initial
				for range 5000 {
					if initial {
						s.watch("BM*@10", "BM@10", "ERR410")
					} else {
						s.watch("BM@10", "ERR410")
					}
				}
				m := s.run(t, informer.ReflectorOptions{}, informer.StoreOptions[*pod]{})
				time.Sleep(10 * time.Second)
				if n := len(m.made()); n > 30 {
					t.Errorf("%d calls in 10 s", n)
				}
				m.end(t)
			})
		})
	}
}

// P8: a server that always says "too large" on a watch is a failing one.
func TestTooLargeAgainAndAgainIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript().list(podList("10"))
		for range 5000 {
			s.watch(tooLarge())
		}
		m := s.run(t, informer.ReflectorOptions{}, informer.StoreOptions[*pod]{})
		time.Sleep(10 * time.Minute)
		if n := len(m.made()); n > 100 {
			t.Errorf("%d calls in 10 minutes", n)
		}
		m.end(t)
	})
}
