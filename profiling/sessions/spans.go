package sessions

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/observer"
)

// spanned is a scope that tells which span its entry is, and the one above it, which is
// itself where that is not known. Those of package bridge do, of measures with a span and of
// spans of other instrumentation.
type spanned interface {
	Spans() (self, parent trace.SpanContext)
}

// spansOf tells which span an entry is, if it is one, the one that it was recorded under,
// and their trace. All are zero where there is no span, or one that is not recorded. The parent
// is zero for a span that has none, and the span itself where that is not known.
func spansOf(e *observer.Entry) (id trace.TraceID, self, parent trace.SpanID) {
	switch scope := e.Scope().(type) {
	case spanned:
		own, above := scope.Spans()
		return own.TraceID(), own.SpanID(), above.SpanID()
	case trace.Span:
		sc := scope.SpanContext()
		if t := e.Type(); t == observer.Navigation || t == observer.Resource { // recorded under their own
			parent = sc.SpanID()
			if s, ok := scope.(interface{ Parent() trace.SpanContext }); ok {
				parent = s.Parent().SpanID()
			}
			return sc.TraceID(), sc.SpanID(), parent
		}
		return sc.TraceID(), trace.SpanID{}, sc.SpanID()
	}
	return id, self, parent
}
