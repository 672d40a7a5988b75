package requests

import (
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
	single  bool            // no other request of the trace ended
	dropped int
	bytes   int
}

// Bytes returns the memory of all spans of the trace. The garbage collector cannot free this memory
// before the snapshot.
func (s Snapshot) Bytes() int { return s.bytes }

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

// Request decodes the root span and all spans below the root span. If the trace contains no other
// request, the result includes spans with missing parents.
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
	seen := map[trace.SpanID]bool{s.SpanID: true} // wrong ids may form cycles
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

// snapshot returns a snapshot of q. Recent.mu is held.
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
