package bridge_test

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// A tracer is the same for the same scope, and its spans have the scope.
func TestProviderTracer(t *testing.T) {
	version, schema := trace.WithInstrumentationVersion("v1"), trace.WithSchemaURL("https://schema.example/1")
	twice := []attribute.KeyValue{attribute.Map("map", attribute.Int("k", 1), attribute.Int("k", 2)), attribute.Bool("b", true)}
	set := attribute.NewSet(attribute.Map("map", attribute.Int("k", 2)), attribute.Bool("b", true))
	cases := []struct {
		name    string
		tracer  string
		options []trace.TracerOption
		want    instrumentation.Scope
	}{
		{"name", "a", nil, instrumentation.Scope{Name: "a"}},
		{"no name", "", nil, instrumentation.Scope{Name: "go.opentelemetry.io/otel/sdk/tracer"}},
		{"version", "a", []trace.TracerOption{version}, instrumentation.Scope{Name: "a", Version: "v1"}},
		{"version and schema", "a", []trace.TracerOption{version, schema}, instrumentation.Scope{Name: "a", Version: "v1", SchemaURL: "https://schema.example/1"}},
		{"attributes", "a", []trace.TracerOption{trace.WithInstrumentationAttributes(twice...)}, instrumentation.Scope{Name: "a", Attributes: set}},
	}
	overBoth(t, func(t *testing.T, start newProvider) {
		p, _, got := recorded(t, start, providerConfig{})
		tracers := map[trace.Tracer]string{}
		for i, c := range cases {
			tracer := p.Tracer(c.tracer, c.options...)
			if other, ok := tracers[tracer]; ok {
				t.Errorf("%s: the tracer is the one of %s", c.name, other)
			}
			tracers[tracer] = c.name
			if p.Tracer(c.tracer, c.options...) != tracer {
				t.Errorf("%s: another tracer for the same scope", c.name)
			}
			_, s := tracer.Start(t.Context(), "span")
			s.End()
			ended := got.all()[i]
			if ended.InstrumentationScope() != c.want || ended.InstrumentationLibrary() != c.want { //nolint:staticcheck // the interface has it
				t.Errorf("%s: scope is %v, want %v", c.name, ended.InstrumentationScope(), c.want)
			}
		}
	})
}

// After Shutdown, a provider gives tracers that make no spans. Tracers from before make spans that no processor receives.
func TestProviderTracerAfterShutdown(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		p, before, got := recorded(t, start, providerConfig{})
		open, old := before.Start(t.Context(), "open")
		if err := p.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		after := p.Tracer("test")
		if want := noop.NewTracerProvider().Tracer("test"); after != want {
			t.Errorf("the tracer is a %T, want %T", after, want)
		}
		if _, s := after.Start(open, "after"); s.IsRecording() || !s.SpanContext().Equal(old.SpanContext()) {
			t.Errorf("a span after Shutdown has context %v and records: %v; want its parent's context", s.SpanContext(), s.IsRecording())
		}
		_, s := before.Start(open, "late")
		if !s.IsRecording() {
			t.Error("a span of a tracer from before Shutdown does not record")
		}
		s.End()
		old.End()
		if names := got.names(); len(names) > 0 {
			t.Errorf("the processor received %v after Shutdown", names)
		}
	})
}

