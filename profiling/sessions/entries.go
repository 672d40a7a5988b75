package sessions

import (
	"cmp"
	"log/slog"
	"net/url"
	"slices"
	"time"
	"weak"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/observer"
)

// A record is what is kept of an entry. It does not refer to the entry's timeline, with
// which a whole request would stay in memory.
type record struct {
	start, end   time.Duration // since the zero of its log
	name         string
	detail       []slog.Attr
	self, parent trace.SpanID
	frame        uint32 // index in the log's frames
	typ          EventType
	ours         bool // nobody but the session wanted it
	apart        bool // it was on no call stack: a measure between two moments that had passed
}

func (r *record) point() bool { return r.end == r.start }

// moment leaves the start of what took some time, and tells how long it took in the detail.
func (r *record) moment() {
	r.detail = append([]slog.Attr{slog.Duration("duration", r.end-r.start)}, r.detail...)
	r.end = r.start
}

// A frame is a request, the process or the garbage collector.
type frame struct {
	name    string
	traceID trace.TraceID
	root    trace.SpanID // the request's own
}

// The frames that every log has.
const (
	processFrame = iota
	collectorFrame
	firstRequest
)

// unnamed is the name of a request while that is not known, which is until it has ended.
const unnamed = "request"

// Longer names and strings of details are cut: they may come from outside.
const maxText = 1024

const chunkSize = 4096

// An entryLog keeps the entries of a session. It is not safe for concurrent use.
type entryLog struct {
	max     int // records
	frames  []frame
	indexes map[weak.Pointer[observer.Timeline]]uint32
	chunks  [][]record
	count   int
	dropped uint64
	names   map[string]string // those that are made here, each once
	attrs   []slog.Attr       // room for details
}

func newEntryLog(limit int) *entryLog {
	return &entryLog{
		max:     limit,
		frames:  []frame{processFrame: {name: "process"}, collectorFrame: {name: "gc"}},
		indexes: map[weak.Pointer[observer.Timeline]]uint32{},
		names:   map[string]string{},
	}
}

// add keeps an entry that began at a time since the log's zero. It returns nil if there are too many.
func (l *entryLog) add(e *observer.Entry, start time.Duration, ours bool) *record {
	if l.count >= l.max {
		l.dropped++
		return nil
	}
	r := record{start: start, end: start + max(0, e.Duration()), ours: ours}
	var id trace.TraceID
	id, r.self, r.parent = spansOf(e)
	r.frame = l.frameOf(e)
	l.describe(&r, e)
	if f := &l.frames[r.frame]; r.frame >= firstRequest {
		if !f.traceID.IsValid() {
			f.traceID = id
		}
		if r.typ == Request {
			f.name, f.root = r.name, r.self
		}
	}
	return l.keep(r)
}

// keep appends a record.
func (l *entryLog) keep(r record) *record {
	if len(l.chunks) == 0 || len(l.chunks[len(l.chunks)-1]) == chunkSize {
		l.chunks = append(l.chunks, make([]record, 0, chunkSize))
	}
	l.count++
	last := &l.chunks[len(l.chunks)-1]
	*last = append(*last, r)
	return &(*last)[len(*last)-1]
}

// since forgets what ended before a time.
func (l *entryLog) since(at time.Duration) {
	all := l.chunks
	l.chunks, l.count = nil, 0
	for _, c := range all {
		for i := range c {
			if c[i].end >= at {
				l.keep(c[i])
			}
		}
	}
}

func (l *entryLog) frameOf(e *observer.Entry) uint32 {
	switch tl := e.Timeline(); {
	case e.Type() == observer.GC:
		return collectorFrame
	case tl == nil || tl.Parent() == nil:
		return processFrame
	default:
		key := weak.Make(tl)
		i, known := l.indexes[key]
		if !known {
			i = uint32(len(l.frames))
			l.indexes[key] = i
			l.frames = append(l.frames, frame{name: unnamed})
		}
		return i
	}
}

