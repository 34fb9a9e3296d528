// SPDX-License-Identifier: Apache-2.0

package backoff_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/informerkit/informer/backoff"
)

func ExampleManager_Loop() {
	m := backoff.New(backoff.Options{
		Initial: time.Millisecond,
		Jitter:  -1, // so that the output is the same each time
		OnDelay: func(_ context.Context, delay time.Duration, err error) {
			fmt.Println(err, "- again in", delay)
		},
	})
	tries := 0
	err := m.Loop(context.Background(), func(context.Context) error {
		if tries++; tries <= 3 {
			return errors.New("connection refused")
		}
		return backoff.Permanent(errors.New("no such resource"))
	})
	fmt.Println(err)
	// Output:
	// connection refused - again in 1ms
	// connection refused - again in 2ms
	// connection refused - again in 4ms
	// no such resource
}
