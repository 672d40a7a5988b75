package repository_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/perfline/perfline/profiling/service/profilerv1"
)

// recording is what the tests in a browser show.
const recording = "integration/livepage/testdata/shop.json.gz"

// Each recorded answer has the fields of its type in Go, and no others: with other types, the
// browser would be shown what no program sends.
func TestPageRecordingIsOfToday(t *testing.T) {
	atRoot(t)
	types, _ := pageTypes(t)
	f, err := os.Open(recording)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var answers map[string]json.RawMessage
	if err := json.NewDecoder(z).Decode(&answers); err != nil {
		t.Fatal(err)
	}
	events := map[string]string{}
	for _, e := range pageEvents {
		events[e.name] = e.answers[0]
	}
	seen := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(answers)) {
		if procedure, ok := strings.CutPrefix(key, "POST rpc/perfline.profiler.v1.ProfilerService/"); ok {
			procedure, _, _ = strings.Cut(procedure, " ")
			if err := checkServiceAnswer(procedure, answers[key]); err != nil {
				t.Errorf("%s: %v", key, err)
			}
			continue
		}
		answer := answerOf(key)
		seen[answer] = true
		c := recordedCheck{types: types}
		var v any
		if err := json.Unmarshal(answers[key], &v); err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		if strings.HasPrefix(answer, "an object with the last event") {
			all, _ := v.(map[string]any)
			for name, typ := range events {
				if name == "counts" {
					c.list(name, &ast.Ident{Name: typ}, all[name])
				} else {
					c.object(name, typ, all[name])
				}
			}
			for name := range all {
				if events[name] == "" {
					c.add("the event %s is unknown", name)
				}
			}
		} else {
			c.object("", answer, v)
		}
		for _, fault := range slices.Compact(c.faults) {
			t.Errorf("%s: %s", key, fault)
		}
	}
	for _, p := range pagePaths {
		if types[p.answer] != nil && p.answer != "leakReport" && !seen[p.answer] { // which Go 1.26 has not
			t.Errorf("no answer of %s is recorded", p.path)
		}
	}
	if t.Failed() {
		t.Log("go run -C integration ./livepage/record records again")
	}
}

// answerOf returns the type of the answer to a recorded request.
func answerOf(key string) string {
	path, _, _ := strings.Cut(strings.Replace(key, " ", " /", 1), "?")
	for _, p := range pagePaths {
		pattern := "^" + regexp.MustCompile(`\{\w+\}`).ReplaceAllString(p.path, `[^/]+`) + "$"
		if regexp.MustCompile(pattern).MatchString(path) {
			return p.answer
		}
	}
	return "of no path"
}

// checkServiceAnswer returns an error unless an answer is that of a procedure of the profiler's
// service.
func checkServiceAnswer(procedure string, answer []byte) error {
	methods := profilerv1.File_perfline_profiler_v1_profiler_proto.Services().Get(0).Methods()
	for i := range methods.Len() {
		if m := methods.Get(i); string(m.Name()) == procedure {
			return protojson.Unmarshal(answer, dynamicpb.NewMessage(m.Output()))
		}
	}
	return fmt.Errorf("no procedure %s", procedure)
}

// A recordedCheck compares JSON with types of live.
type recordedCheck struct {
	types  map[string][]jsonField
	faults []string
}

func (c *recordedCheck) add(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// fieldsOf returns the fields of a type and of what it embeds.
func (c *recordedCheck) fieldsOf(typ string) (all []jsonField) {
	for _, f := range c.types[typ] {
		if f.embeds != "" {
			all = append(all, c.fieldsOf(f.embeds)...)
		} else {
			all = append(all, f)
		}
	}
	return all
}

func (c *recordedCheck) object(at, typ string, v any) {
	o, ok := v.(map[string]any)
	if !ok || c.types[typ] == nil {
		c.add("%s is %.50v, and not of the type %s", at, v, typ)
		return
	}
	known := map[string]bool{}
	for _, f := range c.fieldsOf(typ) {
		known[f.name] = true
		value, has := o[f.name]
		_, pointer := f.expr.(*ast.StarExpr)
		switch {
		case !has && !f.optional:
			c.add("%s.%s is missing", typ, f.name)
		case has && value == nil:
			if !pointer && !slices.Contains(pageNulls, typ+"."+f.name) {
				c.add("%s.%s is null: a list that may be null belongs into pageNulls", typ, f.name)
			}
		case has:
			c.value(typ+"."+f.name, f.expr, value)
		}
	}
	for name := range o {
		if !known[name] {
			c.add("%s has no field %s", typ, name)
		}
	}
}

func (c *recordedCheck) value(at string, e ast.Expr, v any) {
	switch e := e.(type) {
	case *ast.StarExpr:
		c.value(at, e.X, v)
	case *ast.IndexExpr:
		c.value(at, e.X, v)
	case *ast.ArrayType:
		c.list(at, e.Elt, v)
	case *ast.Ident:
		ok := true
		switch scriptType(e) {
		case "string":
			_, ok = v.(string)
		case "boolean":
			_, ok = v.(bool)
		case "number":
			_, ok = v.(float64)
		default:
			c.object(at, e.Name, v)
		}
		if !ok {
			c.add("%s is %.50v, want a %s", at, v, scriptType(e))
		}
	}
}

func (c *recordedCheck) list(at string, of ast.Expr, v any) {
	list, ok := v.([]any)
	if !ok {
		c.add("%s is %.50v, want a list", at, v)
		return
	}
	for _, each := range list {
		c.value(at, of, each)
	}
}
