package recipes

import (
	"go.opentelemetry.io/contrib/propagators/b3"
	"go.opentelemetry.io/otel/propagation"
)

// TraceFormats is a Config.Propagator for services of which some know only B3. The trace of a
// request comes from W3C's headers, or else from those of B3. Calls have both.
func TraceFormats() propagation.TextMapPropagator {
	return propagation.NewCompositeTextMapPropagator(
		b3.New(b3.WithInjectEncoding(b3.B3MultipleHeader|b3.B3SingleHeader)),
		propagation.TraceContext{}, propagation.Baggage{},
	)
}
