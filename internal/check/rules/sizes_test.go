// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/informerkit/informer/internal/check/rules"
)

var wanted = regexp.MustCompile(`// want "(.*)"`)

// TestSizesFixtures compares what is found in each fixture with its comments: // want "message".
func TestSizesFixtures(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nesting.go", "params.go", "licence.go", "generated.go"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, err := os.ReadFile("../testdata/sizes/" + name)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for i, line := range strings.Split(string(source), "\n") {
				if match := wanted.FindStringSubmatch(line); match != nil {
					want = append(want, fmt.Sprintf("%s:%d: %s", name, i+1, match[1]))
				}
			}
			diff(t, sizes(t, name, string(source)), want)
		})
	}
}

func TestSizesOfFiles(t *testing.T) {
	t.Parallel()
	const head = "// SPDX-License-Identifier: Apache-2.0\n\npackage p\n"
	function := func(doc string, lines int) string {
		return head + doc + "func f() {\n" + strings.Repeat("\tf()\n", lines-2) + "}\n"
	}
	tests := []struct {
		name, file, source string
		want               []string
	}{
		{"500 lines", "f.go", head + strings.Repeat("\n", 497), nil},
		{"501 lines", "f.go", head + strings.Repeat("\n", 498), []string{"f.go:501: the file has 501 lines, the limit is 500"}},
		{"501 lines, the last one open", "f.go", head + strings.Repeat("\n", 497) + "//", []string{"f.go:501: the file has 501 lines, the limit is 500"}},
		{"501 lines of test", "f_test.go", head + strings.Repeat("\n", 498), []string{"f_test.go:501: the file has 501 lines, the limit is 500"}},
		{"function of 40", "f.go", function("", 40), nil},
		{"function of 41", "f.go", function("", 41), []string{"f.go:4: f has 41 lines, the limit is 40"}},
		{"a comment is no reason", "f.go", function("// f is not so long: believe me\n// Long:\n", 41), []string{"f.go:6: f has 41 lines, the limit is 40"}},
		{"a reason for 60", "f.go", function("// f.\n//\n// Long: one table.\n", 60), nil},
		{"no reason for 61", "f.go", function("// f.\n//\n// Long: one table.\n", 61), []string{"f.go:7: f has 61 lines, the limit is 60"}},
		{"test of 150", "f_test.go", function("", 150), nil},
		{"test of 151", "f_test.go", function("", 151), []string{"f_test.go:4: f has 151 lines, the limit is 150"}},
		{"parameters of a test", "f_test.go", head + "func f(a, b, c, d, e int) {}\n", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			diff(t, sizes(t, test.file, test.source), test.want)
		})
	}
}

func sizes(t *testing.T, name, source string) []string {
	t.Helper()
	file, err := rules.Parse(name, []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return text(rules.Sizes(file))
}

func text(problems []rules.Problem) []string {
	rules.Sort(problems)
	var lines []string
	for _, problem := range problems {
		lines = append(lines, problem.String())
	}
	return lines
}

// diff reports the lines that only one side has, and a different order.
func diff(t *testing.T, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("not expected: %s", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("missing: %s", line)
		}
	}
	if !t.Failed() {
		t.Errorf("got in another order or number:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
