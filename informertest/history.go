// SPDX-License-Identifier: Apache-2.0

package informertest

import "slices"

// change is one write: before is nil for a creation, after for a deletion.
type change struct {
	version       uint64
	key           string
	before, after *entry
}

// history is what a collection remembers of its past, oldest change first.
type history struct {
	changes []change

	// floor is the oldest version that a watch can start at and a list can be asked for.
	floor uint64

	// trimmed is the version of the newest change that is no longer in changes. It is at
	// most floor: what an open stream has still to read is kept for it.
	trimmed uint64
}

// lagFactor bounds what is kept for slow streams, in limits of the history. A stream that
// falls further behind is cut, as a real server does with a client that does not read.
const lagFactor = 4

// leastLag is the limit that lagFactor applies to where the history is shorter, or none.
const leastLag = 100

// add appends a change, and moves the floor so that limit changes are within reach.
func (h *history) add(c change, limit int) {
	h.changes = append(h.changes, c)
	if over := len(h.changes) - limit; over > 0 {
		h.floor = max(h.floor, h.changes[over-1].version)
	}
}

// compact moves the floor to the given version.
func (h *history) compact(version uint64) { h.floor = max(h.floor, version) }

// trim drops changes that nobody can ask for: those up to the floor that every stream has
// read, and those too long ago for any stream to be waited for. It copies what stays, so it
// does nothing until that is worth it.
func (h *history) trim(slowest uint64, limit int) {
	limit = max(limit, leastLag)
	drop := h.after(min(h.floor, slowest))
	if have := len(h.changes); have > 2*lagFactor*limit {
		drop = max(drop, have-lagFactor*limit)
	}
	if drop == 0 || drop < min(limit, len(h.changes)) {
		return
	}
	h.trimmed = h.changes[drop-1].version
	h.changes = slices.Clone(h.changes[drop:])
}

// after returns the index of the first change above version.
func (h *history) after(version uint64) int {
	i, _ := slices.BinarySearchFunc(h.changes, version, func(c change, version uint64) int {
		if c.version <= version {
			return -1
		}
		return 1
	})
	return i
}

// since returns the changes above version. They are shared, and never change.
func (h *history) since(version uint64) []change { return h.changes[h.after(version):] }

// undo returns, for each key that changed after version, what it was at version: nil if it
// did not exist.
func (h *history) undo(version uint64) map[string]*entry {
	later := h.since(version)
	if len(later) == 0 {
		return nil
	}
	was := make(map[string]*entry, len(later))
	for _, c := range slices.Backward(later) {
		was[c.key] = c.before
	}
	return was
}

// mergeKeys returns the sorted union of sorted keys and the keys of was, without those
// that did not exist then.
func mergeKeys(keys []string, was map[string]*entry) []string {
	merged := make([]string, 0, len(keys)+len(was))
	for _, key := range keys {
		if _, changed := was[key]; !changed {
			merged = append(merged, key)
		}
	}
	for key, then := range was {
		if then != nil {
			merged = append(merged, key)
		}
	}
	slices.Sort(merged)
	return merged
}
