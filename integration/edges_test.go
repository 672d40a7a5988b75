package integration

import (
	"context"
	"slices"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// one records one of each under ctx: a mark, a leaf measure, a started measure
// with a mark inside, and a started one that never ends.
func one(ctx context.Context) {
	marks.Mark(ctx, "mark")
	marks.Time(ctx, "leaf").End()
	inside, started := marks.Start(ctx, "started")
	marks.Mark(inside, "inside")
	started.End()
	_, _ = marks.Start(ctx, "never ended")
}

// arrived shuts the pipeline down and returns what Jaeger has of a service, by
// span name, which must be unique.
func arrived(t *testing.T, pl *perfline.Pipeline, service string) map[string]backend.Span {
	t.Helper()
	if err := pl.Shutdown(t.Context()); err != nil {
		t.Logf("Shutdown: %v", err)
	}
	traces, err := jaeger.Traces(t.Context(), service)
	if err != nil {
		t.Fatal(err)
	}
	spans := map[string]backend.Span{}
	for _, trace := range traces {
		for _, s := range trace {
			if _, twice := spans[s.Name]; twice {
				t.Errorf("span %q is there twice", s.Name)
			}
			spans[s.Name] = s
		}
	}
	return spans
}

func wantNames(t *testing.T, spans map[string]backend.Span, want ...string) {
	t.Helper()
	var got []string
	for name := range spans {
		got = append(got, name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("spans in Jaeger: %q, want %q", got, want)
	}
}

func wantEvents(t *testing.T, s backend.Span, want ...string) {
	t.Helper()
	var got []string
	for _, e := range s.Events {
		got = append(got, e.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("events of %q in Jaeger: %q, want %q", s.Name, got, want)
	}
}

// The edges of the design, one by one, as Jaeger sees them.
func TestEdges(t *testing.T) { overBoth(t, testEdges) }

func testEdges(t *testing.T) {
	t.Helper()
	// begin starts a pipeline whose service is known.
	begin := func(t *testing.T, change func(*perfline.Config)) (pl *perfline.Pipeline, ctx context.Context, service string) {
		t.Helper()
		pl, tl, _ := start(t, jaeger, func(c *perfline.Config) {
			service = c.Service
			if change != nil {
				change(c)
			}
		})
		return pl, observer.NewContext(context.Background(), tl), service
	}

	t.Run("no span in ctx", func(t *testing.T) {
		pl, ctx, service := begin(t, nil)
		one(ctx)
		spans := arrived(t, pl, service)
		wantNames(t, spans, "leaf", "started")
		wantEvents(t, spans["started"], "inside")
		if spans["leaf"].ParentID != "" || spans["started"].ParentID != "" {
			t.Error("they have a parent")
		}
		if s := pl.Stats().Bridge; s.MarksWithoutSpan != 1 {
			t.Errorf("stats %+v, want 1 in MarksWithoutSpan", s)
		}
	})
	t.Run("no span, and a sampler that says no", func(t *testing.T) {
		pl, ctx, service := begin(t, func(c *perfline.Config) { c.Sampler = sdktrace.NeverSample() })
		one(ctx)
		wantNames(t, arrived(t, pl, service))
	})
	for _, sampled := range []bool{true, false} {
		name, flags := "a remote parent only, sampled", trace.FlagsSampled
		if !sampled {
			name, flags = "a remote parent only, not sampled", trace.TraceFlags(0)
		}
		t.Run(name, func(t *testing.T) {
			pl, ctx, service := begin(t, nil)
			parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{0xfe, byte(len(service)), 3}, SpanID: trace.SpanID{7}, TraceFlags: flags})
			one(trace.ContextWithRemoteSpanContext(ctx, parent))
			spans := arrived(t, pl, service)
			if !sampled {
				wantNames(t, spans)
				return
			}
			wantNames(t, spans, "leaf", "started")
			for _, s := range spans {
				if s.TraceID != parent.TraceID().String() {
					t.Errorf("%q is in trace %s, want the parent's %s", s.Name, s.TraceID, parent.TraceID())
				}
			}
		})
	}
	t.Run("a parent that is not sampled", func(t *testing.T) {
		pl, ctx, service := begin(t, func(c *perfline.Config) { c.Sampler = sdktrace.NeverSample() })
		ctx, span := pl.TracerProvider().Tracer("t").Start(ctx, "span")
		one(ctx)
		span.End()
		wantNames(t, arrived(t, pl, service))
	})
	t.Run("span limits from the variables", func(t *testing.T) {
		t.Setenv("OTEL_SPAN_EVENT_COUNT_LIMIT", "2")
		pl, ctx, service := begin(t, nil)
		ctx, span := pl.TracerProvider().Tracer("t").Start(ctx, "span")
		for _, name := range []string{"1", "2", "3"} {
			marks.Mark(ctx, name)
		}
		span.End()
		wantEvents(t, arrived(t, pl, service)["span"], "2", "3")
		if s := pl.Stats().Bridge; s.MarksOverLimit != 1 && !joining { // the SDK's spans do not say which events they drop
			t.Errorf("stats %+v, want 1 in MarksOverLimit", s)
		}
	})
	t.Run("a mark after End, a span that never ends", func(t *testing.T) {
		pl, ctx, service := begin(t, nil)
		ctx, span := pl.TracerProvider().Tracer("t").Start(ctx, "span")
		open, _ := pl.TracerProvider().Tracer("t").Start(ctx, "never ended")
		marks.Mark(open, "waits in vain")
		span.End()
		marks.Mark(ctx, "late")
		spans := arrived(t, pl, service)
		wantNames(t, spans, "span")
		wantEvents(t, spans["span"])
		if s := pl.Stats().Bridge; s.MarksAfterEnd != 1 || s.MarksOfOpenSpans != 1 && !joining { // the SDK's span has the mark at once
			t.Errorf("stats %+v, want 1 in MarksAfterEnd and 1 in MarksOfOpenSpans", s)
		}
	})
	t.Run("two providers on one timeline", func(t *testing.T) {
		a, ctx, serviceA := begin(t, nil)
		b, _, serviceB := begin(t, func(c *perfline.Config) { c.Timeline = observer.FromContext(ctx) })
		for name, pl := range map[string]*perfline.Pipeline{"span of a": a, "span of b": b} {
			spanCtx, span := pl.TracerProvider().Tracer("t").Start(ctx, name)
			one(spanCtx)
			span.End()
		}
		spans := arrived(t, a, serviceA)
		wantNames(t, spans, "span of a", "leaf", "started")
		wantEvents(t, spans["span of a"], "mark")
		spans = arrived(t, b, serviceB)
		wantNames(t, spans, "span of b", "leaf", "started")
		wantEvents(t, spans["span of b"], "mark")
	})
	t.Run("another processor beside ours", func(t *testing.T) {
		pl, ctx, service := begin(t, nil)
		var beside seen
		pl.TracerProvider().(registers).RegisterSpanProcessor(&beside)
		ctx, span := pl.TracerProvider().Tracer("t").Start(ctx, "span")
		one(ctx)
		span.End()
		wantNames(t, arrived(t, pl, service), "span", "leaf", "started")
		want := []string{"leaf", "started", "span"}
		if !slices.Equal(beside.names, want) {
			t.Errorf("it saw %q, want %q", beside.names, want)
		}
	})
}

// registers is what both providers are.
type registers interface {
	RegisterSpanProcessor(sdktrace.SpanProcessor)
}

// seen is a span processor that notes names.
type seen struct{ names []string }

func (s *seen) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (s *seen) OnEnd(span sdktrace.ReadOnlySpan)                { s.names = append(s.names, span.Name()) }
func (s *seen) Shutdown(context.Context) error                  { return nil }
func (s *seen) ForceFlush(context.Context) error                { return nil }
