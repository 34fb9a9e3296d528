// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// listed is what go list says of a package.
type listed struct {
	ImportPath string
	Dir        string
	Name       string
	GoFiles    []string
	ImportMap  map[string]string // import paths that mean another package, in the standard library
	Module     *struct {
		Path string
		Main bool
	}
}

// list runs go list in a module. Files for one platform, and none that need a C compiler, make the
// answer the same on every machine.
func list(dir string, args ...string) ([]listed, error) {
	args = append([]string{"list", "-json=ImportPath,Dir,Name,GoFiles,ImportMap,Module"}, args...)
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w\n%s", dir, err, &stderr)
	}
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var pkg listed
		switch err := decoder.Decode(&pkg); {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, fmt.Errorf("output of go list: %w", err)
		}
		packages = append(packages, pkg)
	}
}

// loader checks packages from source, declarations only. Compiled export data would be quicker to
// read, but only by the release of Go that wrote it.
type loader struct {
	fset   *token.FileSet
	loaded map[string]*types.Package
}

// load checks one package whose imports have been loaded. Errors in a dependency do not matter: it
// may be written in a newer Go than this program, and what it lacks then is missed where it is used.
func (l *loader) load(pkg listed) error {
	if pkg.ImportPath == "unsafe" {
		l.loaded["unsafe"] = types.Unsafe
		return nil
	}
	ours := pkg.Module != nil && pkg.Module.Main
	var files []*ast.File
	for _, name := range pkg.GoFiles {
		file, err := parser.ParseFile(l.fset, filepath.Join(pkg.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil && (ours || file == nil) {
			return err
		}
		files = append(files, file)
	}
	config := types.Config{
		IgnoreFuncBodies: true,
		Importer:         importer{l, pkg.ImportMap},
		Sizes:            types.SizesFor("gc", "amd64"),
	}
	if !ours {
		config.Error = func(error) {} // go on after the first
	}
	checked, err := config.Check(pkg.ImportPath, l.fset, files, nil)
	if err != nil && ours {
		return fmt.Errorf("package %s: %w", pkg.ImportPath, err)
	}
	l.loaded[pkg.ImportPath] = checked
	return nil
}

// importer finds what the files of one package import.
type importer struct {
	loader  *loader
	renamed map[string]string
}

// Import returns a package that was loaded before.
func (i importer) Import(path string) (*types.Package, error) {
	if renamed, ok := i.renamed[path]; ok {
		path = renamed
	}
	if pkg := i.loader.loaded[path]; pkg != nil {
		return pkg, nil
	}
	return nil, fmt.Errorf("package %s is not loaded", path)
}
