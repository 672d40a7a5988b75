package bridgetest

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// A Span is a span of the code under test, or a measure, which is a span of the instrumentation scope
// [bridge.ScopeName].
type Span struct {
	Name        string
	Kind        trace.SpanKind
	Scope       instrumentation.Scope
	SpanContext trace.SpanContext
	Parent      *Span   // nil for a root, and for a span whose parent was not recorded: a remote one
	Children    []*Span // by their start
	Attributes  []attribute.KeyValue
	Events      []sdktrace.Event // marks, and what AddEvent and RecordError added
	Links       []sdktrace.Link
	Status      sdktrace.Status
	Start       time.Time
	End         time.Time // zero for a span that has not ended
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
	r.mu.Lock()
	recorded := slices.Clone(r.spans)
	r.mu.Unlock()
	byKey := make(map[spanKey]*Span, len(recorded))
	parents := make(map[*Span]spanKey, len(recorded))
	all := make([]*Span, len(recorded))
	for i, s := range recorded {
		all[i] = &Span{
			Name: s.Name(), Kind: s.SpanKind(), Scope: s.InstrumentationScope(), SpanContext: s.SpanContext(),
			Attributes: s.Attributes(), Events: s.Events(), Links: s.Links(), Status: s.Status(), Start: s.StartTime(), End: s.EndTime(),
		}
		byKey[keyOf(s.SpanContext())], parents[all[i]] = all[i], keyOf(s.Parent())
	}
	slices.SortStableFunc(all, func(a, b *Span) int { return a.Start.Compare(b.Start) })
	for _, s := range all {
		if s.Parent = byKey[parents[s]]; s.Parent != nil {
			s.Parent.Children = append(s.Parent.Children, s)
		}
	}
	return all
}

// Span returns the span of that name. The test fails and ends if there is none, or more than one. Call it on the test's own
// goroutine.
func (r *Recorder) Span(name string) *Span {
	r.t.Helper()
	var found []*Span
	for _, s := range r.Spans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		r.t.Fatalf("%d spans have the name %q, want 1", len(found), name)
		return &Span{} // if t goes on
	}
	return found[0]
}
