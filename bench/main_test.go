// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestUnknownPart(t *testing.T) {
	var out strings.Builder
	err := command{quick: true, only: "rests"}.run(t.Context(), &out)
	if err == nil || !strings.Contains(err.Error(), `"rests": rest, relist, `) || out.Len() > 0 {
		t.Errorf("error %v after %q", err, out.String())
	}
}
