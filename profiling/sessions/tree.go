package sessions

import (
	"log/slog"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// none is the parent of a node at the top level.
const none = int32(-1)

// A node is an event in its timeline's list. The list is in the order of the tree: a node precedes
// the nodes below it, and siblings are sorted by start. So the list is sorted by start.
type node struct {
	start, end           time.Duration
	self, overhead       time.Duration
	total, totalOverhead time.Duration // with all nodes below
	name                 string
	detail               []slog.Attr
	span                 trace.SpanID // of the event itself
	parent               int32        // index, or none
	size                 int32        // number of nodes, with all nodes below
	depth                int32        // 1 at the top level
	children             uint32
	typ                  EventType
}

func (n *node) length() time.Duration { return n.end - n.start }

// appendNode appends the node of a record, and adds entryCost to the parent's overhead.
func appendNode(nodes []node, r *storedEntry, parent int32, entryCost time.Duration) []node {
	n := node{
		start: r.start, end: r.end, name: r.name, detail: inlineGroups(r.detail), span: r.span,
		parent: parent,
		depth:  1, typ: r.typ,
	}
	if parent != none {
		p := &nodes[parent]
		p.children++
		p.overhead += entryCost
		n.depth = p.depth + 1
	}
	return append(nodes, n)
}

// sumTimes sets the sizes of the nodes, and their times with and without the nodes below.
func sumTimes(nodes []node) {
	for i := range nodes {
		n := &nodes[i]
		if n.typ != Samples { // groupSamples has set self
			n.self = n.length()
		}
		n.size = 1
		if n.parent != none {
			nodes[n.parent].self -= n.self
		}
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		n := &nodes[i]
		n.overhead = max(0, min(n.overhead, n.self))
		n.self -= n.overhead
		n.total += n.self
		n.totalOverhead += n.overhead
		if n.parent != none {
			p := &nodes[n.parent]
			p.total += n.total
			p.totalOverhead += n.totalOverhead
			p.size += n.size
		}
	}
}

// inlineGroups replaces groups without a name by their members, and cuts long strings in groups.
func inlineGroups(attrs []slog.Attr) []slog.Attr {
	if !slices.ContainsFunc(attrs,
		func(a slog.Attr) bool { return a.Value.Kind() == slog.KindGroup }) {
		return attrs // copyAttrs has cut the strings
	}
	return appendInline(nil, attrs)
}

func appendInline(out, attrs []slog.Attr) []slog.Attr {
	for _, a := range attrs {
		switch a.Value.Kind() {
		case slog.KindString:
			a.Value = slog.StringValue(cut(a.Value.String()))
		case slog.KindGroup:
			if a.Key == "" {
				out = appendInline(out, a.Value.Group())
				continue
			}
			a.Value = slog.GroupValue(appendInline(nil, a.Value.Group())...)
		default:
		}
		out = append(out, a)
	}
	return out
}
