package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestExplainersExample_JSP28(t *testing.T) {
	text, err := os.ReadFile("testdata/explainer.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Frame{Name: "l", ResourceID: 1, Line: 313, Column: 468}); got.Frames[1] != want {
		t.Errorf("frame 1 is %+v, want %+v", got.Frames[1], want)
	}
	if names := callNames(got, got.Samples[0]); names != "a l b" {
		t.Errorf("the first sample's stack is %q, want a called by l called by b", names)
	}
	if s := got.Samples[2]; s.StackID != None || s.ContextID != None || s.Count != 1 {
		t.Errorf("the last sample is %+v, want one without stack and context", s)
	}
	// Timestamps there are finer than a nanosecond: 1551.73499998637.
	want := strings.NewReplacer("1551.73499998637", "1551.735", "1576.83999999426", "1576.84", "1601.90499993041", "1601.905").Replace(string(text))
	again, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(jsonValue(t, again), jsonValue(t, []byte(want))) {
		t.Errorf("written again it is\n%s\nwant\n%s", again, want)
	}
}

func jsonValue(t *testing.T, text []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

func TestJSONIsAsSpecified_JSP28_JSP11(t *testing.T) {
	want, err := os.ReadFile("testdata/by_hand.json")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := byHand().WriteJSON(&got); err != nil {
		t.Fatal(err)
	}
	if got.String() != strings.TrimSpace(string(want)) {
		t.Errorf("got\n%s\nwant\n%s", &got, want)
	}
	back, err := ReadJSON(&got)
	if err != nil {
		t.Fatal(err)
	}
	original := byHand()
	if !reflect.DeepEqual(back.Resources, original.Resources) || !reflect.DeepEqual(back.Frames, original.Frames) || !reflect.DeepEqual(back.Stacks, original.Stacks) {
		t.Errorf("read again it is %+v, want %+v", back, original)
	}
	for i, s := range original.Samples {
		if want := (Sample{Timestamp: s.Timestamp, StackID: s.StackID, ContextID: None, Count: 1}); back.Samples[i] != want {
			t.Errorf("sample %d read again is %+v, want %+v", i, back.Samples[i], want)
		}
	}
}

func TestEmptyTracesJSON_JSP28(t *testing.T) {
	const want = `{"resources":[],"frames":[],"stacks":[],"samples":[]}`
	for name, tr := range map[string]*Trace{"zero": {}, "a session's": NewBuilder(nil).Trace(nil), "of none selected": byHand().Select(func(Sample) bool { return false })} {
		for form, v := range map[string]any{"pointer": tr, "value": *tr} {
			if got, err := json.Marshal(v); err != nil || string(got) != want {
				t.Errorf("%s, %s: got %s, %v; want empty lists", name, form, got, err)
			}
		}
	}
}

func TestTimestampsRoundTrip_JSP10(t *testing.T) {
	tr := &Trace{}
	for _, base := range []time.Duration{0, time.Second, time.Hour, 24 * time.Hour, 26 * 24 * time.Hour} {
		for i := range time.Duration(1000) {
			tr.Samples = append(tr.Samples, Sample{Timestamp: base + i*999_983, StackID: None, ContextID: None})
		}
	}
	var text bytes.Buffer
	if err := tr.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	back, err := ReadJSON(&text)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range tr.Samples {
		if got := back.Samples[i].Timestamp; got != s.Timestamp {
			t.Fatalf("%d ns came back as %d", s.Timestamp, got)
		}
	}
}

func TestReadJSONAccepts(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"unknown members", `{"v":{"samples":[1]},"resources":[],"frames":[{"name":"f","x":[]}],"stacks":[{"frameId":0,"x":1}],"samples":[{"timestamp":1,"stackId":0,"marker":"gc"}]}`},
		{"null for none", `{"resources":[],"frames":[{"name":"f","resourceId":null,"line":null,"column":null}],"stacks":[{"frameId":0,"parentId":null}],"samples":[{"timestamp":1,"stackId":0}]}`},
		{"ids before what they point to", `{"samples":[{"stackId":0,"timestamp":1}],"stacks":[{"frameId":0}],"frames":[{"name":"f"}],"resources":[]}`},
		{"the last of equal members", `{"samples":[{"timestamp":9}],"samples":[{"stackId":0,"timestamp":1}],"stacks":[{"frameId":0}],"frames":[{"name":"f"}],"resources":[]}`},
		{"space around it", "\n {\"samples\":[{\"stackId\":0,\"timestamp\":1}],\"stacks\":[{\"frameId\":0}],\"frames\":[{\"name\":\"f\"}],\"resources\":[]}\n\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ReadJSON(strings.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			again, err := json.Marshal(got)
			if want := `{"resources":[],"frames":[{"name":"f"}],"stacks":[{"frameId":0}],"samples":[{"timestamp":1,"stackId":0}]}`; err != nil || string(again) != want {
				t.Errorf("written again it is %s, %v, want %s", again, err, want)
			}
		})
	}
}

