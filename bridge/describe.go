package bridge

import (
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// describe returns the timeline entry of an ended span.
func describe(s sdktrace.ReadOnlySpan) record.Description {
	d := record.Description{Type: typeOf(s.SpanKind()), Name: s.Name(), Start: s.StartTime(),
		End: s.EndTime()}
	all := s.Attributes()
	d.Attrs = make([]slog.Attr, 0, len(all)+3)
	if d.Type == record.Resource {
		d.Attrs = append(d.Attrs, slog.String(observer.InitiatorKey, initiator(all)))
	}
	d.Attrs = append(d.Attrs,
		slog.String("span_id", s.SpanContext().SpanID().String()),
		slog.String("scope", s.InstrumentationScope().Name))
	for _, kv := range all {
		d.Attrs = append(d.Attrs, slog.Attr{Key: string(kv.Key), Value: detailValue(kv.Value)})
	}
	return d
}

// typeOf returns the type of a span's entry. A call to a database or another service is a resource,
// any other span a measure.
func typeOf(k trace.SpanKind) record.Type {
	if k == trace.SpanKindClient || k == trace.SpanKindProducer {
		return record.Resource
	}
	return record.Measure
}

func detailValue(v attribute.Value) slog.Value {
	switch v.Type() {
	case attribute.BOOLSLICE, attribute.INT64SLICE, attribute.FLOAT64SLICE, attribute.STRINGSLICE,
		attribute.BYTESLICE:
		return slog.AnyValue(v.AsInterface())
	default: // JSON for a map and a list of mixed values
		return otlpenc.Detail(v)
	}
}

// initiator returns the initiatorType (Resource Timing) of a call. initiator reads attributes that
// the semantic conventions require.
func initiator(attrs []attribute.KeyValue) string {
	for _, kv := range attrs {
		switch key := string(kv.Key); {
		case key == "rpc.system.name", key == "rpc.system":
			return kv.Value.AsString()
		case key == "messaging.system":
			return "messaging"
		case key == "http.request.method", key == "http.method":
			return "fetch"
		case strings.HasPrefix(key, "db."): // db.system.name may be absent
			return "db"
		}
	}
	return "other"
}
