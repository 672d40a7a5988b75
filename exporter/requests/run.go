package requests

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
)

// A run is spans of one trace and one group. Only the last may be a root.
type run struct {
	trace  trace.TraceID
	spans  otlpenc.Spans
	isRoot bool
	root
}

// A root is a span that ends a request.
type root struct {
	id   trace.SpanID
	at   int // among the bytes of other spans
	took time.Duration
}

// read reads the first spans of s that are a run: at least one, and most at most. It returns false if s does not begin with
// a span.
func (n *run) read(s otlpenc.Spans, most int) bool {
	var h otlpenc.Header
	size, count := 0, 0
	for n.isRoot = false; size < len(s.Bytes) && !n.isRoot; count++ {
		first, err := otlpenc.Spans{Bytes: s.Bytes[size:]}.First(&h)
		if err != nil || count > 0 && (count >= most || h.TraceID != n.trace) {
			break
		}
		n.trace, n.isRoot = h.TraceID, !h.ParentID.IsValid() || h.Remote
		n.id, n.at = h.SpanID, size
		size += first
	}
	n.took = h.Duration()
	n.spans = otlpenc.Spans{Group: s.Group, Bytes: s.Bytes[:size], Count: count}
	return count > 0
}
