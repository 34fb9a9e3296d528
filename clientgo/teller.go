// SPDX-License-Identifier: Apache-2.0

package clientgo

import (
	"context"
	"sync"
)

// maxUntold bounds the failures that wait for a call of the watch error handler to return.
// The log has what comes beyond them.
const maxUntold = 100

// teller calls the watch error handler, one call at a time, as client-go's one goroutine
// does. Failures come on two: index functions fail where the store is written. Neither
// waits for a call on the other, which would hold up the store, or the source: it leaves its
// failure to the one that is calling.
type teller struct {
	call func(ctx context.Context, err error)

	mu     sync.Mutex
	busy   bool
	untold []failure
}

type failure struct {
	ctx context.Context
	err error
}

func (t *teller) tell(ctx context.Context, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.untold) < maxUntold {
		t.untold = append(t.untold, failure{ctx, err})
	}
	if t.busy {
		return
	}
	t.busy = true
	defer func() { t.busy = false }()
	for len(t.untold) > 0 {
		next := t.untold[0]
		t.untold = t.untold[1:]
		t.callUnlocked(next)
	}
}

// callUnlocked calls the handler without the lock, which is held again also after a panic.
func (t *teller) callUnlocked(next failure) {
	t.mu.Unlock()
	defer t.mu.Lock()
	t.call(next.ctx, next.err)
}
