package requests_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/scope"
)

// A model keeps spans as they are, and has no bound in bytes.
type model struct {
	c       requests.Config
	traces  map[trace.TraceID]*modelTrace
	pending []trace.TraceID
	newest  []*modelRequest // the newest first
	others  []*modelRequest // in the background, the newest first
	slowest []*modelRequest

	examples []*modelRequest // the newest first

	stats requests.Stats
}

type modelTrace struct {
	spans          []sdktrace.ReadOnlySpan
	alone          int               // roots without a place
	lost           [][2]trace.SpanID // dropped spans above others, with their parents
	dropped, ended int
}

type modelRequest struct {
	trace *modelTrace
	root  sdktrace.ReadOnlySpan
	alone bool // the trace has no place for the root
}

func (t *modelTrace) hasBelow(s sdktrace.ReadOnlySpan) bool {
	return slices.ContainsFunc(t.spans, func(below sdktrace.ReadOnlySpan) bool { return below.Parent().SpanID() == modelID(s) }) ||
		slices.ContainsFunc(t.lost, func(l [2]trace.SpanID) bool { return l[1] == modelID(s) })
}

// shed removes the shortest leaves until a span more fits. Of equal leaves, the last leaf goes first. If even the places for parents do not
// suffice, shed removes no leaf.
func (m *model) shed(t *modelTrace) bool {
	var leaves []int
	for i, s := range slices.Backward(t.spans) {
		if !isModelRoot(s) && !t.hasBelow(s) {
			leaves = append(leaves, i)
		}
	}
	slices.SortStableFunc(leaves, func(a, b int) int { return cmp.Compare(modelTook(t.spans[a]), modelTook(t.spans[b])) })
	leaves = leaves[:min(len(leaves), len(t.spans)+1-m.c.MaxSpans)]
	if len(leaves) == 0 || len(t.spans)-len(leaves) >= m.c.MaxSpans+m.c.MaxSpans/4 {
		return false
	}
	var rest []sdktrace.ReadOnlySpan
	for i, s := range t.spans {
		if !slices.Contains(leaves, i) {
			rest = append(rest, s)
		}
	}
	t.spans = rest
	t.dropped += len(leaves)
	m.stats.SpansDropped += uint64(len(leaves))
	return true
}

func modelTook(s sdktrace.ReadOnlySpan) time.Duration { return s.EndTime().Sub(s.StartTime()) }

// missing is the number of spans of the trace that the request lacks.
func (q *modelRequest) missing() int {
	n := q.trace.dropped + q.trace.alone
	if q.alone {
		n--
	}
	return n
}

func (q *modelRequest) took() time.Duration { return q.root.EndTime().Sub(q.root.StartTime()) }

func (m *model) end(s sdktrace.ReadOnlySpan) {
	root := !s.Parent().IsValid() || s.Parent().IsRemote()
	id := s.SpanContext().TraceID()
	t := m.traces[id]
	if t == nil {
		t = &modelTrace{}
		m.traces[id] = t
		m.pending = append(m.pending, id)
	}
	alone := false
	switch {
	case len(t.spans) < m.c.MaxSpans, (root || t.hasBelow(s)) && (len(t.spans) < m.c.MaxSpans+m.c.MaxSpans/4 || m.shed(t)):
		t.spans = append(t.spans, s)
	case root:
		t.alone++
		alone = true
	default:
		t.dropped++
		m.stats.SpansDropped++
		if len(t.lost) < m.c.MaxSpans && t.hasBelow(s) {
			t.lost = append(t.lost, [2]trace.SpanID{modelID(s), s.Parent().SpanID()})
		}
	}
	isTrace := func(other trace.TraceID) bool { return other == id }
	if root {
		t.ended++
		m.pending = slices.DeleteFunc(m.pending, isTrace)
		m.list(&modelRequest{t, s, alone})
	}
	for id, t := range m.traces {
		of := func(q *modelRequest) bool { return q.trace == t }
		if t.ended > 0 && !slices.ContainsFunc(m.newest, of) && !slices.ContainsFunc(m.others, of) && !slices.ContainsFunc(m.slowest, of) && !slices.ContainsFunc(m.examples, of) {
			delete(m.traces, id)
		}
	}
	for len(m.pending) > m.c.MaxPending {
		m.stats.Late += uint64(len(m.traces[m.pending[0]].spans))
		delete(m.traces, m.pending[0])
		m.pending = m.pending[1:]
	}
}

