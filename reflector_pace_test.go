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

// A source that refuses its initial events and lists in turns fails in one way, not in two.
func TestOutageIsLoggedOnce(t *testing.T) {
	for name, failure := range map[string]error{
		"error": errors.New("down"), "500": status(500, "no"), "401": status(401, "no"), "403": status(403, "no"), "503": status(503, "no"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pods := informertest.NewCollection(t, parse("a"))
				pods.FailNext(1<<20, failure)
				ctx, log := logged(t.Context())
				ctx, cancel := context.WithCancel(ctx)
				options := informer.ReflectorOptions{Name: "pods"}
				reflector := informer.NewReflector(pods, informer.NewStore(informer.StoreOptions[*pod]{}), options)
				done := make(chan error, 1)
				go func() { done <- reflector.Run(ctx) }()
				time.Sleep(time.Hour)
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
				if n := strings.Count(log.String(), "Source fails"); n != 1 {
					t.Errorf("%d lines in an hour:\n%s", n, log)
				}
			})
		})
	}
}
