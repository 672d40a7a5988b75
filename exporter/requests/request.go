package requests

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/profiling/states"
)

// A Request is a request with its spans, a value that does not change.
type Request struct {
	Root    *otlpenc.Span   // the first of Spans
	Spans   []*otlpenc.Span // Root, and all below it by start
	Dropped int             // spans of the trace that were not kept

	// States is what the request's goroutines did, from an execution trace; nil if there is none. Recent leaves it nil: set it to
	// what the recorder of the execution trace has for the request.
	States *states.Request
}

// TraceID is the trace the request belongs to.
func (q Request) TraceID() trace.TraceID { return q.Root.TraceID }

// Duration returns the time that the request took.
func (q Request) Duration() time.Duration { return q.Root.Duration() }

// A Snapshot is a request as [Recent] keeps it, in encoded form. It costs no copy to make one, and it does not change.
type Snapshot struct {
	TraceID trace.TraceID
	SpanID  trace.SpanID // of the root

	spans  []byte // of the trace
	parts  []part
	root   otlpenc.Spans // and others after it
	alone  bool          // no other request of the trace ended
	reason otlpenc.KeepReason

	isRequest bool
	dropped   int
	bytes     int
}

// Bytes returns the memory of the spans that the snapshot holds on to: all spans of its trace.
func (s Snapshot) Bytes() int { return s.bytes }

// Group returns the root span's resource and scope.
func (s Snapshot) Group() *otlpenc.Group { return s.root.Group }

// KeepReason returns why a bridge.KeepPolicy kept the request.
func (s Snapshot) KeepReason() otlpenc.KeepReason { return s.reason }

// Root decodes the request's root span.
func (s Snapshot) Root() otlpenc.Span {
	root, _ := decode(s.root)
	return root
}

// decode returns the first span. ok is false if that is only its beginning, because the rest of the bytes is malformed.
func decode(s otlpenc.Spans) (span otlpenc.Span, ok bool) {
	for span, err := range s.All() {
		return span, err == nil
	}
	return otlpenc.Span{}, false
}

// Request decodes the request: the spans below the root, and those whose parent is missing if there is no other
// request they could belong to.
func (s Snapshot) Request() Request {
	type span struct {
		otlpenc.Header
		encoded otlpenc.Spans
	}
	var all []span
	known := map[trace.SpanID]bool{s.SpanID: true}
	for i, p := range s.parts {
		end := len(s.spans)
		if i+1 < len(s.parts) {
			end = s.parts[i+1].start
		}
		one := span{encoded: otlpenc.Spans{Group: p.group, Bytes: s.spans[p.start:end]}}
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
			if !s.alone {
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
	slices.SortStableFunc(below, func(a, b span) int { return a.Start.Compare(b.Start) })
	root := s.Root()
	q := Request{Root: &root, Spans: []*otlpenc.Span{&root}, Dropped: s.dropped}
	for _, c := range below {
		if decoded, ok := decode(c.encoded); ok {
			q.Spans = append(q.Spans, &decoded)
		} else {
			q.Dropped++
		}
	}
	return q
}

// snapshot returns a request in memory. r.mu is held.
func (q *request) snapshot() Snapshot {
	t := q.trace
	t.shared = true
	root := q.own
	if root == nil {
		root = t.spans[q.at:]
	}
	return Snapshot{
		TraceID: t.id, SpanID: q.id,
		spans: t.spans, parts: t.parts, root: otlpenc.Spans{Group: q.group, Bytes: root},
		alone: t.requests == 1, reason: q.reason, isRequest: q.isRequest,
		dropped: t.dropped, bytes: t.bytes() + len(q.own),
	}
}

// Requests returns the most recent requests, the newest first. It decodes all their spans.
func (r *Recent) Requests() []Request {
	newest, _ := r.Snapshots()
	return decoded(newest)
}

// Background returns the most recent root spans that are no request, the newest first. It decodes nothing.
func (r *Recent) Background() []Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.others.snapshots()
}

// KeptRequests returns the most recent requests that a bridge.KeepPolicy kept, the newest first. It decodes nothing.
func (r *Recent) KeptRequests() []Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Snapshot, 0, len(r.keptRequests))
	for _, q := range slices.Backward(r.keptRequests) {
		all = append(all, q.snapshot())
	}
	return all
}

// Slowest returns the slowest requests of the last hour, the slowest first. It decodes all their spans.
func (r *Recent) Slowest() []Request {
	_, slowest := r.Snapshots()
	return decoded(slowest)
}

func decoded(all []Snapshot) []Request {
	out := make([]Request, 0, len(all))
	for _, s := range all {
		out = append(out, s.Request())
	}
	return out
}

// Snapshots returns the most recent requests, the newest first, and the slowest requests, the slowest first. It decodes
// nothing.
func (r *Recent) Snapshots() (newest, slowest []Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	newest = r.newest.snapshots()
	slowest = make([]Snapshot, 0, len(r.slowest))
	for _, q := range r.slowest {
		slowest = append(slowest, q.snapshot())
	}
	return newest, slowest
}

// snapshots returns the requests of a list, the newest first.
func (l *list) snapshots() []Snapshot {
	all := make([]Snapshot, 0, l.len)
	for q := l.newest; q != nil; q = q.older {
		all = append(all, q.snapshot())
	}
	return all
}

// Snapshot returns the request with that root span. ok is false if Recent does not have it, or has it no more.
func (r *Recent) Snapshot(id trace.TraceID, root trace.SpanID) (s Snapshot, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := func(q *request) bool { return q.trace.id == id && q.id == root }
	for _, l := range []*list{&r.newest, &r.others} {
		for q := l.newest; q != nil; q = q.older {
			if is(q) {
				return q.snapshot(), true
			}
		}
	}
	for _, all := range [][]*request{r.slowest, r.keptRequests} {
		if at := slices.IndexFunc(all, is); at >= 0 {
			return all[at].snapshot(), true
		}
	}
	for q := r.examples.oldest; q != nil; q = q.example.newer {
		if is(q) {
			return q.snapshot(), true
		}
	}
	return Snapshot{}, false
}
