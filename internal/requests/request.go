package requests

import (
	"iter"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// A Request is a decoded request with all spans. Requests never change.
type Request struct {
	Root    *otlpenc.Span   // the first of Spans
	Spans   []*otlpenc.Span // Root, and then all spans below by start
	Dropped int             // dropped spans of the trace

	// Inside is the root span of the request that sent this one, in the same trace and process.
	// Inside is zero without such a request in memory.
	Inside trace.SpanID

	// Waits describes the states of the request's goroutines, from an execution trace. Recent sets
	// Waits to nil. The caller may set Waits to the result of the recorder of execution traces.
	Waits *waits.Request

	// NoWaits is the reason why Waits is nil, or "". The caller sets NoWaits like Waits.
	NoWaits waiting.Reason
}

// Cause returns the sentence of q.Waits. Without Waits, Cause returns a sentence with q.NoWaits, or
// "" for a request that was not slow.
func (q Request) Cause() string {
	switch {
	case q.Waits != nil:
		return q.Waits.Sentence()
	case q.NoWaits == "" || q.NoWaits == waiting.NotSlow:
		return ""
	}
	return "cause unknown: " + string(q.NoWaits)
}

// TraceID returns the id of the request's trace.
func (q Request) TraceID() trace.TraceID { return q.Root.TraceID }

// Duration returns the duration of the root span.
func (q Request) Duration() time.Duration { return q.Root.Duration() }

// A Snapshot is an encoded request. Snapshots never change. A Snapshot shares memory with [Recent].
type Snapshot struct {
	local.Root // the end of the root span, with a name of valid UTF-8

	parts   []otlpenc.Spans // of the trace
	at      rootPlace       // of the root span in parts
	alone   *otlpenc.Spans  // the root span, if the trace had no room for it
	lost    []link
	dropped int
	bytes   int
}

// Bytes returns the memory of all spans of the trace. The garbage collector cannot free this memory
// before the snapshot.
func (s Snapshot) Bytes() int { return s.bytes }

// Dropped returns the number of the trace's spans that are not in memory.
func (s Snapshot) Dropped() int { return s.dropped }

// Clone returns a copy of the snapshot with a copy of the bytes. Clone each snapshot that you store
// for a long time. The original also prevents the release of other requests' memory.
func (s Snapshot) Clone() Snapshot {
	parts := make([]otlpenc.Spans, 0, len(s.parts))
	for _, p := range s.parts {
		parts = append(parts, p.Clone())
	}
	s.parts = parts
	return s
}

// PublicRoot converts the end of the root span to the public type.
func (s Snapshot) PublicRoot() bridge.Root {
	return *bridge.Spans(otlpenc.Spans{}.WithRoot(&s.Root)).Root()
}

// RootSpan decodes the request's root span.
func (s Snapshot) RootSpan() otlpenc.Span {
	root, _ := decode(s.encodedRoot())
	return root
}

func (s Snapshot) encodedRoot() (root otlpenc.Spans) {
	if s.alone != nil {
		return *s.alone
	}
	spans := s.parts[s.at.part]
	spans.Bytes = spans.Bytes[s.at.start:s.at.end]
	for root = range each(spans) { // the root comes last
	}
	return root
}

// decode decodes the first span. ok is false if the bytes are malformed; span has what precedes the
// error.
func decode(s otlpenc.Spans) (span otlpenc.Span, ok bool) {
	for span, err := range s.All() {
		return span, err == nil
	}
	return otlpenc.Span{}, false
}

// Request decodes the root span and all spans below the root span. A span with a missing parent is
// below the request of the trace that was open at the span's start: see [Rows].
func (s Snapshot) Request() Request {
	root := s.RootSpan()
	all, encoded := []*otlpenc.Header{&root.Header}, []otlpenc.Spans{{}}
	groups := []*otlpenc.Group{root.Group}
	for _, p := range s.parts {
		for h, rest := range headers(p) {
			all, encoded = append(all, &h), append(encoded, rest)
			groups = append(groups, p.Group())
		}
	}
	children := map[trace.SpanID][]int{}
	for i, parent := range parentsOf(all, groups, s.lost) {
		if i > 0 && parent.IsValid() {
			children[parent] = append(children[parent], i)
		}
	}
	q := Request{Root: &root, Spans: []*otlpenc.Span{&root}, Dropped: s.dropped,
		Inside: rootAbove(all, s.lost)}
	seen := map[trace.SpanID]bool{s.SpanID: true} // wrong ids may form cycles
	for ids := []trace.SpanID{s.SpanID}; len(ids) > 0; ids = ids[1:] {
		for _, i := range children[ids[0]] {
			id := all[i].SpanID
			if seen[id] {
				continue
			}
			seen[id] = true
			ids = append(ids, id)
			if decoded, ok := decode(encoded[i]); ok {
				q.Spans = append(q.Spans, &decoded)
			} else {
				q.Dropped++
			}
		}
	}
	slices.SortStableFunc(q.Spans[1:],
		func(a, b *otlpenc.Span) int { return a.Start.Compare(b.Start) })
	return q
}

// headers yields the header of each span, and the bytes from the span on. The sequence ends at
// malformed bytes.
func headers(s otlpenc.Spans) iter.Seq2[otlpenc.Header, otlpenc.Spans] {
	return func(yield func(otlpenc.Header, otlpenc.Spans) bool) {
		rest := otlpenc.NewSpans(s.Group(), s.Bytes, 0)
		for len(rest.Bytes) > 0 {
			var h otlpenc.Header
			size, err := rest.First(&h)
			if err != nil || !yield(h, rest) {
				return
			}
			rest.Bytes = rest.Bytes[size:]
		}
	}
}

// snapshot returns a snapshot of q. Recent.mu is held.
func (q *request) snapshot() Snapshot {
	t := q.trace
	t.shared = true
	s := Snapshot{
		Root: q.Root, parts: t.parts, at: q.at, alone: q.alone, lost: t.lost,
		dropped: t.dropped, bytes: t.bytes() + q.bytes(),
	}
	if q.alone != nil {
		s.dropped -= q.alone.Count
	}
	s.Name = text.Valid(s.Name)
	return s
}
