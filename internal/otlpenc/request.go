package otlpenc

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpwire"
)

// Spans are encoded spans of one trace and one group. A function that gets Spans may read them
// until it returns, and must not change them. [Spans.Retain] is for a function that needs the bytes
// longer.
//
// Package bridge declares a public type over this one. So the exported fields and their comments
// are part of the public API: godoc does not show them there, and bridge.Spans repeats them.
type Spans struct {
	group   *Group
	TraceID trace.TraceID
	Bytes   []byte // encoded spans, one after the other
	Count   int

	root   *local.Root
	shared shared
}

// NewSpans returns spans of a group, without a local root. The caller sets their TraceID.
func NewSpans(group *Group, bytes []byte, count int) Spans {
	return Spans{group: group, Bytes: bytes, Count: count}
}

// Group returns the group of the spans. The receiver is a pointer, here and in Root, because a copy
// of Spans has 80 bytes.
func (s *Spans) Group() *Group { return s.group }

// Root returns the end of the local root, which is the last one of the spans, and nil if the local
// root is not among them. A function that keeps Spans keeps a copy of what it needs.
func (s *Spans) Root() *local.Root { return s.root }

// WithRoot returns s with the end of the local root, which must be the last one of the spans. nil
// says that the local root is not among them.
func (s Spans) WithRoot(root *local.Root) Spans {
	s.root = root
	return s
}

// WithOwnRoot returns s with a copy of the root.
func (s Spans) WithOwnRoot() Spans {
	if s.root != nil {
		root := *s.root
		s.root = &root
	}
	return s
}

// Retain returns s with bytes that do not change until Release, which the caller owes. They are the
// same bytes if a [Writer] has made them, and else a copy.
func (s Spans) Retain() Spans {
	s.Bytes, s.shared = s.shared.retain(s.Bytes)
	return s
}

// Clone returns a copy of s with bytes and a root of its own, which needs no Release.
func (s Spans) Clone() Spans {
	s.Bytes, s.shared = slices.Clone(s.Bytes), shared{}
	return s.WithOwnRoot()
}

// Release ends what Retain or [Writer.Spans] began. Others may write to the bytes then. A caller
// that does not know who else reads the bytes leaves them to the garbage collector.
func (s Spans) Release() { s.shared.release(s.Bytes) }

// RequestSize returns the length of a request with these spans alone. A request of several Spans is
// never longer than the sum of the requests of each of them.
func (s Spans) RequestSize() int { return requestSize(s.group, len(s.Bytes)) }

func requestSize(g *Group, n int) int {
	return otlpwire.FieldSize(len(g.resourceFields) + otlpwire.FieldSize(len(g.scopeFields)+n))
}

// Encoded are encoded items of one group.
type Encoded interface {
	Spans | Records
	parts() (*Group, []byte)
}

func (s Spans) parts() (*Group, []byte)   { return s.group, s.Bytes }
func (r Records) parts() (*Group, []byte) { return r.group, r.Bytes }

// AppendRequest appends an ExportTraceServiceRequest with all spans, or an ExportLogsServiceRequest
// with all records, by resource and then by group. Both messages have the same fields. Resources,
// groups and items are in the order in which they first appear in all. It grows b at most once for
// each resource.
func AppendRequest[E Encoded](b []byte, all []E) []byte {
	type part struct { // the ScopeSpans or ScopeLogs of one group
		group *Group
		size  int
	}
	parts := make([]part, 0, 16)
	for _, e := range all {
		group, bytes := e.parts()
		at := slices.IndexFunc(parts, func(p part) bool { return p.group == group })
		if at < 0 {
			at = len(parts)
			parts = append(parts, part{group, len(group.scopeFields)})
		}
		parts[at].size += len(bytes)
	}
	for i, first := range parts {
		same := func(p part) bool { return p.group.resource == first.group.resource }
		if slices.ContainsFunc(parts[:i], same) {
			continue
		}
		size := len(first.group.resourceFields)
		for _, p := range parts[i:] {
			if same(p) {
				size += otlpwire.FieldSize(p.size)
			}
		}
		b = otlpwire.AppendLength(slices.Grow(b, otlpwire.FieldSize(size)), requestResources, size)
		b = append(b, first.group.resourceFields...)
		for _, p := range parts[i:] {
			if !same(p) {
				continue
			}
			b = append(otlpwire.AppendLength(b, otlpwire.Scopes, p.size), p.group.scopeFields...)
			for _, e := range all {
				if group, bytes := e.parts(); group == p.group {
					b = append(b, bytes...)
				}
			}
		}
	}
	return b
}
