package live

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/perfline/perfline/live/internal/view"
	"github.com/perfline/perfline/profiling/service/profilerv1"
)

var update = flag.Bool("update", false, "write what documents and scripts have from the endpoints")

// A dataType is a struct in the page's JSON.
type dataType struct {
	name, meaning string // of the documents: the types of Go begin with a small letter there
	fields        []dataField
}

// A dataField is a field of a dataType, or a type whose fields the dataType has, too.
type dataField struct {
	name, meaning, unit string
	typ                 reflect.Type
	embedded, optional  bool
	null                bool // it may be null
}

// An object is an object in JSON.
type object = map[string]any

// A reference has the types that the endpoints and the events have, in the order of the documents.
type reference struct {
	types    []*dataType
	byType   map[reflect.Type]*dataType
	comments map[string]string // of types of package view, and of "Type.Field"
}

func newReference(t *testing.T) *reference {
	t.Helper()
	r := &reference{byType: map[reflect.Type]*dataType{}, comments: viewComments(t)}
	todo := []reflect.Type{reflect.TypeFor[view.Failure]()}
	for _, e := range endpoints {
		if e.data != nil && e.data != reflect.TypeFor[lastEvents]() {
			todo = append(todo, e.data)
		}
	}
	for _, k := range eventKinds {
		todo = append(todo, dataOf(k)...)
	}
	for ; len(todo) > 0; todo = todo[1:] {
		of := element(todo[0])
		if of.Kind() != reflect.Struct || r.byType[of] != nil {
			continue
		}
		typ := r.typeOf(t, of)
		r.types, r.byType[of] = append(r.types, typ), typ
		for _, f := range typ.fields {
			todo = append(todo, f.typ)
		}
	}
	return r
}

// dataOf returns the types of an event's data. The second type is the summary's, if it is another.
func dataOf(k eventKind) []reflect.Type {
	if k.summary.data == nil || k.summary.data == k.everything.data {
		return []reflect.Type{k.everything.data}
	}
	return []reflect.Type{k.everything.data, k.summary.data}
}

// element returns the type that pointers and lists are of.
func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	return t
}

// dataName returns the name of a type in the documents.
func dataName(t reflect.Type) string {
	name, _, _ := strings.Cut(t.Name(), "[")
	return strings.ToLower(name[:1]) + name[1:]
}

func (r *reference) typeOf(t *testing.T, of reflect.Type) *dataType {
	t.Helper()
	code, _, _ := strings.Cut(of.Name(), "[")
	meaning, _, _ := strings.Cut(r.comments[code], ". ")
	typ := &dataType{name: dataName(of), meaning: strings.ReplaceAll(meaning, code, dataName(of))}
	for f := range of.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.Anonymous && (name == "" || name == "-") {
			continue
		}
		field := dataField{
			name: name, meaning: r.comments[code+"."+f.Name], unit: f.Tag.Get("unit"), typ: f.Type,
			embedded: f.Anonymous, optional: strings.HasPrefix(options, "omit"),
		}
		if field.unit == "" && element(f.Type) == reflect.TypeFor[float64]() {
			field.unit = "ms"
		}
		mayBeNull := f.Type.Kind() == reflect.Pointer || f.Tag.Get("null") != ""
		field.null = mayBeNull && !field.optional
		if field.meaning == "" && !f.Anonymous {
			t.Errorf("view.%s.%s needs a comment: the documents have its meaning", code, f.Name)
		}
		typ.fields = append(typ.fields, field)
	}
	return typ
}

// viewComments returns the comments of the structs of package view and of their fields, in a line.
func viewComments(t *testing.T) map[string]string {
	t.Helper()
	sources, err := filepath.Glob("internal/view/*.go")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, source := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), source, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			types, ok := d.(*ast.GenDecl)
			if !ok || types.Tok != token.TYPE {
				continue
			}
			name := types.Specs[0].(*ast.TypeSpec).Name.Name
			all[name] = oneLine(types.Doc)
			if of, ok := types.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType); ok {
				for _, f := range of.Fields.List {
					for _, id := range f.Names {
						all[name+"."+id.Name] = cmp.Or(oneLine(f.Comment), oneLine(f.Doc))
					}
				}
			}
		}
	}
	return all
}

