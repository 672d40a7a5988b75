package live

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/perfline/perfline/profiling/service/profilerv1"
)

// recording is what the tests in a browser show.
const recording = "../integration/livepage/testdata/shop.json.gz"

const servicePath = "POST rpc/perfline.profiler.v1.ProfilerService/"

// Each recorded answer is as docs/page.schema.json says, and has no other fields: with other types,
// the browser would be shown what no program sends.
func TestPageRecordingIsOfToday(t *testing.T) {
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
	mux := http.NewServeMux()
	byPattern := map[string]endpoint{}
	for _, e := range endpoints {
		mux.HandleFunc(e.pattern, http.NotFound)
		byPattern[e.pattern] = e
	}
	c := schemaCheck{definitions: newReference(t).definitions()}
	seen := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(answers)) {
		if procedure, ok := strings.CutPrefix(key, servicePath); ok {
			procedure, _, _ = strings.Cut(procedure, " ")
			if err := checkServiceAnswer(procedure, answers[key]); err != nil {
				t.Errorf("%s: %v", key, err)
			}
			continue
		}
		method, path, _ := strings.Cut(key, " ")
		r, err := http.NewRequestWithContext(t.Context(), method, "/"+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		_, pattern := mux.Handler(r)
		e := byPattern[pattern]
		if e.data == nil {
			t.Errorf("%s: no endpoint answers with data", key)
			continue
		}
		seen[pattern] = true
		var v any
		if err := json.Unmarshal(answers[key], &v); err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		c.faults = nil
		c.check(pattern, schema(e.data), v)
		for _, fault := range slices.Compact(slices.Sorted(slices.Values(c.faults))) {
			t.Errorf("%s: %s", key, fault)
		}
	}
	for _, e := range endpoints {
		leaks := e.pattern == "POST /data/v1/leaks" // which Go 1.26 has not
		if e.data != nil && !leaks && !seen[e.pattern] {
			t.Errorf("no answer of %s is recorded", e.pattern)
		}
	}
	if t.Failed() {
		t.Log("go run -C integration ./livepage/record records again")
	}
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

// A schemaCheck compares values with the part of JSON Schema that the page's schema needs.
type schemaCheck struct {
	definitions object
	faults      []string
}

func (c *schemaCheck) check(at string, s object, v any) {
	if ref, ok := s["$ref"].(string); ok {
		at = strings.TrimPrefix(ref, "#/$defs/")
		s = c.definitions[at].(object)
	}
	if some, ok := s["anyOf"].([]any); ok {
		c.checkAny(at, some, v)
		return
	}
	ok := false
	switch s["type"] {
	case "string":
		_, ok = v.(string)
	case "boolean":
		_, ok = v.(bool)
	case "null":
		ok = v == nil
	case "number", "integer":
		n, number := v.(float64)
		ok = number && (s["type"] == "number" || n == float64(int64(n)))
	case "array":
		var list []any
		if list, ok = v.([]any); ok {
			n, fixed := s["minItems"].(int)
			ok = !fixed || len(list) == n
			for _, each := range list {
				c.check(at, s["items"].(object), each)
			}
		}
	case "object":
		var o object
		if o, ok = v.(object); ok {
			c.checkObject(at, s, o)
		}
	}
	if !ok {
		c.faults = append(c.faults, fmt.Sprintf("%s is %.50v, want %v", at, v, s["type"]))
	}
}

// checkAny adds the faults of the last alternative if v is none of them.
func (c *schemaCheck) checkAny(at string, some []any, v any) {
	before := c.faults
	for _, s := range some {
		c.faults = slices.Clone(before)
		c.check(at, s.(object), v)
		if len(c.faults) == len(before) {
			return
		}
	}
}

func (c *schemaCheck) checkObject(at string, s, o object) {
	properties := s["properties"].(object)
	required, _ := s["required"].([]any)
	for _, name := range required {
		if _, has := o[name.(string)]; !has {
			c.faults = append(c.faults, fmt.Sprintf("%s.%s is missing", at, name))
		}
	}
	for name, v := range o {
		if of, known := properties[name].(object); known {
			c.check(at+"."+name, of, v)
		} else {
			c.faults = append(c.faults, fmt.Sprintf("%s has no field %s", at, name))
		}
	}
}