// list puts a root span on its lists.
func (m *model) list(q *modelRequest) {
	has := func(key attribute.Key) bool { return slices.Contains(q.root.Attributes(), key.Bool(true)) }
	if kind := q.root.SpanKind(); kind != trace.SpanKindServer && kind != trace.SpanKindConsumer && !has(record.JobKey) {
		m.stats.Background++
		m.others = newest(m.others, q, m.c.Background, func(q *modelRequest) bool { return q.root.Name() == housekeeping })
		return
	}
	m.stats.Requests++
	isStream := func(q *modelRequest) bool {
		return slices.Contains(q.root.Attributes(), attribute.Bool(record.StreamKey, true))
	}
	m.newest = newest(m.newest, q, m.c.Requests, isStream)
	if !isStream(q) {
		m.slowest = slices.DeleteFunc(m.slowest, func(old *modelRequest) bool { return q.root.EndTime().Sub(old.root.EndTime()) > time.Hour })
		at, _ := slices.BinarySearchFunc(m.slowest, q, func(a, b *modelRequest) int { return cmp.Compare(b.took(), a.took()) })
		m.slowest = slices.Insert(m.slowest, at, q)
		m.slowest = m.slowest[:min(len(m.slowest), m.c.Slowest)]
		m.exemplify(q)
	}
}

const housekeeping = "redis.dial"

// newest adds a request to a list of two classes, of which the oldest go.
func newest(all []*modelRequest, q *modelRequest, most int, class func(*modelRequest) bool) []*modelRequest {
	all = slices.Insert(all, 0, q)
	n := 0
	return slices.DeleteFunc(all, func(other *modelRequest) bool {
		if class(other) == class(q) {
			n++
			return n > most
		}
		return false
	})
}

// exemplify makes a request an example, unless another one has its route, its ten seconds and its half of a doubling of the duration.
func (m *model) exemplify(q *modelRequest) {
	if m.c.Examples < 0 || slices.ContainsFunc(m.examples, func(other *modelRequest) bool { return cellOf(other) == cellOf(q) }) {
		return
	}
	m.stats.Examples++
	m.examples = slices.Insert(m.examples, 0, q)
	m.examples = m.examples[:min(len(m.examples), m.c.Examples)]
}

// A modelCell is the cell of a request, as its name and the bounds that enclose it.
type modelCell struct {
	name   string
	column int64
	least  time.Duration
}

func cellOf(q *modelRequest) modelCell {
	c := modelCell{q.root.Name(), q.root.EndTime().Unix() / 10, 0}
	for lower := time.Microsecond; lower <= q.took(); lower *= 2 {
		c.least = lower
		if q.took() >= lower*3/2 {
			c.least = lower * 3 / 2
		}
	}
	return c
}

func modelID(s sdktrace.ReadOnlySpan) trace.SpanID { return s.SpanContext().SpanID() }

func isModelRoot(s sdktrace.ReadOnlySpan) bool { return !s.Parent().IsValid() || s.Parent().IsRemote() }

// find returns the last span of the trace with an id, or the root of the request.
func (q *modelRequest) find(id trace.SpanID) sdktrace.ReadOnlySpan {
	for _, s := range slices.Backward(q.trace.spans) {
		if modelID(s) == id {
			return s
		}
	}
	if modelID(q.root) == id {
		return q.root
	}
	return nil
}

