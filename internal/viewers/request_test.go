package viewers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/profiles"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/viewers"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/waits"
)

// requestWriters write files of requests by the names of their formats.
var requestWriters = map[string]func(io.Writer, requests.Request, *profile.Trace) error{
	"firefox":    viewers.WriteRequestFirefox,
	"perfetto":   viewers.WriteRequestPerfetto,
	"speedscope": viewers.WriteRequestSpeedscope,
	"otlp":       func(w io.Writer, q requests.Request, _ *profile.Trace) error { return viewers.WriteRequestOTLP(w, q) },
}

// spanContext returns the context of a span of the requests here.
func spanContext(n int) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{15: 0xab}, SpanID: trace.SpanID{6: byte(n >> 8), 7: byte(n)}, TraceFlags: 1})
}

// requestOf returns a request of spans. The first is the root.
func requestOf(tb testing.TB, spans ...tracetest.SpanStub) requests.Request {
	tb.Helper()
	var groups otlpenc.Groups
	var q requests.Request
	shop := resource.NewSchemaless(attribute.String("service.name", "shop"))
	for _, s := range spans {
		s.Resource = shop
		groups.Encode(s.Snapshot(), func(one otlpenc.Spans) {
			for decoded, err := range one.All() {
				if err != nil {
					tb.Fatal(err)
				}
				q.Spans = append(q.Spans, &decoded)
			}
		})
	}
	q.Root = q.Spans[0]
	return q
}

// aRequest has two queries that overlap, a measure that outlives its parent, marks, states, and six samples. The last
// sample is another request's. The one before contradicts the states: code runs while the goroutine waits for a mutex.
func aRequest(tb testing.TB) (requests.Request, *profile.Trace) {
	tb.Helper()
	span := func(n, parent int, name string, start, end time.Duration) tracetest.SpanStub {
		s := tracetest.SpanStub{Name: name, SpanContext: spanContext(n), StartTime: base.Add(start), EndTime: base.Add(end),
			InstrumentationScope: instrumentation.Scope{Name: "database"}}
		if parent > 0 {
			s.Parent = spanContext(parent)
		}
		return s
	}
	root := span(1, 0, "GET /products/{id}", 0, 70*ms)
	root.SpanKind = trace.SpanKindServer
	root.Attributes = []attribute.KeyValue{attribute.Int("http.response.status_code", 200), attribute.String("url.path", "/products/7"), attribute.StringSlice("tags", []string{"a"})}
	root.Events = []sdktrace.Event{{Name: "cache.miss", Time: base.Add(2 * ms), Attributes: []attribute.KeyValue{attribute.String("key", "product:7")}}}
	query := span(2, 1, "query", 5*ms, 40*ms)
	query.SpanKind = trace.SpanKindClient
	failed := span(3, 1, "query", 20*ms, 50*ms)
	failed.SpanKind = trace.SpanKindClient
	failed.Status = sdktrace.Status{Code: codes.Error, Description: "timed out"}
	late := span(5, 4, "encode", 60*ms, 80*ms)
	q := requestOf(tb, root, query, failed, span(4, 1, "render", 55*ms, 65*ms), late)
	q.Dropped = 1

	r := aResult()
	r.RootID = root.SpanContext.SpanID()
	for g := range r.Goroutines {
		for i := range r.Goroutines[g].Intervals {
			r.Goroutines[g].Intervals[i].SpanID = r.RootID
		}
	}
	r.Goroutines[0].Intervals[2].SpanID = failed.SpanContext.SpanID() // the wait for a mutex
	q.Waits = r

	t := aSession().trace
	t.Origin = base.Add(-time.Second)
	other := trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{7: 1}}
	for _, id := range []trace.SpanContextConfig{{TraceID: trace.TraceID{15: 0xab}, SpanID: trace.SpanID{7: 1}}, {TraceID: trace.TraceID{15: 0xab}, SpanID: trace.SpanID{7: 3}}, other} {
		t.Contexts = append(t.Contexts, profile.SampleContext{TraceID: id.TraceID, SpanID: id.SpanID})
	}
	for i := range t.Samples {
		t.Samples[i].ContextID = 0
	}
	t.Samples[3].ContextID, t.Samples[3].Timestamp = 1, time.Second+38*ms // waits under the failed query
	t.Samples[5].ContextID = 2                                            // of another request
	t.Stats = profile.Stats{Samples: 6, Filtered: 1, Lost: 3}
	return q, t
}

