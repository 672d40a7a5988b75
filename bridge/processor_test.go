package bridge_test

import (
	"context"
	"slices"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// resourced returns an SDK's provider with a Processor and a recorder.
func resourced(tl *observer.Timeline, name string) (*recorder, *sdktrace.TracerProvider) {
	got := &recorder{}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(got), sdktrace.WithSpanProcessor(bridge.NewProcessor(bridge.ProcessorConfig{Timeline: tl})),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("p", name))))
	return got, tp
}

// Marks and measures under a span are of the provider that made the span.
func TestTwoProviders(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	base := observer.NewContext(context.Background(), tl)
	gotA, a := resourced(tl, "a")
	gotB, b := resourced(tl, "b")
	gotC := &recorder{}
	c := bridge.NewTracerProvider(bridge.TracerProviderConfig{
		Timeline: tl, Resource: resource.NewSchemaless(attribute.String("p", "c")), Exporters: []bridge.Output{bothproviders.Decoded{To: gotC}},
	})
	all := map[string]anyProvider{"a": a, "b": b, "c": c}
	for name, tp := range all {
		ctx, span := tp.Tracer("t").Start(base, "span "+name)
		everything(t, ctx)
		span.End()
	}
	for _, tp := range all {
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for name, got := range map[string]*recorder{"a": gotA, "b": gotB, "c": gotC} {
		names := got.names()
		slices.Sort(names)
		if !slices.Equal(names, []string{"leaf", "measured", "span " + name, "started"}) {
			t.Errorf("provider %s got %v", name, names)
		}
		for _, s := range got.all() {
			if s.Resource().String() != "p="+name {
				t.Errorf("provider %s got a span of %v", name, s.Resource())
			}
		}
		if ev := events(got.one(t, "span "+name)); !slices.Equal(ev, []string{"mark"}) {
			t.Errorf("provider %s: events %v", name, ev)
		}
	}
}

// Two processors at one provider make each event and each measure once.
func TestTwoProcessorsOfOneProvider(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	got, tp := resourced(tl, "one")
	second := bridge.NewProcessor(bridge.ProcessorConfig{Timeline: tl})
	tp.RegisterSpanProcessor(second)
	tracer := tp.Tracer("t")
	base := observer.NewContext(context.Background(), tl)
	check := func(what string) {
		ctx, span := tracer.Start(base, what)
		marks.Mark(ctx, "mark")
		marks.Time(ctx, "leaf of "+what).End()
		span.End()
		if ev := events(got.one(t, what)); !slices.Equal(ev, []string{"mark"}) {
			t.Errorf("%s: events %v, want the mark", what, ev)
		}
		got.one(t, "leaf of "+what)
	}
	check("two processors")
	if err := second.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	check("the first one after the second's shutdown")
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// Under a span of a provider without a processor, marks are events of that span, and measures are that provider's spans.
func TestProviderWithoutProcessor(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		r := open(bothproviders.Options{})
		got := &recorder{}
		foreign := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(got))
		ctx, span := foreign.Tracer("t").Start(r.ctx, "foreign")
		everything(t, ctx)
		span.End()
		r.flush(t)
		if n := r.got.names(); len(n) != 0 {
			t.Errorf("the timeline's provider got %v", n)
		}
		for _, name := range []string{"leaf", "measured", "started"} {
			if s := got.one(t, name); s.Parent().SpanID() != span.SpanContext().SpanID() {
				t.Errorf("%q is under %v, want the foreign span", name, s.Parent().SpanID())
			}
		}
		for name, want := range map[string]string{"foreign": "mark", "started": "inside"} {
			if ev := events(got.one(t, name)); !slices.Equal(ev, []string{want}) {
				t.Errorf("%q has the events %v, want %q", name, ev, want)
			}
		}
		if s := r.stats(); s.MarkEvents != 2 || s.MeasureSpans != 3 || s.MarksWithoutSpan+s.OtherSpans+s.Lost() != 0 {
			t.Errorf("stats %+v, want 2 events and 3 measures", s)
		}
	})
}

