// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"slices"
	"testing"

	"github.com/informerkit/informer/internal/check/rules"
)

func TestDocs(t *testing.T) {
	t.Parallel()
	files, err := rules.Load("../testdata/docs", true)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, text(rules.Docs(files)), []string{
		`nopackage/nopackage.go:4: package nopackage has no comment that begins with "Package nopackage "`,
		"undocumented/undocumented.go:8: Two is not documented",
		"undocumented/undocumented.go:10: Three is not documented",
		"undocumented/undocumented.go:12: Thing is not documented",
		"undocumented/undocumented.go:13: Thing.Field is not documented",
		"undocumented/undocumented.go:19: inner.Promoted is not documented",
		"undocumented/undocumented.go:23: deeper.Anonymous is not documented",
		"undocumented/undocumented.go:24: deeper.Inside is not documented",
		"undocumented/undocumented.go:28: Get is not documented",
		"undocumented/undocumented.go:31: the comment of Something does not begin with its name",
		"undocumented/undocumented.go:33: Nothing is not documented",
		"undocumented/undocumented.go:37: Doer.Do is not documented",
		"undocumented/undocumented.go:42: Grouped is not documented",
	})
}

// TestLoad checks which directories are entered: not testdata, and the modules inside only if asked.
func TestLoad(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, root string
		nested     bool
		want       []string
	}{
		{"testdata is skipped", "..", true, []string{"ci_test.go", "main.go", "main_test.go", "rules/api.go", "rules/api_test.go", "rules/docs.go", "rules/docs_test.go", "rules/packages.go", "rules/rules.go", "rules/sizes.go", "rules/sizes_test.go"}},
		{"modules are entered", "../testdata", true, []string{"api/api.go", "api/cmd/main.go", "api/internal/hidden/hidden.go", "api/sub/v1/v1.go", "docs/command/main.go", "docs/documented/documented.go"}},
		{"modules are left out", "../testdata", false, []string{"docs/command/main.go", "docs/documented/documented.go", "docs/internal/hidden/hidden.go", "docs/nopackage/nopackage.go"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files, err := rules.Load(test.root, test.nested)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, file := range files {
				got = append(got, file.Path)
			}
			if got = got[:min(len(got), len(test.want))]; !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q first", got, test.want)
			}
		})
	}
}
