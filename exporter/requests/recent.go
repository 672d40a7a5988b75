package requests

import (
	"context"
	"errors"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
)

// Config configures [NewRecent].
type Config struct {
	Requests   int // most recent requests kept; 0 means 64, negative none
	Slowest    int // slowest requests kept besides, since the start; 0 means 8, negative none
	MaxSpans   int // spans kept of one trace; 0 means 512
	MaxPending int // traces kept whose request has not ended yet; 0 means 1024

	// MaxBytes is the memory for the spans of all these, in bytes; 0 means 16 MiB. One trace gets a sixteenth of it
	// at most, and so does a root span that its trace has no room for. Beyond MaxBytes the oldest goes, whether it
	// is a trace without a request or one of the most recent requests. The fastest of the slowest requests goes
	// when there is neither.
	MaxBytes int
}

var errNoGroup = errors.New("requests: spans without a group")

// maxShare is the part of MaxBytes that one trace gets.
const maxShare = 16

// Recent keeps the most recent requests in memory, and the slowest. A request is a span whose parent is in another
// process, or that has none, with all spans below it. Spans may arrive in any order, also after their request.
//
// Spans come from [Recent.Accept], or from a tracer provider: Recent is a span processor. It is safe for
// concurrent use.
type Recent struct {
	c       Config
	share   int
	encoder otlpenc.Groups

	mu       sync.Mutex              // guards what follows
	byID     map[trace.TraceID]int32 // places in traces
	traces   slab[traceData]
	requests slab[requestData]
	waiting  order   // traces without a request
	newest   order   // requests
	slowest  []int32 // requests, by descending duration
	last     int32   // the trace of the last span
	groups   groups
	buffers  buffers
	arrivals uint64 // of traces and of requests
	stats    Stats
	closed   bool
}

// Stats count what Recent saw and let go.
type Stats struct {
	Requests     uint64 // requests that ended
	SpansDropped uint64 // spans over MaxSpans or over the bytes of their trace
	Abandoned    uint64 // traces let go before their request ended, over MaxPending or MaxBytes
	Evicted      uint64 // requests let go early over MaxBytes, or not kept because their root span is too large
	Bytes        uint64 // memory for spans now, at most MaxBytes
}

type traceData struct {
	id       trace.TraceID
	spans    []byte // records
	count    int    // of them
	shared   bool   // a reader has spans
	dropped  int
	users    int // requests in memory, and one while a span is added
	requests int // that ended
	arrival  uint64
}

type requestData struct {
	trace   int32
	lists   int32 // that have it, and one while it is added
	at      int   // of the root's record in the trace's, unless own has it
	own     []byte
	shared  bool // a reader has own
	root    trace.SpanID
	took    time.Duration
	arrival uint64
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
	orDefault(&c.MaxBytes, 16<<20)
	return &Recent{c: c, share: c.MaxBytes / maxShare, byID: map[trace.TraceID]int32{}}
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
	s := r.stats
	s.Bytes = uint64(r.buffers.bytes)
	return s
}

// OnEnd encodes a span and keeps it, sampled or not.
func (r *Recent) OnEnd(s sdktrace.ReadOnlySpan) {
	if r.off() {
		return
	}
	r.encoder.Encode(s, r.Accept)
}

func (r *Recent) off() bool { return r.c.Requests+r.c.Slowest == 0 }

// Accept keeps a copy of spans, sampled or not. Bytes that are not spans count as dropped spans.
func (r *Recent) Accept(s otlpenc.Spans) {
	if r.off() {
		return
	}
	const batch = 8 // spans that are added under one lock; their headers are read before
	var headers [batch]otlpenc.Header
	var spans [batch]otlpenc.Spans
	for len(s.Bytes) > 0 {
		n := 0
		var err error
		if s.Group == nil {
			err = errNoGroup
		}
		for n < batch && len(s.Bytes) > 0 && err == nil {
			if headers[n], spans[n], err = s.First(); err == nil {
				s.Bytes = s.Bytes[len(spans[n].Bytes):]
				s.Count--
				n++
			}
		}
		r.mu.Lock()
		for i := range n {
			r.accept(&headers[i], spans[i])
		}
		if err != nil {
			r.stats.SpansDropped += uint64(max(1, s.Count))
			s.Bytes = nil
		}
		r.mu.Unlock()
	}
}

// accept adds a span. r.mu is held.
func (r *Recent) accept(h *otlpenc.Header, s otlpenc.Spans) {
	if r.closed {
		return
	}
	root := !h.ParentID.IsValid() || h.Remote
	i := r.last
	if i == none || r.traces.at(i).id != h.TraceID || !h.TraceID.IsValid() {
		i = r.byID[h.TraceID]
	}
	if i == none {
		i = r.traces.add(traceData{id: h.TraceID, arrival: r.arrivals})
		r.arrivals++
		r.byID[h.TraceID] = i
		r.waiting.push(i)
	}
	r.last = i
	t := r.traces.at(i)
	t.users++ // it stays while others go
	at, own, ok := r.write(i, s, root)
	if !ok {
		t.dropped++
		r.stats.SpansDropped++
	}
	if root {
		r.stats.Requests++
		if t.requests == 0 {
			r.waiting.remove(i)
		}
		t.requests++
		if ok {
			r.keep(requestData{trace: i, at: at, own: own, root: h.SpanID, took: h.Duration()})
		} else {
			r.stats.Evicted++
		}
	}
	r.leave(i)
	for r.waiting.len > r.c.MaxPending {
		r.abandon(r.waiting.oldest)
	}
}