func oneLine(c *ast.CommentGroup) string {
	return strings.TrimSuffix(strings.Join(strings.Fields(c.Text()), " "), ".")
}

// words describes a type in docs/page-json.md.
func (r *reference) words(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return r.words(t.Elem())
	case reflect.Slice, reflect.Array:
		return "list of " + r.words(t.Elem())
	case reflect.Struct:
		return fmt.Sprintf("[%s](#%s)", dataName(t), strings.ToLower(dataName(t)))
	case reflect.Map: // of lastEvents
		return "an object with the last [event](#events) of each kind, by name"
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "number"
	default:
		return "whole number"
	}
}

// docs/page-json.md lists the endpoints, the events and the types.
func TestPageJSONDocumented(t *testing.T) {
	r := newReference(t)
	var b strings.Builder
	b.WriteString("\n## Paths\n\n| path | parameters | answer | content | in a summary |\n" +
		"|---|---|---|---|---|\n")
	yes := map[bool]string{true: "yes"}
	for _, e := range endpoints {
		answer := e.other
		if e.data != nil {
			answer = r.words(e.data)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n",
			relative(e.pattern), e.parameters, answer, e.content, yes[e.summary])
	}
	b.WriteString("\n## Events\n\n| event | data | in a summary |\n|---|---|---|\n")
	for _, k := range eventKinds {
		summary := yes[k.summary.data != nil]
		if of := dataOf(k); len(of) > 1 {
			summary = r.words(of[1])
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.name, r.words(k.everything.data), summary)
	}
	b.WriteString("\n## Types\n")
	for _, typ := range r.types {
		fmt.Fprintf(&b, "\n### %s\n\n", typ.name)
		if typ.meaning != "" {
			b.WriteString(typ.meaning + ".\n\n")
		}
		b.WriteString("| field | type | unit | meaning |\n|---|---|---|---|\n")
		for _, f := range typ.fields {
			words := r.words(f.typ)
			switch {
			case f.embedded:
				fmt.Fprintf(&b, "| | | | all fields of %s |\n", words)
				continue
			case f.optional:
				words += ", or missing"
			case f.null:
				words += ", or null"
			}
			meaning := strings.ReplaceAll(f.meaning, "|", `\|`)
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.name, words, f.unit, meaning)
		}
	}
	const begin, end = "<!-- reference -->\n", "\n<!-- /reference -->"
	text, err := os.ReadFile("../docs/page-json.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("docs/page-json.md lacks %q or %q", begin, end)
	}
	documented(t, "../docs/page-json.md", before+begin+b.String()+end+after)
}

// relative returns a pattern below the handler's prefix.
func relative(pattern string) string { return strings.Replace(pattern, " /", " ", 1) }

// docs/page.schema.json describes the answers for programs.
func TestPageSchemaDocumented(t *testing.T) {
	paths := object{}
	for _, e := range endpoints {
		if e.data != nil {
			paths[relative(e.pattern)] = schema(e.data)
		}
	}
	text, err := json.MarshalIndent(object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "The data of perfline's live page",
		"$comment": "paths has the answer of each path. " +
			"go test -run Documented ./live -update writes this file from the Go code.",
		"paths": paths,
		"$defs": newReference(t).definitions(),
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	// An object or a list without others in it is a line.
	small := regexp.MustCompile(`[{\[]\n[^{}\[\]]*[}\]]`)
	lines := small.ReplaceAllStringFunc(string(text), func(s string) string {
		return strings.Join(strings.Fields(s), " ")
	})
	documented(t, "../docs/page.schema.json", lines+"\n")
}

// definitions returns the schemas of all types by their names, and of the events.
func (r *reference) definitions() object {
	events := object{}
	for _, k := range eventKinds {
		events[k.name] = schema(k.everything.data)
		if of := dataOf(k); len(of) > 1 {
			events[k.name] = object{"anyOf": []any{schema(of[0]), schema(of[1])}}
		}
	}
	all := object{"lastEvents": object{"type": "object", "properties": events}}
	for _, typ := range r.types {
		properties, required := object{}, []any{}
		for _, f := range r.allFields(typ) {
			of := schema(f.typ)
			if f.null {
				of = object{"anyOf": []any{of, object{"type": "null"}}}
			}
			if of["description"] = f.meaning; f.unit != "" {
				of["description"] = f.meaning + " (" + f.unit + ")"
			}
			properties[f.name] = of
			if !f.optional {
				required = append(required, f.name)
			}
		}
		all[typ.name] = object{"type": "object", "properties": properties, "required": required}
	}
	return all
}

// allFields returns the fields of a type and of what it embeds.
func (r *reference) allFields(typ *dataType) (all []dataField) {
	for _, f := range typ.fields {
		if f.embedded {
			all = append(all, r.allFields(r.byType[f.typ])...)
		} else {
			all = append(all, f)
		}
	}
	return all
}

func schema(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Pointer:
		return schema(t.Elem())
	case reflect.Slice:
		return object{"type": "array", "items": schema(t.Elem())}
	case reflect.Array:
		s := schema(reflect.SliceOf(t.Elem()))
		s["minItems"], s["maxItems"] = t.Len(), t.Len()
		return s
	case reflect.Struct, reflect.Map:
		return object{"$ref": "#/$defs/" + dataName(t)}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	default:
		return object{"type": "integer"}
	}
}

