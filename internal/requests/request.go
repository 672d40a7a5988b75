package requests

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/waits"
)

// A Request is a request with its spans, a value that does not change.
type Request struct {
	Root    *otlpenc.Span   // the first of Spans
	Spans   []*otlpenc.Span // Root, and all below it by start
	Dropped int             // spans of the trace that were not kept

	// Waits is what the request's goroutines did, from an execution trace; nil if there is none.
	// Recent leaves it nil: set it to what the recorder of the execution trace has for the request.
	Waits *waits.Request
}

// TraceID is the trace the request belongs to.
func (q Request) TraceID() trace.TraceID { return q.Root.TraceID }

// Duration returns the time that the request took.
func (q Request) Duration() time.Duration { return q.Root.Duration() }

// A Snapshot is a request as [Recent] keeps it, in encoded form. It costs no copy to make one, and
// it does not change.
type Snapshot struct {
	local.Root // the end of the root span; its name is valid UTF-8

	parts   []otlpenc.Spans // of the trace
	at      rootPlace       // of the root span in these
	alone   *otlpenc.Spans  // the root span, if these have no room for it
	single  bool            // no other request of the trace ended
	dropped int
	bytes   int
}

// Bytes returns the memory of the spans that the snapshot holds on to: all spans of its trace.
func (s Snapshot) Bytes() int { return s.bytes }

// Clone returns a request with memory of its own. It is for those who hold a request for long: a
// snapshot that is no clone keeps memory that other requests have in common with it.
func (s Snapshot) Clone() Snapshot {
	parts := make([]otlpenc.Spans, 0, len(s.parts))
	for _, p := range s.parts {
		parts = append(parts, p.Clone())
	}
	s.parts = parts
	return s
}

// PublicRoot returns the end of the root span as users get it.
func (s Snapshot) PublicRoot() bridge.Root {
	return *bridge.Spans(otlpenc.Spans{}.WithRoot(&s.Root)).Root()
}

// RootSpan decodes the request's root span.
func (s Snapshot) RootSpan() otlpenc.Span {
	root, _ := decode(s.encodedRoot())
	return root
}

// encodedRoot returns the root span.
func (s Snapshot) encodedRoot() (root otlpenc.Spans) {
	if s.alone != nil {
		return *s.alone
	}
	spans := s.parts[s.at.part]
	spans.Bytes = spans.Bytes[s.at.start:s.at.end]
	for root = range each(spans) { // the last one is the root
	}
	return root
}

// decode returns the first span. ok is false if that is only its beginning, because the rest of the
// bytes is malformed.
func decode(s otlpenc.Spans) (span otlpenc.Span, ok bool) {
	for span, err := range s.All() {
		return span, err == nil
	}
	return otlpenc.Span{}, false
}

// Request decodes the request: the spans below the root, and those whose parent is missing if there
// is no other request they could belong to.
func (s Snapshot) Request() Request {
	type span struct {
		otlpenc.Header
		encoded otlpenc.Spans
	}
	var all []span
	known := map[trace.SpanID]bool{s.SpanID: true}
	for _, p := range s.parts {
		one := span{encoded: otlpenc.NewSpans(p.Group(), p.Bytes, 0)}
		for len(one.encoded.Bytes) > 0 {
			size, err := one.encoded.First(&one.Header)
			if err != nil {
				break
			}
			all = append(all, one)
			known[one.SpanID] = true
			one.encoded.Bytes = one.encoded.Bytes[size:]
		}
	}
	children := map[trace.SpanID][]span{}
	for _, c := range all {
		if !known[c.ParentID] {
			if !s.single {
				continue
			}
			c.ParentID = trace.SpanID{}
		}
		children[c.ParentID] = append(children[c.ParentID], c)
	}
	var below []span
	seen := map[trace.SpanID]bool{s.SpanID: true} // ids may be wrong: no cycles
	for ids := []trace.SpanID{{}, s.SpanID}; len(ids) > 0; ids = ids[1:] {
		for _, c := range children[ids[0]] {
			if !seen[c.SpanID] {
				seen[c.SpanID] = true
				below, ids = append(below, c), append(ids, c.SpanID)
			}
		}
	}
	root := s.RootSpan()
	q := Request{Root: &root, Spans: []*otlpenc.Span{&root}, Dropped: s.dropped}
	for _, c := range below {
		if decoded, ok := decode(c.encoded); ok {
			q.Spans = append(q.Spans, &decoded)
		} else {
			q.Dropped++
		}
	}
	slices.SortStableFunc(q.Spans[1:],
		func(a, b *otlpenc.Span) int { return a.Start.Compare(b.Start) })
	return q
}

// snapshot returns a request in memory. r.mu is held.
func (q *request) snapshot() Snapshot {
	t := q.trace
	t.shared = true
	s := Snapshot{
		Root: q.Root, parts: t.parts, at: q.at, alone: q.alone,
		single: t.requests == 1, dropped: t.dropped, bytes: t.bytes() + q.bytes(),
	}
	s.Name = text.Valid(s.Name)
	return s
}
