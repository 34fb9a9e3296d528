// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"bytes"
	"go/ast"
	"go/token"
	"regexp"
)

// The limits. Lines of a function run from its func keyword to its closing brace, both included.
const (
	maxFileLines     = 500
	maxFuncLines     = 40
	maxLongFuncLines = 60  // with a reason in the doc comment
	maxTestFuncLines = 150 // in _test.go, where tables live
	maxNesting       = 3
	maxParams        = 4
	maxMethods       = 4 // of an exported interface
)

// moreMethods lists the exported interfaces that may have more methods than maxMethods.
var moreMethods = map[string]int{"Replacement": 5}

const licence = "// SPDX-License-Identifier: Apache-2.0\n"

// reason is the line of a doc comment that says why a function is long.
var reason = regexp.MustCompile(`(?m)^Long: \S`)

// Sizes checks one file: licence line, length, and the functions and interfaces in it. Generated
// files pass.
func Sizes(f *File) []Problem {
	if ast.IsGenerated(f.syntax) {
		return nil
	}
	var problems []Problem
	if !bytes.HasPrefix(f.Source, []byte(licence)) {
		problems = append(problems, Problem{f.Path, 1, "the file does not begin with its licence identifier"})
	}
	if lines := lineCount(f.Source); lines > maxFileLines {
		problems = append(problems, Problem{f.Path, maxFileLines + 1, "the file has " + limit(lines, maxFileLines, "lines")})
	}
	for _, decl := range f.syntax.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			problems = append(problems, f.funcSizes(decl)...)
		case *ast.GenDecl:
			problems = append(problems, f.typeSizes(decl)...)
		}
	}
	return problems
}

func lineCount(source []byte) int {
	lines := bytes.Count(source, []byte("\n"))
	if len(source) > 0 && source[len(source)-1] != '\n' {
		lines++
	}
	return lines
}

func (f *File) funcSizes(decl *ast.FuncDecl) []Problem {
	var problems []Problem
	if lines, most := f.line(decl.End())-f.line(decl.Type.Func)+1, f.maxLines(decl); lines > most {
		problems = append(problems, f.problem(decl.Type.Func, "%s has %s", decl.Name.Name, limit(lines, most, "lines")))
	}
	if f.isTest() {
		return problems
	}
	if params := decl.Type.Params.NumFields(); params > maxParams {
		problems = append(problems, f.problem(decl.Type.Func, "%s has %s", decl.Name.Name, limit(params, maxParams, "parameters")))
	}
	if decl.Body == nil {
		return problems
	}
	for _, pos := range deeper(decl.Body) {
		problems = append(problems, f.problem(pos, "%s nests statements more than %d deep here", decl.Name.Name, maxNesting))
	}
	return problems
}

func (f *File) maxLines(decl *ast.FuncDecl) int {
	switch {
	case f.isTest():
		return maxTestFuncLines
	case reason.MatchString(decl.Doc.Text()):
		return maxLongFuncLines
	default:
		return maxFuncLines
	}
}

func (f *File) typeSizes(decl *ast.GenDecl) []Problem {
	var problems []Problem
	for _, spec := range decl.Specs {
		spec, ok := spec.(*ast.TypeSpec)
		if !ok || f.isTest() {
			continue
		}
		switch typ := spec.Type.(type) {
		case *ast.InterfaceType:
			problems = append(problems, f.interfaceSizes(spec.Name, typ)...)
		case *ast.FuncType:
			if params := typ.Params.NumFields(); params > maxParams {
				problems = append(problems, f.problem(spec.Pos(), "%s has %s", spec.Name.Name, limit(params, maxParams, "parameters")))
			}
		}
	}
	return problems
}

func (f *File) interfaceSizes(name *ast.Ident, typ *ast.InterfaceType) []Problem {
	var problems []Problem
	methods := 0
	for _, field := range typ.Methods.List {
		signature, ok := field.Type.(*ast.FuncType)
		if !ok {
			continue // an embedded interface: its methods are another's
		}
		methods += len(field.Names)
		if params := signature.Params.NumFields(); params > maxParams {
			problems = append(problems, f.problem(field.Pos(), "%s.%s has %s", name.Name, field.Names[0].Name, limit(params, maxParams, "parameters")))
		}
	}
	most := max(maxMethods, moreMethods[name.Name])
	if name.IsExported() && methods > most {
		problems = append(problems, f.problem(name.Pos(), "%s has %s", name.Name, limit(methods, most, "methods")))
	}
	return problems
}

// nesting finds the statements that lie too deep. Each if, for, switch and select is a level; an
// else and a case belong to the statement that they are part of; a function literal starts again.
type nesting struct {
	depth int
	found *[]token.Pos
}

// deeper returns the outermost statements of a body that lie more than maxNesting deep.
func deeper(body *ast.BlockStmt) []token.Pos {
	var found []token.Pos
	ast.Walk(nesting{found: &found}, body)
	return found
}

func (n nesting) Visit(node ast.Node) ast.Visitor {
	switch node := node.(type) {
	case *ast.FuncLit:
		return nesting{found: n.found}
	case *ast.IfStmt:
		n.ifStmt(node)
		return nil
	case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
		return n.enter(node)
	}
	return n
}

// enter is one level down, or nil where that is a level too many: one report says it all.
func (n nesting) enter(node ast.Node) ast.Visitor {
	if n.depth == maxNesting {
		*n.found = append(*n.found, node.Pos())
		return nil
	}
	return nesting{n.depth + 1, n.found}
}

// ifStmt walks an if and its else branches, which are all of one level.
func (n nesting) ifStmt(stmt *ast.IfStmt) {
	inner := n.enter(stmt)
	if inner == nil {
		return
	}
	if stmt.Init != nil {
		ast.Walk(n, stmt.Init)
	}
	ast.Walk(n, stmt.Cond)
	ast.Walk(inner, stmt.Body)
	switch branch := stmt.Else.(type) {
	case *ast.IfStmt:
		n.ifStmt(branch)
	case *ast.BlockStmt:
		ast.Walk(inner, branch)
	}
}