func TestRequestFiles(t *testing.T) {
	q, tr := aRequest(t)
	for name, write := range requestWriters {
		t.Run(name, func(t *testing.T) {
			var file bytes.Buffer
			if err := write(&file, q, tr); err != nil {
				t.Fatal(err)
			}
			compareGolden(t, "request."+name+".json", file.Bytes())
			if name != "otlp" && !strings.Contains(file.String(), profiles.HiddenNote(tr)) {
				t.Errorf("the file does not have %q", profiles.HiddenNote(tr))
			}
		})
	}
}

func TestRequestFilesFailWithTheirWriter(t *testing.T) {
	spans := []tracetest.SpanStub{{Name: "GET /", SpanContext: spanContext(1), StartTime: base, EndTime: base.Add(time.Second)}}
	for n := range 1000 {
		at := base.Add(time.Duration(n) * time.Microsecond)
		spans = append(spans, tracetest.SpanStub{Name: fmt.Sprint(n, strings.Repeat("long", 100)), SpanContext: spanContext(n + 2), Parent: spanContext(1), StartTime: at, EndTime: at.Add(100)})
	}
	q := requestOf(t, spans...)
	for name, write := range requestWriters {
		for _, left := range []int{0, 1 << 17} {
			if err := write(&failing{left}, q, nil); !errors.Is(err, errFull) {
				t.Errorf("%s on a writer of %d bytes: %v, want its error", name, left, err)
			}
		}
	}
}

// A traceEvent is an event of Chrome's trace event format.
type traceEvent struct {
	Ph, Name, Cat, ID, S string
	PID                  int
	TID                  *int
	TS, Dur              *float64
	Args                 struct {
		Span, Name string
		Data       struct {
			StartTime  *float64
			CPUProfile struct {
				Nodes []struct {
					ID, Parent int
					CallFrame  struct{ FunctionName, URL string }
				}
				Samples []int
			}
			TimeDeltas []int64
		}
	}
}

// checkPerfetto reads a file by the rules of the trace event format and of Perfetto's importer. It returns the numbers of
// complete events, of instants and of samples.
func checkPerfetto(file []byte) (complete, instants, samples int, err error) {
	var f struct {
		DisplayTimeUnit string
		OtherData       map[string]string
		TraceEvents     []traceEvent
	}
	if err := json.Unmarshal(file, &f); err != nil || !utf8.Valid(file) {
		return 0, 0, 0, fmt.Errorf("it is not JSON in UTF-8: %w", err)
	}
	if f.DisplayTimeUnit != "ns" && f.DisplayTimeUnit != "ms" {
		return 0, 0, 0, fmt.Errorf("displayTimeUnit %q: must be ns or ms", f.DisplayTimeUnit)
	}
	if _, err := time.Parse(time.RFC3339Nano, f.OtherData["start"]); err != nil {
		return 0, 0, 0, fmt.Errorf("the start is %q: %w", f.OtherData["start"], err)
	}
	named, stacks := map[int]bool{}, map[int][]traceEvent{}
	for i, e := range f.TraceEvents {
		at := fmt.Sprintf("event %d (%s %q)", i, e.Ph, e.Name)
		if e.PID == 0 || e.TID == nil {
			return 0, 0, 0, fmt.Errorf("%s has no process or thread", at)
		}
		if e.Ph != "M" && (e.TS == nil || *e.TS < 0) {
			return 0, 0, 0, fmt.Errorf("%s has no time, or one before the file's", at)
		}
		switch e.Ph {
		case "M":
			named[*e.TID] = true
		case "i":
			instants++
			if e.S != "t" {
				return 0, 0, 0, fmt.Errorf("%s has the scope %q, want its thread", at, e.S)
			}
		case "X":
			complete++
			if e.Dur == nil || *e.Dur < 0 {
				return 0, 0, 0, fmt.Errorf("%s has no duration", at)
			}
			stacks[*e.TID] = append(stacks[*e.TID], e)
		case "P":
			n, err := checkChunk(e)
			if err != nil {
				return 0, 0, 0, fmt.Errorf("%s: %w", at, err)
			}
			samples += n
		default:
			return 0, 0, 0, fmt.Errorf("%s has a phase that is not documented", at)
		}
	}
	for tid, events := range stacks {
		if !named[tid] {
			return 0, 0, 0, fmt.Errorf("thread %d has no name", tid)
		}
		if err := checkNesting(events); err != nil {
			return 0, 0, 0, fmt.Errorf("thread %d: %w", tid, err)
		}
	}
	return complete, instants, samples, nil
}

