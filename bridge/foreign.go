package bridge

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/observer"
)

// Spans that other instrumentation makes under a request join the request's
// timeline when they end: what calls somebody else, a database or a service, as an
// entry of type resource, the rest as measures. Spans of this module's are there
// already.

// underWay knows, of spans of other instrumentation that have not ended, which
// request's timeline they were started under. A span's id says where to look: the
// SDK's ids are random.
type underWay struct {
	shards   [16]spanShard
	unjoined atomic.Uint64 // spans that made room for others
}

// A spanKey tells spans apart: their ids do in their trace only.
type spanKey struct {
	trace trace.TraceID
	span  trace.SpanID
}

func keyOf(sc trace.SpanContext) spanKey { return spanKey{sc.TraceID(), sc.SpanID()} }

type spanShard struct {
	mu        sync.Mutex // guards timelines
	timelines map[spanKey]*observer.Timeline
	_         [112]byte // two cache lines each
}

// maxUnderWay bounds the spans of one shard, for programs that never end some of
// theirs: in the end those are all there is in a full shard, and one of them makes
// room.
const maxUnderWay = 1 << 10

func (u *underWay) shard(k spanKey) *spanShard { return &u.shards[k.span[7]%16] }

func (u *underWay) add(k spanKey, tl *observer.Timeline) {
	s := u.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timelines == nil {
		s.timelines = map[spanKey]*observer.Timeline{}
	}
	if len(s.timelines) >= maxUnderWay {
		for other := range s.timelines {
			delete(s.timelines, other)
			break
		}
		u.unjoined.Add(1)
	}
	s.timelines[k] = tl
}

func (u *underWay) take(k spanKey) *observer.Timeline {
	s := u.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	tl := s.timelines[k]
	if tl != nil {
		delete(s.timelines, k)
	}
	return tl
}

// forget lets all go.
func (u *underWay) forget() {
	for i := range u.shards {
		s := &u.shards[i]
		s.mu.Lock()
		clear(s.timelines)
		s.mu.Unlock()
	}
}

// starts notes that a span of other instrumentation starts under ctx.
func (h *hub) starts(ctx context.Context, s sdktrace.ReadOnlySpan) {
	tl := observer.FromContext(ctx)
	if tl.Parent() == nil || s.InstrumentationScope().Name == ScopeName || !h.carries(tl) {
		return
	}
	h.foreign.add(keyOf(s.SpanContext()), tl)
}

// carries reports whether tl belongs to the hub's timeline: a provider may have
// processors of several.
func (h *hub) carries(tl *observer.Timeline) bool {
	for tl.Parent() != nil {
		tl = tl.Parent()
	}
	return tl == h.tl
}

// ends records a span of other instrumentation that has ended.
func (h *hub) ends(s sdktrace.ReadOnlySpan) {
	if s.InstrumentationScope().Name == ScopeName {
		return
	}
	tl := h.foreign.take(keyOf(s.SpanContext()))
	if tl == nil {
		return
	}
	typ := observer.Measure
	var attrs [2]slog.Attr
	n := 0
	switch s.SpanKind() {
	case trace.SpanKindClient, trace.SpanKindProducer:
		typ = observer.Resource
		attrs[0] = slog.String(observer.InitiatorKey, initiator(s.Attributes()))
		n = 1
	default:
	}
	f := &foreign{s}
	attrs[n] = slog.Any("", f) // without a key: its attributes are the entry's
	start := s.StartTime()
	tl.Record(f, typ, s.Name(), tl.Since(start), s.EndTime().Sub(start), attrs[:n+1])
}

// foreign is the scope of an entry that is a span already, and its detail: nobody
// may want its attributes, so they are converted for those who do.
type foreign struct{ span sdktrace.ReadOnlySpan }

var _ slog.LogValuer = (*foreign)(nil)

// LogValue is what OpenTelemetry knows of the span.
func (f *foreign) LogValue() slog.Value {
	sc := f.span.SpanContext()
	attrs := append(make([]slog.Attr, 0, 2+len(f.span.Attributes())),
		slog.String("span_id", sc.SpanID().String()),
		slog.String("scope", f.span.InstrumentationScope().Name))
	for _, kv := range f.span.Attributes() {
		attrs = append(attrs, slog.Any(string(kv.Key), kv.Value.AsInterface()))
	}
	return slog.GroupValue(attrs...)
}

// initiator is the initiatorType (Resource Timing) of a call, by the attributes
// that the semantic conventions require of its kind.
func initiator(attrs []attribute.KeyValue) string {
	for _, kv := range attrs {
		switch key := string(kv.Key); {
		case key == "rpc.system.name", key == "rpc.system":
			return kv.Value.AsString()
		case key == "messaging.system":
			return "messaging"
		case key == "http.request.method", key == "http.method":
			return "fetch"
		case strings.HasPrefix(key, "db."): // the system may not be told
			return "db"
		}
	}
	return "other"
}
