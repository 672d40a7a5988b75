package requests

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/observer/record"
)

// A run is spans of one trace and one group. Only the last may be a root.
type run struct {
	trace  trace.TraceID
	spans  otlpenc.Spans
	isRoot bool
	itself otlpenc.Spans // the root; shares the spans' memory, as its name does
	name   []byte
	root
}

// A root is a span that ends a request.
type root struct {
	id   trace.SpanID
	at   int // among the bytes of other spans
	took time.Duration
	end  time.Time

	isRequest bool               // it is a unit of work; else it is in the background
	reason    otlpenc.KeepReason // why it is kept
}

// classify tells what the root span stands for.
func (n *run) classify() {
	var kind trace.SpanKind
	n.name, kind = n.itself.NameAndKind()
	switch kind {
	case trace.SpanKindServer, trace.SpanKindConsumer:
		n.isRequest = true
	default:
		n.isRequest = n.itself.HasTrue(record.JobKey)
	}
}

// isStream reports whether a request is a stream. It reads all attributes of the root, which is too much for each request.
func (n *run) isStream() bool { return isStream(n.itself) }

func isStream(root otlpenc.Spans) bool { return root.HasTrue(record.StreamKey) }

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
	n.took, n.end = h.Duration(), h.End
	if n.isRoot {
		n.itself = otlpenc.Spans{Bytes: s.Bytes[n.at:size]}
		n.classify()
	}
	n.reason = otlpenc.NotKept
	n.spans = otlpenc.Spans{Group: s.Group, Bytes: s.Bytes[:size], Count: count}
	if n.isRoot {
		n.reason, n.spans.Keep, n.spans.Refused = s.Keep, s.Keep, s.Refused // add may read the run again, span by span
	}
	return count > 0
}
