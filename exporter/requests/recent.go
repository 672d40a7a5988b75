package requests

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Config configures [NewRecent].
type Config struct {
	Requests   int // most recent requests kept; 0 means 64, negative none
	Slowest    int // slowest requests kept besides, since the start; 0 means 8, negative none
	MaxSpans   int // spans kept of one trace; 0 means 512
	MaxPending int // traces kept whose request has not ended yet; 0 means 1024
}

// Recent is a span processor that keeps the most recent requests in memory, and
// the slowest. A request is a span whose parent is in another process, or that
// has none, with all spans below it. Spans may arrive in any order, also after
// their request. It is safe for concurrent use.
type Recent struct {
	c Config

	mu      sync.Mutex // guards what follows
	traces  map[trace.TraceID]*keptTrace
	pending []trace.TraceID // in order of arrival; some are pending no longer
	waiting int             // traces without a request
	newest  []*keptRequest  // ring
	next    int             // where in newest the next one goes
	slowest []*keptRequest  // by descending duration
	stats   Stats
	closed  bool
}

// Stats count what Recent saw and let go.
type Stats struct {
	Requests     uint64 // requests that ended
	SpansDropped uint64 // spans over MaxSpans of their trace
	Abandoned    uint64 // traces let go before their request ended, over MaxPending
}

type keptTrace struct {
	spans   []sdktrace.ReadOnlySpan
	dropped int
	refs    int // lists that hold a request of this trace
	local   int // requests of this trace that ended
}

type keptRequest struct {
	trace *keptTrace
	root  sdktrace.ReadOnlySpan
	took  time.Duration
	refs  int
}

var _ sdktrace.SpanProcessor = (*Recent)(nil)

// NewRecent makes an empty Recent.
func NewRecent(c Config) *Recent {
	orDefault := func(n *int, otherwise int) {
		if *n == 0 {
			*n = otherwise
		}
		*n = max(0, *n)
	}
	orDefault(&c.Requests, 64)
	orDefault(&c.Slowest, 8)
	orDefault(&c.MaxSpans, 512)
	orDefault(&c.MaxPending, 1024)
	return &Recent{c: c, traces: map[trace.TraceID]*keptTrace{}}
}

// OnStart does nothing.
func (r *Recent) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// ForceFlush does nothing: spans are kept when they arrive.
func (r *Recent) ForceFlush(context.Context) error { return nil }

// Shutdown ends the collecting. Requests can be read afterwards, too.
func (r *Recent) Shutdown(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return nil
}

// Stats returns the counts.
func (r *Recent) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// OnEnd keeps a span.
func (r *Recent) OnEnd(s sdktrace.ReadOnlySpan) {
	root := !s.Parent().IsValid() || s.Parent().IsRemote()
	id := s.SpanContext().TraceID()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.c.Requests+r.c.Slowest == 0 {
		return
	}
	t := r.traces[id]
	if t == nil {
		t = &keptTrace{}
		r.traces[id] = t
		r.pending = append(r.pending, id)
		r.waiting++
	}
	switch {
	case len(t.spans) < r.c.MaxSpans:
		t.spans = append(t.spans, s)
	case !root: // a root is kept with its request only
		t.dropped++
		r.stats.SpansDropped++
	}
	if root {
		if t.local == 0 {
			r.waiting--
		}
		t.local++
		r.keep(&keptRequest{trace: t, root: s, took: s.EndTime().Sub(s.StartTime())})
	}
	r.abandon()
}

// keep adds a request to both lists and lets go of those it displaces.
func (r *Recent) keep(q *keptRequest) {
	r.stats.Requests++
	q.hold()
	defer r.release(q) // unless a list holds it, it goes
	if r.c.Requests > 0 {
		q.hold()
		if len(r.newest) < r.c.Requests {
			r.newest = append(r.newest, q)
		} else {
			r.release(r.newest[r.next])
			r.newest[r.next] = q
		}
		r.next = (r.next + 1) % r.c.Requests
	}
	at, _ := slices.BinarySearchFunc(r.slowest, q, func(a, b *keptRequest) int { return cmp.Compare(b.took, a.took) })
	if at < r.c.Slowest {
		q.hold()
		r.slowest = slices.Insert(r.slowest, at, q)
		if len(r.slowest) > r.c.Slowest {
			last := len(r.slowest) - 1
			r.release(r.slowest[last])
			r.slowest = slices.Delete(r.slowest, last, last+1)
		}
	}
}

func (q *keptRequest) hold() {
	q.refs++
	q.trace.refs++
}

