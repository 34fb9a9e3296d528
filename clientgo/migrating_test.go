// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMigrating holds docs/migrating.md to be complete: every exported name of tools/cache is in
// it, and every name of this library that it sends somebody to exists.
func TestMigrating(t *testing.T) {
	t.Parallel()
	text := read(t, "../docs/migrating.md")
	names := exported(t, "k8s.io/client-go/tools/cache")
	if len(names) < 150 {
		t.Fatalf("tools/cache exports %d names only", len(names))
	}
	for _, name := range names {
		if !regexp.MustCompile("`(cache\\.)?" + name + "[`.\\[]").MatchString(text) {
			t.Errorf("docs/migrating.md does not mention %s", name)
		}
	}
	own := strings.Join(exported(t, "github.com/informerkit/informer/clientgo"), " ") + " "
	for _, found := range regexp.MustCompile("`clientgo\\.([A-Z]\\w*)").FindAllStringSubmatch(text, -1) {
		if !strings.Contains(own, found[1]+" ") {
			t.Errorf("docs/migrating.md names clientgo.%s, which is not there", found[1])
		}
	}
	api := read(t, "../api.txt")
	for _, found := range regexp.MustCompile("`informer\\.([A-Z]\\w*)").FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`(?m)^pkg informer, (type|func|const|var) `+found[1]+`\b`).MatchString(api) && !strings.HasPrefix(found[1], "Err") {
			t.Errorf("docs/migrating.md names informer.%s, which is not in api.txt", found[1])
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// exported returns the exported names at the top level of a package, tests left out.
func exported(t *testing.T, path string) (names []string) {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		t.Fatalf("go list %s: %v", path, err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			names = append(names, namesOf(decl)...)
		}
	}
	return names
}

func namesOf(decl ast.Decl) (names []string) {
	var idents []*ast.Ident
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			idents = append(idents, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				idents = append(idents, s.Name)
			case *ast.ValueSpec:
				idents = append(idents, s.Names...)
			}
		}
	}
	for _, ident := range idents {
		if ident.IsExported() {
			names = append(names, ident.Name)
		}
	}
	return names
}
