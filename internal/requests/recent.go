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
	Requests int // most recent requests kept; 0 means 64, negative none
	Slowest  int // slowest requests of the last hour kept as well; 0 means 8, negative none
	// most recent requests that a bridge.KeepPolicy kept, as well; 0 means 128, negative none
	KeptRequests int
	Background   int // most recent root spans kept that are no request; 0 means 32, negative none
	// first requests of each cell of the routes' heat maps, as well; 0 means 256, negative none
	Examples   int
	MaxSpans   int // spans kept of one trace; 0 means 512
	MaxPending int // traces kept whose request has not ended yet; 0 means 1024

	// MaxBytes is the memory for the spans of all these, in bytes; 0 means 16 MiB. One trace gets a
	// sixteenth of it at most, and so does a root span that its trace has no room for. Half of it
	// is for the requests that were kept: beyond that the oldest one goes. Beyond MaxBytes the
	// oldest of the others goes, whether it is a trace without a request, one of the most recent
	// requests or an example. When there is none, the oldest request that was kept goes, and then
	// the fastest of the slowest. The memory of encoded spans and of requests' names counts. Spans
	// of one trace and one tracer that arrive together, or one after the other, count 256 bytes
	// more: their resource and scope, and the places where they lie.
	//
	// Spans of the newest requests lie in blocks of 16 KiB with other spans, and keep these blocks
	// from being used again. Blocks do not count. Without the bytes that count, they take 16 KiB at
	// most for each of the newest requests and each root span in the background.
	MaxBytes int
}

// Recent keeps the most recent requests in memory, the slowest, and those that a bridge.KeepPolicy
// kept. A request is a unit of work with all spans below it: a root span of kind server or
// consumer, or one that marks.StartJob made. A root span is one without a parent, or whose parent
// is in another process. Spans may arrive in any order, also after their request.
//
// Other root spans are in the background: calls and measures without a context, and what a pool
// does by itself. They are kept apart, so that they take no request's place. A request that is a
// stream is never among the slowest, and a request leaves the slowest when another one ends more
// than an hour later.
//
// Spans come from [Recent.Accept], or from a tracer provider: Recent is a span processor. It is
// safe for concurrent use.
type Recent struct {
	c      Config
	share  int  // of MaxBytes, for one trace
	copies bool // all spans are copied: see maxReferences
	routes *routes.Table
	groups otlpenc.Groups
	onRead onread.Functions

	mu           sync.Mutex // guards what follows
	traces       index
	waiting      list       // the traces whose request has not ended
	newest       list       // requests
	others       list       // in the background
	slowest      []*request // by descending duration
	slowestSince time.Time  // none of them ended before
	keptRequests fifo       // by a bridge.KeepPolicy
	examples     examples
	arrivals     uint64          // of requests and of traces that wait
	one          [1]bridge.Spans // the list of OnEnd
	stats        Stats
	closed       bool

	freeTraces   pool[traceData]
	freeRequests pool[request]
	buffers      buffers
}

// Stats count what Recent saw and let go.
type Stats struct {
	Requests     uint64 // requests that ended
	KeptRequests uint64 // of Requests, those that a bridge.KeepPolicy kept
	Background   uint64 // other root spans that ended
	SpansDropped uint64 // spans over MaxSpans or over the bytes of their trace
	Abandoned    uint64 // traces let go before their request ended, over MaxPending or MaxBytes
	// requests let go early over MaxBytes, or not kept because their root span is too large
	Evicted uint64
	// requests that left Recent.KeptRequests early, over the half of MaxBytes that is theirs
	KeptEvicted uint64
	Examples    uint64 // of Requests, those that were the first of their cell then

	ExamplesEvicted uint64 // examples that were let go early, over MaxBytes

	Bytes uint64 // memory for spans now, at most MaxBytes
}

var (
	_ sdktrace.SpanProcessor = (*Recent)(nil)
	_ bridge.Output          = (*Recent)(nil)
)

// NewRecent makes an empty Recent.
func NewRecent(c Config) *Recent { return NewRecentWithRoutes(c, routes.NewTable(routes.Config{})) }

// NewRecentWithRoutes makes an empty Recent with a table of routes.
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

// ForceFlush does nothing: spans are kept when they arrive.
func (r *Recent) ForceFlush(context.Context) error { return nil }

// Shutdown ends the collecting. Requests can be read afterwards, too.
func (r *Recent) Shutdown(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return nil
}

// OnRead registers a function that every method which reads requests or counts calls first, on the
// caller's goroutine and without a lock. A tracer provider that hands spans over late registers it,
// so that a reader sees each span that ended before the call. Several functions may be registered.
// The function must not read from r.
func (r *Recent) OnRead(f func()) { r.onRead.Add(f) }

// Routes returns the counts and the durations of requests by route. Recent adds nothing to them: a
// [bridge.TracerProvider] with r among its recorders adds each local root, also those that its
// policy drops and whose spans no recorder gets.
func (r *Recent) Routes() *routes.Table { return r.routes }

// Stats returns the counts.
func (r *Recent) Stats() Stats {
	r.onRead.Call()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// OnEnd encodes a span and keeps it, sampled or not.
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

// Accept keeps spans, sampled or not. It retains their bytes or copies them, so the caller may use
// the list and the roots again. What a request is, the root of the spans says. Spans without a
// group, a trace id, bytes or a count of at least 1 are dropped.
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

// inside returns spans as this module has them, without a copy.
func inside(s *bridge.Spans) *otlpenc.Spans { return (*otlpenc.Spans)(s) }

func isComplete(s *bridge.Spans) bool {
	return inside(s).Group() != nil && s.TraceID.IsValid() && len(s.Bytes) > 0 && s.Count > 0
}