// describe gives a record its type, name and detail.
func (l *entryLog) describe(r *record, e *observer.Entry) {
	switch e.Type() {
	case observer.Navigation:
		r.typ = Request
		method, route := textOf(e, "method"), textOf(e, "route")
		switch {
		case method == "": // not HTTP
			r.name = e.Name()
		case route == "":
			r.name = method
		default:
			r.name = l.name(method, " ", route)
		}
		if r.name != e.Name() {
			r.detail = l.detail(e, slog.String("path", e.Name()))
		}
	case observer.Resource:
		r.typ, r.name = Call, e.Name()
		if u, err := url.Parse(e.Name()); err == nil && u.Host != "" && textOf(e, observer.InitiatorKey) == "fetch" {
			r.name = l.name(textOf(e, "method"), " ", u.Host)
			r.detail = l.detail(e, slog.String("url", e.Name()))
		}
	case observer.Server:
		r.typ, r.name, r.end = Server, e.Name(), r.start
		r.detail = l.detail(e, slog.Duration("duration", e.Duration()))
	case observer.Mark:
		r.typ, r.name = Mark, e.Name()
	case observer.GC:
		r.typ, r.name = GC, e.Name()
	default:
		r.typ, r.name = Measure, e.Name()
		r.apart = e.RecordedAt()-e.StartTime() > e.Duration()
	}
	r.name = cut(r.name)
	if r.detail == nil {
		r.detail = l.detail(e)
	}
}

// name is the concatenation of parts, made once for all records that have it.
func (l *entryLog) name(parts ...string) string {
	var b [256]byte
	text := b[:0]
	for _, p := range parts {
		text = append(text, p...)
	}
	s, known := l.names[string(text)]
	if !known {
		s = string(text)
		l.names[s] = s
	}
	return s
}

// detail copies the attributes of an entry, with some before them.
func (l *entryLog) detail(e *observer.Entry, before ...slog.Attr) []slog.Attr {
	n := len(before) + e.NumAttrs()
	if n == 0 {
		return nil
	}
	if cap(l.attrs)-len(l.attrs) < n {
		l.attrs = make([]slog.Attr, 0, max(n, 1024))
	}
	from := len(l.attrs)
	l.attrs = slices.AppendSeq(append(l.attrs, before...), e.Attrs())
	own := l.attrs[from:len(l.attrs):len(l.attrs)]
	for i := range own {
		if own[i].Value.Kind() == slog.KindString {
			own[i].Value = slog.StringValue(cut(own[i].Value.String()))
		}
	}
	return own
}

// textOf is the value of a string attribute, "" if there is none of that key.
func textOf(e *observer.Entry, key string) string {
	for a := range e.Attrs() {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

// cut shortens what is too long, and does not keep the rest in memory.
func cut(s string) string { return text.Cut(s, maxText) }

// takeOlder adds another log's entries, which came before. That log must not be used any more.
func (l *entryLog) takeOlder(older *entryLog) {
	frames := make([]uint32, len(older.frames))
	for i := range frames {
		frames[i] = uint32(min(i, firstRequest-1))
	}
	for key, i := range older.indexes {
		to, known := l.indexes[key]
		if !known {
			to = uint32(len(l.frames))
			l.indexes[key] = to
			l.frames = append(l.frames, older.frames[i])
		} else {
			f, was := &l.frames[to], &older.frames[i]
			f.traceID = cmp.Or(f.traceID, was.traceID)
			if f.name == unnamed {
				f.name, f.root = was.name, was.root
			}
		}
		frames[i] = to
	}
	for _, c := range older.chunks {
		for i := range c {
			c[i].frame = frames[c[i].frame]
		}
	}
	l.chunks = append(older.chunks[:len(older.chunks):len(older.chunks)], l.chunks...)
	l.count += older.count
}