// parent is the id of the span above s in the tree of the request, or zero if s belongs elsewhere.
func (q *modelRequest) parent(s sdktrace.ReadOnlySpan) trace.SpanID {
	if id := s.Parent().SpanID(); q.find(id) != nil {
		return id
	}
	switch {
	case q.again(s):
		return modelID(q.root)
	case isModelRoot(s):
		return q.above(s.Parent().SpanID())
	}
	var roots []sdktrace.ReadOnlySpan
	for i, r := range append([]sdktrace.ReadOnlySpan{q.root}, q.trace.spans...) {
		if (i == 0 || isModelRoot(r) && modelID(r) != modelID(q.root) && !q.again(r)) && q.anchored(r) {
			roots = append(roots, r)
		}
	}
	started := func(r sdktrace.ReadOnlySpan) bool { return !r.StartTime().After(s.StartTime()) }
	open := func(r sdktrace.ReadOnlySpan) bool { return started(r) && !r.EndTime().Before(s.StartTime()) }
	byStart := func(a, b sdktrace.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) }
	for _, fits := range []func(sdktrace.ReadOnlySpan) bool{open, started} {
		if in := slices.DeleteFunc(slices.Clone(roots), func(r sdktrace.ReadOnlySpan) bool { return !fits(r) }); len(in) > 0 {
			return modelID(slices.MaxFunc(in, byStart))
		}
	}
	if len(roots) == 0 {
		return modelID(q.root)
	}
	return modelID(slices.MinFunc(roots, byStart))
}

// above is the nearest span of the trace from an id upwards, or zero.
func (q *modelRequest) above(id trace.SpanID) trace.SpanID {
	for range 100 {
		if q.find(id) != nil {
			return id
		}
		i := slices.IndexFunc(q.trace.lost, func(l [2]trace.SpanID) bool { return l[0] == id })
		if i < 0 {
			break
		}
		id = q.trace.lost[i][1]
	}
	return trace.SpanID{}
}

// again reports whether another instrumentation of the root's request made s.
func (q *modelRequest) again(s sdktrace.ReadOnlySpan) bool {
	return s.Parent().IsRemote() && s.Parent().SpanID() == q.root.Parent().SpanID() && modelID(s) != modelID(q.root) &&
		s.InstrumentationScope() != q.root.InstrumentationScope() &&
		!s.StartTime().Before(q.root.StartTime()) && !s.StartTime().After(q.root.EndTime())
}

// anchored reports whether the way up from a root ends at a root.
func (q *modelRequest) anchored(s sdktrace.ReadOnlySpan) bool {
	for range 100 {
		above := q.find(s.Parent().SpanID())
		if above == nil {
			return isModelRoot(s) || modelID(s) == modelID(q.root)
		}
		s = above
	}
	return false // a circle
}

