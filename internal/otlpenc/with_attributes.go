package otlpenc

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpwire"
)

// WithAttributes appends the spans to b, and appends to each span the attributes that more returns
// for its id. more must not repeat keys of the span. Limits of spans do not apply. For malformed
// bytes, WithAttributes returns an error and the spans before them.
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
