package requests

import (
	"cmp"
	"context"
	"hash/maphash"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/onread"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/routes"
)

// Config configures [NewRecent].
type Config struct {
	Requests     int // the newest requests; 0 means 64, negative none
	Slowest      int // the slowest requests of the last hour; 0 means 8, negative none
	KeptRequests int // the newest that a bridge.KeepPolicy kept; 0 means 128, negative none
	Background   int // the newest root spans that are no request; 0 means 32, negative none
	Examples     int // first requests of each cell of heat maps; 0 means 256, negative none
	MaxSpans     int // of one trace; 0 means 512
	MaxPending   int // traces whose request has not ended; 0 means 1024

	// MaxBytes bounds the memory of all spans, in bytes; 0 means 16 MiB. One trace uses at most a
	// sixteenth, and so does a root span that its trace has no room for. KeptRequests use at most
	// half: beyond, the oldest of them is removed. Beyond MaxBytes, Recent removes the oldest
	// pending trace, newest request, background root or example. If none is left, Recent removes
	// the oldest of KeptRequests, and then the fastest of Slowest. Encoded spans and requests'
	// names count. Spans of one trace and one tracer that arrive together, or one after the other,
	// count 256 bytes more for their resource, their scope and their places.
	//
	// Spans of the newest requests share blocks of 16 KiB with other spans, and prevent the reuse
	// of these blocks. Blocks do not count. Besides the bytes that count, they take 16 KiB at most
	// for each of the newest requests and each root span in the background.
	MaxBytes int
}

// Recent keeps three kinds of requests in memory: the newest, the slowest, and the requests that a
// bridge.KeepPolicy kept. A request is a root span of kind server or consumer, or a root span of
// marks.StartJob, with all spans below it. A root span has no parent, or a parent in another
// process. Spans may arrive in any order, also after their request.
//
// Other root spans run in the background: calls and measures without a context, and the work of
// pools. Their list is separate, so that they displace no request. A stream is never among the
// slowest requests. A request leaves the slowest when another request ends more than an hour later.
//
// Spans arrive by [Recent.Accept], or from a tracer provider: Recent is a span processor. Recent is
// safe for concurrent use.
type Recent struct {
	c      Config
	share  int  // bytes of MaxBytes for one trace
	copies bool // all spans: see maxReferences
	routes *routes.Table
	groups otlpenc.Groups
	onRead onread.Functions

	mu           sync.Mutex // guards the fields below
	traces       index
	pending      list       // traces without a request
	newest       list       // requests
	background   list       // root spans
	slowest      []*request // by descending duration
	slowestSince time.Time  // the earliest end in slowest, or before
	keptRequests fifo       // by a bridge.KeepPolicy
	examples     examples
	arrivals     uint64          // of requests and of pending traces
	one          [1]bridge.Spans // the list of OnEnd
	stats        Stats
	closed       bool

	freeTraces   pool[traceData]
	freeRequests pool[request]
	buffers      buffers
}

// Stats counts what Recent received and removed.
type Stats struct {
	Requests     uint64 // ended requests
	KeptRequests uint64 // of Requests, the requests that a bridge.KeepPolicy kept
	Background   uint64 // other ended root spans
	SpansDropped uint64 // spans over MaxSpans or over the bytes of their trace
	Abandoned    uint64 // traces removed before their request ended, over MaxPending or MaxBytes
	Evicted      uint64 // requests removed early over MaxBytes, or with a too large root span
	KeptEvicted  uint64 // requests that left Recent.KeptRequests early, over half of MaxBytes
	Examples     uint64 // of Requests, the requests that were the first of their cell

	ExamplesEvicted uint64 // examples removed early, over MaxBytes

	Bytes uint64 // memory of spans now, at most MaxBytes
}

var (
	_ sdktrace.SpanProcessor = (*Recent)(nil)
	_ bridge.Output          = (*Recent)(nil)
)

