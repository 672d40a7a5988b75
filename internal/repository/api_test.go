package repository_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/api.txt has all that other modules can use, a line each, so that every change of it shows in a diff.
func TestAPIDocumented(t *testing.T) {
	atRoot(t)
	var all strings.Builder
	for _, p := range publishedPackages(t) {
		for _, line := range apiOf(p) {
			fmt.Fprintln(&all, line)
		}
		fmt.Fprintln(&all)
	}
	documented(t, "docs/api.txt", "", strings.TrimSuffix(all.String(), "\n"))
}

// Limits of docs/api.txt: lines, the empty ones included, and packages. Code that protoc-gen-go and
// protoc-gen-connect-go generate does not count.
const (
	maxAPILines    = 950
	maxAPIPackages = 22
)

func TestAPISize(t *testing.T) {
	atRoot(t)
	text := string(read(t, "docs/api.txt"))
	if lines := strings.Count(text, "\n"); lines > maxAPILines {
		t.Errorf("docs/api.txt has %d lines, want %d at most: what no user needs belongs below internal", lines, maxAPILines)
	}
	if packages := strings.Count(text, "\n\n") + 1; packages > maxAPIPackages {
		t.Errorf("docs/api.txt has %d packages, want %d at most", packages, maxAPIPackages)
	}
}

// internalInAPI counts the lines of docs/api.txt that name an internal type, by the beginning of the
// name that a line describes. Users cannot write such types. The goal is an empty table: numbers only
// become smaller, and entries go.
var internalInAPI = map[string]int{}

func TestAPINamesInternalTypes(t *testing.T) {
	atRoot(t)
	found := map[string][]string{}
	for line := range strings.Lines(string(read(t, "docs/api.txt"))) {
		if !strings.Contains(line, "internal/") {
			continue
		}
		_, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		name = strings.TrimLeft(name, "(*")
		key := ""
		for prefix := range internalInAPI {
			if strings.HasPrefix(name, prefix) && len(prefix) > len(key) {
				key = prefix
			}
		}
		found[key] = append(found[key], line)
	}
	if len(found[""]) > 0 {
		t.Errorf("these lines of docs/api.txt name an internal type:\n%s", strings.Join(found[""], ""))
	}
	for prefix, allowed := range internalInAPI {
		switch lines := found[prefix]; {
		case len(lines) > allowed:
			t.Errorf("%d lines of %q name an internal type, want %d:\n%s", len(lines), prefix, allowed, strings.Join(lines, ""))
		case len(lines) < allowed:
			t.Errorf("%d lines of %q name an internal type: write that number instead of %d into internalInAPI, or remove the entry", len(lines), prefix, allowed)
		}
	}
}

// publishedPackages returns the packages that others can import.
func publishedPackages(t *testing.T) (all []*types.Package) {
	t.Helper()
	paths, exports := published(t)
	imported := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, errors.New("it was not built")
		}
		return os.Open(exports[path])
	})
	for _, path := range paths {
		p, err := imported.Import(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, p)
	}
	return all
}

// published returns the paths of the packages that others can import, and the files with the compiler's account of these packages and of
// their dependencies. It leaves out the code that protoc-gen-go and protoc-gen-connect-go generate: the schema in proto describes it.
func published(t *testing.T) (paths []string, exports map[string]string) {
	t.Helper()
	exports = map[string]string{}
	const format = `{{.ImportPath}}|{{.Export}}|{{.Name}}`
	args := []string{"-export", "-deps"}
	all := list(t, "", format, append(args, packages...)...) + listIn(t, "mcpserver", "", format, append(args, "./...")...)
	for entry := range strings.Lines(all) {
		fields := strings.Split(strings.TrimSuffix(entry, "\n"), "|")
		path := fields[0]
		exports[path] = fields[1]
		if !strings.HasPrefix(path+"/", module+"/") || strings.Contains(path, "/internal/") || strings.Contains(path, "/profilerv1") || fields[2] == "main" {
			continue
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return slices.Compact(paths), exports
}

// apiOf lists the exported names of a package in their order. A type's exported fields and methods follow it, also
// the methods of embedded types.
func apiOf(p *types.Package) []string {
	var lines []string
	for _, name := range p.Scope().Names() {
		if !ast.IsExported(name) {
			continue
		}
		switch o := p.Scope().Lookup(name).(type) {
		case *types.Const:
			typ := " " + types.TypeString(o.Type(), brief)
			if b, ok := o.Type().(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
				typ = ""
			}
			lines = append(lines, fmt.Sprintf("const %s.%s%s = %s", brief(p), name, typ, o.Val().ExactString()))
		case *types.Func:
			lines = append(lines, fmt.Sprintf("func %s.%s%s", brief(p), name, signature(o.Signature())))
		case *types.TypeName:
			lines = append(lines, typeLines(o)...)
		default:
			lines = append(lines, types.ObjectString(o, brief))
		}
	}
	return lines
}

// brief says which package a name is of, for all that appear in the API.
func brief(p *types.Package) string {
	if p.Path() == module {
		return p.Name()
	}
	return strings.TrimPrefix(strings.TrimPrefix(p.Path(), module+"/"), "go.opentelemetry.io/")
}

// typeLines are a type's line, then one for each field and method.
func typeLines(o *types.TypeName) []string {
	if o.IsAlias() {
		return []string{types.ObjectString(o, brief)}
	}
	name := types.TypeString(o.Type(), brief) // with its type parameters
	var kind string
	var fields []string
	hasMethods := types.Type(types.NewPointer(o.Type()))
	switch u := o.Type().Underlying().(type) {
	case *types.Struct:
		kind = "struct"
		for f := range u.Fields() {
			switch {
			case f.Exported() && f.Embedded():
				fields = append(fields, fmt.Sprintf("field %s: embeds %s", name, types.TypeString(f.Type(), brief)))
			case f.Exported():
				fields = append(fields, fmt.Sprintf("field %s.%s %s", name, f.Name(), types.TypeString(f.Type(), brief)))
			}
		}
	case *types.Interface:
		kind, hasMethods = "interface", o.Type()
		for m := range u.Methods() {
			if !m.Exported() {
				kind = "interface that only its package implements"
			}
		}
	default:
		kind = types.TypeString(u, brief)
	}
	lines := append([]string{fmt.Sprintf("type %s %s", name, kind)}, fields...)
	values := types.NewMethodSet(o.Type())
	for m := range types.NewMethodSet(hasMethods).Methods() {
		if !m.Obj().Exported() {
			continue
		}
		receiver := name
		if values.Lookup(m.Obj().Pkg(), m.Obj().Name()) == nil {
			receiver = "*" + name
		}
		lines = append(lines, fmt.Sprintf("func (%s) %s%s", receiver, m.Obj().Name(), signature(m.Type().(*types.Signature))))
	}
	return lines
}

// signature is a function's without "func". Results without a name have one in the compiler's account of functions
// that it inlines, which is not part of the API.
func signature(s *types.Signature) string {
	var text bytes.Buffer
	types.WriteSignature(&text, s, brief)
	if r := s.Results(); r.Len() == 1 && strings.HasPrefix(r.At(0).Name(), "#") {
		return strings.TrimSuffix(strings.Replace(text.String(), "("+r.At(0).Name()+" ", "", 1), ")")
	}
	return inlined.ReplaceAllString(text.String(), "")
}

var inlined = regexp.MustCompile(`#rv[0-9]+ `)
