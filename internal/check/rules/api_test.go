// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/informerkit/informer/internal/check/rules"
)

// TestAPI lists a module that has each form of declaration, generic, promoted and hidden ones among them.
func TestAPI(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("../testdata/api.txt")
	if err != nil {
		t.Fatal(err)
	}
	got, err := rules.API("../testdata/api")
	if err != nil {
		t.Fatal(err)
	}
	diff(t, got, strings.Split(strings.TrimSuffix(string(want), "\n"), "\n"))
}

// TestAPIErrors checks that a module which does not compile has no API rather than a wrong one.
func TestAPIErrors(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"syntax":  "package p\n\nfunc {\n",
		"type":    "package p\n\nvar V missing\n",
		"imports": "package p\n\nimport \"example.org/nowhere\"\n\nvar V nowhere.T\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range map[string]string{"go.mod": "module example.org/p\n\ngo 1.26.0\n", "p.go": source} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := rules.API(dir); err == nil {
				t.Errorf("got %q, want an error", got)
			}
		})
	}
}