func TestReadJSONErrors_JSP16_JSP18_JSP28(t *testing.T) {
	// Each case replaces one of the four lists, or the whole.
	valid := map[string]string{
		"resources": `["r"]`, "frames": `[{"name":"f","resourceId":0,"line":1},{"name":"g"}]`,
		"stacks": `[{"frameId":0},{"frameId":1,"parentId":0}]`, "samples": `[{"timestamp":1,"stackId":1},{"timestamp":2}]`,
	}
	for _, c := range []struct{ name, list, text, want string }{
		{"nothing", "", ``, "unexpected EOF"},
		{"half", "", `{"resources":["a"`, "unexpected "}, // EOF, or end of JSON input: it depends on the Go version
		{"half a string", "", `{"resources":["a`, "unexpected EOF"},
		{"null", "", `null`, "null: must be an object"},
		{"a list", "", `[]`, "[: must be an object"},
		{"text", "", `"x"`, "x: must be an object"},
		{"missing commas", "", `{"resources":[] "frames":[]}`, "invalid character"},
		{"no resources", "resources", ``, "resources is missing"},
		{"no frames", "frames", ``, "frames is missing"},
		{"no stacks", "stacks", ``, "stacks is missing"},
		{"no samples", "samples", ``, "samples is missing"},
		{"null resources", "resources", `null`, "resources is null: must be an array"},
		{"null samples", "samples", `null`, "samples is null: must be an array"},
		{"stacks is an object", "stacks", `{}`, "stacks is {: must be an array"},
		{"null resource", "resources", `["a",null]`, "resources[1]: null: must be a string"},
		{"a number as a resource", "resources", `[1]`, "resources[0]: json: cannot unmarshal number"},
		{"equal resources", "resources", `["r","s","r"]`, `resources[0] and [2] are equal ("r")`},
		{"frame null", "frames", `[null]`, "frames[0]: name is missing"},
		{"frame without a name", "frames", `[{"line":1}]`, "frames[0]: name is missing"},
		{"resource out of range", "frames", `[{"name":"f","resourceId":1},{"name":"g"}]`, "frames[0]: resourceId 1: must be the index of a resource, of which there are 1"},
		{"negative resource", "frames", `[{"name":"f","resourceId":-1}]`, "frames[0]: resourceId -1: must not be negative"},
		{"negative line", "frames", `[{"name":"f","line":-1},{"name":"g"}]`, "frames[0]: line -1"},
		{"negative column", "frames", `[{"name":"f","column":-2},{"name":"g"}]`, "column -2"},
		{"a line beyond range", "frames", `[{"name":"f","line":1e30}]`, "frames[0]: json: cannot unmarshal number 1e30"},
		{"equal frames", "frames", `[{"name":"f","line":2},{"name":"f"},{"name":"f","line":2}]`, `frames[0] and [2] are equal ("f")`},
		{"stack without a frame", "stacks", `[{}]`, "stacks[0]: frameId is missing"},
		{"frame out of range", "stacks", `[{"frameId":2}]`, "stacks[0]: frameId 2: must be the index of a frame, of which there are 2"},
		{"negative frame", "stacks", `[{"frameId":-1}]`, "stacks[0]: frameId -1"},
		{"half a frame", "stacks", `[{"frameId":0.5}]`, "cannot unmarshal number 0.5"},
		{"parent is itself", "stacks", `[{"frameId":0,"parentId":0}]`, "stacks[0]: parentId 0: must be the index of a stack before this one, of which there are 0"},
		{"parent comes later", "stacks", `[{"frameId":0,"parentId":1},{"frameId":1}]`, "stacks[0]: parentId 1"},
		{"negative parent", "stacks", `[{"frameId":0,"parentId":-1}]`, "stacks[0]: parentId -1: must not be negative"},
		{"equal stacks", "stacks", `[{"frameId":0},{"frameId":1,"parentId":0},{"frameId":1,"parentId":0}]`, "stacks[1] and [2] are equal"},
		{"sample without a time", "samples", `[{"stackId":0}]`, "samples[0]: timestamp is missing"},
		{"time null", "samples", `[{"timestamp":null}]`, "samples[0]: timestamp is missing"},
		{"time beyond range", "samples", `[{"timestamp":1e300}]`, "samples[0]: observer: timestamp 1e+300 ms: must be a finite"},
		{"time not a number", "samples", `[{"timestamp":NaN}]`, "invalid character 'N'"},
		{"stack out of range", "samples", `[{"timestamp":1,"stackId":2}]`, "samples[0]: stackId 2: must be the index of a stack, of which there are 2"},
		{"negative stack", "samples", `[{"timestamp":1,"stackId":-1}]`, "samples[0]: stackId -1: must not be negative"},
		{"not in order", "samples", `[{"timestamp":1},{"timestamp":0.5}]`, "samples[1]: timestamp 500µs is before 1ms"},
		{"more after it", "after", ` {}`, "{ after its end: must be the only value"},
		{"no JSON after it", "after", ` ]`, "after its end: invalid character"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := c.text
			if c.list != "" {
				var members []string
				for name, list := range valid {
					if name == c.list {
						list = c.text
					}
					if list != "" {
						members = append(members, `"`+name+`":`+list)
					}
				}
				text = "{" + strings.Join(members, ",") + "}"
				if c.list == "after" {
					text += c.text
				}
			}
			got, err := ReadJSON(strings.NewReader(text))
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "profile: ") {
				t.Errorf("%s:\ngot  %v\nwant an error of profile: with %q", text, err, c.want)
			}
			if got != nil {
				t.Errorf("got a trace along with the error")
			}
			before := byHand()
			if err := json.Unmarshal([]byte(text), before); err == nil || !reflect.DeepEqual(before, byHand()) {
				t.Errorf("Unmarshal: %v; the trace is %+v, want an error and it left alone", err, before)
			}
		})
	}
}

