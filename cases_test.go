// SPDX-License-Identifier: Apache-2.0

package informer_test

import "testing"

// TestCases are the faults of the field, by their ids.
func TestCases(t *testing.T) {
	casesReflector(t)
	casesReflectorMore(t)
	casesPoison(t)
	casesQueue(t)
	casesStore(t)
	casesInformer(t)
}