func (r *Recent) release(q *keptRequest) {
	q.refs--
	q.trace.refs--
	if q.trace.refs == 0 {
		delete(r.traces, q.root.SpanContext().TraceID())
	}
}

// abandon lets go of the oldest traces without a request when they are too
// many. The queue has traces that got their request since, or are gone: they
// are skipped, and cleared away when they are most of it.
func (r *Recent) abandon() {
	stillWaiting := func(id trace.TraceID) bool {
		t := r.traces[id]
		return t != nil && t.local == 0
	}
	for r.waiting > r.c.MaxPending {
		id := r.pending[0]
		r.pending = r.pending[1:]
		if stillWaiting(id) {
			delete(r.traces, id)
			r.waiting--
			r.stats.Abandoned++
		}
	}
	if len(r.pending) > 2*r.waiting+1024 {
		r.pending = slices.DeleteFunc(slices.Clone(r.pending), func(id trace.TraceID) bool { return !stillWaiting(id) })
	}
}

// A Request is one request as kept by [Recent], a value that does not change.
type Request struct {
	Root    sdktrace.ReadOnlySpan
	Spans   []sdktrace.ReadOnlySpan // Root and all below it, by start
	Dropped int                     // spans of the trace that were not kept
}

// TraceID is the trace the request belongs to.
func (q Request) TraceID() trace.TraceID { return q.Root.SpanContext().TraceID() }

// Duration returns the time that the request took.
func (q Request) Duration() time.Duration { return q.Root.EndTime().Sub(q.Root.StartTime()) }

// Requests returns the most recent requests, the newest first.
func (r *Recent) Requests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Request, 0, len(r.newest))
	for i := range r.newest {
		n := len(r.newest)
		out = append(out, r.newest[((r.next-1-i)%n+n)%n].request())
	}
	return out
}

// Slowest returns the slowest requests since the start, the slowest first.
func (r *Recent) Slowest() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Request, 0, len(r.slowest))
	for _, q := range r.slowest {
		out = append(out, q.request())
	}
	return out
}

// Roots returns the root spans of the most recent requests, the newest first, and of the
// slowest requests, the slowest first. It costs much less than Requests and Slowest.
func (r *Recent) Roots() (newest, slowest []sdktrace.ReadOnlySpan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.newest {
		n := len(r.newest)
		newest = append(newest, r.newest[((r.next-1-i)%n+n)%n].root)
	}
	for _, q := range r.slowest {
		slowest = append(slowest, q.root)
	}
	return newest, slowest
}

// Request returns the request with that root span. ok is false if Recent does not have it, or
// has it no more.
func (r *Recent) Request(id trace.TraceID, root trace.SpanID) (q Request, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, list := range [][]*keptRequest{r.newest, r.slowest} {
		for _, k := range list {
			if sc := k.root.SpanContext(); sc.TraceID() == id && sc.SpanID() == root {
				return k.request(), true
			}
		}
	}
	return Request{}, false
}

// request gathers the spans below the root, and those whose parent is missing
// when there is no other request they could belong to.
func (q *keptRequest) request() Request {
	children := map[trace.SpanID][]sdktrace.ReadOnlySpan{}
	known := map[trace.SpanID]bool{q.root.SpanContext().SpanID(): true} // which the trace may have no room for
	for _, s := range q.trace.spans {
		known[s.SpanContext().SpanID()] = true
		if s.Parent().SpanID().IsValid() {
			children[s.Parent().SpanID()] = append(children[s.Parent().SpanID()], s)
		}
	}
	req := Request{Root: q.root, Spans: []sdktrace.ReadOnlySpan{q.root}, Dropped: q.trace.dropped}
	seen := map[trace.SpanID]bool{q.root.SpanContext().SpanID(): true} // ids may be wrong: no cycles
	add := func(list []sdktrace.ReadOnlySpan) {
		for _, s := range list {
			if id := s.SpanContext().SpanID(); !seen[id] {
				seen[id] = true
				req.Spans = append(req.Spans, s)
			}
		}
	}
	if q.trace.local == 1 {
		for _, s := range q.trace.spans {
			if !known[s.Parent().SpanID()] {
				add([]sdktrace.ReadOnlySpan{s})
			}
		}
	}
	for i := 0; i < len(req.Spans); i++ {
		add(children[req.Spans[i].SpanContext().SpanID()])
	}
	slices.SortStableFunc(req.Spans[1:], func(a, b sdktrace.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
	return req
}