// spans are the root and what is below it.
func (q *modelRequest) spans() []sdktrace.ReadOnlySpan {
	all := []sdktrace.ReadOnlySpan{q.root}
	for i := 0; i < len(all); i++ {
		for _, s := range q.trace.spans {
			known := slices.ContainsFunc(all, func(other sdktrace.ReadOnlySpan) bool { return modelID(other) == modelID(s) })
			if !known && q.parent(s) == modelID(all[i]) {
				all = append(all, s)
			}
		}
	}
	slices.SortStableFunc(all[1:], func(a, b sdktrace.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
	return all
}

// difference says how a decoded span differs from what it was.
func difference(got *otlpenc.Span, want sdktrace.ReadOnlySpan) string {
	sc, parent := want.SpanContext(), want.Parent()
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"trace", got.TraceID, sc.TraceID()},
		{"span", got.SpanID, sc.SpanID()},
		{"parent", got.ParentID, parent.SpanID()},
		{"remote", got.Remote, parent.IsRemote()},
		{"flags", got.TraceFlags, sc.TraceFlags()},
		{"name", got.Name, want.Name()},
		{"kind", got.Kind, want.SpanKind()},
		{"start", got.Start.UnixNano(), want.StartTime().UnixNano()},
		{"end", got.End.UnixNano(), want.EndTime().UnixNano()},
		{"attributes", got.Attributes, want.Attributes()},
		{"status", got.Status, want.Status()},
		{"scope", got.Group.Scope(), want.InstrumentationScope()},
		{"resource", got.Group.Resource(), want.Resource()},
		{"events", len(got.Events), len(want.Events())},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			return fmt.Sprintf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
	for i, e := range want.Events() {
		if g := got.Events[i]; g.Name != e.Name || !g.Time.Equal(e.Time) || !reflect.DeepEqual(g.Attributes, e.Attributes) {
			return fmt.Sprintf("event is %v, want %v", g, e)
		}
	}
	return ""
}

func compareLists(t *testing.T, what string, got []requests.Request, want []*modelRequest) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d %s requests, want %d", len(got), what, len(want))
	}
	for i, q := range got {
		spans := want[i].spans()
		if len(q.Spans) != len(spans) || q.Dropped != want[i].missing() || q.Root != q.Spans[0] {
			t.Fatalf("%s request %d has %q and %d dropped, want %d spans and %d", what, i, spanNames(q), q.Dropped, len(spans), want[i].missing())
		}
		for j, s := range q.Spans {
			if d := difference(s, spans[j]); d != "" {
				t.Fatalf("%s request %d, span %d: %s", what, i, j, d)
			}
		}
	}
}

var (
	someResource = resource.NewSchemaless(attribute.String("service.name", "shop"))
	someScopes   = []instrumentation.Scope{{}, {Name: scope.Name}, {Name: "a", Version: "1"}, {Name: "b", SchemaURL: "https://example.com"}}
)

// randomSpan is one of few traces, with few ids, so that parents are often missing, in a circle or twice there.
func randomSpan(r *rand.Rand, i, text int) sdktrace.ReadOnlySpan {
	traceID, id, parent := r.IntN(6), 1+r.IntN(12), r.IntN(12)
	start := time.Duration(r.IntN(50))*ms + time.Duration(r.IntN(3))*40*time.Minute
	name := []string{"span 0", "span 1", housekeeping}[i%3]
	return span(traceID, id, parent, name, start, start+time.Duration(r.IntN(20))*ms, func(s *tracetest.SpanStub) {
		s.Resource, s.InstrumentationScope = someResource, someScopes[r.IntN(len(someScopes))]
		s.SpanKind = trace.SpanKind(1 + r.IntN(5))
		for _, key := range []attribute.Key{record.JobKey, record.StreamKey} {
			if r.IntN(3) == 0 {
				s.Attributes = append(s.Attributes, key.Bool(r.IntN(4) > 0))
			}
		}
		if parent != 0 && r.IntN(4) == 0 {
			remote(s)
		}
		if r.IntN(5) == 0 {
			s.SpanContext = s.SpanContext.WithTraceFlags(0)
		}
		for k := range r.IntN(3) {
			s.Attributes = append(s.Attributes, attribute.Int(fmt.Sprint(k), r.IntN(1000)), attribute.String("text", strings.Repeat("x", r.IntN(text))))
			event("mark", start, s.Attributes...)(s)
		}
		if r.IntN(4) == 0 {
			s.Status = sdktrace.Status{Code: codes.Error, Description: "failed"}
		}
	})
}

