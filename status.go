// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Phase is what a source is doing.
type Phase string

// The phases of a source.
const (
	PhaseListing   Phase = "Listing"   // a list is under way
	PhaseStreaming Phase = "Streaming" // a watch-list sends the initial events
	PhaseWatching  Phase = "Watching"  // a watch is open, or about to be opened again at once
	PhaseBackoff   Phase = "Backoff"   // waiting after a failure
	PhaseStopped   Phase = "Stopped"   // Run has not begun, or has returned
)

// Status says what an informer is doing. It is a copy, and marshals to JSON.
type Status struct {
	Name            string          // of the informer
	Type            string          // Go type of the objects
	Synced          bool            // store and handlers
	Objects         int             // in the store
	ResourceVersion string          // of the store; "" for a union, whose sources have their own
	Queued          int             // keys between the reflector and the store
	Sources         []SourceStatus  // in the order in which they were added; one, unless it is a union
	Handlers        []HandlerStatus // in the order in which they were added
	Quarantined     []Quarantined   // sorted by key
	Collisions      []Quarantined   // of a union: objects that wait because another source holds their key; sorted by key
}

// SourceStatus says what one source is doing. It is a copy, and marshals to JSON.
type SourceStatus struct {
	Name            string         // of the reflector; in a union that of the Source
	ResourceVersion string         // to resume from
	Phase           Phase          // what it is doing
	Since           time.Time      // of the phase
	LastContact     time.Time      // when the source last answered or sent something; zero: never
	LastError       string         // since the last good contact; "": none
	Failures        int            // in a row
	Relists         map[string]int // by reason
	Listed          int64          // objects received, of a list on its way or of the last one
	Abandoned       int            // calls of a List function that ignored its context and were left behind
	Remaining       int64          // objects, of a list on its way; negative: unknown
	ServerShard     bool           // the server cuts the Shard out; false: this side alone does, or there is none
	Synced          bool           // its first list is in the store, or in the sink
	Optional        bool           // of a union: it does not hold up the sync while it fails
}

// HandlerStatus says how a handler keeps up. It is a copy, and marshals to JSON.
type HandlerStatus struct {
	Name         string        // from the options, or its type
	Synced       bool          // it was told of what was there
	Queued       int           // changes
	OldestAge    time.Duration // of what is queued
	LastDuration time.Duration // of the last call
}

// Quarantined is an object that was set aside because it cannot be applied, or kept aside
// because its key is another source's. It marshals to JSON.
type Quarantined struct {
	Source          string    // that sent it
	Key             string    // of the object
	UID             types.UID // as the source sent it
	ResourceVersion string    // as the source sent it; a newer one is tried again
	Error           string    // why
}