// Start makes a span under the span in the context, in the same trace, and puts it into the context.
func TestProviderStart(t *testing.T) {
	type key struct{}
	values := context.WithValue(t.Context(), key{}, "kept")
	cancelled, cancel := context.WithCancel(values)
	cancel()
	state := traceState(t, "a=1,b=2")
	local, remote := spanContext(true, false).WithTraceState(state), spanContext(true, true)
	cases := []struct {
		name    string
		ctx     context.Context
		options []trace.SpanStartOption
		parent  trace.SpanContext
		want    trace.SpanContextConfig // the counter's ids begin with 1
	}{
		{"nil", nil, nil, trace.SpanContext{}, trace.SpanContextConfig{TraceID: trace.TraceID{15: 1}, TraceFlags: 1}},
		{"root", values, nil, trace.SpanContext{}, trace.SpanContextConfig{TraceID: trace.TraceID{15: 1}, TraceFlags: 1}},
		{"cancelled", cancelled, nil, trace.SpanContext{}, trace.SpanContextConfig{TraceID: trace.TraceID{15: 1}, TraceFlags: 1}},
		{"local parent", trace.ContextWithSpanContext(values, local), nil, local, trace.SpanContextConfig{TraceID: trace.TraceID{15: 0xaa}, TraceFlags: 1, TraceState: state}},
		{"remote parent", trace.ContextWithRemoteSpanContext(values, remote), nil, remote, trace.SpanContextConfig{TraceID: trace.TraceID{15: 0xaa}, TraceFlags: 1}},
		{"parent without a span id", trace.ContextWithSpanContext(values, remote.WithSpanID(trace.SpanID{})), nil, remote.WithSpanID(trace.SpanID{}),
			trace.SpanContextConfig{TraceID: trace.TraceID{15: 0xaa}, TraceFlags: 1}},
		{"parent without a trace id", trace.ContextWithSpanContext(values, remote.WithTraceID(trace.TraceID{})), nil, remote.WithTraceID(trace.TraceID{}),
			trace.SpanContextConfig{TraceID: trace.TraceID{15: 1}, TraceFlags: 1}},
		{"new root", trace.ContextWithSpanContext(values, local), []trace.SpanStartOption{trace.WithNewRoot()}, trace.SpanContext{},
			trace.SpanContextConfig{TraceID: trace.TraceID{15: 1}, TraceFlags: 1}},
		{"all flags of the parent", trace.ContextWithSpanContext(values, local.WithTraceFlags(0xff)), nil, local.WithTraceFlags(0xff),
			trace.SpanContextConfig{TraceID: trace.TraceID{15: 0xaa}, TraceFlags: 0xff, TraceState: state}},
	}
	overBoth(t, func(t *testing.T, start newProvider) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				p, tracer, got := recorded(t, start, providerConfig{ids: &counter{}})
				ctx, s := tracer.Start(c.ctx, "span", c.options...)
				want := c.want
				want.SpanID = trace.SpanID{7: 1}
				if !s.SpanContext().Equal(trace.NewSpanContext(want)) {
					t.Errorf("span context is %v, want %v", s.SpanContext(), trace.NewSpanContext(want))
				}
				if trace.SpanFromContext(ctx) != s {
					t.Error("the context does not have the span")
				}
				if v := ctx.Value(key{}); c.ctx != nil && v != "kept" {
					t.Errorf("the context's value is %v", v)
				}
				if s.TracerProvider() != trace.TracerProvider(p) {
					t.Errorf("TracerProvider is %v", s.TracerProvider())
				}
				s.End()
				if parent := got.one(t, "span").Parent(); !parent.Equal(c.parent) {
					t.Errorf("parent is %v, want %v", parent, c.parent)
				}
			})
		}
	})
}

// A span that starts under a span that has ended is its child as well.
func TestProviderStartAfterEnd(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		_, tracer, got := recorded(t, start, providerConfig{})
		ctx, parent := tracer.Start(t.Context(), "parent")
		parent.End()
		_, child := tracer.Start(ctx, "child")
		child.End()
		if c := got.one(t, "child"); !c.Parent().Equal(parent.SpanContext()) || c.SpanContext().TraceID() != parent.SpanContext().TraceID() {
			t.Errorf("child of %v in trace %v, want a child of %v", c.Parent(), c.SpanContext().TraceID(), parent.SpanContext())
		}
		if n := got.one(t, "parent").ChildSpanCount(); n != 0 {
			t.Errorf("the parent counts %d children, want none: it had ended", n)
		}
	})
}

// A new root is a local root of its own: perfline exports it when it ends, although the span above it is open.
func TestProviderNewRootIsExported(t *testing.T) {
	exported := &exportedSpans{}
	tracer := newPerfline(t, providerConfig{exporter: exported}).Tracer("test")
	ctx, above := tracer.Start(t.Context(), "above")
	ctx, root := tracer.Start(ctx, "root", trace.WithNewRoot())
	_, child := tracer.Start(ctx, "child")
	child.End()
	root.End()
	if names := exported.names(); names != "child root" {
		t.Errorf("exported %q, want child root", names)
	}
	above.End()
	if names := exported.names(); names != "above child root" {
		t.Errorf("exported %q, want all three", names)
	}
}

// Unknown kinds become internal.
func TestProviderKinds(t *testing.T) {
	cases := map[trace.SpanKind]trace.SpanKind{
		trace.SpanKindUnspecified: trace.SpanKindInternal, trace.SpanKindInternal: trace.SpanKindInternal, trace.SpanKindServer: trace.SpanKindServer,
		trace.SpanKindClient: trace.SpanKindClient, trace.SpanKindProducer: trace.SpanKindProducer, trace.SpanKindConsumer: trace.SpanKindConsumer,
		6: trace.SpanKindInternal, -1: trace.SpanKindInternal, 1000: trace.SpanKindInternal,
	}
	overBoth(t, func(t *testing.T, start newProvider) {
		_, tracer, got := recorded(t, start, providerConfig{})
		_, s := tracer.Start(t.Context(), "without")
		s.End()
		if kind := got.one(t, "without").SpanKind(); kind != trace.SpanKindInternal {
			t.Errorf("without a kind it is %v", kind)
		}
		for kind, want := range cases {
			_, s := tracer.Start(t.Context(), "kind", trace.WithSpanKind(kind))
			if got := s.(sdktrace.ReadOnlySpan).SpanKind(); got != want {
				t.Errorf("kind %d becomes %v, want %v", kind, got, want)
			}
			s.End()
		}
	})
}