// NewRecent returns an empty Recent.
func NewRecent(c Config) *Recent { return NewRecentWithRoutes(c, routes.NewTable(routes.Config{})) }

// NewRecentWithRoutes returns an empty Recent with a table of routes.
func NewRecentWithRoutes(c Config, table *routes.Table) *Recent {
	c.Requests = max(0, cmp.Or(c.Requests, 64))
	c.Slowest = max(0, cmp.Or(c.Slowest, 8))
	c.KeptRequests = max(0, cmp.Or(c.KeptRequests, 128))
	c.Background = max(0, cmp.Or(c.Background, 32))
	c.Examples = max(0, cmp.Or(c.Examples, 256))
	c.MaxSpans = max(0, cmp.Or(c.MaxSpans, 512))
	c.MaxPending = max(0, cmp.Or(c.MaxPending, 1024))
	c.MaxBytes = max(0, cmp.Or(c.MaxBytes, 16<<20))
	return &Recent{c: c, routes: table, share: c.MaxBytes / 16,
		copies: max(c.Requests, c.Background) > maxReferences, traces: newIndex(c),
		examples: examples{seed: maphash.MakeSeed(), cells: map[uint64]bool{}}}
}

// OnStart does nothing.
func (r *Recent) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// ForceFlush does nothing: Recent stores spans when they arrive.
func (r *Recent) ForceFlush(context.Context) error { return nil }

// Shutdown makes Recent drop all further spans. Requests stay readable.
func (r *Recent) Shutdown(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return nil
}

// OnRead registers a function that each method calls before it reads requests or counts, on the
// caller's goroutine and without a lock. A tracer provider that hands spans over late registers
// one, so that a reader sees each span that ended before the call. Several functions may be
// registered. The function must not read from r.
func (r *Recent) OnRead(f func()) { r.onRead.Add(f) }

// Routes returns the table of requests by route. Recent adds nothing to the table: a
// [bridge.TracerProvider] with r among its recorders adds each local root, also if its policy drops
// the root's spans.
func (r *Recent) Routes() *routes.Table { return r.routes }

// Stats returns the counts.
func (r *Recent) Stats() Stats {
	r.onRead.Call()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// OnEnd encodes and stores a span, sampled or not.
func (r *Recent) OnEnd(s sdktrace.ReadOnlySpan) {
	if !r.off() {
		r.groups.Encode(s, r.acceptOne)
	}
}

func (r *Recent) acceptOne(s otlpenc.Spans) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.one[0] = bridge.Spans(s)
	r.accept(r.one[:])
	r.one[0] = bridge.Spans{}
}

func (r *Recent) off() bool {
	return max(r.c.Requests, r.c.Slowest, r.c.KeptRequests, r.c.Background, r.c.Examples) == 0
}

// Accept stores spans, sampled or not. It retains or copies their bytes, so the caller may reuse
// the list and the roots. The root of spans says whether a request ended. Accept drops spans
// without a group, a trace id, bytes or a count of at least 1.
func (r *Recent) Accept(all []bridge.Spans) {
	if r.off() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.accept(all)
}

// accept is Accept with r.mu held.
func (r *Recent) accept(all []bridge.Spans) {
	for len(all) > 0 && !r.closed {
		n := 0 // of one trace
		for n < len(all) && isComplete(&all[n]) && all[n].TraceID == all[0].TraceID {
			n++
		}
		if n == 0 {
			r.stats.SpansDropped += uint64(max(1, all[0].Count))
			all = all[1:]
			continue
		}
		r.add(all[:n])
		all = all[n:]
	}
}

// inner converts spans to the module's inner type, without a copy.
func inner(s *bridge.Spans) *otlpenc.Spans { return (*otlpenc.Spans)(s) }

func isComplete(s *bridge.Spans) bool {
	return inner(s).Group() != nil && s.TraceID.IsValid() && len(s.Bytes) > 0 && s.Count > 0
}
