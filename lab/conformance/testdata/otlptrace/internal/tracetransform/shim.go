// Package tracetransform encodes by perfline's encoder, and decodes by the generated types of OTLP. It is in place of
// OpenTelemetry's package, whose tests it runs. Nothing is decided here.
package tracetransform

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	tracesdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/conformance/adapter"
)

// decoded returns the request that perfline makes of spans.
func decoded(spans []adapter.Spans) []*tracepb.ResourceSpans {
	var request collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(adapter.SpansRequest(nil, spans), &request); err != nil {
		panic(err)
	}
	return adapter.Plain(request.ResourceSpans)
}

// snapshot returns a span that has gone through perfline's encoder.
func snapshot(s adapter.Snapshot) *tracepb.Span {
	return group(nil, instrumentation.Scope{}, s).ScopeSpans[0].Spans[0]
}

func group(res *resource.Resource, scope instrumentation.Scope, s adapter.Snapshot) *tracepb.ResourceSpans {
	var groups adapter.Groups
	return decoded([]adapter.Spans{adapter.NewSpans(groups.Group(res, scope), s.Append(nil, adapter.Extra{}))})[0]
}

func Spans(sdl []tracesdk.ReadOnlySpan) []*tracepb.ResourceSpans {
	var groups adapter.Groups
	var all []adapter.Spans
	for _, s := range sdl {
		if s == nil {
			continue
		}
		groups.Encode(s, func(e adapter.Spans) { all = append(all, e.Clone()) })
	}
	return decoded(all)
}

func span(sd tracesdk.ReadOnlySpan) *tracepb.Span {
	if sd == nil {
		return nil
	}
	return Spans([]tracesdk.ReadOnlySpan{sd})[0].ScopeSpans[0].Spans[0]
}

func KeyValues(attrs []attribute.KeyValue) []*commonpb.KeyValue {
	return snapshot(adapter.Snapshot{Attributes: attrs}).Attributes
}

func KeyValue(kv attribute.KeyValue) *commonpb.KeyValue {
	return KeyValues([]attribute.KeyValue{kv})[0]
}

func Value(v attribute.Value) *commonpb.AnyValue {
	return KeyValue(attribute.KeyValue{Key: "k", Value: v}).Value
}

func Iterator(iter attribute.Iterator) []*commonpb.KeyValue { return KeyValues(iter.ToSlice()) }

func ResourceAttributes(res *resource.Resource) []*commonpb.KeyValue {
	return Resource(res).GetAttributes()
}

func Resource(r *resource.Resource) *resourcepb.Resource {
	return group(r, instrumentation.Scope{}, adapter.Snapshot{}).Resource
}

func InstrumentationScope(il instrumentation.Scope) *commonpb.InstrumentationScope {
	return group(nil, il, adapter.Snapshot{}).ScopeSpans[0].Scope
}

func status(code codes.Code, message string) *tracepb.Status {
	return snapshot(adapter.Snapshot{Status: tracesdk.Status{Code: code, Description: message}}).Status
}

func links(all []tracesdk.Link) []*tracepb.Span_Link {
	return snapshot(adapter.Snapshot{Links: all}).Links
}

func spanEvents(all []tracesdk.Event) []*tracepb.Span_Event {
	return snapshot(adapter.Snapshot{Events: all}).Events
}

func spanKind(kind trace.SpanKind) tracepb.Span_SpanKind {
	return snapshot(adapter.Snapshot{SpanKind: kind}).Kind
}

func buildSpanFlagsWith(tf trace.TraceFlags, parent trace.SpanContext) uint32 {
	own := trace.NewSpanContext(trace.SpanContextConfig{TraceFlags: tf})
	return snapshot(adapter.Snapshot{SpanContext: own, Parent: parent}).Flags
}
