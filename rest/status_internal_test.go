// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"math"
	"testing"
)

// P8: a huge Retry-After is a long one, and not none.
func TestHugeRetryAfter(t *testing.T) {
	if got := parseRetryAfter("99999999999"); got != math.MaxInt32 {
		t.Errorf("%d s", got)
	}
	if got := parseRetryAfter("-99999999999"); got != 0 {
		t.Errorf("%d s", got)
	}
}