// Times are the caller's, or the clock's.
func TestProviderTimes(t *testing.T) {
	begin := time.Date(2020, 2, 3, 4, 5, 6, 7, time.UTC)
	end := begin.Add(-time.Hour) // as given, even before the start
	overBoth(t, func(t *testing.T, start newProvider) {
		_, tracer, got := recorded(t, start, providerConfig{})
		_, s := tracer.Start(t.Context(), "given", trace.WithTimestamp(begin))
		s.End(trace.WithTimestamp(end))
		if s := got.one(t, "given"); !s.StartTime().Equal(begin) || !s.EndTime().Equal(end) {
			t.Errorf("times are %v and %v, want %v and %v", s.StartTime(), s.EndTime(), begin, end)
		}
		before := time.Now()
		_, s = tracer.Start(t.Context(), "now", trace.WithTimestamp(time.Time{}))
		s.AddEvent("event")
		s.End(trace.WithTimestamp(time.Time{}))
		now := got.one(t, "now")
		times := []time.Time{before, now.StartTime(), now.Events()[0].Time, now.EndTime(), time.Now()}
		for i := range len(times) - 1 {
			if times[i].After(times[i+1]) {
				t.Errorf("times are not in order: %v", times)
			}
		}
	})
}

// The generator makes the trace id of roots, and the span id of every span, also of one that is dropped.
func TestProviderIDs(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		for name, decision := range map[string]sdktrace.SamplingDecision{"sampled": sdktrace.RecordAndSample, "recorded": sdktrace.RecordOnly, "dropped": sdktrace.Drop} {
			ids := &counter{}
			tracer := start(t, providerConfig{ids: ids, sampler: fixed{Decision: decision}}).Tracer("test")
			ctx, root := tracer.Start(t.Context(), "root")
			_, child := tracer.Start(ctx, "child")
			_, other := tracer.Start(ctx, "other", trace.WithNewRoot())
			for i, s := range []trace.Span{root, child, other} {
				sc := s.SpanContext()
				if want := (trace.SpanID{7: byte(i + 1)}); sc.SpanID() != want {
					t.Errorf("%s: span id %v, want %v", name, sc.SpanID(), want)
				}
				if want := (trace.TraceID{15: byte(1 + i/2)}); sc.TraceID() != want {
					t.Errorf("%s: trace id %v, want %v", name, sc.TraceID(), want)
				}
				s.End()
			}
			if ids.traces != 2 || ids.spans != 3 {
				t.Errorf("%s: the generator made %d trace ids and %d span ids, want 2 and 3", name, ids.traces, ids.spans)
			}
		}
	})
}

// Without a generator, ids are valid, and each one comes once.
func TestProviderRandomIDs(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		tracer := start(t, providerConfig{sampler: sdktrace.NeverSample()}).Tracer("test")
		traces, spans := map[trace.TraceID]bool{}, map[trace.SpanID]bool{}
		ctx := t.Context()
		for range 1000 {
			under, root := tracer.Start(ctx, "root")
			_, child := tracer.Start(under, "child")
			for _, s := range []trace.Span{root, child} {
				sc := s.SpanContext()
				if !sc.IsValid() || spans[sc.SpanID()] {
					t.Fatalf("%v is not valid, or its span id came before", sc)
				}
				spans[sc.SpanID()] = true
				traces[sc.TraceID()] = true
			}
		}
		if len(traces) != 1000 {
			t.Errorf("1000 roots have %d trace ids", len(traces))
		}
	})
}

// Spans have the resource, which no limit changes.
func TestProviderResource(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "")
	deep := attribute.Map("a", attribute.Map("b", attribute.Map("c", attribute.Map("d"))))
	r := resource.NewSchemaless(attribute.String("service.name", "shop"), deep)
	overBoth(t, func(t *testing.T, start newProvider) {
		for _, want := range []*resource.Resource{r, resource.Empty(), resource.Default()} {
			config := providerConfig{resource: want, limits: limits(func(l *sdktrace.SpanLimits) { l.AttributeValueDepthLimit = 1 })}
			if want == resource.Default() {
				config.resource = nil
			}
			_, tracer, got := recorded(t, start, config)
			_, s := tracer.Start(t.Context(), "span")
			s.End()
			if r := got.one(t, "span").Resource(); !r.Equal(want) {
				t.Errorf("the resource is %v, want %v", r, want)
			}
		}
	})
}