// A processor without a provider of its own makes spans of measures that have no active span. It uses the provider of the first span that it
// sees, and before that the global one.
func TestProviderOfMeasuresUnderNoSpan(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	base := observer.NewContext(context.Background(), tl)
	global, first, second := &recorder{}, &recorder{}, &recorder{}
	tp := map[*recorder]*sdktrace.TracerProvider{}
	for _, got := range []*recorder{global, first, second} {
		tp[got] = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(got))
	}
	before := otel.GetTracerProvider()
	defer otel.SetTracerProvider(before)
	otel.SetTracerProvider(tp[global])
	p := bridge.NewProcessor(bridge.ProcessorConfig{Timeline: tl})
	marks.Time(base, "before any span").End()
	for _, got := range []*recorder{first, second} {
		tp[got].RegisterSpanProcessor(p)
		_, span := tp[got].Tracer("t").Start(base, "span")
		span.End()
	}
	marks.Time(base, "after two").End()
	global.one(t, "before any span")
	first.one(t, "after two")
	if err := p.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	marks.Time(base, "after shutdown").End()
	if n := len(global.all()) + len(first.all()) + len(second.all()); n != 4 {
		t.Errorf("%d spans, want two measures and two others", n)
	}
}

// After its shutdown, a provider or a processor leaves the timeline, which goes on, and another one can join it.
func TestShutdown(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		r := open(bothproviders.Options{})
		ctx, span := r.tracer.Start(r.ctx, "span")
		marks.Mark(ctx, "m")
		span.End()
		for range 2 {
			if err := r.provider.Shutdown(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		marks.Time(r.ctx, "after shutdown").End()
		if got := r.got.names(); !slices.Equal(got, []string{"span"}) || r.got.downs != 1 {
			t.Errorf("spans %v, and the processor was shut down %d times", got, r.got.downs)
		}
		marks.Mark(r.ctx, "the timeline goes on")
		if len(r.tl.EntriesByName("the timeline goes on")) != 1 {
			t.Error("after Shutdown the timeline does not record")
		}
		again := open(bothproviders.Options{Timeline: r.tl})
		ctx, span = again.tracer.Start(again.ctx, "second life")
		marks.Mark(ctx, "m")
		span.End()
		marks.Time(again.ctx, "root").End()
		again.flush(t)
		again.got.one(t, "root")
		if got := events(again.got.one(t, "second life")); !slices.Equal(got, []string{"m"}) {
			t.Errorf("events %v", got)
		}
	})
}

// The SDK makes the spans of the request, and another provider of the SDK makes a span in between. Each mark is on the span under which it was
// made, and each measure is of the provider of its parent.
func TestAnotherProvidersSpanInBetween(t *testing.T) {
	r := newRig(t, bothproviders.SDK, bothproviders.Options{})
	got := &recorder{}
	other := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(got))
	rootCtx, root := r.tracer.Start(r.ctx, "root")
	marks.Mark(rootCtx, "in root")
	otherCtx, foreign := other.Tracer("t").Start(rootCtx, "foreign")
	marks.Mark(otherCtx, "in foreign")
	marks.Time(otherCtx, "leaf of foreign").End()
	startedCtx, started := marks.Start(otherCtx, "started")
	marks.Mark(startedCtx, "in started")
	childCtx, child := r.tracer.Start(startedCtx, "child")
	marks.Mark(childCtx, "in child")
	marks.Time(childCtx, "leaf of child").End()
	marks.Mark(rootCtx, "in root again")
	child.End()
	started.End()
	foreign.End()
	root.End()
	r.flush(t)
	for name, c := range map[string]struct {
		got    *recorder
		parent trace.SpanContext
		events []string
	}{
		"root":            {r.got, trace.SpanContext{}, []string{"in root", "in root again"}},
		"foreign":         {got, root.SpanContext(), []string{"in foreign"}},
		"leaf of foreign": {got, foreign.SpanContext(), nil},
		"started":         {got, foreign.SpanContext(), []string{"in started"}},
		"child":           {r.got, trace.SpanContextFromContext(startedCtx), []string{"in child"}},
		"leaf of child":   {r.got, child.SpanContext(), nil},
	} {
		s := c.got.one(t, name)
		if s.Parent().SpanID() != c.parent.SpanID() || !slices.Equal(events(s), c.events) {
			t.Errorf("%q has the parent %v and the events %v, want %v and %v", name, s.Parent().SpanID(), events(s), c.parent.SpanID(), c.events)
		}
	}
	if s := r.stats(); s.MarkEvents != 5 || s.MeasureSpans != 3 || s.Lost() != 0 {
		t.Errorf("stats %+v, want 5 events and 3 measures", s)
	}
}
