package otlpenc_test

import (
	"fmt"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
)

func Example() {
	span := tracetest.SpanStub{
		Name:                 "GET /cart",
		SpanKind:             trace.SpanKindServer,
		InstrumentationScope: instrumentation.Scope{Name: "shop"},
	}.Snapshot()

	var groups otlpenc.Groups // one for all spans
	groups.Encode(span, func(spans otlpenc.Spans) {
		request := otlpenc.AppendRequest(nil, []otlpenc.Spans{spans}) // the body for a receiver of OTLP
		fmt.Println(len(request), "bytes")

		for s, err := range spans.All() {
			fmt.Println(s.Kind, s.Name, "of", s.Group.Scope().Name, err)
		}
	})
	// Output:
	// 63 bytes
	// server GET /cart of shop <nil>
}
