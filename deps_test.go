// SPDX-License-Identifier: Apache-2.0

package informer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const modulePath = "github.com/informerkit/informer"

// goPackage is what go list says of a package.
type goPackage struct {
	ImportPath   string
	Standard     bool
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// direct lists the modules that packages of this module may import, itself included.
var direct = []string{modulePath, "k8s.io/apimachinery", "k8s.io/klog/v2", "k8s.io/utils"}

// directOf lists what single packages may import beyond that.
var directOf = map[string][]string{
	modulePath + "/rest": {"github.com/go-json-experiment/json", "sigs.k8s.io/yaml"},
}

// never lists what must not reach an importer by any way.
var never = []string{"k8s.io/client-go", "k8s.io/api", "k8s.io/kubernetes", "k8s.io/apiserver", "sigs.k8s.io/controller-runtime"}

func goList(t *testing.T, args ...string) []goPackage {
	t.Helper()
	args = append([]string{"list", "-json=ImportPath,Standard,Imports,TestImports,XTestImports"}, args...)
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var pkg goPackage
		switch err := decoder.Decode(&pkg); {
		case errors.Is(err, io.EOF):
			return packages
		case err != nil:
			t.Fatal(err)
		}
		packages = append(packages, pkg)
	}
}

// in reports whether a package belongs to one of the modules.
func in(path string, modules []string) bool {
	return slices.ContainsFunc(modules, func(module string) bool {
		return path == module || strings.HasPrefix(path, module+"/")
	})
}

// TestDependenciesOfRoot holds the root package to what it may pull in: its own module's packages
// import the standard library and three modules, and whatever else comes, comes with those.
func TestDependenciesOfRoot(t *testing.T) {
	t.Parallel()
	packages := goList(t, "-deps", ".")
	if last := packages[len(packages)-1].ImportPath; last != modulePath {
		t.Fatalf("go list -deps . ends with %s, want %s", last, modulePath)
	}
	standard := map[string]bool{}
	for _, pkg := range packages {
		standard[pkg.ImportPath] = pkg.Standard
	}
	for _, pkg := range packages {
		if in(pkg.ImportPath, never) {
			t.Errorf("the root package pulls in %s", pkg.ImportPath)
		}
		if !in(pkg.ImportPath, direct[:1]) {
			continue
		}
		for _, path := range pkg.Imports {
			if path != "C" && !standard[path] && !in(path, direct) {
				t.Errorf("%s, which the root package needs, imports %s", pkg.ImportPath, path)
			}
		}
	}
}

// TestDependenciesOfModule holds every package of the module, and its tests, to the modules that
// go.mod is meant to ask for.
func TestDependenciesOfModule(t *testing.T) {
	t.Parallel()
	packages := goList(t, "./...")
	if !slices.ContainsFunc(packages, func(pkg goPackage) bool { return pkg.ImportPath == modulePath }) {
		t.Fatalf("go list ./... lists no %s", modulePath)
	}
	for _, pkg := range packages {
		allowed := slices.Concat(direct, directOf[pkg.ImportPath])
		for _, path := range slices.Concat(pkg.Imports, pkg.TestImports, pkg.XTestImports) {
			if !inStandardLibrary(path) && !in(path, allowed) {
				t.Errorf("%s imports %s", pkg.ImportPath, path)
			}
		}
	}
	for _, pkg := range goList(t, "-deps", "-test", "./...") {
		if in(pkg.ImportPath, never) {
			t.Errorf("the module pulls in %s", pkg.ImportPath)
		}
	}
}

// TestGoModDirect holds go.mod to the direct dependencies named above.
func TestGoModDirect(t *testing.T) {
	t.Parallel()
	output, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Module  struct{ Path string }
		Require []struct {
			Path     string
			Indirect bool
		}
		Replace []any
	}
	if err := json.Unmarshal(output, &mod); err != nil {
		t.Fatal(err)
	}
	if mod.Module.Path != modulePath || len(mod.Replace) > 0 {
		t.Errorf("go.mod is of module %s with %d replacements, want %s and none", mod.Module.Path, len(mod.Replace), modulePath)
	}
	allowed := slices.Concat(direct, directOf[modulePath+"/rest"])
	for _, require := range mod.Require {
		if !require.Indirect && !slices.Contains(allowed, require.Path) {
			t.Errorf("go.mod requires %s", require.Path)
		}
	}
}

// TestGoSum keeps go.sum free of what only the modules inside need.
func TestGoSum(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if path, _, _ := strings.Cut(line, " "); in(path, never) {
			t.Errorf("go.sum names %s", path)
		}
	}
}

// inStandardLibrary reports whether an import path is one of the standard library: the first
// element of any other has a dot.
func inStandardLibrary(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// TestOneModulePerFolder keeps the modules that need client-go out of the root's.
func TestOneModulePerFolder(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"e2e", "bench", "clientgo", "prometheus"} {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		if _, err := os.Stat(dir + "/go.mod"); err != nil {
			t.Errorf("%s has no go.mod of its own: %v", dir, err)
		}
	}
}
