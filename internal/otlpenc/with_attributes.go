package otlpenc

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpwire"
)

// WithAttributes appends the spans to b, each with the further attributes that more returns for its
// id, after its own. The caller makes sure that no key comes twice. Limits of spans do not apply.
// An error says that the bytes are malformed, and b has the spans before that.
func (s Spans) WithAttributes(b []byte, more func(trace.SpanID) []attribute.KeyValue) ([]byte,
	error) {
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