// live/pagetest/data.d.ts declares the types by which the page's scripts are checked.
func TestPageTypesDocumented(t *testing.T) {
	r := newReference(t)
	var b strings.Builder
	b.WriteString(`// The types of the page's JSON, by the names that docs/page-json.md has, and of
// the profiler's service.
// go test -run Documented ./live -update writes this file from the Go code.

declare namespace Data {
`)
	byName := func(a, b *dataType) int { return strings.Compare(a.name, b.name) }
	for _, typ := range slices.SortedFunc(maps.Values(r.byType), byName) {
		var bases []string
		var fields strings.Builder
		for _, f := range typ.fields {
			switch {
			case f.embedded:
				bases = append(bases, dataName(f.typ))
			case f.optional:
				fmt.Fprintf(&fields, "    %s?: %s;\n", f.name, scriptType(f.typ))
			case f.null:
				fmt.Fprintf(&fields, "    %s: %s | null;\n", f.name, scriptType(f.typ))
			default:
				fmt.Fprintf(&fields, "    %s: %s;\n", f.name, scriptType(f.typ))
			}
		}
		extends := ""
		if len(bases) > 0 {
			extends = " extends " + strings.Join(bases, ", ")
		}
		fmt.Fprintf(&b, "  interface %s%s {\n%s  }\n", typ.name, extends, fields.String())
	}
	b.WriteString("  // The events of the stream, by their names. GET data/v1/overview answers with all " +
		"at once.\n  interface events {\n")
	for _, k := range eventKinds {
		var of []string
		for _, t := range dataOf(k) {
			of = append(of, scriptType(t))
		}
		fmt.Fprintf(&b, "    %s: %s;\n", k.name, strings.Join(of, " | "))
	}
	b.WriteString("  }\n}\n\ndeclare namespace Rpc {\n")
	writeServiceTypes(&b, profilerv1.File_perfline_profiler_v1_profiler_proto)
	b.WriteString("}\n")
	documented(t, "pagetest/data.d.ts", b.String())
}

// scriptType is the type of a value in the page's scripts.
func scriptType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return scriptType(t.Elem())
	case reflect.Slice:
		return scriptType(t.Elem()) + "[]"
	case reflect.Array:
		each := slices.Repeat([]string{scriptType(t.Elem())}, t.Len())
		return "[" + strings.Join(each, ", ") + "]"
	case reflect.Struct:
		return dataName(t)
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	default:
		return "number"
	}
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

// documented fails t unless a file is what the code gives. With -update it writes the file.
func documented(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, line := strings.Split(string(text), "\n"), 0
	for _, w := range strings.Split(want, "\n") {
		if line == len(got) || got[line] != w {
			t.Fatalf("%s: line %d is not what the code gives: %s\n"+
				"(go test ./live -run Documented -update writes the file; look at the diff)", file, line+1, w)
		}
		line++
	}
	if line < len(got) {
		t.Errorf("%s has more lines than the code gives, from line %d on", file, line+1)
	}
}
