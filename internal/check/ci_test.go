// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// TestReadmeCommands checks that the README has the two commands, and that .ci/run runs them as
// they stand there.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"go test ./...", "go run ./examples/quickstart"} {
		if !slices.ContainsFunc(codeLines(string(readme)), func(line string) bool { return line == command }) {
			t.Errorf("README.md has no code block with the line %q", command)
		}
	}
	if !strings.Contains(string(readme), ".ci/run") {
		t.Error("README.md does not mention .ci/run")
	}
	steps := plan(t, filepath.Join(root, ".ci/run"))
	for _, step := range []string{"tests: go test ./...", "checks: make check", "race detector: go test -race -shuffle=on ./...", "quickstart: go run ./examples/quickstart"} {
		if !slices.Contains(steps, step) {
			t.Errorf(".ci/run has no step %q, but %q", step, steps)
		}
	}
}

// TestCIFollowsReadme checks on READMEs of its own that the commands come from there.
func TestCIFollowsReadme(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, readme    string
		tests, quickrun string // "": an error
	}{
		{"as they stand", "```sh\ngo run ./examples/quickstart\ngo test ./...\n```\n", "go test ./...", "go run ./examples/quickstart"},
		{"comments and prompts", "```sh\n$ go run ./examples/quickstart -x # watch it\n$ go test -short ./...\t# all\n```\n", "go test -short ./...", "go run ./examples/quickstart -x"},
		{"the first of several", "```\ngo test ./a\n```\ngo test ./b\n```\ngo test ./c\ngo run ./examples/quickstart\ngo run ./examples/quickstart -server x\n```\n", "go test ./a", "go run ./examples/quickstart"},
		{"outside of code", "go test ./...\n```\ngo run ./examples/quickstart\n```\n", "", ""},
		{"no quickstart", "```\ngo test ./...\n```\n", "", ""},
	}
	script, err := os.ReadFile(filepath.Join(root, ".ci/run"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			copied := filepath.Join(dir, ".ci", "run")
			write(t, filepath.Join(dir, "README.md"), test.readme)
			write(t, copied, string(script))
			if test.tests == "" {
				if output, err := exec.CommandContext(t.Context(), "bash", copied, "-n").CombinedOutput(); err == nil {
					t.Errorf("no error, but %s", output)
				}
				return
			}
			steps := plan(t, copied)
			for _, step := range []string{"tests: " + test.tests, "quickstart: " + test.quickrun} {
				if !slices.Contains(steps, step) {
					t.Errorf("no step %q, but %q", step, steps)
				}
			}
		})
	}
}

// plan returns the steps that the script would run, one a line.
func plan(t *testing.T, script string) []string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "bash", script, "-n").Output()
	if err != nil {
		t.Fatalf("%s -n: %v", script, err)
	}
	return strings.Split(strings.TrimSpace(string(output)), "\n")
}

// codeLines returns the lines in the code blocks of a Markdown text, without comments.
func codeLines(markdown string) []string {
	var lines []string
	code := false
	for line := range strings.SplitSeq(markdown, "\n") {
		if strings.HasPrefix(line, "```") {
			code = !code
			continue
		}
		if line, _, _ = strings.Cut(line, " #"); code {
			lines = append(lines, strings.TrimSpace(strings.TrimPrefix(line, "$ ")))
		}
	}
	return lines
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