// checkNesting returns an error unless the events of a thread, in their order, lie within each other or apart. Times are nanoseconds when they
// are read.
func checkNesting(events []traceEvent) error {
	nanos := func(micros float64) int64 { return int64(math.Round(micros * 1000)) }
	var ends []int64
	last := int64(0)
	for _, e := range events {
		start := nanos(*e.TS)
		end := start + nanos(*e.Dur)
		if start < last {
			return fmt.Errorf("%q begins before the event that precedes it", e.Name)
		}
		last = start
		for len(ends) > 0 && ends[len(ends)-1] <= start {
			ends = ends[:len(ends)-1]
		}
		if len(ends) > 0 && end > ends[len(ends)-1] {
			return fmt.Errorf("%q ends at %d ns, after the event around it, which ends at %d", e.Name, end, ends[len(ends)-1])
		}
		ends = append(ends, end)
	}
	return nil
}

// checkChunk reads a part of a profile as Perfetto does: parents stand before their children.
func checkChunk(e traceEvent) (samples int, err error) {
	data := e.Args.Data
	if e.ID == "" {
		return 0, fmt.Errorf("it has no id")
	}
	if e.Name == "Profile" {
		if data.StartTime == nil {
			return 0, fmt.Errorf("it has no startTime")
		}
		return 0, nil
	}
	known := map[int]bool{}
	for _, n := range data.CPUProfile.Nodes {
		if known[n.ID] || n.ID == 0 || n.Parent != 0 && !known[n.Parent] {
			return 0, fmt.Errorf("node %d of parent %d: known are %v", n.ID, n.Parent, slices.Sorted(maps.Keys(known)))
		}
		known[n.ID] = true
	}
	for _, s := range data.CPUProfile.Samples {
		if !known[s] {
			return 0, fmt.Errorf("a sample of the unknown node %d", s)
		}
	}
	if len(data.TimeDeltas) != len(data.CPUProfile.Samples) {
		return 0, fmt.Errorf("%d times of %d samples", len(data.TimeDeltas), len(data.CPUProfile.Samples))
	}
	for _, d := range data.TimeDeltas {
		if d < 0 {
			return 0, fmt.Errorf("a sample comes %d µs after the one before it", d)
		}
	}
	return len(data.CPUProfile.Samples), nil
}

