package bridgetest

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

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
