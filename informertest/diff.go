// SPDX-License-Identifier: Apache-2.0

package informertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/informerkit/informer"
	"github.com/informerkit/informer/internal/quantity"
)

// Mirror is what Diff compares with: an informer.View or an informer.Store.
type Mirror[T any] interface {
	// List returns the objects, in any order. Diff only reads them.
	List() []T
}

// maxDifferences bounds what Diff writes.
const maxDifferences = 20

// Diff compares a mirror with the collection, object by object, and returns a line for each
// difference, at most 20 of them and then their number; empty means equal. Objects that the
// mirror transforms are compared with what the transforms make of the collection's.
//
// It names keys, UIDs and versions, never content.
func (c *Collection[T]) Diff(mirror Mirror[T], transforms ...informer.TransformFunc[T]) string {
	want, differences := c.transformed(transforms)
	for _, obj := range mirror.List() {
		key := informer.JoinKey(obj.GetNamespace(), obj.GetName())
		source, exists := want[key]
		delete(want, key)
		switch {
		case !exists:
			differences = append(differences, fmt.Sprintf("%s is in the mirror at version %s, and not in the collection",
				key, obj.GetResourceVersion()))
		case source.GetResourceVersion() != obj.GetResourceVersion() || source.GetUID() != obj.GetUID():
			differences = append(differences, fmt.Sprintf("%s is at version %s with UID %s in the mirror, at %s with %s in the collection",
				key, obj.GetResourceVersion(), obj.GetUID(), source.GetResourceVersion(), source.GetUID()))
		case !quantity.DeepEqual(source, obj):
			differences = append(differences, fmt.Sprintf("%s has other content in the mirror at version %s", key, obj.GetResourceVersion()))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		differences = append(differences, fmt.Sprintf("%s is at version %s in the collection, and not in the mirror",
			key, want[key].GetResourceVersion()))
	}
	if over := len(differences) - maxDifferences; over > 0 {
		differences = append(differences[:maxDifferences], fmt.Sprintf("and %d more differences", over))
	}
	return strings.Join(differences, "\n")
}

// transformed returns copies of the objects by key, as the transforms make them, and a line
// for each that they fail on.
func (c *Collection[T]) transformed(transforms []informer.TransformFunc[T]) (map[string]T, []string) {
	c.engine.mu.Lock()
	entries := slices.Collect(maps.Values(c.engine.objects))
	bare := c.engine.faults.quirks.NoVersions
	c.engine.mu.Unlock()
	out := make(map[string]T, len(entries))
	var failures []string
	for _, e := range entries {
		obj, err := e.copy(0).(T), error(nil)
		if bare { // as its lists have it
			obj.SetResourceVersion("")
			obj.SetUID("")
		}
		for _, transform := range transforms {
			if obj, err = transform(obj); err != nil {
				failures = append(failures, fmt.Sprintf("%s cannot be transformed", e.key))
				break
			}
		}
		if err == nil {
			out[e.key] = obj
		}
	}
	return out, failures
}

// RequireEqual ends the test if Diff finds a difference.
func (c *Collection[T]) RequireEqual(t testing.TB, mirror Mirror[T], transforms ...informer.TransformFunc[T]) {
	t.Helper()
	if diff := c.Diff(mirror, transforms...); diff != "" {
		t.Fatalf("informertest: mirror and collection differ:\n%s", diff)
	}
}
