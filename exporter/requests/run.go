package requests

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
)

// A run is spans of one trace and one group, one after another.
type run struct {
	trace trace.TraceID
	spans otlpenc.Spans
	roots int // how many of root there are
	root  [4]root
}

// A root is a span that ends a request.
type root struct {
	id   trace.SpanID
	at   int // in the bytes of the run
	took time.Duration
}

// read reads the first spans of s that have the same trace: one at least, most at most. It returns false if s does not begin
// with a span.
func (n *run) read(s otlpenc.Spans, most int) bool {
	n.roots = 0
	var h otlpenc.Header
	size, count := 0, 0
	for size < len(s.Bytes) && n.roots < len(n.root) {
		first, err := otlpenc.Spans{Bytes: s.Bytes[size:]}.First(&h)
		if err != nil || count > 0 && (count >= most || h.TraceID != n.trace) {
			break
		}
		n.trace = h.TraceID
		if !h.ParentID.IsValid() || h.Remote {
			root := &n.root[n.roots]
			root.id, root.at, root.took = h.SpanID, size, h.Duration()
			n.roots++
		}
		size += first
		count++
	}
	n.spans = otlpenc.Spans{Group: s.Group, Bytes: s.Bytes[:size], Count: count}
	return size > 0
}
