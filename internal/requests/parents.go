package requests

import (
	"cmp"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
)

// parentsOf returns the parent of each span in the tree of a request. all[0] is the root of the
// request. The other elements are spans of the trace. A span with a missing parent is a child of
// the nearest local root. The parent of another request's root is the nearest span above, over the
// links in lost. The parent is zero if no span above is known. groups are the groups of the spans.
func parentsOf(all []*otlpenc.Header, groups []*otlpenc.Group, lost []link) []trace.SpanID {
	byID := headersByID(all)
	again := func(i int) bool {
		return groups[i].Scope().Name != groups[0].Scope().Name && servesAgain(all[i], all[0])
	}
	var roots []*otlpenc.Header
	for i, h := range all {
		if (i == 0 || isLocalRoot(h) && h.SpanID != all[0].SpanID && !again(i)) &&
			isPlaced(h, byID, all[0]) {
			roots = append(roots, h)
		}
	}
	if len(roots) == 0 {
		roots = all[:1]
	}
	parents := make([]trace.SpanID, len(all))
	for i, h := range all {
		switch {
		case i == 0:
		case byID[h.ParentID] != nil:
			parents[i] = h.ParentID
		case again(i):
			parents[i] = all[0].SpanID
		case !isLocalRoot(h):
			parents[i] = nearest(roots, h.Start).SpanID
		default:
			parents[i] = above(h, byID, lost)
		}
	}
	return parents
}

// above returns the nearest known span above h, over the links in lost, or zero.
func above(h *otlpenc.Header, byID map[trace.SpanID]*otlpenc.Header, lost []link) trace.SpanID {
	id := h.ParentID
	for range len(lost) + 1 { // wrong ids may form cycles
		if byID[id] != nil {
			return id
		}
		i := slices.IndexFunc(lost, func(l link) bool { return l.from == id })
		if i < 0 {
			break
		}
		id = lost[i].to
	}
	return trace.SpanID{}
}

func headersByID(all []*otlpenc.Header) map[trace.SpanID]*otlpenc.Header {
	byID := make(map[trace.SpanID]*otlpenc.Header, len(all))
	for _, h := range all {
		byID[h.SpanID] = h
	}
	return byID
}

// rootAbove returns the nearest local root above all[0], or zero. all contains the spans of the
// trace.
func rootAbove(all []*otlpenc.Header, lost []link) trace.SpanID {
	byID := headersByID(all)
	h := all[0]
	for range all { // wrong ids may form cycles
		if h = byID[above(h, byID, lost)]; h == nil || h.SpanID == all[0].SpanID {
			break
		}
		if isLocalRoot(h) {
			return h.SpanID
		}
	}
	return trace.SpanID{}
}

// isLocalRoot reports whether a span has no parent in this process.
func isLocalRoot(h *otlpenc.Header) bool { return h.Remote || !h.ParentID.IsValid() }

// servesAgain reports whether h has the caller of the root, and started during the root. If another
// instrumentation made h, the instrumentation served the same request a second time, inside the
// first.
func servesAgain(h, root *otlpenc.Header) bool {
	return h.Remote && h.ParentID == root.ParentID && h.SpanID != root.SpanID &&
		!h.Start.Before(root.Start) && !h.Start.After(root.End)
}

// isPlaced reports whether all spans of this process above h are known. Otherwise, a span above h
// hangs below a root, and could hang below h.
func isPlaced(h *otlpenc.Header, byID map[trace.SpanID]*otlpenc.Header, root *otlpenc.Header) bool {
	for range len(byID) { // wrong ids may form cycles
		above := byID[h.ParentID]
		if above == nil {
			return isLocalRoot(h) || h.SpanID == root.SpanID
		}
		h = above
	}
	return false
}

// nearest returns the root that was open at a time and started last. If no root was open, nearest
// returns the root that started last before the time, or else the first root after the time.
func nearest(roots []*otlpenc.Header, at time.Time) *otlpenc.Header {
	return slices.MinFunc(roots, func(a, b *otlpenc.Header) int {
		of := distance(a, at)
		if c := cmp.Compare(of, distance(b, at)); c != 0 || of == after {
			return cmp.Or(c, a.Start.Compare(b.Start))
		}
		return b.Start.Compare(a.Start)
	})
}

// The distances of a root from a time. The nearest is first.
const (
	open = iota
	before
	after
)

func distance(root *otlpenc.Header, at time.Time) int {
	switch {
	case root.Start.After(at):
		return after
	case root.End.Before(at):
		return before
	default:
		return open
	}
}
