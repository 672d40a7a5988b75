package bridgelog

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/trace"
)

// NewEventBridge returns a processor that adds each log event to the current span as a span event.
// The package documentation lists the rules. The processor is stateless, returns no errors and does
// not change records.
//
// Enabled returns false if the context contains no recording span, because the record cannot become
// a span event. Under a recording span, Enabled returns true, so a Logger is enabled for all
// severities. Enabled also returns true without an event name, because other code may set the name
// later. Examples are another processor and a logging library's bridge.
func NewEventBridge() sdklog.Processor { return eventBridge{} }

type eventBridge struct{}

func (eventBridge) OnEmit(ctx context.Context, r *sdklog.Record) error {
	name := r.EventName()
	if name == "" || !r.TraceID().IsValid() || !r.SpanID().IsValid() {
		return nil
	}
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return nil
	}
	if sc := span.SpanContext(); sc.TraceID() != r.TraceID() || sc.SpanID() != r.SpanID() {
		return nil
	}
	var buf [2]trace.EventOption
	options := buf[:0]
	at := r.Timestamp()
	if at.IsZero() {
		at = r.ObservedTimestamp()
	}
	if !at.IsZero() {
		options = append(options, trace.WithTimestamp(at))
	}
	if n := r.AttributesLen(); n > 0 {
		attrs := make([]attribute.KeyValue, 0, n)
		r.WalkAttributes(func(kv attribute.KeyValue) bool {
			attrs = append(attrs, kv)
			return true
		})
		options = append(options, trace.WithAttributes(attrs...))
	}
	span.AddEvent(name, options...)
	return nil
}

// Enabled reports whether a record may become a span event.
func (eventBridge) Enabled(ctx context.Context, _ sdklog.EnabledParameters) bool {
	return trace.SpanFromContext(ctx).IsRecording()
}

// ForceFlush does nothing, because the event bridge adds span events immediately.
func (eventBridge) ForceFlush(context.Context) error { return nil }

// Shutdown does nothing. The processor needs no Shutdown: a LoggerProvider emits no records after
// the provider's Shutdown.
func (eventBridge) Shutdown(context.Context) error { return nil }
