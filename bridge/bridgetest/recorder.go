package bridgetest

import (
	"context"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/observer/observertest"
)

// A Recorder records the spans of a provider and the entries of a timeline.
type Recorder struct {
	t        testing.TB
	entries  *observertest.Recorder
	provider trace.TracerProvider
	spans    *tracetest.SpanRecorder
}

// New returns a recorder with a new provider of perfline. The recorder shuts the provider down at
// the end of the test.
func New(t testing.TB) *Recorder {
	t.Helper()
	return Over(t, nil)
}

// Over returns a recorder for a provider of the SDK. At the end of the test, the recorder is
// removed from the provider. Over does not shut the provider down.
func Over(t testing.TB, sdk *sdktrace.TracerProvider) *Recorder {
	t.Helper()
	r := &Recorder{t: t, entries: observertest.NewTimedRecorder(), provider: sdk,
		spans: tracetest.NewSpanRecorder()}
	var stop func()
	if sdk == nil {
		p := bridge.NewTracerProvider(bridge.TracerProviderConfig{
			Timeline: r.Timeline(), Sampler: sdktrace.AlwaysSample(), Resource: resource.Empty(),
			Processors: []sdktrace.SpanProcessor{r.spans},
		})
		r.provider = p
		stop = func() { _ = p.Shutdown(context.Background()) } // a SpanRecorder returns no error
	} else {
		processor := bridge.NewProcessor(
			bridge.ProcessorConfig{Timeline: r.Timeline(), TracerProvider: sdk})
		sdk.RegisterSpanProcessor(r.spans)
		sdk.RegisterSpanProcessor(processor)
		stop = func() {
			sdk.UnregisterSpanProcessor(processor) // also shuts the processor down
			sdk.UnregisterSpanProcessor(r.spans)
		}
	}
	t.Cleanup(func() {
		t.Helper()
		if t.Failed() {
			t.Logf("recorded:\n%s", r.Tree(allKeys))
		}
		stop()
	})
	return r
}

// Context returns a copy of parent. The recorder records marks and measures under this context.
func (r *Recorder) Context(parent context.Context) context.Context {
	return r.entries.Context(parent)
}

// TracerProvider returns the provider of the recorder.
func (r *Recorder) TracerProvider() trace.TracerProvider { return r.provider }

// Timeline returns the process timeline that the recorder records.
func (r *Recorder) Timeline() *observer.Timeline { return r.entries.Timeline }

// Entries returns the recorded entries that match at least one filter, sorted by start. Without
// filters, Entries returns all recorded entries.
func (r *Recorder) Entries(filters ...observer.Filter) []observer.Entry {
	return r.entries.Entries(filters...)
}

// A Span is a span of the code under test, or the span of a measure. The instrumentation scope of a
// measure's span is "github.com/perfline/perfline". Events contains marks, and events of AddEvent
// and RecordError. EndTime is zero for an open span.
type Span struct {
	tracetest.SpanStub

	Parent   *Span   // nil for a root, and for a span with a remote parent
	Children []*Span // sorted by start
}

// Attr returns the value of the attribute with the key. Without such an attribute, Attr returns an
// empty value.
func (s *Span) Attr(key attribute.Key) attribute.Value {
	for _, kv := range s.Attributes {
		if kv.Key == key {
			return kv.Value
		}
	}
	return attribute.Value{}
}

// Spans returns all recorded spans, including open spans, sorted by start.
func (r *Recorder) Spans() []*Span {
	type key struct {
		trace trace.TraceID
		span  trace.SpanID
	}
	var all []*Span
	byKey := map[key]*Span{}
	for _, started := range r.spans.Started() {
		s := &Span{SpanStub: tracetest.SpanStubFromReadOnlySpan(started)}
		all = append(all, s)
		byKey[key{s.SpanContext.TraceID(), s.SpanContext.SpanID()}] = s
	}
	slices.SortStableFunc(all, func(a, b *Span) int { return a.StartTime.Compare(b.StartTime) })
	for _, s := range all {
		parent := s.SpanStub.Parent
		if s.Parent = byKey[key{parent.TraceID(), parent.SpanID()}]; s.Parent != nil {
			s.Parent.Children = append(s.Parent.Children, s)
		}
	}
	return all
}

// Span returns the span with the name. If the number of spans with the name is not 1, the test
// fails immediately. Call Span only on the goroutine of the test.
func (r *Recorder) Span(name string) *Span {
	r.t.Helper()
	found := slices.DeleteFunc(r.Spans(), func(s *Span) bool { return s.Name != name })
	if len(found) != 1 {
		r.t.Fatalf("%d spans have the name %q, want 1", len(found), name)
		return &Span{} // if t goes on
	}
	return found[0]
}
