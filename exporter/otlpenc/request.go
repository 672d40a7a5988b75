package otlpenc

import "slices"

// Spans are encoded spans of one group. A function that gets Spans may read their bytes until it returns, and must not change
// them. The caller may write other spans to the same memory afterwards. A function that keeps the bytes has to copy them.
type Spans struct {
	Group *Group
	Bytes []byte // results of [AppendSpan], one after the other
	Count int
}

// AppendRequest appends an ExportTraceServiceRequest with all spans, by resource and then by group.
// Resources, groups and spans are in the order in which they first appear in all. It grows b
// once, to the length of the request.
func AppendRequest(b []byte, all []Spans) []byte {
	var room [16]part
	parts := split(room[:0], all)
	b = slices.Grow(b, requestSize(parts))
	for i, p := range parts {
		if p.done {
			continue
		}
		b = appendLength(b, requestResourceSpans, resourceSize(parts[i:]))
		b = append(b, p.group.resourceFields...)
		for j := i; j < len(parts); j++ {
			if q := &parts[j]; q.group.resource == p.group.resource {
				q.done = true
				b = appendLength(b, resourceSpansScopeSpans, q.size)
				b = append(b, q.group.scopeFields...)
				for k := q.first; k < len(all); k++ {
					if all[k].Group == q.group {
						b = append(b, all[k].Bytes...)
					}
				}
			}
		}
	}
	return b
}

// RequestSize returns the length of what [AppendRequest] appends. A request of several Spans is never
// longer than the sum of the requests of each of them.
func RequestSize(all []Spans) int {
	if len(all) == 1 { // for each span that a queue takes
		g := all[0].Group
		return fieldSize(len(g.resourceFields) + fieldSize(len(g.scopeFields)+len(all[0].Bytes)))
	}
	var room [16]part
	return requestSize(split(room[:0], all))
}

// requestSize returns the size of a request.
func requestSize(parts []part) int {
	size := 0
	for i, p := range parts {
		if slices.IndexFunc(parts, func(q part) bool { return q.group.resource == p.group.resource }) == i {
			size += fieldSize(resourceSize(parts[i:]))
		}
	}
	return size
}

// A part is the ScopeSpans of one group.
type part struct {
	group *Group
	size  int
	first int // of the list of Spans
	done  bool
}

// split returns the parts of a request in the order of their first spans.
func split(parts []part, all []Spans) []part {
	at := -1
	for i, s := range all {
		if at < 0 || parts[at].group != s.Group {
			at = slices.IndexFunc(parts, func(p part) bool { return p.group == s.Group })
		}
		if at < 0 {
			at = len(parts)
			parts = append(parts, part{group: s.Group, first: i, size: len(s.Group.scopeFields)})
		}
		parts[at].size += len(s.Bytes)
	}
	return parts
}

// resourceSize returns the size of the ResourceSpans of all parts with the resource of the first.
func resourceSize(parts []part) int {
	g := parts[0].group
	size := len(g.resourceFields)
	for _, p := range parts {
		if p.group.resource == g.resource {
			size += fieldSize(p.size)
		}
	}
	return size
}
