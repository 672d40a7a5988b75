package sessions

import (
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"time"
	"unsafe"
	"weak"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/observer"
)

// A storedEntry is a session's copy of an entry. It does not refer to the entry's timeline, which
// would keep the whole request in memory.
type storedEntry struct {
	start, end   time.Duration // on the recording's timeline; builder: since the session began
	name         string
	detail       []slog.Attr
	span, parent trace.SpanID // of the entry itself, and of its recording
	frame        *frame
	typ          EventType
	betweenMarks bool // a measure between two past moments, which was on no call stack
}

func (r *storedEntry) isMoment() bool { return r.end == r.start }

func (r *storedEntry) isRootSpan() bool { return r.span.IsValid() && !r.parent.IsValid() }

// collapse turns the record into a moment at its start, with the duration in the detail.
func (r *storedEntry) collapse() {
	r.detail = append([]slog.Attr{slog.Duration("duration", r.end-r.start)}, r.detail...)
	r.end = r.start
}

// A frame is a request, the process or the garbage collector.
type frame struct {
	name    string
	traceID trace.TraceID
	root    trace.SpanID // of the request
}

// unnamedRequest is the name of a request until it ends.
const unnamedRequest = "request"

// maxText is the most bytes of a name, and of a string in a detail: clients may choose both.
const maxText = 1024

// entryBytes is the most bytes of text and details for an entry, on average over MaxEvents.
const entryBytes = 256

const chunkSize = 4096

// An entryStore holds the entries of a session. It is not safe for concurrent use.
type entryStore struct {
	max                int // records
	process, collector *frame
	requests           map[weak.Pointer[observer.Timeline]]*frame
	chunks             [][]storedEntry
	count              int
	bytes              int64 // of the texts and details of the records
	dropped            uint64
}

func newEntryStore(limit int) *entryStore {
	return &entryStore{
		max: limit, process: &frame{name: "process"}, collector: &frame{name: "gc"},
		requests: map[weak.Pointer[observer.Timeline]]*frame{},
	}
}

// add stores an entry that began at start. It returns nil if the store is full.
func (s *entryStore) add(e *observer.Entry, start time.Duration) *storedEntry {
	if s.count >= s.max {
		s.dropped++
		return nil
	}
	// The ids are zero without a span. The parent of a span is zero if the span has no parent, and
	// the span itself if the parent is unknown.
	ids := (*record.Entry)(e).Span()
	r := storedEntry{
		start: start, end: start + max(0, e.Duration()),
		span: trace.SpanID(ids.Self), parent: trace.SpanID(ids.Parent), frame: s.frameOf(e),
	}
	r.describe(e)
	if f := r.frame; f != s.process && f != s.collector {
		if !f.traceID.IsValid() {
			f.traceID = ids.Trace
		}
		if r.typ == Request {
			f.name, f.root = r.name, r.span
		}
	}
	if size := r.contents(); s.bytes+size > int64(s.max)*entryBytes {
		s.dropped++
		return nil
	}
	return s.append(r)
}

func (r *storedEntry) contents() int64 {
	attrs := len(r.detail) * int(unsafe.Sizeof(slog.Attr{}))
	return int64(len(r.name) + attrs + record.Contents(r.detail))
}

func (s *entryStore) append(r storedEntry) *storedEntry {
	if len(s.chunks) == 0 || len(s.chunks[len(s.chunks)-1]) == chunkSize {
		s.chunks = append(s.chunks, make([]storedEntry, 0, chunkSize))
	}
	s.count++
	s.bytes += r.contents()
	last := &s.chunks[len(s.chunks)-1]
	*last = append(*last, r)
	return &(*last)[len(*last)-1]
}

// retain removes the records that keep rejects, and then the requests without a record.
func (s *entryStore) retain(keep func(*storedEntry) bool) {
	all := s.chunks
	s.chunks, s.count, s.bytes = nil, 0, 0
	used := map[*frame]bool{}
	for _, chunk := range all {
		for i := range chunk {
			if keep(&chunk[i]) {
				s.append(chunk[i])
				used[chunk[i].frame] = true
			}
		}
	}
	maps.DeleteFunc(s.requests,
		func(_ weak.Pointer[observer.Timeline], f *frame) bool { return !used[f] })
}

func (s *entryStore) frameOf(e *observer.Entry) *frame {
	switch tl := e.Timeline(); {
	case e.Type() == observer.GC:
		return s.collector
	case tl == nil || (*record.Timeline)(tl).Parent() == nil:
		return s.process
	default:
		key := weak.Make(tl)
		f := s.requests[key]
		if f == nil {
			f = &frame{name: unnamedRequest}
			s.requests[key] = f
		}
		return f
	}
}

func (r *storedEntry) describe(e *observer.Entry) {
	switch e.Type() {
	case observer.Navigation:
		r.typ = Request
		method, route := stringAttr(e, "method"), stringAttr(e, "route")
		switch {
		case method == "": // not HTTP
			r.name = e.Name()
		case route == "":
			r.name = method
		default:
			r.name = method + " " + route
		}
		if r.name != e.Name() {
			r.detail = copyAttrs(e, slog.String("path", e.Name()))
		}
	case observer.Resource:
		r.typ, r.name = Call, e.Name()
		if u, err := url.Parse(e.Name()); err == nil && u.Host != "" &&
			stringAttr(e, observer.InitiatorKey) == "fetch" {
			r.name = stringAttr(e, "method") + " " + u.Host
			r.detail = copyAttrs(e, slog.String("url", e.Name()))
		}
	case observer.Server:
		r.typ, r.name, r.end = Server, e.Name(), r.start
		r.detail = copyAttrs(e, slog.Duration("duration", e.Duration()))
	case observer.Mark:
		r.typ, r.name = Mark, e.Name()
	case observer.GC:
		r.typ, r.name = GC, e.Name()
	default:
		r.typ, r.name = Measure, e.Name()
		r.betweenMarks = (*record.Entry)(e).RecordedAt()-e.StartTime() > e.Duration()
	}
	r.name = cut(r.name)
	if r.detail == nil {
		r.detail = copyAttrs(e)
	}
}

// copyAttrs returns first and the attributes of an entry, with long strings cut.
func copyAttrs(e *observer.Entry, first ...slog.Attr) []slog.Attr {
	n := len(first) + (*record.Entry)(e).NumAttrs()
	if n == 0 {
		return nil
	}
	attrs := slices.AppendSeq(append(make([]slog.Attr, 0, n), first...), (*record.Entry)(e).Attrs())
	for i := range attrs {
		if v := &attrs[i].Value; v.Kind() == slog.KindString {
			*v = slog.StringValue(cut(v.String()))
		}
	}
	return attrs
}

// stringAttr returns the value of an attribute as text, or "" without the attribute.
func stringAttr(e *observer.Entry, key string) string {
	for a := range (*record.Entry)(e).Attrs() {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

// cut returns the beginning of a long string as a copy, so that the rest can be freed.
func cut(s string) string { return text.Cut(s, maxText) }
