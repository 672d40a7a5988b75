package bridge

import (
	"context"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/observer"
)

// Spans that other instrumentation makes under a request join the request's
// timeline when they end: what calls somebody else, a database or a service, as an
// entry of type resource, the rest as measures. Spans of this module's are there
// already.

// starts notes under which request a span of other instrumentation starts.
func (h *hub) starts(ctx context.Context, s sdktrace.ReadOnlySpan) {
	if tl := observer.FromContext(ctx); tl.Parent() != nil && s.InstrumentationScope().Name != ScopeName && h.carries(tl) {
		h.foreign.Put(s.SpanContext(), tl)
	}
}

// carries reports whether tl belongs to the hub's timeline: a provider may have
// processors of several.
func (h *hub) carries(tl *observer.Timeline) bool {
	for tl.Parent() != nil {
		tl = tl.Parent()
	}
	return tl == h.tl
}

// ends records a span of other instrumentation.
func (h *hub) ends(s sdktrace.ReadOnlySpan) {
	if s.InstrumentationScope().Name == ScopeName {
		return
	}
	tl := h.foreign.Take(s.SpanContext())
	if tl == nil {
		return
	}
	typ := observer.Measure
	var room [16]slog.Attr // most spans have fewer attributes
	attrs := room[:0]
	switch s.SpanKind() {
	case trace.SpanKindClient, trace.SpanKindProducer:
		typ = observer.Resource
		attrs = append(attrs, slog.String(observer.InitiatorKey, initiator(s.Attributes())))
	default:
	}
	start := s.StartTime()
	if !tl.Record(&foreign{s}, typ, s.Name(), tl.Since(start), s.EndTime().Sub(start), appendDetail(attrs, s)) && typ == observer.Measure {
		h.stats.unrecorded.Add(1)
	}
}

// foreign is the scope of an entry that is a span already.
type foreign struct{ span sdktrace.ReadOnlySpan }

// Spans tells the span and the one above it.
func (f *foreign) Spans() (self, parent trace.SpanContext) {
	return f.span.SpanContext(), f.span.Parent()
}

// appendDetail appends what OpenTelemetry knows of a span.
func appendDetail(attrs []slog.Attr, s sdktrace.ReadOnlySpan) []slog.Attr {
	attrs = append(attrs,
		slog.String("span_id", s.SpanContext().SpanID().String()),
		slog.String("scope", s.InstrumentationScope().Name))
	for _, kv := range s.Attributes() {
		attrs = append(attrs, slog.Attr{Key: string(kv.Key), Value: detailValue(kv.Value)})
	}
	return attrs
}

func detailValue(v attribute.Value) slog.Value {
	switch v.Type() {
	case attribute.BOOL:
		return slog.BoolValue(v.AsBool())
	case attribute.INT64:
		return slog.Int64Value(v.AsInt64())
	case attribute.FLOAT64:
		return slog.Float64Value(v.AsFloat64())
	case attribute.BOOLSLICE, attribute.INT64SLICE, attribute.FLOAT64SLICE, attribute.STRINGSLICE, attribute.BYTESLICE:
		return slog.AnyValue(v.AsInterface())
	default: // a string, or the JSON of a list of values or of a map
		return slog.StringValue(v.String())
	}
}

// initiator is the initiatorType (Resource Timing) of a call, by the attributes
// that the semantic conventions require of its kind.
func initiator(attrs []attribute.KeyValue) string {
	for _, kv := range attrs {
		switch key := string(kv.Key); {
		case key == "rpc.system.name", key == "rpc.system":
			return kv.Value.AsString()
		case key == "messaging.system":
			return "messaging"
		case key == "http.request.method", key == "http.method":
			return "fetch"
		case strings.HasPrefix(key, "db."): // the system may not be told
			return "db"
		}
	}
	return "other"
}
