// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"
)

// API returns the exported names of the public packages of the module in dir: one line a name,
// sorted, parameters without their names. Commands and packages below internal have none. The
// methods and fields that a struct owes to an embedded type which is unexported, or internal, are
// listed as its own.
func API(dir string) ([]string, error) {
	all, err := list(dir, "./...")
	if err != nil {
		return nil, err
	}
	public := map[string]string{} // import path → name in the lines
	arguments := []string{"-deps", "--"}
	for _, pkg := range all {
		if pkg.Name != "main" && !isInternal(pkg.ImportPath) && len(pkg.GoFiles) > 0 {
			public[pkg.ImportPath] = path.Base(pkg.Module.Path) + strings.TrimPrefix(pkg.ImportPath, pkg.Module.Path)
			arguments = append(arguments, pkg.ImportPath)
		}
	}
	if len(public) == 0 {
		return nil, nil
	}
	needed, err := list(dir, arguments...)
	if err != nil {
		return nil, err
	}
	l := &loader{token.NewFileSet(), map[string]*types.Package{}}
	var lines []string
	for _, pkg := range needed { // dependencies come before those that import them
		if err := l.load(pkg); err != nil {
			return nil, err
		}
		if name, ok := public[pkg.ImportPath]; ok {
			lines = append(lines, packageAPI(name, l.loaded[pkg.ImportPath])...)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}

// writer collects the lines of one package.
type writer struct {
	prefix string
	pkg    *types.Package
	lines  []string
}

func packageAPI(name string, pkg *types.Package) []string {
	w := &writer{prefix: "pkg " + name + ", ", pkg: pkg}
	for _, name := range pkg.Scope().Names() {
		if obj := pkg.Scope().Lookup(name); obj.Exported() {
			w.object(obj)
		}
	}
	return w.lines
}

func (w *writer) add(format string, args ...any) {
	w.lines = append(w.lines, w.prefix+fmt.Sprintf(format, args...))
}

func (w *writer) object(obj types.Object) {
	switch obj := obj.(type) {
	case *types.Const:
		w.add("const %s %s = %s", obj.Name(), w.typ(obj.Type()), obj.Val().ExactString())
	case *types.Var:
		w.add("var %s %s", obj.Name(), w.typ(obj.Type()))
	case *types.Func:
		w.add("func %s%s", obj.Name(), w.signature(obj.Signature()))
	case *types.TypeName:
		w.typeName(obj)
	}
}

func (w *writer) typeName(obj *types.TypeName) {
	if alias, ok := obj.Type().(*types.Alias); ok {
		w.add("type %s%s = %s", obj.Name(), w.typeParams(alias.TypeParams()), w.typ(alias.Rhs()))
		return
	}
	named := obj.Type().(*types.Named)
	head := "type " + obj.Name() + w.typeParams(named.TypeParams())
	switch underlying := named.Underlying().(type) {
	case *types.Struct:
		w.add("%s struct", head)
		w.fields(head+" struct", underlying)
	case *types.Interface:
		w.add("%s interface", head)
		w.interfaceMembers(head+" interface", underlying)
		return // its methods are these
	default:
		w.add("%s %s", head, w.typ(underlying))
	}
	w.methods(named)
}

func (w *writer) fields(head string, typ *types.Struct) {
	for field := range typ.Fields() {
		inner, isStruct := deref(field.Type()).Underlying().(*types.Struct)
		switch {
		case field.Exported() && field.Embedded():
			w.add("%s, embedded %s", head, w.typ(field.Type()))
		case field.Exported():
			w.add("%s, %s %s", head, field.Name(), w.typ(field.Type()))
		}
		if field.Embedded() && isStruct && !listedItself(field) {
			w.fields(head, inner)
		}
	}
}

func (w *writer) interfaceMembers(head string, typ *types.Interface) {
	for method := range typ.ExplicitMethods() {
		if !method.Exported() {
			w.add("%s, unexported methods", head)
			continue
		}
		w.add("%s, %s%s", head, method.Name(), w.signature(method.Signature()))
	}
	for embedded := range typ.EmbeddedTypes() {
		named, ok := embedded.(*types.Named)
		inner, isInterface := embedded.Underlying().(*types.Interface)
		if ok && isInterface && !named.Obj().Exported() && named.Obj().Pkg() == w.pkg {
			w.interfaceMembers(head, inner)
			continue
		}
		w.add("%s, embedded %s", head, w.typ(embedded))
	}
}

// methods lists the methods that a value or a pointer has, except those of an embedded type that is
// listed itself.
func (w *writer) methods(named *types.Named) {
	values := types.NewMethodSet(named)
	for selection := range types.NewMethodSet(types.NewPointer(named)).Methods() {
		method := selection.Obj().(*types.Func)
		if !method.Exported() || promoted(named, selection.Index()) {
			continue
		}
		receiver := w.receiver(named)
		if values.Lookup(w.pkg, method.Name()) == nil {
			receiver = "*" + receiver
		}
		w.add("method (%s) %s%s", receiver, method.Name(), w.signature(selection.Type().(*types.Signature)))
	}
}

// promoted reports whether the path to a method begins at an embedded type that is listed itself.
func promoted(named *types.Named, index []int) bool {
	typ, ok := named.Underlying().(*types.Struct)
	return ok && len(index) > 1 && listedItself(typ.Field(index[0]))
}

// listedItself reports whether the reader finds what an embedded type has under its own name: it is
// exported, and not from a package that nobody can import.
func listedItself(field *types.Var) bool {
	named, ok := types.Unalias(deref(field.Type())).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return field.Exported()
	}
	return field.Exported() && !isInternal(named.Obj().Pkg().Path())
}

func (w *writer) receiver(named *types.Named) string {
	var params []string
	for param := range named.TypeParams().TypeParams() {
		params = append(params, param.Obj().Name())
	}
	if len(params) == 0 {
		return named.Obj().Name()
	}
	return named.Obj().Name() + "[" + strings.Join(params, ", ") + "]"
}

func (w *writer) typeParams(list *types.TypeParamList) string {
	var params []string
	for param := range list.TypeParams() {
		params = append(params, param.Obj().Name()+" "+w.typ(param.Constraint()))
	}
	if len(params) == 0 {
		return ""
	}
	return "[" + strings.Join(params, ", ") + "]"
}

func (w *writer) signature(signature *types.Signature) string {
	return w.typeParams(signature.TypeParams()) + strings.TrimPrefix(w.typ(signature), "func")
}

func (w *writer) typ(typ types.Type) string {
	return types.TypeString(unnamed(typ), w.qualifier)
}

var versioned = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

// qualifier names a package as its users do: metav1 for …/meta/v1.
func (w *writer) qualifier(pkg *types.Package) string {
	switch name := pkg.Name(); {
	case pkg == w.pkg:
		return ""
	case versioned.MatchString(name):
		return path.Base(path.Dir(pkg.Path())) + name
	default:
		return name
	}
}

// unnamed takes the names of parameters out of a type: a new name is no change of the API.
func unnamed(typ types.Type) types.Type {
	switch typ := typ.(type) {
	case *types.Signature:
		return types.NewSignatureType(nil, nil, nil, unnamedTuple(typ.Params()), unnamedTuple(typ.Results()), typ.Variadic())
	case *types.Pointer:
		return types.NewPointer(unnamed(typ.Elem()))
	case *types.Slice:
		return types.NewSlice(unnamed(typ.Elem()))
	case *types.Array:
		return types.NewArray(unnamed(typ.Elem()), typ.Len())
	case *types.Map:
		return types.NewMap(unnamed(typ.Key()), unnamed(typ.Elem()))
	case *types.Chan:
		return types.NewChan(typ.Dir(), unnamed(typ.Elem()))
	}
	return typ
}

func unnamedTuple(tuple *types.Tuple) *types.Tuple {
	var vars []*types.Var
	for v := range tuple.Variables() {
		vars = append(vars, types.NewParam(token.NoPos, nil, "", unnamed(v.Type())))
	}
	return types.NewTuple(vars...)
}

func deref(typ types.Type) types.Type {
	if pointer, ok := typ.(*types.Pointer); ok {
		return pointer.Elem()
	}
	return typ
}
