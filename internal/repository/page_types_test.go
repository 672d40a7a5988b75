package repository_test

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/perfline/perfline/profiling/service/profilerv1"
)

// pageNulls are the lists in the page's JSON that are null when they are empty. Lists elsewhere are
// never null.
var pageNulls = []string{"requestDetail.resource", "requestDetail.rows", "waitsDetail.causes", "waitsDetail.goroutines", "waitsDetail.stacks"}

const pageTypesHead = `// The types of the page's JSON, by the names that docs/page-json.md has, and of the profiler's service.
// go test -run Documented ./internal/repository -update writes this file from the Go code.
`

// live/pagetest/data.d.ts declares the types of the page's JSON, by which the page's
// scripts are checked.
func TestPageTypesDocumented(t *testing.T) {
	atRoot(t)
	types, _ := pageTypes(t)
	nulls := map[string]bool{}
	for _, key := range pageNulls {
		nulls[key] = true
	}
	var b strings.Builder
	b.WriteString(pageTypesHead + "\ndeclare namespace Data {\n")
	for _, name := range slices.Sorted(maps.Keys(reachablePageTypes(types))) {
		writePageType(&b, name, types[name], nulls)
	}
	b.WriteString("  // The events of the stream, by their names. GET data/v1/overview answers with all at once.\n  interface events {\n")
	for _, e := range pageEvents {
		typ := strings.Join(e.answers, " | ")
		if typ == "countRow" {
			typ += "[]"
		}
		fmt.Fprintf(&b, "    %s: %s;\n", e.name, typ)
	}
	b.WriteString("  }\n}\n\ndeclare namespace Rpc {\n")
	writeServiceTypes(&b, profilerv1.File_perfline_profiler_v1_profiler_proto)
	b.WriteString("}\n")
	for key := range nulls {
		t.Errorf("%s is in pageNulls, and is no list of the page's JSON that is always there", key)
	}
	documented(t, "live/pagetest/data.d.ts", "", b.String())
}

// reachablePageTypes returns the names of the types that an answer or an event has.
func reachablePageTypes(types map[string][]jsonField) map[string]bool {
	var todo []string
	for _, p := range pagePaths {
		todo = append(todo, p.answer)
	}
	for _, e := range pageEvents {
		todo = append(todo, e.answers...)
	}
	seen := map[string]bool{}
	for len(todo) > 0 {
		name := strings.TrimLeft(todo[0], "[]")
		todo = todo[1:]
		if seen[name] || types[name] == nil {
			continue
		}
		seen[name] = true
		for _, f := range types[name] {
			todo = append(todo, f.typ, f.embeds)
		}
	}
	return seen
}

// writePageType declares a type. It deletes what it uses of nulls.
func writePageType(b *strings.Builder, name string, fields []jsonField, nulls map[string]bool) {
	var bases []string
	for _, f := range fields {
		if f.embeds != "" {
			bases = append(bases, f.embeds)
		}
	}
	fmt.Fprintf(b, "  interface %s", name)
	if len(bases) > 0 {
		fmt.Fprintf(b, " extends %s", strings.Join(bases, ", "))
	}
	b.WriteString(" {\n")
	for _, f := range fields {
		if f.embeds != "" {
			continue
		}
		mark, typ := "", scriptType(f.expr)
		key := name + "." + f.name
		_, pointer := f.expr.(*ast.StarExpr)
		switch {
		case f.optional:
			mark = "?"
		case pointer, nulls[key] && strings.HasSuffix(typ, "[]"):
			typ += " | null"
			delete(nulls, key)
		}
		fmt.Fprintf(b, "    %s%s: %s;\n", f.name, mark, typ)
	}
	b.WriteString("  }\n")
}

// scriptType is the type of a value in the page's scripts.
func scriptType(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return scriptType(e.X)
	case *ast.IndexExpr: // of a generic type
		return scriptType(e.X)
	case *ast.ArrayType:
		of := scriptType(e.Elt)
		if n, ok := e.Len.(*ast.BasicLit); ok {
			return "[" + strings.TrimSuffix(strings.Repeat(of+", ", int(n.Value[0]-'0')), ", ") + "]"
		}
		return of + "[]"
	case *ast.Ident:
		switch e.Name {
		case "string":
			return "string"
		case "bool":
			return "boolean"
		case "float64", "figure", "int", "int64", "uint32", "uint64":
			return "number"
		}
		return e.Name
	}
	return "unknown"
}

// writeServiceTypes declares the messages of the profiler's service, as protojson writes them:
// zeros are missing, and numbers of 64 bits are texts.
func writeServiceTypes(b *strings.Builder, file protoreflect.FileDescriptor) {
	messages := file.Messages()
	for i := range messages.Len() {
		m := messages.Get(i)
		fmt.Fprintf(b, "  interface %s {\n", m.Name())
		for k := range m.Fields().Len() {
			f := m.Fields().Get(k)
			typ := messageType(f)
			if f.IsList() {
				typ += "[]"
			}
			fmt.Fprintf(b, "    %s?: %s;\n", f.JSONName(), typ)
		}
		b.WriteString("  }\n")
	}
}

func messageType(f protoreflect.FieldDescriptor) string {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return "boolean"
	case protoreflect.Uint32Kind, protoreflect.Int32Kind, protoreflect.DoubleKind:
		return "number"
	case protoreflect.MessageKind:
		if f.Message().ParentFile() == f.ParentFile() {
			return string(f.Message().Name())
		}
	default:
	}
	return "string" // also enums, numbers of 64 bits and times
}
