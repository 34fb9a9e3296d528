// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestQuickstart: the program of the README mirrors a real server and tells its changes.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), failSafe)
	defer cancel()
	program := filepath.Join(t.TempDir(), "quickstart")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./examples/quickstart")
	build.Dir = ".." // The module of the library.
	if printed, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, printed)
	}
	objects := configMaps(t, cluster.Namespace(t))
	objects.create(t, "first", "front")

	cmd := exec.CommandContext(ctx, program, "-server", cluster.URL, "-token-file", cluster.TokenFile,
		"-ca-file", cluster.CAFile, "-resource", "configmaps", "-namespace", objects.namespace, "-selector", selector)
	cmd.Stderr = os.Stderr
	out := must(cmd.StdoutPipe())(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := &output{scanner: bufio.NewScanner(out)}
	lines.until(t, "synced: 1 object")
	objects.create(t, "hidden", "back")
	objects.create(t, "second", "front")
	lines.until(t, "Added", objects.namespace+"/second")
	objects.relabel(t, "second", "back")
	lines.until(t, "Deleted", objects.namespace+"/second")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	lines.rest()
	if err := cmd.Wait(); err != nil {
		t.Errorf("after an interrupt: %v; want status 0", err)
	}
	if strings.Contains(lines.seen, "hidden") {
		t.Errorf("it tells of an object outside of the selector:\n%s", lines.seen)
	}
}

// output reads what a program prints.
type output struct {
	scanner *bufio.Scanner
	seen    string
}

// until reads up to a line that holds all the parts.
func (o *output) until(t *testing.T, parts ...string) {
	t.Helper()
	for o.scanner.Scan() {
		line := o.scanner.Text()
		o.seen += line + "\n"
		if holdsAll(line, parts) {
			return
		}
	}
	t.Fatalf("no line with %q in:\n%s", parts, o.seen)
}

func (o *output) rest() {
	for o.scanner.Scan() {
		o.seen += o.scanner.Text() + "\n"
	}
}

func holdsAll(line string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(line, part) {
			return false
		}
	}
	return true
}
