package requests

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
)

// A Request is a request with its spans, a value that does not change.
type Request struct {
	Root    *otlpenc.Span   // the first of Spans
	Spans   []*otlpenc.Span // Root, and all below it by start
	Dropped int             // spans of the trace that were not kept
}

// TraceID is the trace the request belongs to.
func (q Request) TraceID() trace.TraceID { return q.Root.TraceID }

// Duration returns the time that the request took.
func (q Request) Duration() time.Duration { return q.Root.Duration() }

// A Snapshot is a request as [Recent] keeps it, in encoded form. It costs no copy to make one, and it does not change.
type Snapshot struct {
	TraceID trace.TraceID
	SpanID  trace.SpanID // of the root

	spans   records // of the trace
	root    record
	groups  []*otlpenc.Group
	alone   bool // no other request of the trace ended
	dropped int
	bytes   int
}

// Bytes returns the memory of the spans that the snapshot holds on to: all spans of its trace.
func (s Snapshot) Bytes() int { return s.bytes }

// Group returns the root span's resource and scope.
func (s Snapshot) Group() *otlpenc.Group { return s.groups[s.root.group] }

// Root decodes the request's root span.
func (s Snapshot) Root() otlpenc.Span {
	root, _ := s.decode(s.root)
	return root
}

// decode returns a span. ok is false if that is only its beginning, because the rest of the bytes is malformed.
func (s Snapshot) decode(r record) (span otlpenc.Span, ok bool) {
	for span, err := range s.encoded(r).All() {
		return span, err == nil
	}
	return otlpenc.Span{}, false
}

func (s Snapshot) encoded(r record) otlpenc.Spans {
	return otlpenc.Spans{Group: s.groups[r.group], Bytes: r.span, Count: 1}
}

// Request decodes the request: the spans below the root, and those whose parent is missing if there is no other
// request they could belong to.
func (s Snapshot) Request() Request {
	type span struct {
		otlpenc.Header
		record
	}
	var all []span
	known := map[trace.SpanID]bool{}
	children := map[trace.SpanID][]span{}
	add := func(r record) {
		h, _, err := s.encoded(r).First()
		if err != nil {
			return
		}
		all = append(all, span{h, r})
		known[h.SpanID] = true
		if h.ParentID.IsValid() {
			children[h.ParentID] = append(children[h.ParentID], span{h, r})
		}
	}
	add(s.root) // which the trace may have no room for
	for r := range s.spans.all {
		add(r)
	}
	below := all[:1:1]
	seen := map[trace.SpanID]bool{s.SpanID: true} // ids may be wrong: no cycles
	take := func(list []span) {
		for _, c := range list {
			if !seen[c.SpanID] {
				seen[c.SpanID] = true
				below = append(below, c)
			}
		}
	}
	if s.alone {
		take(slices.DeleteFunc(all[1:], func(c span) bool { return known[c.ParentID] }))
	}
	for i := 0; i < len(below); i++ {
		take(children[below[i].SpanID])
	}
	slices.SortStableFunc(below[1:], func(a, b span) int { return a.Start.Compare(b.Start) })
	q := Request{Dropped: s.dropped}
	for i, c := range below {
		decoded, ok := s.decode(c.record)
		if !ok && i > 0 {
			q.Dropped++
			continue
		}
		q.Spans = append(q.Spans, &decoded)
	}
	q.Root = q.Spans[0]
	return q
}

// snapshot returns a request in memory. r.mu is held.
func (r *Recent) snapshot(i int32) Snapshot {
	q := r.requests.at(i)
	t := r.traces.at(q.trace)
	t.shared, q.shared = true, true
	s := Snapshot{TraceID: t.id, SpanID: q.root, spans: t.spans, groups: r.groups.list, alone: t.requests == 1, dropped: t.dropped, bytes: cap(t.spans) + cap(q.own)}
	if q.own != nil {
		s.root, _ = records(q.own).first()
	} else {
		s.root, _ = records(t.spans[q.at:]).first()
	}
	return s
}

// Requests returns the most recent requests, the newest first. It decodes all their spans.
func (r *Recent) Requests() []Request {
	newest, _ := r.Snapshots()
	return decoded(newest)
}

// Slowest returns the slowest requests since the start, the slowest first. It decodes all their spans.
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
	newest = make([]Snapshot, 0, r.newest.len)
	for i := r.newest.newest; i != none; i = r.newest.links[i].older {
		newest = append(newest, r.snapshot(i))
	}
	slowest = make([]Snapshot, 0, len(r.slowest))
	for _, i := range r.slowest {
		slowest = append(slowest, r.snapshot(i))
	}
	return newest, slowest
}

// Snapshot returns the request with that root span. ok is false if Recent does not have it, or has it no more.
func (r *Recent) Snapshot(id trace.TraceID, root trace.SpanID) (s Snapshot, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.byID[id]
	if t == none {
		return Snapshot{}, false
	}
	is := func(i int32) bool { q := r.requests.at(i); return q.trace == t && q.root == root }
	for i := r.newest.newest; i != none; i = r.newest.links[i].older {
		if is(i) {
			return r.snapshot(i), true
		}
	}
	if at := slices.IndexFunc(r.slowest, is); at >= 0 {
		return r.snapshot(r.slowest[at]), true
	}
	return Snapshot{}, false
}
