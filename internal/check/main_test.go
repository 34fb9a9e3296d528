// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const header = "// SPDX-License-Identifier: Apache-2.0\n\n// Package p is a fixture.\npackage p\n\n"

func TestRun(t *testing.T) {
	t.Parallel()
	const documented = header + "// F is documented.\nfunc F() {}\n"
	tests := []struct {
		name, source, api string
		args              []string
		status            int
		stdout            string // all of it
		stderr            string // a part of it; "": nothing
	}{
		{"clean", documented, "pkg p, func F()\n", []string{"-sizes", "-docs", "-api=check"}, 0, "", ""},
		{"nothing asked", header + "func F() {}\n", "", nil, 0, "", ""},
		{"undocumented", header + "func F() {}\n", "", []string{"-docs"}, 1, "p.go:6: F is not documented\n", ""},
		{"sizes", header + "func f(a, b, c, d, e int) {}\n", "", []string{"-sizes"}, 1, "p.go:6: f has 5 parameters, the limit is 4\n", ""},
		{"name added", documented, "pkg p, func E()\npkg p, func F()\n", []string{"-api=check"}, 1, "api.txt:1: not in the code: pkg p, func E()\n", ""},
		{"name missing", documented, "", []string{"-api=check"}, 1, "api.txt:1: missing, make api writes it: pkg p, func F()\n", ""},
		{"no names at all", header, "", []string{"-api=check"}, 0, "", ""},
		{"no such mode", documented, "", []string{"-api=print"}, 2, "", "check or write"},
		{"no such flag", documented, "", []string{"-all"}, 2, "", "flag provided but not defined"},
		{"syntax error", "package p\n\nfunc {\n", "", []string{"-sizes"}, 2, "", "p.go:3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := module(t, map[string]string{"p.go": test.source, "api.txt": test.api})
			var stdout, stderr strings.Builder
			status := run(append([]string{"-C", dir}, test.args...), &stdout, &stderr)
			if status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
			if stdout.String() != test.stdout {
				t.Errorf("stdout is %q, want %q", stdout.String(), test.stdout)
			}
			if !strings.Contains(stderr.String(), test.stderr) || test.stderr == "" && stderr.String() != "" {
				t.Errorf("stderr is %q, want %q in it", stderr.String(), test.stderr)
			}
		})
	}
}

// TestWriteThenCheck checks that what is written is what is asked for, and nothing else is.
func TestWriteThenCheck(t *testing.T) {
	t.Parallel()
	dir := module(t, map[string]string{"p.go": header + "func F() {}\n"})
	var output strings.Builder
	if status := run([]string{"-C", dir, "-api=check"}, &output, &output); status != 2 {
		t.Errorf("without api.txt: status %d, want 2", status)
	}
	for _, mode := range []string{"-api=write", "-api=check"} {
		if status := run([]string{"-C", dir, mode}, &output, &output); status != 0 {
			t.Errorf("%s: status %d: %s", mode, status, &output)
		}
	}
	if written, err := os.ReadFile(filepath.Join(dir, "api.txt")); err != nil || string(written) != "pkg p, func F()\n" {
		t.Errorf("api.txt holds %q, %v", written, err)
	}
}

func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example.org/p\n\ngo 1.26.0\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
