package otlpenc

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpwire"
)

// Spans are encoded spans of one trace and one group. A function with a Spans argument may read the
// bytes until the function returns. To read the bytes later, the function must call [Spans.Retain].
// The function must not change the bytes.
//
// The exported fields are part of the public API, because Spans is the underlying type of
// bridge.Spans. The comment of bridge.Spans describes the fields.
type Spans struct {
	group   *Group
	TraceID trace.TraceID
	Bytes   []byte // encoded spans, one after the other
	Count   int

	root   *local.Root
	shared shared
}

// NewSpans returns a Spans with the encoded spans in bytes, and without a local root. count is the
// number of spans. The caller sets TraceID.
func NewSpans(group *Group, bytes []byte, count int) Spans {
	return Spans{group: group, Bytes: bytes, Count: count}
}

// Group returns the group of the spans. Group and Root use pointer receivers, because a Spans
// occupies 80 bytes.
func (s *Spans) Group() *Group { return s.group }

// Root returns the data of the ended local root. The local root is the last span of s. Root returns
// nil if s does not contain the local root. A function that retains s must copy the Root.
func (s *Spans) Root() *local.Root {
	if s.IsOpen() {
		return nil
	}
	return s.root
}

// openRoot stands for a local root that is open. A flag would make each Spans larger.
var openRoot local.Root

// WithOpenRoot returns s as spans without the local root, which is open: it arrives later.
func (s Spans) WithOpenRoot() Spans { return s.WithRoot(&openRoot) }

// IsOpen reports whether [Spans.WithOpenRoot] made s. The local root of other spans without a Root
// has ended, or is unknown.
func (s *Spans) IsOpen() bool { return s.root == &openRoot }

// WithRoot returns s with root as the data of the ended local root. The local root must be the last
// span of s. If s does not contain the local root, root must be nil.
func (s Spans) WithRoot(root *local.Root) Spans {
	s.root = root
	return s
}

// Retain returns s with bytes that do not change until Release. The caller must call Release.
// Retain shares the bytes of a [Writer], and copies other bytes.
func (s Spans) Retain() Spans {
	s.Bytes, s.shared = s.shared.retain(s.Bytes)
	return s
}

// Clone returns a copy of s with copies of the bytes and the Root. The copy needs no Release.
func (s Spans) Clone() Spans {
	s.Bytes, s.shared = slices.Clone(s.Bytes), shared{}
	if s.Root() != nil {
		root := *s.root
		s.root = &root
	}
	return s
}

// Release ends a use of the bytes that began with Retain or [Writer.Spans]. A Writer may reuse the
// bytes afterwards. If unknown functions may still read the bytes, omit Release: the garbage
// collector frees the bytes later.
func (s Spans) Release() { s.shared.release(s.Bytes) }

// RequestSize returns the length in bytes of a request with only these spans. A request of several
// Spans is never longer than the sum of the single requests.
func (s Spans) RequestSize() int { return requestSize(s.group, len(s.Bytes)) }

func requestSize(g *Group, n int) int {
	return otlpwire.FieldSize(len(g.resourceFields) + otlpwire.FieldSize(len(g.scopeFields)+n))
}

// Encoded is the type constraint for encoded items of one group: Spans or Records.
type Encoded interface {
	Spans | Records
	parts() (*Group, []byte)
}

func (s Spans) parts() (*Group, []byte)   { return s.group, s.Bytes }
func (r Records) parts() (*Group, []byte) { return r.group, r.Bytes }

// AppendRequest appends a complete OTLP request with all items. Spans form an
// ExportTraceServiceRequest, and records form an ExportLogsServiceRequest. AppendRequest groups the
// items by resource and then by group. Resources, groups and items appear in the order of the first
// appearance. AppendRequest grows b at most once for each resource.
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
