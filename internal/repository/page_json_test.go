package repository_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pagePaths are the paths of the page's data, in the order of docs/page-json.md. An answer is a type of live, or a text.
var pagePaths = []struct{ path, parameters, answer, content string }{
	{"GET /data/v1/overview", "`after`: see `runtime`", "an object with the last event of each kind, by name", "all that the stream sends, at once"},
	{"GET /data/v1/stream", "", "[server-sent events](#events)", "each kind of data at once, and again after each change, at most twice a second"},
	{"GET /data/v1/runtime", "`after`: only samples after this time, the `at` of a sample", "runtimeHistory", "figures of the Go runtime, one sample every 5 s, and one a minute while the program sleeps"},
	{"GET /data/v1/routes", "`window`: `minutes` (the default: the last 5) or `start`", "routesData", "routes with their figures, and whether the process is well"},
	{"GET /data/v1/routes/heat", "`window`: as above. `route`: its name; missing, all routes of the class. `class`: `requests` (the default), `streams`, `background` or `housekeeping`", "heatData", "requests by time and duration"},
	{"GET /data/v1/requests", "`route`, `class`, `status`, `min` and `max` (durations with units; `max` excluded), `from` and `to` (of the end, in milliseconds since the epoch of Unix; `to` excluded), `attribute` (`key` or `key=value`), `text`: all of them optional. A value that is wrong is status 400 with `field` and `error`", "searchAnswer", "the requests in memory that meet all parameters, at most 200"},
	{"GET /data/v1/requests/{trace}/{span}", "the ids of a request's trace and root span, in hex", "requestDetail", "a request with its spans, marks, functions and waits"},
	{"GET /data/v1/requests/{trace}/{span}/samples", "the same", "sampleChart", "the samples of a request by time, for its flame chart"},
	{"GET /data/v1/requests/{trace}/{span}/waits", "the same. `from` and `to`: milliseconds since the request's start. `columns`: the most parts of a bar, 1 to 1000", "windowWaits", "the segments of a part of a request, in finer parts"},
	{"GET /data/v1/requests/{trace}/{span}/{format}", "the same, and a `format` of its `files`", "a file", "a request for another tool"},
	{"GET /data/v1/compare", "`a`: the ids of a request's trace and root span, with a slash between them. `b`: the same of another request; without it, a usual request of the route", "comparison", "the difference of two requests"},
	{"GET /data/v1/profile/flame", "`last=minute`: of the last minute, and `name`: only its requests of this name. `session`: the id of a session. `route`: all requests of this timeline's route. `timeline`: its request. `trace` and `span`: this request. `running`: without waiting goroutines", "flameGraph", "a flame graph of a profile"},
	{"GET /data/v1/profile/functions", "the same", "functionTable", "the functions of a profile, with file and line"},
	{"GET /data/v1/profile/sandwich", "the same. `function`: the name of a function", "sandwich", "the callers and the callees of a function"},
	{"GET /data/v1/profile/difference", "the same, for the side A. `with`: the same for the side B, encoded as a query", "difference", "the difference of two profiles"},
	{"GET /data/v1/sessions/{id}", "the id of a session", "sessionContents", "the routes and the files of a session"},
	{"GET /data/v1/sessions/{id}/{format}", "the id of a session, and a `format` of its `files`", "a file", "a session for another tool"},
	{"POST /data/v1/leaks", "", "leakReport", "the goroutines that leaked; the program makes a garbage collection"},
}

// pageEvents are the kinds of the stream's data, in their order. The second answer of a kind is the summary's.
var pageEvents = []struct {
	name    string
	answers []string
}{
	{"page", []string{"pageState"}},
	{"requests", []string{"overview", "serviceOnly"}},
	{"routes", []string{"routesData"}},
	{"sessions", []string{"sessionList"}},
	{"waits", []string{"waitsState"}},
	{"counts", []string{"countRow"}},
	{"runtime", []string{"runtimeHistory"}},
}

