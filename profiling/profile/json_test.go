package profile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/profiles"
	"github.com/perfline/perfline/profiling/profile"
)

// The members of a trace's JSON, as the specification has them.
type (
	traceJSON struct {
		Resources []string     `json:"resources"`
		Frames    []frameJSON  `json:"frames"`
		Stacks    []stackJSON  `json:"stacks"`
		Samples   []sampleJSON `json:"samples"`
	}
	frameJSON struct {
		Name       string `json:"name"`
		ResourceID *int   `json:"resourceId"`
		Line       int    `json:"line"`
		Column     int    `json:"column"`
	}
	stackJSON struct {
		FrameID  int  `json:"frameId"`
		ParentID *int `json:"parentId"`
	}
	sampleJSON struct {
		Timestamp float64 `json:"timestamp"`
		StackID   *int    `json:"stackId"`
	}
)

// readJSON reads a trace by the standard library's decoder, which must know all members.
func readJSON(t *testing.T, text []byte) *profile.Trace {
	t.Helper()
	var v traceJSON
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if v.Resources == nil || v.Frames == nil || v.Stacks == nil || v.Samples == nil {
		t.Fatalf("a list is missing: %s", text)
	}
	id := func(p *int) int {
		if p == nil {
			return profile.None
		}
		return *p
	}
	tr := &profile.Trace{Resources: v.Resources}
	for _, f := range v.Frames {
		tr.Frames = append(tr.Frames, profile.Frame{Name: f.Name, ResourceID: id(f.ResourceID), Line: f.Line, Column: f.Column})
	}
	for _, s := range v.Stacks {
		tr.Stacks = append(tr.Stacks, profile.Stack{FrameID: s.FrameID, ParentID: id(s.ParentID)})
	}
	for _, s := range v.Samples {
		tr.Samples = append(tr.Samples, profile.Sample{
			Timestamp: time.Duration(math.Round(s.Timestamp * 1e6)), StackID: id(s.StackID), ContextID: profile.None, Count: 1,
		})
	}
	return tr
}

// The example of the specification's explainer, through a Trace and back.
func TestExplainersExample_JSP28(t *testing.T) {
	text, err := os.ReadFile("testdata/explainer.json")
	if err != nil {
		t.Fatal(err)
	}
	example := readJSON(t, text)
	if names := callNames(example, example.Samples[0]); names != "a l b" {
		t.Errorf("the first sample's stack is %q, want a called by l called by b", names)
	}
	// Timestamps there are finer than a nanosecond: 1551.73499998637.
	want := strings.NewReplacer("1551.73499998637", "1551.735", "1576.83999999426", "1576.84", "1601.90499993041", "1601.905").Replace(string(text))
	again, err := json.Marshal(example)
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
	back := readJSON(t, got.Bytes())
	original := byHand()
	if !reflect.DeepEqual(back.Resources, original.Resources) || !reflect.DeepEqual(back.Frames, original.Frames) || !reflect.DeepEqual(back.Stacks, original.Stacks) {
		t.Errorf("read again it is %+v, want %+v", back, original)
	}
	for i, s := range original.Samples {
		if want := (profile.Sample{Timestamp: s.Timestamp, StackID: s.StackID, ContextID: profile.None, Count: 1}); back.Samples[i] != want {
			t.Errorf("sample %d read again is %+v, want %+v", i, back.Samples[i], want)
		}
	}
}

func TestEmptyTracesJSON_JSP28(t *testing.T) {
	const want = `{"resources":[],"frames":[],"stacks":[],"samples":[]}`
	for name, tr := range map[string]*profile.Trace{"zero": {}, "a builder's": profile.NewBuilder(nil).Trace(nil), "of none selected": byHand().Select(func(profile.Sample) bool { return false })} {
		for form, v := range map[string]any{"pointer": tr, "value": *tr} {
			if got, err := json.Marshal(v); err != nil || string(got) != want {
				t.Errorf("%s, %s: got %s, %v; want empty lists", name, form, got, err)
			}
		}
	}
}

