package profile_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	pprofpb "github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/profiling/profile"
)

func TestProfile(t *testing.T) {
	p, b := newProgram(), profile.NewBuilder(nil)
	span := b.Context(1, func(any) profile.SampleContext { return byHand().Contexts[0] })
	job := b.Context(2, func(any) profile.SampleContext {
		return profile.SampleContext{Labels: []profile.Label{{"job", "x"}, {"trace_id", "the user's own"}}}
	})
	add := func(context int, weight time.Duration, stack ...*profile.Call) {
		b.Add(stack, profile.Sample{ContextID: context, Count: 2, Weight: weight})
	}
	add(span, 10, p.line("f", 12), p.line("main", 20))
	add(span, 20, p.line("f", 13), p.line("main", 20))
	add(span, 30, p.line("f", 12), p.line("main", 20))
	add(job, 40, p.line("f", 12), p.line("main", 20))
	add(profile.None, 50)
	tr := b.Trace(nil)
	tr.Origin, tr.Interval, tr.Started, tr.Stopped = time.Unix(1000, 5), 4*time.Millisecond, time.Second, 3*time.Second
	got, err := tr.Pprof()
	if err != nil {
		t.Fatal(err)
	}
	spanLabels := "map[span_id:[0200000000000000] span_name:[GET /] tenant:[a] trace_id:[01000000000000000000000000000000]]"
	want := []string{
		"f:12 main:20 [4 40] " + spanLabels,
		"f:13 main:20 [2 20] " + spanLabels,
		"f:12 main:20 [2 40] map[job:[x] trace_id:[the user's own]]",
		"[no stack]:0 [2 50] map[]",
	}
	if lines := samplesOf(got); !slices.Equal(lines, want) {
		t.Errorf("samples are\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if a, b := got.Sample[0], got.Sample[2]; &a.Location[0] != &b.Location[0] {
		t.Error("samples of the same lines have each a list of their own")
	}
	if len(got.Location) != 4 || len(got.Function) != 3 {
		t.Errorf("%d locations of %d functions, want 4 of 3: one for each line, one for each function", len(got.Location), len(got.Function))
	}
	if f := got.Function[0]; f.Name != "f" || f.Filename != "/src/shop.go" || f.StartLine != 10 {
		t.Errorf("the first function is %+v", f)
	}
	if m := got.Mapping; len(m) != 1 || !m[0].HasFunctions || !m[0].HasFilenames || !m[0].HasLineNumbers {
		t.Errorf("mappings are %v, want one where nothing is left to look up", m)
	}
	if got.TimeNanos != 1001e9+5 || got.DurationNanos != 2e9 || got.Period != 4e6 {
		t.Errorf("time %d, duration %d, period %d; want 1001000000005, 2000000000, 4000000", got.TimeNanos, got.DurationNanos, got.Period)
	}
	t.Run("as a file", func(t *testing.T) {
		var file, again bytes.Buffer
		for _, w := range []*bytes.Buffer{&file, &again} {
			if err := tr.WritePprof(w); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(file.Bytes(), again.Bytes()) {
			t.Error("the same trace gave two different files")
		}
		parsed, err := pprofpb.Parse(&file)
		if err != nil {
			t.Fatal(err)
		}
		if parsed.String() != got.String() {
			t.Errorf("parsed it is\n%s\nwant\n%s", parsed, got)
		}
	})
}

// samplesOf writes a profile's samples as text, innermost line first.
func samplesOf(p *pprofpb.Profile) (lines []string) {
	for _, s := range p.Sample {
		var b strings.Builder
		for _, l := range s.Location {
			for _, line := range l.Line {
				fmt.Fprintf(&b, "%s:%d ", line.Function.Name, line.Line)
			}
		}
		lines = append(lines, fmt.Sprintf("%s%v %v", &b, s.Value, s.Label))
	}
	return lines
}

// What is written is what is read again, whatever labels and span names there are.
func TestPprofRoundTrip(t *testing.T) {
	p, b := newProgram(), profile.NewBuilder(nil)
	for i, c := range []profile.SampleContext{
		{Labels: []profile.Label{{"empty", ""}, {"", "no key"}, {"k", "v"}}},
		{Labels: []profile.Label{{"wrong\xff", "value\xfe"}}},
		{SpanID: trace.SpanID{1}, TraceID: trace.TraceID{2}, Labels: []profile.Label{{"span_name", "the user's"}}},
		{SpanID: trace.SpanID{1}, TraceID: trace.TraceID{2}, SpanName: "GET \xff"},
	} {
		b.Add(p.stack("f", "main"), profile.Sample{ContextID: b.Context(i, func(any) profile.SampleContext { return c }), Weight: time.Millisecond})
	}
	written, err := b.Trace(nil).Pprof()
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := written.WriteUncompressed(&first); err != nil {
		t.Fatal(err)
	}
	read, err := pprofpb.ParseData(first.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := read.WriteUncompressed(&second); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Errorf("%d bytes became %d", first.Len(), second.Len())
	}
	const ids = "span_id:[0100000000000000] "
	want := []string{
		"f:11 main:11 [1 1000000] map[k:[v]]",
		"f:11 main:11 [1 1000000] map[wrong\ufffd:[value\ufffd]]",
		"f:11 main:11 [1 1000000] map[" + ids + "trace_id:[02000000000000000000000000000000]]",
		"f:11 main:11 [1 1000000] map[" + ids + "span_name:[GET \ufffd] trace_id:[02000000000000000000000000000000]]",
	}
	if got := samplesOf(read); !slices.Equal(got, want) {
		t.Errorf("read\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestProfilesTypes(t *testing.T) {
	for engine, want := range map[profile.Engine]string{"": "cpu", profile.EngineCPU: "cpu", profile.EngineWindow: "cpu", profile.EngineWall: "wall"} {
		tr := byHand()
		tr.Engine = engine
		got, err := tr.Pprof()
		if err != nil {
			t.Fatal(err)
		}
		if types := []*pprofpb.ValueType{{Type: "samples", Unit: "count"}, {Type: want, Unit: "nanoseconds"}}; !reflect.DeepEqual(got.SampleType, types) {
			t.Errorf("engine %q: sample types are %v, want %v", engine, got.SampleType, types)
		}
		if got.PeriodType.Type != want || got.PeriodType.Unit != "nanoseconds" {
			t.Errorf("engine %q: period type is %v", engine, got.PeriodType)
		}
	}
}

// A trace without lines, weights and an origin.
func TestPprofOfTheSpecificationsMembers(t *testing.T) {
	text, err := os.ReadFile("testdata/explainer.json")
	if err != nil {
		t.Fatal(err)
	}
	tr := readJSON(t, text)
	p, err := tr.Pprof()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a:0 l:0 b:0 [1 0] map[]", "l:0 b:0 [1 0] map[]", "[no stack]:0 [1 0] map[]"}; !slices.Equal(samplesOf(p), want) {
		t.Errorf("samples are %q, want %q: lines that ran are not known", samplesOf(p), want)
	}
	if p.TimeNanos != 0 {
		t.Errorf("it began at %d, want 0: it is not known when", p.TimeNanos)
	}
}

// The flat shares that the tool prints are the shares in the trace.
func TestPprofTop(t *testing.T) {
	p, b := newProgram(), profile.NewBuilder(nil)
	want := map[string]float64{"shop.fast": 20, "shop.slow": 50, "shop.(*Cart).Total[...]": 22.5, profile.NoStack: 7.5}
	for name, share := range want {
		for range int(share * 10) {
			var stack []*profile.Call
			if name != profile.NoStack {
				stack = p.stack(name, "shop.handle", "main.main")
			}
			b.Add(stack, profile.Sample{ContextID: profile.None, Count: 1, Weight: 10 * time.Millisecond})
		}
	}
	file := filepath.Join(t.TempDir(), "cpu.pprof")
	w, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Trace(nil).WritePprof(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "tool", "pprof", "-top", "-nodefraction=0", file)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go tool pprof: %v\n%s", err, out)
	}
	got := map[string]float64{}
	for _, m := range regexp.MustCompile(`(?m)^ *\S+ +([0-9.]+)% +[0-9.]+% +\S+ +[0-9.]+% +(.*)$`).FindAllSubmatch(out, -1) {
		share, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		if share > 0 {
			got[string(m[2])] = share
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("flat shares are %v, want %v\n%s", got, want, out)
	}
}