// A jsonField is a field of a type in the page's JSON.
type jsonField struct {
	name, typ, meaning string
	expr               ast.Expr // the type, with pointers and lengths
	optional           bool
	embeds             string // the type whose fields are here, too
}

// pageTypes returns the structs of live that have JSON, with their comments.
func pageTypes(t *testing.T) (fields map[string][]jsonField, comments map[string]string) {
	t.Helper()
	fields, comments = map[string][]jsonField{}, map[string]string{}
	fset := token.NewFileSet()
	for path, text := range sources(t) {
		if !strings.HasPrefix(path, "live/") || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, path, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			types, ok := d.(*ast.GenDecl)
			if !ok || types.Tok != token.TYPE {
				continue
			}
			for _, spec := range types.Specs {
				s := spec.(*ast.TypeSpec)
				if of, ok := s.Type.(*ast.StructType); ok {
					fields[s.Name.Name] = jsonFields(of)
					comments[s.Name.Name] = oneLine(types.Doc)
				}
			}
		}
	}
	return fields, comments
}

func jsonFields(s *ast.StructType) (all []jsonField) {
	for _, f := range s.Fields.List {
		if len(f.Names) == 0 {
			all = append(all, jsonField{embeds: typeText(f.Type)})
			continue
		}
		if f.Tag == nil {
			continue
		}
		name, options, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		meaning := oneLine(f.Comment)
		if meaning == "" {
			meaning = oneLine(f.Doc)
		}
		all = append(all, jsonField{name: name, typ: typeText(f.Type), expr: f.Type, meaning: meaning, optional: strings.HasPrefix(options, "omit")})
	}
	return all
}

func oneLine(c *ast.CommentGroup) string {
	return strings.ReplaceAll(strings.TrimSuffix(strings.Join(strings.Fields(c.Text()), " "), "."), "|", `\|`)
}

// typeText is a type without pointers.
func typeText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeText(e.X)
	case *ast.ArrayType:
		return "[]" + typeText(e.Elt)
	case *ast.Ident:
		return e.Name
	case *ast.IndexExpr: // of a generic type
		return typeText(e.X)
	}
	return fmt.Sprintf("%T", e)
}

// typeName returns the words for a type, with a link if it is one of the page's, and its default unit.
func typeName(typ string, types map[string][]jsonField) (name, unit string) {
	if of, isList := strings.CutPrefix(typ, "[]"); isList {
		name, unit = typeName(of, types)
		return "list of " + name, unit
	}
	switch typ {
	case "string":
		return "text", ""
	case "bool":
		return "true or false", ""
	case "float64":
		return "number", "ms"
	case "figure":
		return "number", "?"
	case "int", "int64", "uint32", "uint64":
		return "whole number", ""
	}
	if _, ok := types[typ]; ok {
		return fmt.Sprintf("[%s](#%s)", typ, strings.ToLower(typ)), ""
	}
	return "", ""
}

