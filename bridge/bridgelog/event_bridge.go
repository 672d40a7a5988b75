package bridgelog

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/trace"
)

// NewEventBridge returns a processor that adds each log event to the current span as a span event:
// the package's documentation has the rules. The processor has no state, returns no errors and does
// not change records.
//
// Its Enabled reports false if no record that is emitted with the context can become a span event,
// because no span is recording. Otherwise Enabled reports true, also for parameters without an
// event name: the record may get its name later, from a logging library's bridge or from another
// processor. Under a recording span, a Logger is therefore enabled for all severities.
func NewEventBridge() sdklog.Processor { return eventBridge{} }

type eventBridge struct{}

// OnEmit adds the span event.
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
	var room [2]trace.EventOption
	options := room[:0]
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

// ForceFlush does nothing: span events are added at once.
func (eventBridge) ForceFlush(context.Context) error { return nil }

// Shutdown does nothing. A LoggerProvider emits nothing after its Shutdown.
func (eventBridge) Shutdown(context.Context) error { return nil }
