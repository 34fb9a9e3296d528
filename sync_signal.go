// SPDX-License-Identifier: Apache-2.0

package informer

import "sync"

// syncSignal is the one implementation of both forms of "has synced"; embedding
// promotes them.
type syncSignal struct {
	once sync.Once
	done chan struct{}
}

func newSyncSignal() *syncSignal { return &syncSignal{done: make(chan struct{})} }

// HasSynced reports whether Synced is closed.
func (s *syncSignal) HasSynced() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// Synced returns a channel that is closed once the first list has arrived here.
func (s *syncSignal) Synced() <-chan struct{} { return s.done }

// signal closes the channel, once.
func (s *syncSignal) signal() { s.once.Do(func() { close(s.done) }) }