// write adds a span to its trace, and returns its place among the bytes. A root for which the trace has no room gets a
// buffer of its own. ok is false if memory has no room either.
func (r *Recent) write(i int32, s otlpenc.Spans, root bool) (at int, own []byte, ok bool) {
	t := r.traces.at(i)
	size := recordSize(s)
	fits := t.count < r.c.MaxSpans && len(t.spans)+size <= r.share
	if size > r.share || !fits && !root {
		return 0, nil, false
	}
	group, ok := r.groups.find(s.Group)
	for ; !ok; group, ok = r.groups.find(s.Group) {
		if !r.letGo(i) {
			return 0, nil, false
		}
	}
	if fits {
		if !r.grow(i, size) {
			return 0, nil, false
		}
		at = len(t.spans)
		t.spans = appendRecord(t.spans, group, s)
		t.count++
	} else {
		buf := r.buffer(size, i)
		if buf == nil {
			return 0, nil, false
		}
		own = appendRecord(buf, group, s)
	}
	r.groups.uses[group]++
	return at, own, true
}

// grow makes room in a trace. It returns false if there is none.
func (r *Recent) grow(i int32, size int) bool {
	t := r.traces.at(i)
	if cap(t.spans)-len(t.spans) >= size {
		return true
	}
	buf := r.buffer(len(t.spans)+size, i)
	if buf == nil {
		return false
	}
	buf = append(buf, t.spans...)
	if t.spans != nil {
		r.buffers.put(t.spans, t.shared)
	}
	t.spans, t.shared = buf, false
	return true
}

// buffer returns a buffer for n bytes of trace i, for which others may have to go; nil if none are left.
func (r *Recent) buffer(n int, i int32) []byte {
	for {
		buf := r.buffers.take(n)
		if buf == nil {
			buf = r.buffers.make(n, r.c.MaxBytes)
		}
		if buf != nil {
			return buf
		}
		if !r.buffers.dropIdle() && !r.letGo(i) {
			return nil
		}
	}
}

// letGo lets go of the oldest. Trace i stays, but not its requests. It returns false if there is nothing.
func (r *Recent) letGo(i int32) bool {
	w, q := r.waiting.oldestBut(i), r.newest.oldest
	switch {
	case w != none && (q == none || r.traces.at(w).arrival < r.requests.at(q).arrival):
		r.abandon(w)
		return true
	case q != none:
		r.newest.remove(q)
	case len(r.slowest) > 0:
		last := len(r.slowest) - 1
		q = r.slowest[last]
		r.slowest = r.slowest[:last]
	default:
		return false
	}
	if r.release(q) {
		r.stats.Evicted++
	}
	return true
}

// keep adds a request to both lists and lets go of those it displaces.
func (r *Recent) keep(q requestData) {
	q.arrival, q.lists = r.arrivals, 1
	r.arrivals++
	i := r.requests.add(q)
	r.traces.at(q.trace).users++
	if r.c.Requests > 0 {
		r.requests.at(i).lists++
		r.newest.push(i)
		if r.newest.len > r.c.Requests {
			oldest := r.newest.oldest
			r.newest.remove(oldest)
			r.release(oldest)
		}
	}
	at := len(r.slowest) // of the newer ones that took as long, the last comes first
	for at > 0 && r.requests.at(r.slowest[at-1]).took <= q.took {
		at--
	}
	if at < r.c.Slowest {
		r.requests.at(i).lists++
		if len(r.slowest) == r.c.Slowest {
			last := len(r.slowest) - 1
			r.release(r.slowest[last])
			r.slowest = r.slowest[:last]
		}
		r.slowest = append(r.slowest, none)
		copy(r.slowest[at+1:], r.slowest[at:])
		r.slowest[at] = i
	}
	r.release(i)
}

// release takes a request from a list, and returns whether that was the last one.
func (r *Recent) release(i int32) bool {
	q := r.requests.at(i)
	q.lists--
	if q.lists > 0 {
		return false
	}
	if q.own != nil {
		r.forget(q.own, q.shared)
	}
	t := q.trace
	r.requests.remove(i)
	r.leave(t)
	return true
}

// leave ends a use of a trace. One whose requests have all gone goes, too.
func (r *Recent) leave(i int32) {
	t := r.traces.at(i)
	t.users--
	if t.users == 0 && t.requests > 0 {
		r.remove(i)
	}
}

// abandon lets go of a trace without a request.
func (r *Recent) abandon(i int32) {
	r.waiting.remove(i)
	r.remove(i)
	r.stats.Abandoned++
}

func (r *Recent) remove(i int32) {
	t := r.traces.at(i)
	r.forget(t.spans, t.shared)
	delete(r.byID, t.id)
	r.traces.remove(i)
}

// forget takes back the buffer of records.
func (r *Recent) forget(buf []byte, shared bool) {
	if buf == nil {
		return
	}
	for rec := range records(buf).all {
		r.groups.uses[rec.group]--
	}
	r.buffers.put(buf, shared)
}