func TestReadJSONDepth(t *testing.T) {
	for depth, want := range map[int]string{maxDepth: "", maxDepth + 1: "stacks[2048] has 2049 frames: must be at most 2048"} {
		var stacks strings.Builder
		stacks.WriteString(`{"frameId":0}`)
		for i := range depth - 1 {
			fmt.Fprintf(&stacks, `,{"frameId":0,"parentId":%d}`, i)
		}
		_, err := ReadJSON(strings.NewReader(`{"resources":[],"frames":[{"name":"f"}],"stacks":[` + stacks.String() + `],"samples":[]}`))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d frames: got %v, want %q", depth, err, want)
		}
	}
}

func TestReadJSONTellsReadersError(t *testing.T) {
	broken := errors.New("connection lost")
	_, err := ReadJSON(io.MultiReader(strings.NewReader(`{"resources":[`), errorReader{broken}))
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error)  { return 0, r.err }
func (r errorReader) Write([]byte) (int, error) { return 0, r.err }

// A trace made by hand may be wrong: writers report that before the first byte.
func TestWritersRefuseWrongTraces(t *testing.T) {
	writers := map[string]func(*Trace, io.Writer) error{"JSON": (*Trace).WriteJSON, "pprof": (*Trace).WritePprof, "folded": (*Trace).WriteFolded}
	for _, c := range []struct {
		name   string
		change func(*Trace)
		want   string
	}{
		{"resource", func(t *Trace) { t.Frames[1].ResourceID = 2 }, "frames[1]: resourceId 2"},
		{"frame", func(t *Trace) { t.Stacks[1].FrameID = None }, "stacks[1]: frameId -1"},
		{"parent", func(t *Trace) { t.Stacks[0].ParentID = 0 }, "stacks[0]: parentId 0"},
		{"stack", func(t *Trace) { t.Samples[1].StackID = 3 }, "samples[1]: stackId 3"},
		{"context", func(t *Trace) { t.Samples[1].ContextID = 2 }, "samples[1]: context 2"},
		{"order", func(t *Trace) { t.Samples[1].Timestamp = -time.Hour }, "samples[1]: timestamp -1h0m0s is before -1ms"},
	} {
		for format, write := range writers {
			t.Run(c.name+" as "+format, func(t *testing.T) {
				tr := byHand()
				c.change(tr)
				var out bytes.Buffer
				if err := write(tr, &out); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want an error with %q", err, c.want)
				}
				if out.Len() > 0 {
					t.Errorf("%d bytes were written", out.Len())
				}
			})
		}
	}
	for format, write := range writers {
		t.Run("writer fails for "+format, func(t *testing.T) {
			full := errors.New("disk full")
			if err := write(byHand(), errorReader{full}); !errors.Is(err, full) {
				t.Errorf("got %v, want %v", err, full)
			}
		})
	}
}

