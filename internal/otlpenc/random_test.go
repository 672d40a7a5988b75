package otlpenc_test

import (
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/spanfuzz"
)

// A random makes spans of bytes.
type random struct {
	spanfuzz.Source
	resources []*resource.Resource
	scopes    []instrumentation.Scope
}

func newRandom(data []byte) *random {
	return &random{Source: spanfuzz.Source{Data: data, MaxDepth: otlpenc.MaxDepth}}
}

// resource is one of few. Each has attributes that no other has, because the SDK's exporter joins those with equal ones.
func (r *random) resource() *resource.Resource {
	i := r.Below(4)
	for len(r.resources) <= i {
		var next *resource.Resource
		if n := len(r.resources); n > 0 || r.Below(2) == 1 {
			next = resource.NewWithAttributes(r.Text(), append(r.Attributes(0), attribute.Int("number", n))...)
		}
		r.resources = append(r.resources, next)
	}
	return r.resources[i]
}

func (r *random) scope() instrumentation.Scope {
	i := r.Below(4)
	for len(r.scopes) <= i {
		var next instrumentation.Scope
		if r.Below(4) > 0 {
			next = instrumentation.Scope{Name: r.Text(), Version: r.Text(), SchemaURL: r.Text()}
		}
		if r.Below(2) == 1 {
			next.Attributes = attribute.NewSet(r.Attributes(0)...)
		}
		r.scopes = append(r.scopes, next)
	}
	return r.scopes[i]
}

func (r *random) span() sdktrace.ReadOnlySpan {
	s := tracetest.SpanStub{
		Resource:    r.resource(),
		SpanContext: r.Context(), Parent: r.Context(),
		Name: r.Text(), SpanKind: trace.SpanKind(r.Below(8) - 1),
		StartTime: r.Time(), EndTime: r.Time(),
		Attributes:        r.Attributes(0),
		Status:            sdktrace.Status{Code: codes.Code(r.Below(5)), Description: r.Text()},
		DroppedAttributes: int(r.Number()), DroppedEvents: int(r.Number()), DroppedLinks: int(r.Number()),
		Events: spanfuzz.List(&r.Source, func() sdktrace.Event {
			return sdktrace.Event{Name: r.Text(), Time: r.Time(), Attributes: r.Attributes(0), DroppedAttributeCount: int(r.Number())}
		}),
		Links: spanfuzz.List(&r.Source, func() sdktrace.Link {
			return sdktrace.Link{SpanContext: r.Context(), Attributes: r.Attributes(0), DroppedAttributeCount: int(r.Number())}
		}),
	}
	return scoped{s.Snapshot(), r.scope()}
}

// sdkSpans makes spans as a program does, by the SDK.
func (r *random) sdkSpans(tb testing.TB) []sdktrace.ReadOnlySpan {
	tb.Helper()
	var e recorder
	limits := sdktrace.NewSpanLimits()
	if r.Below(2) == 1 {
		limits.AttributeValueLengthLimit, limits.AttributeCountLimit = int(r.Byte()), r.Below(4)
		limits.EventCountLimit, limits.LinkCountLimit = r.Below(4), r.Below(4)
		limits.AttributePerEventCountLimit, limits.AttributePerLinkCountLimit = r.Below(4), r.Below(4)
	}
	providers := map[*resource.Resource]*sdktrace.TracerProvider{}
	ctx := tb.Context()
	for range 1 + r.Below(8) {
		res := r.resource()
		if providers[res] == nil {
			options := []sdktrace.TracerProviderOption{sdktrace.WithSpanProcessor(&e), sdktrace.WithRawSpanLimits(limits)}
			if res != nil {
				options = append(options, sdktrace.WithResource(res))
			}
			providers[res] = sdktrace.NewTracerProvider(options...)
		}
		scope := r.scope()
		tracer := providers[res].Tracer(scope.Name, trace.WithInstrumentationVersion(scope.Version), trace.WithSchemaURL(scope.SchemaURL),
			trace.WithInstrumentationAttributeSet(scope.Attributes))
		if r.Below(2) == 1 {
			ctx = trace.ContextWithSpanContext(ctx, r.Context().WithTraceFlags(trace.FlagsSampled))
		}
		child, span := tracer.Start(ctx, r.Text(), trace.WithSpanKind(trace.SpanKind(r.Below(8)-1)), trace.WithTimestamp(r.Time()), trace.WithAttributes(r.Attributes(0)...),
			trace.WithLinks(spanfuzz.List(&r.Source, func() trace.Link { return trace.Link{SpanContext: r.Context(), Attributes: r.Attributes(0)} })...))
		span.SetAttributes(r.Attributes(0)...)
		for range r.Below(8) {
			span.AddEvent(r.Text(), trace.WithTimestamp(r.Time()), trace.WithAttributes(r.Attributes(0)...))
		}
		span.SetStatus(codes.Code(r.Below(5)), r.Text())
		span.End(trace.WithTimestamp(r.Time()))
		if r.Below(2) == 1 {
			ctx = child
		}
	}
	return e.spans
}
