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

	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/observer"
)

// Spans that other instrumentation makes under a request join the request's
// timeline when they end: what calls somebody else, a database or a service, as an
// entry of type resource, the rest as measures. Spans of this module's are there
// already.

// underWay knows what is to be done when spans end that have not ended. A span's id
// says where to look: the SDK's ids are random.
type underWay struct {
	shards [16]spanShard
	labels atomic.Int64 // spans with a label
	// Spans that made room for others: with a timeline, with a label.
	unjoined, unlabelled atomic.Uint64
}

// A running is what is known of a span that has not ended.
type running struct {
	tl    *observer.Timeline // the request's that a span of other instrumentation was started under, or nil
	label label
}

// A spanKey tells spans apart: their ids do in their trace only.
type spanKey struct {
	trace trace.TraceID
	span  trace.SpanID
}

func keyOf(sc trace.SpanContext) spanKey { return spanKey{sc.TraceID(), sc.SpanID()} }

type spanShard struct {
	mu    sync.Mutex // guards spans
	spans map[spanKey]running
	_     [112]byte // two cache lines each
}

// maxUnderWay bounds the spans of one shard, for programs that never end some of
// theirs: in the end those are all there is in a full shard, and one of them makes
// room.
const maxUnderWay = 1 << 10

func (u *underWay) shard(k spanKey) *spanShard { return &u.shards[k.span[7]%16] }

// add notes r of a span; a label that another processor has noted of it stays.
func (u *underWay) add(k spanKey, r running) {
	u.put(k, r).label.end() // outside the lock
}

// put is add, and returns what made room.
func (u *underWay) put(k spanKey, r running) (out running) {
	s := u.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spans == nil {
		s.spans = map[spanKey]running{}
	}
	if r.label.by != nil {
		u.labels.Add(1)
	}
	if before, ok := s.spans[k]; ok {
		if r.label.by == nil {
			r.label = before.label
		}
	} else if len(s.spans) >= maxUnderWay {
		for other := range s.spans {
			out = u.remove(s, other)
			break
		}
		if out.tl != nil {
			u.unjoined.Add(1)
		}
		if out.label.by != nil {
			u.unlabelled.Add(1)
		}
	}
	s.spans[k] = r
	return out
}

// remove removes a span that is there. s.mu is held.
func (u *underWay) remove(s *spanShard, k spanKey) running {
	r := s.spans[k]
	delete(s.spans, k)
	if r.label.by != nil {
		u.labels.Add(-1)
	}
	return r
}

func (u *underWay) take(k spanKey) (r running) {
	s := u.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.spans[k]; ok {
		r = u.remove(s, k)
	}
	return r
}

// takeLabel leaves the rest for other processors.
func (u *underWay) takeLabel(k spanKey) label {
	s := u.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.spans[k]
	if !ok || r.label.by == nil {
		return label{}
	}
	u.remove(s, k)
	if r.tl != nil {
		s.spans[k] = running{tl: r.tl}
	}
	return r.label
}

// forget lets all go: labels end.
func (u *underWay) forget() {
	for i := range u.shards {
		s := &u.shards[i]
		s.mu.Lock()
		var all []running
		for k := range s.spans {
			all = append(all, u.remove(s, k))
		}
		s.mu.Unlock()
		for _, r := range all {
			r.label.end()
		}
	}
}

// starts notes that a span starts under ctx: of other instrumentation under which
// request, and what labels the goroutine for it, if p is the one to do that.
func (h *hub) starts(ctx context.Context, s sdktrace.ReadOnlySpan, p *Processor) {
	var r running
	if tl := observer.FromContext(ctx); tl.Parent() != nil && s.InstrumentationScope().Name != ScopeName && h.carries(tl) {
		r.tl = tl
	}
	if p.labeler != nil && s.SpanContext().IsSampled() {
		if to := h.targets.Load().by[p.provider.Load()]; labelerOf(to) == p {
			r.label = begin(ctx, to, s.SpanContext(), s.Name())
		}
	}
	if r.label.by != nil {
		if s := serving.Take(ctx); s != nil {
			s.Labelled(r.label.context)
		}
	} else if r.tl == nil {
		return
	}
	h.foreign.add(keyOf(s.SpanContext()), r)
}

// carries reports whether tl belongs to the hub's timeline: a provider may have
// processors of several.
func (h *hub) carries(tl *observer.Timeline) bool {
	for tl.Parent() != nil {
		tl = tl.Parent()
	}
	return tl == h.tl
}

// ends ends a span's label, and records the span if it is of other instrumentation.
func (h *hub) ends(s sdktrace.ReadOnlySpan) {
	if s.InstrumentationScope().Name == ScopeName && h.foreign.labels.Load() == 0 {
		return
	}
	r := h.foreign.take(keyOf(s.SpanContext()))
	r.label.end()
	tl := r.tl
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
