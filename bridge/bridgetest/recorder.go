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

// A Recorder keeps the spans that are made with its provider, and the entries of its timeline.
type Recorder struct {
	t        testing.TB
	entries  *observertest.Recorder
	provider trace.TracerProvider
	spans    *tracetest.SpanRecorder
}

// New returns a recorder over a provider of perfline. It ends with the test.
func New(t testing.TB) *Recorder {
	t.Helper()
	return Over(t, nil)
}

// Over returns a recorder over a provider of the SDK. It ends with the test, and does not shut the
// provider down.
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
		// a recorder has nothing that could fail
		stop = func() { _ = p.Shutdown(context.Background()) }
	} else {
		joined := bridge.NewProcessor(
			bridge.ProcessorConfig{Timeline: r.Timeline(), TracerProvider: sdk})
		sdk.RegisterSpanProcessor(r.spans)
		sdk.RegisterSpanProcessor(joined)
		stop = func() {
			sdk.UnregisterSpanProcessor(joined) // which shuts it down
			sdk.UnregisterSpanProcessor(r.spans)
		}
	}
	t.Cleanup(func() {
		t.Helper()
		if t.Failed() {
			t.Logf("recorded:\n%s", r.Tree(every))
		}
		stop()
	})
	return r
}

// Context returns a context under which marks and measures are recorded. It has the values of
// parent.
func (r *Recorder) Context(parent context.Context) context.Context {
	return r.entries.Context(parent)
}

// TracerProvider returns the provider whose spans are recorded.
func (r *Recorder) TracerProvider() trace.TracerProvider { return r.provider }

// Timeline returns the process timeline that is recorded.
func (r *Recorder) Timeline() *observer.Timeline { return r.entries.Timeline }

// Entries returns the entries recorded so far that match any filter, or all without a filter. They
// are sorted by their start.
func (r *Recorder) Entries(filters ...observer.Filter) []observer.Entry {
	return r.entries.Entries(filters...)
}

// A Span is a span of the code under test, or a measure, which is a span of the instrumentation
// scope [bridge.ScopeName]. Its events are marks, and what AddEvent and RecordError added. Its end
// is zero if it has not ended.
type Span struct {
	tracetest.SpanStub

	Parent   *Span   // nil for a root, and for a span whose parent was not recorded: a remote one
	Children []*Span // by their start
}

// Attr returns the value of an attribute, and an empty value if the span does not have it.
func (s *Span) Attr(key attribute.Key) attribute.Value {
	for _, kv := range s.Attributes {
		if kv.Key == key {
			return kv.Value
		}
	}
	return attribute.Value{}
}

// Spans returns all spans made so far, by their start. Spans that have not ended are among them.
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
		if s.Parent = byKey[key{s.SpanStub.Parent.TraceID(),
			s.SpanStub.Parent.SpanID()}]; s.Parent != nil {
			s.Parent.Children = append(s.Parent.Children, s)
		}
	}
	return all
}

// Span returns the span of that name. The test fails and ends if there is none, or more than one.
// Call it on the test's own goroutine.
func (r *Recorder) Span(name string) *Span {
	r.t.Helper()
	found := slices.DeleteFunc(r.Spans(), func(s *Span) bool { return s.Name != name })
	if len(found) != 1 {
		r.t.Fatalf("%d spans have the name %q, want 1", len(found), name)
		return &Span{} // if t goes on
	}
	return found[0]
}