func TestTimestampsRoundTrip_JSP10(t *testing.T) {
	tr := &profile.Trace{}
	for _, base := range []time.Duration{0, time.Second, time.Hour, 24 * time.Hour, 26 * 24 * time.Hour} {
		for i := range time.Duration(1000) {
			tr.Samples = append(tr.Samples, profile.Sample{Timestamp: base + i*999_983, StackID: profile.None, ContextID: profile.None})
		}
	}
	var text bytes.Buffer
	if err := tr.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	back := readJSON(t, text.Bytes())
	for i, s := range tr.Samples {
		if got := back.Samples[i].Timestamp; got != s.Timestamp {
			t.Fatalf("%d ns came back as %d", s.Timestamp, got)
		}
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// A trace made by hand may be wrong: writers report that before the first byte.
func TestWritersRefuseWrongTraces(t *testing.T) {
	writers := map[string]func(*profile.Trace, io.Writer) error{"JSON": (*profile.Trace).WriteJSON, "pprof": (*profile.Trace).WritePprof}
	for _, c := range []struct {
		name   string
		change func(*profile.Trace)
		want   string
	}{
		{"resource", func(t *profile.Trace) { t.Frames[1].ResourceID = 2 }, "frames[1]: resourceId 2"},
		{"frame", func(t *profile.Trace) { t.Stacks[1].FrameID = profile.None }, "stacks[1]: frameId -1"},
		{"parent", func(t *profile.Trace) { t.Stacks[0].ParentID = 0 }, "stacks[0]: parentId 0"},
		{"stack", func(t *profile.Trace) { t.Samples[1].StackID = 3 }, "samples[1]: stackId 3"},
		{"context", func(t *profile.Trace) { t.Samples[1].ContextID = 2 }, "samples[1]: context 2"},
		{"order", func(t *profile.Trace) { t.Samples[1].Timestamp = -time.Hour }, "samples[1]: timestamp -1h0m0s is before -1ms"},
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
			if err := write(byHand(), brokenWriter{full}); !errors.Is(err, full) {
				t.Errorf("got %v, want %v", err, full)
			}
		})
	}
}

// A builder's trace, written as JSON, reads as the same trace.
func FuzzBuilder(f *testing.F) {
	f.Add([]byte("abc\x00ab\x00\x00abd"), byte('b'))
	f.Add(bytes.Repeat([]byte("f"), maxDepth+1), byte('b'))
	f.Fuzz(func(t *testing.T, data []byte, hidden byte) {
		p := newProgram()
		b := profile.NewBuilder(func(s *profile.Call) bool { return s.Name[0] != hidden })
		for i, text := range bytes.Split(data, []byte{0}) {
			var stack []*profile.Call
			for _, c := range text {
				stack = append(stack, p.call(profile.Call{Name: string([]byte{c}), File: string([]byte{c % 4}), Line: int(c % 8)}))
			}
			b.Add(stack, profile.Sample{Timestamp: time.Duration(i % 3), ContextID: profile.None})
		}
		tr := b.Trace(nil)
		checkTrace(t, tr)
		text, err := json.Marshal(tr)
		if err != nil {
			t.Fatal(err)
		}
		back := readJSON(t, text)
		if !slices.Equal(back.Frames, tr.Frames) || !slices.Equal(back.Stacks, tr.Stacks) || !slices.Equal(back.Resources, tr.Resources) || len(back.Samples) != len(tr.Samples) {
			t.Errorf("%s came back as %+v, want %+v", text, back, tr)
		}
		for i, s := range tr.Samples {
			if got := back.Samples[i]; got.Timestamp != s.Timestamp || got.StackID != s.StackID {
				t.Errorf("sample %d came back as %+v, want %+v", i, got, s)
			}
		}
		if err := tr.WritePprof(io.Discard); err != nil {
			t.Errorf("as pprof: %v", err)
		}
		side := profiles.Side{Trace: tr, Samples: slices.Values(tr.Samples)}
		profiles.NewDifference(side, side)
		tr.Select(func(s profile.Sample) bool { return s.Timestamp > 0 })
	})
}
