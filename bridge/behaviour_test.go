package bridge_test

import (
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// TestBehaviour holds for all providers.
func TestBehaviour(t *testing.T) {
	overAll(t, func(t *testing.T, open func(bothproviders.Options) *rig) {
		for _, c := range behaviours {
			t.Run(c.name, func(t *testing.T) { c.check(t, open(bothproviders.Options{Sampler: c.sampler})) })
		}
	})
}

var behaviours = []struct {
	name    string
	sampler sdktrace.Sampler
	check   func(*testing.T, *rig)
}{
	{"marks become events in the order of time", always, func(t *testing.T, r *rig) {
		ctx, span := r.tracer.Start(r.ctx, "span")
		marks.Mark(ctx, "one", slog.String("s", "x"), slog.Int("i", 1), slog.Bool("b", true), slog.Float64("f", .5))
		span.AddEvent("own")
		marks.Mark(ctx, "two")
		recorded := observer.FromContext(ctx).EntriesByName("one")[0]
		span.End()
		r.flush(t)
		got := r.got.one(t, "span")
		if !slices.Equal(events(got), []string{"one", "own", "two"}) {
			t.Fatalf("events are %v", events(got))
		}
		e := got.Events()[0]
		if !e.Time.Equal(recorded.Time()) {
			t.Errorf("event at %v, mark at %v", e.Time, recorded.Time())
		}
		if s := text(e.Attributes); s != "s=STRING:x i=INT64:1 b=BOOL:true f=FLOAT64:0.5" {
			t.Errorf("attributes are %s", s)
		}
	}},
	{"measures become child spans", always, func(t *testing.T, r *rig) {
		ctx, span := r.tracer.Start(r.ctx, "span")
		marks.Time(ctx, "leaf", slog.String("a", "b")).End(slog.Int("n", 2))
		marks.Mark(ctx, "from")
		m, err := marks.Measure(ctx, "by name", marks.MeasureOptions{Start: marks.Named("from"), Detail: []slog.Attr{slog.Int("d", 1)}})
		if err != nil {
			t.Fatal(err)
		}
		entries := map[string]observer.Entry{}
		for _, e := range entriesOf(ctx) {
			entries[e.Name()] = e
		}
		span.End()
		r.flush(t)
		leaf, named := r.got.one(t, "leaf"), r.got.one(t, "by name")
		for _, s := range []sdktrace.ReadOnlySpan{leaf, named} {
			if s.Parent().SpanID() != span.SpanContext().SpanID() || s.SpanContext().TraceID() != span.SpanContext().TraceID() ||
				s.SpanKind() != trace.SpanKindInternal || !s.SpanContext().IsSampled() || s.Resource() != r.got.one(t, "span").Resource() {
				t.Errorf("%q: parent %v, kind %v, sampled %v", s.Name(), s.Parent().SpanID(), s.SpanKind(), s.SpanContext().IsSampled())
			}
			e := entries[s.Name()]
			if !s.StartTime().Equal(e.Time()) || s.EndTime().Sub(s.StartTime()) != e.Duration() {
				t.Errorf("%q: %v for %v, recorded %v for %v", s.Name(), s.StartTime(), s.EndTime().Sub(s.StartTime()), e.Time(), e.Duration())
			}
		}
		if !named.StartTime().Equal(m.Time()) {
			t.Errorf("Measure returned %v, the span starts at %v", m.Time(), named.StartTime())
		}
		if s := text(leaf.Attributes()); s != "a=STRING:b n=INT64:2" {
			t.Errorf("attributes are %s", s)
		}
		if s := text(named.Attributes()); s != "d=INT64:1" {
			t.Errorf("attributes are %s", s)
		}
	}},
	{"Start nests marks, measures and other libraries' spans", always, func(t *testing.T, r *rig) {
		ctx, span := r.tracer.Start(r.ctx, "span")
		outerCtx, outer := marks.Start(ctx, "outer", slog.Int("a", 1))
		marks.Mark(outerCtx, "in outer")
		libCtx, lib := r.tracer.Start(outerCtx, "library")
		innerCtx, inner := marks.Start(libCtx, "inner")
		deepCtx, deep := marks.Start(innerCtx, "deep")
		marks.Mark(deepCtx, "in deep")
		marks.Time(deepCtx, "leaf").End()
		deep.End()
		inner.End()
		lib.End()
		outer.End(slog.Int("b", 2))
		outer.End(slog.Int("again", 3))
		span.End()
		r.flush(t)
		for child, parent := range map[string]string{"outer": "span", "library": "outer", "inner": "library", "deep": "inner", "leaf": "deep"} {
			if got, want := r.got.one(t, child).Parent().SpanID(), r.got.one(t, parent).SpanContext().SpanID(); got != want {
				t.Errorf("parent of %q is %v, want %q, %v", child, got, parent, want)
			}
		}
		for name, want := range map[string][]string{"outer": {"in outer"}, "deep": {"in deep"}, "span": nil, "inner": nil} {
			if got := events(r.got.one(t, name)); !slices.Equal(got, want) {
				t.Errorf("%q has events %v, want %v", name, got, want)
			}
		}
		if s := text(r.got.one(t, "outer").Attributes()); s != "a=INT64:1 b=INT64:2" {
			t.Errorf("attributes are %s", s)
		}
	}},
	{"what other libraries set on the active span is kept", always, func(t *testing.T, r *rig) {
		ctx, span := r.tracer.Start(r.ctx, "span")
		ctx, started := marks.Start(ctx, "started", slog.Int("a", 1))
		active := trace.SpanFromContext(ctx)
		if !active.IsRecording() || active.TracerProvider() != trace.TracerProvider(r.provider) {
			t.Error("the active span does not record, or has another provider")
		}
		active.SetAttributes(attribute.String("theirs", "x"), attribute.Int("a", 2))
		active.AddEvent("their event", trace.WithAttributes(attribute.Bool("e", true)))
		marks.Mark(ctx, "ours")
		active.RecordError(errors.New("bad"))
		active.RecordError(nil)
		active.SetStatus(codes.Error, "failed")
		active.SetName("renamed")
		active.AddLink(trace.Link{SpanContext: span.SpanContext()})
		started.End()
		span.End()
		r.flush(t)
		got := r.got.one(t, "renamed")
		if s := text(got.Attributes()); s != "a=INT64:2 theirs=STRING:x" && s != "theirs=STRING:x a=INT64:1" {
			t.Errorf("attributes are %s", s)
		}
		if !slices.Equal(events(got), []string{"their event", "ours", "exception"}) {
			t.Errorf("events are %v", events(got))
		}
		if got.Status().Code != codes.Error || got.Status().Description != "failed" || len(got.Links()) != 1 {
			t.Errorf("status %v, %d links", got.Status(), len(got.Links()))
		}
	}},
	{"a measure that runs backwards", always, func(t *testing.T, r *rig) {
		ctx, span := r.tracer.Start(r.ctx, "span")
		if _, err := marks.Measure(ctx, "back", marks.MeasureOptions{Start: marks.At(time.Second), End: marks.At(time.Millisecond)}); err != nil {
			t.Fatal(err)
		}
		span.End()
		r.flush(t)
		if s := r.got.one(t, "back"); s.EndTime().Sub(s.StartTime()) != 999*time.Millisecond {
			t.Errorf("the span takes %v, want 999ms", s.EndTime().Sub(s.StartTime()))
		}
	}},
	{"nothing leaves under an unsampled span", never, func(t *testing.T, r *rig) {
		ctx, span := r.tracer.Start(r.ctx, "span")
		everything(t, ctx)
		span.End()
		r.flush(t)
		if got := r.got.names(); len(got) != 0 {
			t.Errorf("spans %v", got)
		}
		if n := r.tl.Stats().Total().Recorded; n != 0 {
			t.Errorf("%d entries were recorded though nothing wants them", n)
		}
	}},
	{"an observer gets what is under an unsampled span", never, func(t *testing.T, r *rig) {
		var observed []observer.Entry
		if _, err := r.tl.Observe(func(l observer.List) { observed = append(observed, l.Entries()...) }, observer.Options{Types: []observer.Type{observer.Mark, observer.Measure}}); err != nil {
			t.Fatal(err)
		}
		ctx, span := r.tracer.Start(r.ctx, "span")
		everything(t, ctx)
		if n := len(entriesOf(ctx)); n != 5 {
			t.Errorf("the timeline has %d entries, want 5", n)
		}
		span.End()
		r.flush(t)
		r.tl.Deliver()
		if got := r.got.names(); len(got) != 0 {
			t.Errorf("spans %v", got)
		}
		if len(observed) != 5 {
			t.Errorf("the observer has %d entries, want 5", len(observed))
		}
	}},
	{"a span that is only recorded has its marks", recordOnly, func(t *testing.T, r *rig) {
		ctx, span := r.tracer.Start(r.ctx, "span")
		everything(t, ctx)
		if got := readEvents(span); !slices.Equal(got, []string{"mark"}) {
			t.Errorf("the span has the events %v, want the mark", got)
		}
		span.End()
		r.flush(t)
		if s := r.stats(); s.MarkEvents != 2 || s.Lost() != 0 {
			t.Errorf("stats %+v, want two events", s)
		}
	}},
	{"no span: marks stay, measures become root spans", always, func(t *testing.T, r *rig) {
		everything(t, r.ctx)
		r.flush(t)
		for _, name := range []string{"leaf", "measured", "started"} {
			if s := r.got.one(t, name); s.Parent().IsValid() {
				t.Errorf("%q has a parent", name)
			}
		}
		if got := events(r.got.one(t, "started")); !slices.Equal(got, []string{"inside"}) {
			t.Errorf("started has events %v", got)
		}
		if len(r.tl.EntriesByName("mark")) != 1 {
			t.Error("the mark is not on the timeline")
		}
		if s := r.stats(); s.MarksWithoutSpan != 1 || s.MeasureSpans != 3 || s.MarkEvents != 1 || s.OtherSpans != 0 || s.Lost() != 0 {
			t.Errorf("stats %+v, want 1 in MarksWithoutSpan, 3 in MeasureSpans, 1 in MarkEvents", s)
		}
	}},
	{"no span: the sampler decides", never, func(t *testing.T, r *rig) {
		everything(t, r.ctx)
		r.flush(t)
		if got := r.got.names(); len(got) != 0 {
			t.Errorf("spans %v", got)
		}
	}},
	{"a remote span only: measures are its children", always, func(t *testing.T, r *rig) {
		remote := remoteSpan(trace.FlagsSampled)
		everything(t, trace.ContextWithRemoteSpanContext(r.ctx, remote))
		r.flush(t)
		for _, name := range []string{"leaf", "measured", "started"} {
			if s := r.got.one(t, name); s.Parent().SpanID() != remote.SpanID() || s.SpanContext().TraceID() != remote.TraceID() {
				t.Errorf("%q is under %v, want the remote span", name, s.Parent().SpanID())
			}
		}
		if s := r.stats(); s.MarksWithoutSpan != 1 || s.Lost() != 0 {
			t.Errorf("stats %+v, want 1 in MarksWithoutSpan", s)
		}
	}},
	{"a remote span that is not sampled: nothing leaves", always, func(t *testing.T, r *rig) {
		everything(t, trace.ContextWithRemoteSpanContext(r.ctx, remoteSpan(0)))
		r.flush(t)
		if got := r.got.names(); len(got) != 0 {
			t.Errorf("spans %v", got)
		}
	}},
	{"attributes of every kind", always, func(t *testing.T, r *rig) {
		ctx, span := r.tracer.Start(r.ctx, "span")
		marks.Time(ctx, "leaf", slog.Group("req", slog.String("method", "GET"), slog.Group("url", slog.Int("port", 80))),
			slog.Any("v", valuer{}), slog.Duration("d", time.Second), slog.String("", "no key")).End()
		span.End()
		r.flush(t)
		if s := text(r.got.one(t, "leaf").Attributes()); s != "req.method=STRING:GET req.url.port=INT64:80 v.x=INT64:1 d=INT64:1000000000" {
			t.Errorf("attributes are %s", s)
		}
	}},
}

type valuer struct{}

func (valuer) LogValue() slog.Value { return slog.GroupValue(slog.Int("x", 1)) }

func remoteSpan(flags trace.TraceFlags) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: flags, Remote: true})
}

// recordOnly has spans recorded that are not sampled.
var recordOnly = fixed{Decision: sdktrace.RecordOnly}

// readEvents returns the events of a span that may be open.
func readEvents(s trace.Span) []string { return events(s.(sdktrace.ReadOnlySpan)) }