// anyRequest has spans that overlap, outlive their parents, begin before the request, or end before their start.
func anyRequest(t *rapid.T, tb testing.TB) (q requests.Request, marked int) {
	t.Helper()
	span := func(n, parent int) tracetest.SpanStub {
		start := time.Duration(rapid.IntRange(-20, 100).Draw(t, "start")) * ms / 2
		s := tracetest.SpanStub{Name: anyText.Draw(t, "name"), SpanContext: spanContext(n), StartTime: base.Add(start),
			EndTime: base.Add(start + time.Duration(rapid.IntRange(-5, 60).Draw(t, "length"))*ms/2), SpanKind: trace.SpanKind(rapid.IntRange(0, 5).Draw(t, "kind"))}
		if parent > 0 {
			s.Parent = spanContext(parent)
		}
		for range rapid.IntRange(0, 2).Draw(t, "marks") {
			marked++
			s.Events = append(s.Events, sdktrace.Event{Name: anyText.Draw(t, "mark"), Time: base.Add(time.Duration(rapid.IntRange(-100, 200).Draw(t, "at")) * ms),
				Attributes: []attribute.KeyValue{attribute.String(anyText.Draw(t, "key"), anyText.Draw(t, "value"))}})
		}
		return s
	}
	spans := []tracetest.SpanStub{span(1, 0)}
	for n := range rapid.IntRange(0, 12).Draw(t, "spans") {
		spans = append(spans, span(n+2, rapid.IntRange(0, n+1).Draw(t, "parent")))
	}
	return requestOf(tb, spans...), marked
}

// Whatever the spans of a request are, each is in all files once, and the files keep the rules of their formats.
func TestAnyRequestFiles(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		q, marked := anyRequest(r, t)
		file := map[string][]byte{}
		for name, write := range requestWriters {
			var b bytes.Buffer
			if err := write(&b, q, nil); err != nil {
				r.Fatal(err)
			}
			file[name] = b.Bytes()
		}
		if err := checkFirefox(file["firefox"], viewers.NewRecordedRequest(q, nil)); err != nil {
			r.Errorf("firefox: %v", err)
		}
		complete, instants, _, err := checkPerfetto(file["perfetto"])
		if err != nil || complete != len(q.Spans) || instants != marked {
			r.Errorf("perfetto: %d spans and %d marks, want %d and %d: %v\n%s", complete, instants, len(q.Spans), marked, err, file["perfetto"])
		}
		opened, _, err := checkSpeedscope(file["speedscope"])
		long := 0
		for _, s := range q.Spans {
			if s.End.After(s.Start) {
				long++
			}
		}
		if err != nil || opened != long {
			r.Errorf("speedscope: %d spans, want %d: %v", opened, long, err)
		}
		recorded := viewers.NewRecordedRequest(q, nil)
		for _, tl := range recorded.Timelines() {
			for e := range recorded.All(tl.ID) {
				if e.Type == sessions.Request && tl.Lane != 0 {
					r.Errorf("the request itself is on lane %d", tl.Lane)
				}
			}
		}
	})
}

// A sample is on the lane of its span, in all files that have samples.
func TestRequestSamples(t *testing.T) {
	q, tr := aRequest(t)
	recorded := viewers.NewRecordedRequest(q, tr)
	var got []string
	for _, tl := range recorded.Timelines() {
		var names []string
		for e := range recorded.All(tl.ID) {
			names = append(names, e.Name)
		}
		got = append(got, fmt.Sprintf("%s: %s: %d samples", tl.Title(), strings.Join(names, ", "), tl.Samples))
	}
	want := []string{
		"GET /products/{id}: GET /products/{id}, cache.miss, query, render: 3 samples",
		"GET /products/{id} · 2: query, encode: 1 samples",
	}
	if !slices.Equal(got, want) {
		t.Errorf("lanes are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var file bytes.Buffer
	if err := viewers.WriteRequestPerfetto(&file, q, tr); err != nil {
		t.Fatal(err)
	}
	known := 0 // intervals of states
	for _, g := range q.Waits.Goroutines {
		for _, i := range g.Intervals {
			if i.Kind != waits.Gap {
				known++
			}
		}
	}
	if complete, instants, samples, err := checkPerfetto(file.Bytes()); err != nil || complete != 5+known || instants != 1 || samples != 4 {
		t.Errorf("%d spans and states, %d marks and %d samples (%v), want %d, 1 and 4", complete, instants, samples, err, 5+known)
	}
}
