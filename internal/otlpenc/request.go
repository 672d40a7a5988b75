package otlpenc

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpwire"
)

// Spans are encoded spans of one trace and one group. A function with Spans as an argument may read
// the bytes until it returns, and must not change them. [Spans.Retain] extends that time.
//
// The exported fields are part of the public API, because bridge.Spans has this underlying type.
// godoc does not show the fields there, so the comment of bridge.Spans describes them.
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

// Group returns the group of the spans. The receivers of Group and Root are pointers, because a
// copy of Spans has 80 bytes.
func (s *Spans) Group() *Group { return s.group }

// Root returns the end of the local root, which is the last span, or nil for spans without their
// local root. A function that retains Spans must copy the Root.
func (s *Spans) Root() *local.Root { return s.root }

// WithRoot returns s with the end of the local root, which must be the last span. nil means spans
// without their local root.
func (s Spans) WithRoot(root *local.Root) Spans {
	s.root = root
	return s
}

// Retain returns s with bytes that do not change until Release, which the caller must call. The
// bytes of a [Writer] are shared, and other bytes are copied.
func (s Spans) Retain() Spans {
	s.Bytes, s.shared = s.shared.retain(s.Bytes)
	return s
}

// Clone returns a copy of s with bytes and a root of its own, which needs no Release.
func (s Spans) Clone() Spans {
	s.Bytes, s.shared = slices.Clone(s.Bytes), shared{}
	if s.root != nil {
		root := *s.root
		s.root = &root
	}
	return s
}

// Release ends a use of the bytes, which began with Retain or [Writer.Spans]: a Writer may reuse
// the bytes afterwards. A caller with unknown readers of the bytes leaves them to the garbage
// collector.
func (s Spans) Release() { s.shared.release(s.Bytes) }

// RequestSize returns the length of a request with only these spans. A request of several Spans is
// never longer than the sum of their RequestSizes.
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
// groups and items keep the order of their first appearance in all. AppendRequest grows b at most
// once for each resource.
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
