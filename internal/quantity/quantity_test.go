// SPDX-License-Identifier: Apache-2.0

package quantity_test

import (
	"strings"
	"testing"

	"github.com/informerkit/informer/internal/quantity"

	"k8s.io/apimachinery/pkg/api/resource"
)

func TestBoundless(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "1": false, "100m": false, "128Mi": false, "1.5Ei": false, "2E": false, "1e": false, "e": false, "1e+": false,
		"1e3": false, "1E-9": false, "1e+999": false, "1e-0000999": false, "1.25e-999 ": false,
		"1e1000": true, "1E1000": true, "1e-1000": true, "1e+1000": true, ".5e-001000": true, " 1e-2000000000 ": true,
		"1e99999999999999999999":  true,
		strings.Repeat("1", 1024): false, strings.Repeat("1", 1025): true,
	} {
		if got := quantity.Boundless(text); got != want {
			t.Errorf("%.40q: %t, want %t", text, got, want)
		}
	}
}

func TestDeepEqual(t *testing.T) {
	type holder struct {
		Quantity resource.Quantity
		Names    []string
	}
	scaled := func(scale resource.Scale) holder { return holder{*resource.NewScaledQuantity(1, scale), nil} }
	if quantity.DeepEqual(scaled(2e9), scaled(0)) || !quantity.DeepEqual(scaled(2e9), scaled(2e9)) || !quantity.DeepEqual(scaled(3), holder{resource.MustParse("1k"), nil}) {
		t.Error("a scale that no text tells")
	}
	for _, row := range []struct {
		one, two string
		want     bool
	}{
		{"1", "1000m", true},
		{"1Ki", "1024", true},
		{"1", "2", false},
		{"1e2000000000", "1e2000000000", true},
		{"0", "0e-2000000000", true},
		{"0e-2000000000", "1", false}, // apimachinery says that its text is 0
		{"1", "0e-2000000000", false},
		{"1e2000000000", "1", false}, // their comparison by value would have no end
	} {
		one, two := holder{resource.MustParse(row.one), nil}, holder{resource.MustParse(row.two), []string{}}
		if got := quantity.DeepEqual(one, two); got != row.want {
			t.Errorf("%s and %s: %t, want %t", row.one, row.two, got, row.want)
		}
	}
}
