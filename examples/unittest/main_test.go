// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informer/informertest"
)

func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// map[x:2 y:1]
}

// The counter is right again after an outage in which an object changed hands and another
// one was deleted, and the server forgot about both.
func TestCounterSurvivesAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		server := informertest.NewCollection(t, owned("a", "x"), owned("b", "y"))
		c := newCounter(server)
		done := make(chan error, 1)
		go func() { done <- c.objects.Run(ctx) }()
		synctest.Wait() // until nothing can move but the clock

		server.FailWhile(func(informertest.Request) bool { return true }, errors.New("away"))
		server.CutStreams()
		if _, err := server.Update(ctx, owned("a", "z")); err != nil {
			t.Fatal(err)
		}
		if err := server.Delete(ctx, "", "b"); err != nil {
			t.Fatal(err)
		}
		server.Compact()
		time.Sleep(time.Minute) // of fake time
		if got := c.counted(); !maps.Equal(got, map[string]int{"x": 1, "y": 1}) {
			t.Errorf("during the outage: %v", got) // a failure never clears the store
		}
		server.Recover()
		time.Sleep(2 * time.Minute) // the longest delay of the backoff
		synctest.Wait()
		if got := c.counted(); !maps.Equal(got, map[string]int{"z": 1}) {
			t.Errorf("after the outage: %v", got)
		}
		server.RequireEqual(t, c.objects.Store())

		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
