package bridge

import (
	"context"
	rt "runtime/trace"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/spanlabels"
)

// A tracer makes the spans of one instrumentation scope.
type tracer struct {
	embedded.Tracer

	provider *TracerProvider
	scope    instrumentation.Scope
	group    *otlpenc.Group
}

// A spanStart says how a span starts. The span owns the slices from then on.
type spanStart struct {
	kind       trace.SpanKind
	newRoot    bool
	time       time.Time // zero means now
	attributes []attribute.KeyValue
	links      []trace.Link
}

// Start implements [trace.Tracer].
func (t *tracer) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	config := trace.NewSpanStartConfig(options...)
	return t.start(ctx, name, &spanStart{
		kind: config.SpanKind(), newRoot: config.NewRoot(), time: config.Timestamp(), attributes: config.Attributes(), links: config.Links(),
	})
}

func (t *tracer) start(ctx context.Context, name string, how *spanStart) (context.Context, trace.Span) {
	if ctx == nil {
		ctx = context.Background()
	}
	active := trace.SpanFromContext(ctx)
	// A request that this module serves is a unit of its own, also within another one.
	serves := how.kind == trace.SpanKindServer && t.scope.Name == ScopeName
	parent, unit := t.parent(active, how.newRoot, serves)
	decided := ctx // the context of the decision
	if how.newRoot {
		decided = trace.ContextWithSpanContext(ctx, parent)
	}
	sc, result := t.sample(decided, parent, name, how)
	if result.Decision != sdktrace.RecordOnly && result.Decision != sdktrace.RecordAndSample {
		s := t.drop(active, sc, unit, how.newRoot || serves)
		return trace.ContextWithSpan(ctx, s), s
	}

	s := &recordedSpan{
		tracer: t, root: unit == nil,
		spanContext: sc, parent: parent, kind: uint8(trace.ValidateSpanKind(how.kind)), name: name, startTime: how.time,
	}
	s.unit.Store(unit)
	if s.startTime.IsZero() {
		s.startTime = time.Now()
	}
	for _, l := range how.links {
		s.AddLink(l)
	}
	s.begin(result.Attributes, how.attributes)
	started := ctx
	if spanlabels.Enabled() && sc.IsSampled() {
		started = s.labelGoroutine(ctx, name)
	}
	started = &spanContext{Context: started, span: s}
	for _, sp := range *t.provider.processors.Load() {
		sp.OnStart(ctx, s)
	}
	if rt.IsEnabled() {
		started = s.traceExecution(started)
	}
	return started, s
}

// drop returns a span that is not recorded.
func (t *tracer) drop(active trace.Span, sc trace.SpanContext, unit *observer.Timeline, newUnit bool) *droppedSpan {
	s := &droppedSpan{tracer: t, spanContext: sc}
	s.unit.Store(unit)
	if unit != nil {
		return s
	}
	s.root = s
	if parent, ok := active.(*droppedSpan); ok && parent.tracer.provider == t.provider && !newUnit {
		s.root = parent.root
	}
	return s
}

// parent returns the context of the active span, and its unit if it is a span of the same provider. A new root counts
// as a child, and has neither.
func (t *tracer) parent(active trace.Span, newRoot, newUnit bool) (sc trace.SpanContext, unit *observer.Timeline) {
	switch s := active.(type) {
	case *recordedSpan:
		sc, unit = s.spanContext, s.child(s.tracer.provider == t.provider && !newRoot && !newUnit)
	case *droppedSpan:
		sc = s.spanContext
		if s.tracer.provider == t.provider && s.root == nil && !newUnit {
			unit = s.unit.Load()
		}
	default:
		sc = s.SpanContext()
	}
	if newRoot {
		return trace.SpanContext{}, nil
	}
	return sc, unit
}

// sample makes the ids of a span, and asks the sampler about it.
func (t *tracer) sample(ctx context.Context, parent trace.SpanContext, name string, how *spanStart) (trace.SpanContext, sdktrace.SamplingResult) {
	var sc trace.SpanContextConfig
	if parent.TraceID().IsValid() {
		sc.TraceID = parent.TraceID()
		sc.SpanID = t.provider.ids.NewSpanID(ctx, sc.TraceID)
	} else {
		sc.TraceID, sc.SpanID = t.provider.ids.NewIDs(ctx)
	}
	if t.provider.inherits && parent.IsValid() {
		decision := sdktrace.Drop
		if parent.IsSampled() {
			decision = sdktrace.RecordAndSample
		}
		sc.TraceState, sc.TraceFlags = parent.TraceState(), parent.TraceFlags()
		return trace.NewSpanContext(sc), sdktrace.SamplingResult{Decision: decision}
	}
	result := t.provider.sampler.ShouldSample(sdktrace.SamplingParameters{
		ParentContext: ctx,
		TraceID:       sc.TraceID,
		Name:          name,
		Kind:          how.kind,
		Attributes:    how.attributes,
		Links:         how.links,
	})
	sc.TraceState = result.Tracestate
	sc.TraceFlags = parent.TraceFlags().WithSampled(result.Decision == sdktrace.RecordAndSample)
	return trace.NewSpanContext(sc), result
}
