package bridge_test

import (
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// An entry tells where it belongs in a trace: what it was recorded under, and which span it is.
func TestIDsOfEntries(t *testing.T) {
	tp, got := ownProvider(t, bridge.TracerProviderConfig{Timeline: observer.NewTimeline(observer.TimelineOptions{})})
	ctx, root := tp.Tracer("t").Start(t.Context(), "root")
	tl := observer.FromContext(ctx)
	if err := tl.Queue(ctx, observer.Resource, "call", tl.Now(), 0); err != nil {
		t.Fatal(err)
	}
	marks.Mark(ctx, "mark")
	inner, measure := marks.Start(ctx, "measure")
	marks.Mark(inner, "below")
	measure.End()
	marks.Mark(t.Context(), "outside") // on the process's timeline
	span := func(ctx trace.Span) trace.SpanContext { return ctx.SpanContext() }
	rootID, measureID := span(root).SpanID(), span(trace.SpanFromContext(inner)).SpanID()
	for name, want := range map[string]struct{ self, parent trace.SpanID }{
		"call": {parent: rootID}, "mark": {parent: rootID}, "measure": {measureID, rootID}, "below": {parent: measureID},
	} {
		all := tl.EntriesByName(name)
		if len(all) != 1 {
			t.Fatalf("%d entries %s, want 1", len(all), name)
		}
		e := &all[0]
		if e.TraceID() != root.SpanContext().TraceID() || e.SpanID() != want.self || e.ParentSpanID() != want.parent {
			t.Errorf("%s is span %x under %x in %x, want %v under %v in %v", name, e.SpanID(), e.ParentSpanID(), e.TraceID(), want.self, want.parent, root.SpanContext().TraceID())
		}
	}
	root.End()
	if spans := got.decoded(t); len(spans) != 2 {
		t.Errorf("%d spans, want the root and the measure", len(spans))
	}
	var zero observer.Entry
	if zero.TraceID() != [16]byte{} || zero.SpanID() != [8]byte{} || zero.ParentSpanID() != [8]byte{} {
		t.Error("the zero entry has ids")
	}
}
