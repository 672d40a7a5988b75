package otlpenc

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpwire"
)

// WithAttributes appends the spans to b with additional attributes. The function more returns the
// additional attributes for a span, and must not repeat keys of the span. WithAttributes does not
// apply the limits for attributes of spans. If the bytes are malformed, WithAttributes returns an
// error and the spans before the error.
func (s Spans) WithAttributes(
	b []byte, more func(trace.SpanID) []attribute.KeyValue,
) ([]byte, error) {
	var h Header
	for rest := otlpwire.Fields(s.Bytes); len(rest) > 0; {
		size, err := Spans{Bytes: rest}.First(&h)
		if err != nil {
			return b, err
		}
		span := rest
		rest = rest[size:]
		body, err := nextItem(&span)
		if err != nil {
			return b, err
		}
		var at int
		b, at = otlpwire.BeginMessage(b, otlpwire.Items)
		b = append(b, body...)
		b = otlpwire.AppendAttributes(b, spanAttributes, more(h.SpanID), 0)
		b = otlpwire.EndMessage(b, at)
	}
	return b, nil
}