// Requests in memory are the same, and count the same, as requests of spans that are kept as they are.
func TestRecentDecodesToTheSameSpans(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := requests.Config{Requests: 1 + r.IntN(4), Slowest: 1 + r.IntN(3), Background: 1 + r.IntN(3), Examples: 1 + r.IntN(4), MaxSpans: 1 + r.IntN(8), MaxPending: 1 + r.IntN(3)}
		m := &model{c: c, traces: map[trace.TraceID]*modelTrace{}}
		recent := requests.NewRecent(c)
		for i := range 60 {
			s := randomSpan(r, i, 200)
			m.end(s)
			recent.OnEnd(s)
			compareLists(t, "newest", decoded(recent.Requests()), m.newest)
			compareLists(t, "slowest", decoded(recent.Slowest()), m.slowest)
			compareLists(t, "background", decoded(recent.Background()), m.others)
			compareLists(t, "example", decoded(examplesOf(recent)), m.examples)
			got := recent.Stats()
			if got.Bytes = 0; got != m.stats {
				t.Fatalf("seed %d, span %d: stats are %+v, want %+v", seed, i, got, m.stats)
			}
		}
	}
}

// However large spans are, memory is bounded. Requests in it are right, and the others are counted.
func TestRecentIsBoundedInBytes(t *testing.T) {
	const most, unbounded = 32 << 10, 1 << 20
	var evicted, dropped, late uint64
	for seed := range uint64(80) {
		r := rand.New(rand.NewPCG(seed, 2))
		together := seed%2 > 0 // the spans of a trace
		var groups otlpenc.Groups
		var w otlpenc.Writer
		var list []bridge.Spans
		recent := requests.NewRecent(requests.Config{Requests: []int{unbounded, 200}[seed/2%2], Slowest: -1, Examples: -1, MaxPending: unbounded, MaxBytes: most})
		ended := map[trace.TraceID]string{} // roots, by their traces
		spans := map[string]sdktrace.ReadOnlySpan{}
		var order []string
		for i := range 200 {
			id, first := 1+i/8, 1+i%8 // eight spans for each trace, of which the last may be the root
			parent, size := 8, r.IntN(1500)
			if first == 8 && r.IntN(4) > 0 {
				parent = 0
			}
			s := span(id, first, parent, fmt.Sprint("span ", i), 0, ms, func(s *tracetest.SpanStub) {
				s.Attributes = []attribute.KeyValue{attribute.String("text", strings.Repeat("x", size))}
				s.InstrumentationScope = someScopes[r.IntN(len(someScopes))]
				if r.IntN(30) == 0 {
					s.Attributes = append(s.Attributes, attribute.String("large", strings.Repeat("x", 4<<10)))
				}
			})
			spans[s.Name()] = s
			if parent == 0 {
				ended[s.SpanContext().TraceID()] = s.Name()
				order = append(order, s.Name())
			}
			if !together {
				recent.OnEnd(s)
			} else if list = append(list, encode(&groups, s)); first == 8 {
				written := write(&w, list...)
				recent.Accept(written)
				release(written)
				list = nil
			}
			if got := recent.Stats(); got.Bytes > most {
				t.Fatalf("seed %d, span %d: %d bytes are held, want %d at most", seed, i, got.Bytes, most)
			}
		}
		got, last := decoded(recent.Requests()), len(order)
		stats := recent.Stats()
		if len(got)+int(stats.Evicted) != len(order) || int(stats.Requests) != len(order) {
			t.Errorf("seed %d: %d requests are kept, want %d without those evicted: %+v", seed, len(got), len(order), stats)
		}
		for _, q := range got {
			at := slices.Index(order, q.Root.Name)
			if at < 0 || at >= last {
				t.Fatalf("seed %d: %q is not in the order %q", seed, q.Root.Name, order)
			}
			last = at
			for _, s := range q.Spans {
				if d := difference(s, spans[s.Name]); d != "" {
					t.Fatalf("seed %d, %q: %s", seed, s.Name, d)
				}
			}
			if len(q.Spans)+q.Dropped != 8 {
				t.Errorf("seed %d: %d spans and %d dropped, want 8", seed, len(q.Spans), q.Dropped)
			}
		}
		evicted, dropped, late = evicted+stats.Evicted, dropped+stats.SpansDropped, late+stats.Late
	}
	if evicted == 0 || dropped == 0 || late == 0 {
		t.Errorf("%d evicted, %d dropped, %d late: not all bounds were met", evicted, dropped, late)
	}
}