// docs/page-json.md describes each path and each field of the page's data.
func TestPageJSONDocumented(t *testing.T) {
	atRoot(t)
	types, comments := pageTypes(t)
	checkPagePaths(t)
	used := map[string]bool{}
	lookUp := func(table map[string]string, typ, field string) (string, bool) {
		for _, key := range []string{typ + "." + field, field} {
			if text, ok := table[key]; ok {
				used[key] = true
				return text, true
			}
		}
		return "", false
	}

	var paths strings.Builder
	fmt.Fprintln(&paths, "| path | parameters | answer | content | in a summary |\n|---|---|---|---|---|")
	var roots []string
	for _, p := range pagePaths {
		answer := p.answer
		if name, _ := typeName(answer, types); name != "" {
			roots = append(roots, answer)
			answer = name
		}
		inSummary := ""
		if strings.Contains(string(read(t, "live/data.go")), `"`+strings.TrimPrefix(p.path, "GET ")+`"`) {
			inSummary = "yes"
		}
		fmt.Fprintf(&paths, "| `%s` | %s | %s | %s | %s |\n", strings.Replace(p.path, " /", " ", 1), p.parameters, answer, p.content, inSummary)
	}
	documented(t, "docs/page-json.md", "paths", paths.String())

	var events strings.Builder
	fmt.Fprintln(&events, "| event | data | in a summary |\n|---|---|---|")
	for _, e := range pageEvents {
		name, _ := typeName(e.answers[0], types)
		if e.answers[0] == "countRow" {
			name = "list of " + name
		}
		inSummary := "yes"
		if e.name == "sessions" || e.name == "waits" {
			inSummary = ""
		} else if len(e.answers) > 1 {
			inSummary, _ = typeName(e.answers[1], types)
		}
		fmt.Fprintf(&events, "| `%s` | %s | %s |\n", e.name, name, inSummary)
		roots = append(roots, e.answers...)
	}
	documented(t, "docs/page-json.md", "events", events.String())

	var all strings.Builder
	seen := map[string]bool{}
	for len(roots) > 0 {
		typ := roots[0]
		roots = roots[1:]
		if seen[typ] {
			continue
		}
		seen[typ] = true
		comment, _, _ := strings.Cut(comments[typ], ". ")
		fmt.Fprintf(&all, "\n### %s\n\n%s.\n\n| field | type | unit | meaning |\n|---|---|---|---|\n", typ, comment)
		for _, f := range types[typ] {
			if f.embeds != "" {
				name, _ := typeName(f.embeds, types)
				fmt.Fprintf(&all, "| | | | all fields of %s |\n", name)
				roots = append(roots, f.embeds)
				continue
			}
			name, unit := typeName(f.typ, types)
			if other, ok := lookUp(pageUnits, typ, f.name); ok {
				unit = other
			}
			if unit == "?" || name == "" {
				t.Errorf("live.%s: the field %q of type %s needs a unit in pageUnits, or a type that this test knows", typ, f.name, f.typ)
			}
			if f.meaning == "" {
				var ok bool
				if f.meaning, ok = lookUp(pageMeanings, typ, f.name); !ok {
					t.Errorf("live.%s: the field %q needs a comment: docs/page-json.md has its meaning", typ, f.name)
				}
			}
			if f.optional {
				name += ", or missing"
			}
			fmt.Fprintf(&all, "| `%s` | %s | %s | %s |\n", f.name, name, unit, f.meaning)
			if of := strings.TrimLeft(f.typ, "[]"); types[of] != nil {
				roots = append(roots, of)
			}
		}
	}
	documented(t, "docs/page-json.md", "types", all.String()+"\n")
	for _, table := range []map[string]string{pageUnits, pageMeanings} {
		for _, key := range slices.Sorted(maps.Keys(table)) {
			if !used[key] {
				t.Errorf("%s is in a table of this test, and no field needs it", key)
			}
		}
	}
}

// checkPagePaths fails t unless pagePaths and pageEvents have the paths and the events that the code has.
func checkPagePaths(t *testing.T) {
	t.Helper()
	inCode := map[string]bool{}
	patterns := regexp.MustCompile(`"((?:GET|POST) /data/v[0-9]+/[^"]+)"`)
	for path, text := range sources(t) {
		if strings.HasPrefix(path, "live/") && !strings.HasSuffix(path, "_test.go") {
			for _, m := range patterns.FindAllStringSubmatch(text, -1) {
				inCode[m[1]] = true
			}
		}
	}
	for _, p := range pagePaths {
		if !inCode[p.path] {
			t.Errorf("%s is in pagePaths, and live does not serve it", p.path)
		}
		delete(inCode, p.path)
	}
	for path := range inCode {
		t.Errorf("%s is not in pagePaths: add a line", path)
	}
	events := map[string]bool{}
	for _, m := range regexp.MustCompile(`\{"(\w+)", h`).FindAllStringSubmatch(string(read(t, "live/events.go")), -1) {
		events[m[1]] = true
	}
	for _, e := range pageEvents {
		if !events[e.name] {
			t.Errorf("the event %s is in pageEvents, and live does not send it", e.name)
		}
		delete(events, e.name)
	}
	for name := range events {
		t.Errorf("the event %s is not in pageEvents: add a line", name)
	}
}
