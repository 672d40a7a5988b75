package requests_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perfline/perfline/internal/profiles"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/profiling/profile"
)

func ofMeasure(s *tracetest.SpanStub) {
	s.InstrumentationScope = instrumentation.Scope{Name: scope.Name}
}

// sampled is a request with a trace of it: a handler that queries, and measures two
// things, one within the other; another request's samples are in the trace too.
func sampled(t *testing.T) (requests.Request, *profile.Trace) {
	t.Helper()
	r := requests.NewRecent(requests.Config{})
	root := span(1, 1, 0, "GET /x", 0, 100*ms, event("cache.miss", 15*ms, attribute.String("key", "k")))
	for _, s := range []func(){
		func() { r.OnEnd(span(1, 2, 1, "query", 10*ms, 30*ms)) },
		func() { r.OnEnd(span(1, 3, 1, "render", 40*ms, 90*ms, ofMeasure)) },
		func() { r.OnEnd(span(1, 4, 1, "encode", 70*ms, 80*ms, ofMeasure)) },
		func() { r.OnEnd(span(1, 5, 1, "started", 40*ms, 90*ms, ofMeasure)) }, // by marks.Start: it has samples of its own
		func() { r.OnEnd(root) },
	} {
		s()
	}
	tr := &profile.Trace{
		Origin: base.Add(-time.Hour),
		Frames: []profile.Frame{{Name: "example.com/app.handle", ResourceID: profile.None}, {Name: "example.com/db.(*Conn).Query", ResourceID: profile.None},
			{Name: "runtime.mallocgc", ResourceID: profile.None}, {Name: "encoding/json.Marshal", ResourceID: profile.None}},
		Stacks: []profile.Stack{{FrameID: 0, ParentID: profile.None}, {FrameID: 1, ParentID: 0}, {FrameID: 2, ParentID: 0}, {FrameID: 3, ParentID: 0}},
	}
	for _, id := range []int{1, 2, 5, 42} {
		sc := span(1, id, 0, "", 0, 0).SpanContext()
		tr.Contexts = append(tr.Contexts, profile.SampleContext{TraceID: sc.TraceID(), SpanID: sc.SpanID()})
	}
	other := span(2, 1, 0, "", 0, 0).SpanContext()
	tr.Contexts = append(tr.Contexts, profile.SampleContext{TraceID: other.TraceID(), SpanID: root.SpanContext().SpanID()})
	add := func(at time.Duration, stack, context int, marker profile.Marker) {
		tr.Samples = append(tr.Samples, profile.Sample{Timestamp: time.Hour + at, StackID: stack, ContextID: context, Count: 1, Weight: 10 * ms, Marker: marker})
	}
	add(5*ms, 0, 0, profile.Ordinary)
	add(20*ms, 1, 1, profile.Idle)
	add(25*ms, 3, 3, profile.Ordinary)            // under a span that was not kept
	add(26*ms, 3, 4, profile.Ordinary)            // another request's, of a span with the same id
	add(27*ms, 3, profile.None, profile.Ordinary) // under no span
	add(45*ms, 2, 0, profile.Ordinary)            // in render
	add(50*ms, 3, 2, profile.Ordinary)            // in started
	add(75*ms, 3, 0, profile.Ordinary)            // in encode, which is within render
	add(85*ms, 0, 0, profile.Ordinary)            // in render again
	add(95*ms, profile.None, 0, profile.Other)    // after both
	return r.Requests()[0].Request(), tr
}

// A request's samples are in order, and each belongs to the innermost thing that it was taken in.
func TestSamples(t *testing.T) {
	q, tr := sampled(t)
	var got []string
	for span, sample := range requests.Samples(q, tr) {
		at := tr.Origin.Add(sample.Timestamp).Sub(q.Root.Start)
		got = append(got, fmt.Sprintf("%v %s: %s", at, span.Name, profiles.InnermostFunction(tr, sample)))
	}
	want := []string{
		"5ms GET /x: app.handle",
		"20ms query: db.(*Conn).Query (waits)",
		"45ms render: app.handle",
		"50ms started: json.Marshal",
		"75ms encode: json.Marshal",
		"85ms render: app.handle",
		"95ms GET /x: [no stack]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	for span, sample := range requests.Samples(q, nil) {
		t.Errorf("without a trace %s has %v", span.Name, sample)
	}
	for range requests.Samples(q, tr) {
		break // a reader that has seen enough
	}
}

// The time of samples may exceed the span's duration. Then it is of several goroutines, which the
// profile of the span says.
func TestSeveralGoroutines(t *testing.T) {
	for name, c := range map[string]struct {
		engine  profile.Engine
		samples []profile.Sample
		want    bool
	}{
		"one after the other":      {profile.EngineWall, []profile.Sample{{Timestamp: time.Hour + 5*ms, Count: 1}, {Timestamp: time.Hour + 15*ms, Count: 1}}, false},
		"at once":                  {profile.EngineWall, []profile.Sample{{Timestamp: time.Hour + 5*ms, Count: 1}, {Timestamp: time.Hour + 5*ms, Count: 1}}, true},
		"with the same stack":      {profile.EngineWall, []profile.Sample{{Timestamp: time.Hour + 5*ms, Count: 4}}, true},
		"several ticks of the CPU": {profile.EngineCPU, []profile.Sample{{Timestamp: time.Hour + 5*ms, Count: 4}}, false},
	} {
		q, tr := sampled(t)
		tr.Engine, tr.Samples = c.engine, c.samples
		h := requests.SpanProfiles(q, tr)[q.Root.SpanID]
		if h == nil || h.Several != c.want || strings.Contains(h.String(), "of several goroutines") != c.want {
			t.Errorf("%s: the profile is %+v, %v", name, h, h)
		}
	}
}

func TestWaterfallWithProfile(t *testing.T) {
	q, tr := sampled(t)
	var got bytes.Buffer
	if err := requests.WriteWaterfall(&got, q, tr); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "waterfall_profile.txt", got.Bytes())
}
