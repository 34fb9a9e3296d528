// SPDX-License-Identifier: Apache-2.0

// Package rules measures the project's Go source against its house style: sizes, documentation
// and the list of exported names.
package rules

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Problem is one place that breaks a rule.
type Problem struct {
	File    string // as given to the checker, relative to its root
	Line    int    // from 1
	Message string
}

// String is the form that editors can jump to: file:line: message.
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
}

// File is one parsed Go file.
type File struct {
	Path   string // slash-separated, relative to the root
	Source []byte
	fset   *token.FileSet
	syntax *ast.File
}

// Parse parses one file.
func Parse(path string, source []byte) (*File, error) {
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &File{Path: path, Source: source, fset: fset, syntax: syntax}, nil
}

// Load parses the Go files below root, except those in directories that the go command skips too
// (testdata, vendor, names with a leading dot or underscore). With nested, it enters the modules
// inside as well; without, it stays in root's own.
func Load(root string, nested bool) ([]*File, error) {
	var files []*File
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (skipped(entry.Name()) || !nested && isModule(path)):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		file, err := load(root, path)
		if err != nil {
			return err
		}
		files = append(files, file)
		return nil
	})
	return files, err
}

func load(root, path string) (*File, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	relative, err := filepath.Rel(root, path)
	if err != nil {
		return nil, err
	}
	return Parse(filepath.ToSlash(relative), source)
}

func skipped(dir string) bool {
	return dir == "testdata" || dir == "vendor" || strings.HasPrefix(dir, ".") || strings.HasPrefix(dir, "_")
}

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func (f *File) isTest() bool { return strings.HasSuffix(f.Path, "_test.go") }

func (f *File) line(pos token.Pos) int { return f.fset.Position(pos).Line }

func (f *File) problem(pos token.Pos, format string, args ...any) Problem {
	return Problem{File: f.Path, Line: f.line(pos), Message: fmt.Sprintf(format, args...)}
}

// Sort orders problems by file and line.
func Sort(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}

// limit words a number that is too high: "41 lines, the limit is 40".
func limit(is, most int, what string) string {
	return fmt.Sprintf("%d %s, the limit is %d", is, what, most)
}
