package sessions

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/observer"
)

// spansOf tells which span an entry is, if it is one, the one that it was recorded under,
// and their trace. All are zero where there is no span, or one that is not recorded. The parent
// is zero for a span that has none, and the span itself where that is not known.
func spansOf(e *observer.Entry) (id trace.TraceID, self, parent trace.SpanID) {
	ids := e.Span()
	return ids.Trace, trace.SpanID(ids.Self), trace.SpanID(ids.Parent)
}
