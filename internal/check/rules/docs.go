// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
)

// Docs checks that every exported name of the public packages among files is documented, and that
// the comment of a function or type begins with its name. Packages below internal are no one's to
// read and pass; a main package needs its package comment only. Fields and methods may have their
// comment above or behind them; constants and variables may share the one of their group. An
// embedded field is documented by its type.
func Docs(files []*File) []Problem {
	packages := map[string][]*File{}
	for _, f := range files {
		if dir := path.Dir(f.Path); !f.isTest() && !isInternal(dir) {
			packages[dir] = append(packages[dir], f)
		}
	}
	var problems []Problem
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		problems = append(problems, packageDocs(packages[dir])...)
	}
	return problems
}

func isInternal(dir string) bool {
	return slices.Contains(strings.Split(dir, "/"), "internal")
}

func packageDocs(files []*File) []Problem {
	var problems []Problem
	name := files[0].syntax.Name.Name
	want := "Package " + name + " "
	if name == "main" {
		want = ""
	}
	documented := slices.ContainsFunc(files, func(f *File) bool {
		return f.syntax.Doc.Text() != "" && strings.HasPrefix(f.syntax.Doc.Text(), want)
	})
	if !documented {
		problems = append(problems, files[0].problem(files[0].syntax.Package, "package %s has no comment that begins with %q", name, want))
	}
	if name == "main" {
		return problems
	}
	visible := promoting(files)
	for _, f := range files {
		if ast.IsGenerated(f.syntax) {
			continue
		}
		for _, decl := range f.syntax.Decls {
			problems = append(problems, f.declDocs(decl, visible)...)
		}
	}
	return problems
}

// promoting returns the names of the unexported types that exported structs embed, directly or
// through one another: what they export reaches the reader of the package.
func promoting(files []*File) map[string]bool {
	structs := map[string]*ast.StructType{}
	for _, f := range files {
		ast.Inspect(f.syntax, func(node ast.Node) bool {
			if spec, ok := node.(*ast.TypeSpec); ok {
				if typ, ok := spec.Type.(*ast.StructType); ok {
					structs[spec.Name.Name] = typ
				}
			}
			return true
		})
	}
	visible := map[string]bool{}
	var visit func(typ *ast.StructType)
	visit = func(typ *ast.StructType) {
		for _, field := range typ.Fields.List {
			name := baseName(field.Type)
			if len(field.Names) > 0 || ast.IsExported(name) || visible[name] {
				continue
			}
			visible[name] = true
			if inner := structs[name]; inner != nil {
				visit(inner)
			}
		}
	}
	for name, typ := range structs {
		if ast.IsExported(name) {
			visit(typ)
		}
	}
	return visible
}

// baseName is the name of a type without pointer, type arguments and package.
func baseName(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.Ident:
		return expr.Name
	case *ast.StarExpr:
		return baseName(expr.X)
	case *ast.ParenExpr:
		return baseName(expr.X)
	case *ast.IndexExpr:
		return baseName(expr.X)
	case *ast.IndexListExpr:
		return baseName(expr.X)
	case *ast.SelectorExpr:
		return expr.Sel.Name
	}
	return ""
}

func (f *File) declDocs(decl ast.Decl, visible map[string]bool) []Problem {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		return f.funcDocs(decl, visible)
	case *ast.GenDecl:
		var problems []Problem
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				problems = append(problems, f.typeDocs(decl, spec, visible)...)
			case *ast.ValueSpec:
				problems = append(problems, f.valueDocs(decl, spec)...)
			}
		}
		return problems
	}
	return nil
}

func (f *File) funcDocs(decl *ast.FuncDecl, visible map[string]bool) []Problem {
	if !decl.Name.IsExported() {
		return nil
	}
	if decl.Recv != nil {
		receiver := baseName(decl.Recv.List[0].Type)
		if !ast.IsExported(receiver) && !visible[receiver] {
			return nil
		}
	}
	return f.named(decl.Name, decl.Doc)
}

func (f *File) typeDocs(decl *ast.GenDecl, spec *ast.TypeSpec, visible map[string]bool) []Problem {
	name := spec.Name
	if !name.IsExported() && !visible[name.Name] {
		return nil
	}
	var problems []Problem
	if name.IsExported() {
		doc := spec.Doc
		if doc == nil && !decl.Lparen.IsValid() {
			doc = decl.Doc
		}
		problems = f.named(name, doc)
	}
	return append(problems, f.memberDocs(name.Name, spec.Type)...)
}

// memberDocs checks the fields of a struct and the methods of an interface, with those of the
// structs that are written out inside it.
func (f *File) memberDocs(owner string, typ ast.Expr) []Problem {
	var problems []Problem
	ast.Inspect(typ, func(node ast.Node) bool {
		if _, ok := node.(*ast.FuncType); ok {
			return false // parameters are fields of the syntax tree, not of the API
		}
		field, ok := node.(*ast.Field)
		if !ok || field.Doc.Text() != "" || field.Comment.Text() != "" {
			return true
		}
		for _, name := range field.Names {
			if name.IsExported() {
				problems = append(problems, f.problem(name.Pos(), "%s.%s is not documented", owner, name.Name))
			}
		}
		return true
	})
	return problems
}

func (f *File) valueDocs(decl *ast.GenDecl, spec *ast.ValueSpec) []Problem {
	if decl.Doc.Text() != "" || spec.Doc.Text() != "" || spec.Comment.Text() != "" {
		return nil
	}
	var problems []Problem
	for _, name := range spec.Names {
		if name.IsExported() {
			problems = append(problems, f.problem(name.Pos(), "%s is not documented", name.Name))
		}
	}
	return problems
}

// named checks a comment that has to begin with the name, after an article if it likes.
func (f *File) named(name *ast.Ident, doc *ast.CommentGroup) []Problem {
	words := strings.Fields(doc.Text())
	if len(words) > 1 && slices.Contains([]string{"A", "An", "The"}, words[0]) {
		words = words[1:]
	}
	switch {
	case len(words) == 0:
		return []Problem{f.problem(name.Pos(), "%s is not documented", name.Name)}
	case leading(words[0]) != name.Name:
		return []Problem{f.problem(name.Pos(), "the comment of %s does not begin with its name", name.Name)}
	}
	return nil
}

// leading is the identifier that a word begins with: "Get's", "Get," and "Get" are all Get.
func leading(word string) string {
	for i, r := range word {
		if !token.IsIdentifier("x" + string(r)) {
			return word[:i]
		}
	}
	return word
}
