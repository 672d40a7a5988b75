package spanfuzz

import (
	"slices"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
)

// Encode returns s with bytes of its own.
func Encode(groups *otlpenc.Groups, s sdktrace.ReadOnlySpan) (encoded otlpenc.Spans) {
	groups.Encode(s, func(one otlpenc.Spans) {
		encoded = one
		encoded.Bytes = slices.Clone(one.Bytes)
	})
	return encoded
}