// An accepted trace is written in a form that gives the same trace again.
func FuzzReadJSON(f *testing.F) {
	example, err := os.ReadFile("testdata/explainer.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	for _, seed := range []string{
		`{"resources":["\ud800"],"frames":[{"name":"\u0000;","resourceId":0,"line":9223372036854775807}],"stacks":[{"frameId":0,"parentId":null}],"samples":[{"timestamp":-1e-6,"stackId":0}]}`,
		`{"samples":[{"timestamp":9223372036854.7,"stackId":1}],"stacks":[{"frameId":0},{"frameId":0,"parentId":0}],"frames":[{"name":""}],"resources":[],"x":{"samples":null}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := ReadJSON(bytes.NewReader(data))
		if err != nil {
			return
		}
		once, err := json.Marshal(tr)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		back, err := ReadJSON(bytes.NewReader(once))
		if err != nil {
			t.Fatalf("%s: its own writing is refused: %s: %v", data, once, err)
		}
		for i, s := range tr.Samples {
			// See WriteJSON: two roundings of a float64.
			if d := back.Samples[i].Timestamp - s.Timestamp; d.Abs() > s.Timestamp.Abs()>>51 {
				t.Errorf("%s: timestamp %d came back %d off", data, s.Timestamp, d)
			}
			back.Samples[i].Timestamp = s.Timestamp
		}
		if !reflect.DeepEqual(tr, back) {
			t.Errorf("%s: came back as %+v, want %+v", data, back, tr)
		}
		for name, write := range map[string]func(*Trace, io.Writer) error{"pprof": (*Trace).WritePprof, "folded": (*Trace).WriteFolded} {
			if err := write(tr, io.Discard); err != nil {
				t.Errorf("%s: as %s: %v", data, name, err)
			}
		}
		tr.Hottest(3)
		tr.Select(func(s Sample) bool { return s.Timestamp > 0 })
	})
}

func FuzzBuilder(f *testing.F) {
	f.Add([]byte("abc\x00ab\x00\x00abd"), byte('b'))
	f.Add(bytes.Repeat([]byte("f"), maxDepth+1), byte('b'))
	f.Fuzz(func(t *testing.T, data []byte, hidden byte) {
		p := newProgram()
		b := NewBuilder(func(s *Call) bool { return s.Name[0] != hidden })
		for i, text := range bytes.Split(data, []byte{0}) {
			var stack []*Call
			for _, c := range text {
				stack = append(stack, p.call(Call{Name: string([]byte{c}), File: string([]byte{c % 4}), Line: int(c % 8)}))
			}
			b.Add(stack, Sample{Timestamp: time.Duration(i % 3), ContextID: None})
		}
		tr := b.Trace(nil)
		checkTrace(t, tr)
		text, err := json.Marshal(tr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadJSON(bytes.NewReader(text)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	})
}
