package requests

import (
	"cmp"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
)

// children counts the children of each span, by the parent's id.
type children map[trace.SpanID]int

// childrenBytes is the size of an element of children in Config.MaxBytes.
const childrenBytes = 32

// A link leads from a dropped span to the parent.
type link struct{ from, to trace.SpanID }

// linkBytes is the size of a link in Config.MaxBytes.
const linkBytes = 16

// link adds a dropped span to t.lost, if spans of the trace are below. Without the link, readers
// would not find the outer request of an inner request, if the call between both was dropped.
func (r *Recent) link(t *traceData, s *otlpenc.Spans) {
	var h otlpenc.Header
	if _, err := s.First(&h); err == nil && t.children[h.SpanID] > 0 && h.ParentID.IsValid() &&
		len(t.lost) < r.c.MaxSpans && r.reserve(linkBytes, t) {
		t.lost = append(t.lost, link{h.SpanID, h.ParentID})
		r.addChildren(t, *s)
	}
}

// begins reports whether s begins a new part of the trace.
func (t *traceData) begins(s *otlpenc.Spans) bool {
	last := len(t.parts) - 1
	return last < 0 || t.parts[last].Group() != s.Group()
}

// fits reports whether s fits into the limits of the trace and a part more. 0 means no part more.
func (r *Recent) fits(t *traceData, s *otlpenc.Spans, part int) bool {
	spans, bytes := r.c.MaxSpans, r.share
	if part > 0 {
		spans, bytes = spans+spans/part, bytes+bytes/part
	}
	size := t.size + len(s.Bytes) + len(t.parts)*partBytes
	if t.begins(s) {
		size += partBytes
	}
	return t.count+s.Count <= spans && size <= bytes
}

// isAbove reports whether s is a root, or one span with children in the trace.
func (r *Recent) isAbove(t *traceData, s *otlpenc.Spans) bool {
	if s.Count != 1 {
		return false
	}
	if !t.full {
		t.full = true
		if t.children == nil {
			t.children = children{}
		}
		for _, p := range t.parts {
			r.addChildren(t, p)
		}
	}
	var h otlpenc.Header
	_, err := s.First(&h)
	return err == nil && (s.Root() != nil || t.children[h.SpanID] > 0)
}

// addChildren counts spans in t.children, as far as memory has room.
func (r *Recent) addChildren(t *traceData, s otlpenc.Spans) {
	for h := range headers(s) {
		if h.ParentID.IsValid() && (t.children[h.ParentID] > 0 || r.reserve(childrenBytes, t)) {
			t.children[h.ParentID]++
		}
	}
}

// A leaf is a span of a trace without children in the trace. A local root is no leaf.
type leaf struct {
	otlpenc.Header
	part, start, end int // in the part
}

// shed removes the shortest leaves of a full trace, until s fits without the part for parents. If s
// does not fit then, even with the part for parents, shed removes nothing and returns false.
func (r *Recent) shed(t *traceData, s *otlpenc.Spans) bool {
	if t.bare {
		return false
	}
	leaves := t.appendLeaves(r.leaves[:0])
	r.leaves = leaves
	slices.SortFunc(leaves, func(a, b leaf) int { // of equal leaves, the last is the first to go
		return cmp.Or(cmp.Compare(a.Duration(), b.Duration()), cmp.Compare(b.part, a.part),
			cmp.Compare(b.start, a.start))
	})
	count, size := t.count, t.size
	after := func(part int) bool {
		rest := traceData{parts: t.parts, count: count, size: size}
		return r.fits(&rest, s, part)
	}
	n := 0
	for ; n < len(leaves) && !after(0); n++ {
		count, size = count-1, size-(leaves[n].end-leaves[n].start)
	}
	if n == 0 || !after(moreForParents) {
		t.bare = len(leaves) == 0
		return false
	}
	r.cut(t, leaves[:n])
	r.drop(t, n)
	return true
}

// appendLeaves appends the leaves of a full trace.
func (t *traceData) appendLeaves(all []leaf) []leaf {
	for i, p := range t.parts {
		at := len(p.Bytes)
		for h, rest := range headers(p) {
			var one otlpenc.Header
			size, _ := rest.First(&one)
			start := at - len(rest.Bytes)
			if !isLocalRoot(&h) && t.children[h.SpanID] == 0 {
				all = append(all, leaf{h, i, start, start + size})
			}
		}
	}
	return all
}

// cut removes leaves from the bytes of a trace.
func (r *Recent) cut(t *traceData, leaves []leaf) {
	if t.own == nil || t.shared {
		r.move(t, make([]byte, 0, t.capacity()))
	}
	slices.SortFunc(leaves, func(a, b leaf) int {
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.start, b.start))
	})
	own, parts := t.own[:0], t.parts[:0]
	places := make([]int32, len(t.parts)) // the new places of the parts
	rest := leaves
	for i, p := range t.parts {
		places[i] = int32(len(parts))
		begin, from := len(own), 0
		for ; len(rest) > 0 && rest[0].part == i; rest = rest[1:] {
			own = append(own, p.Bytes[from:rest[0].start]...)
			from = rest[0].end
			p.Count--
			r.removeChild(t, rest[0].ParentID)
		}
		own = append(own, p.Bytes[from:]...)
		if p.Bytes = own[begin:]; len(p.Bytes) > 0 {
			parts = append(parts, p)
		}
	}
	r.stats.Bytes -= uint64(len(t.parts)-len(parts)) * partBytes
	clear(t.parts[len(parts):])
	t.own, t.parts, t.size, t.count = own, parts, len(own), t.count-len(leaves)
	var moved []*request
	r.all(func(q *request) bool {
		if q.trace == t && q.alone == nil && !slices.Contains(moved, q) {
			moved = append(moved, q)
			q.at = q.at.without(leaves)
			q.at.part = places[q.at.part]
		}
		return true
	})
}

// without returns the place after leaves left its part.
func (at rootPlace) without(leaves []leaf) rootPlace {
	moved := at
	for _, l := range leaves {
		if l.part == int(at.part) && l.end <= int(at.start) {
			moved.start -= int32(l.end - l.start)
		}
		if l.part == int(at.part) && l.end <= int(at.end) {
			moved.end -= int32(l.end - l.start)
		}
	}
	return moved
}

// removeChild is the opposite of addChildren, for one child.
func (r *Recent) removeChild(t *traceData, parent trace.SpanID) {
	switch n := t.children[parent]; n {
	case 0: // memory had no room
	case 1:
		delete(t.children, parent)
		r.stats.Bytes -= childrenBytes
	default:
		t.children[parent] = n - 1
	}
}
