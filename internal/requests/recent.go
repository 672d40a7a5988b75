package requests

import (
	"cmp"
	"context"
	"hash/maphash"
	"sync"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/onread"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/internal/stray"
)

// Config configures [NewRecent].
type Config struct {
	Requests   int // the newest requests, and as many streams; 0 means 64, negative none
	Slowest    int // the slowest requests of the last hour; 0 means 8, negative none
	Background int // other roots: the newest of each class; 0 means 32, negative none
	Examples   int // first requests of each cell of heat maps; 0 means 256, negative none
	MaxPending int // traces of open requests, and as many others without one; 0 means 1024

	// MaxSpans is the number of spans of one trace, and a quarter more for parents and roots; 0
	// means 512. When parents and roots need further places, the shortest leaves leave the trace.
	MaxSpans int

	// KeptRequests is the number of the newest requests that a bridge.KeepPolicy kept; 0 means 128,
	// negative none. Requests with only an error inside do not count. Recent stores a quarter as
	// many of these, but at least one.
	KeptRequests int

	// MaxBytes limits the memory of all spans, in bytes; 0 means 16 MiB.
	//
	//   - Encoded spans and the names of requests count.
	//   - A run of spans of one trace and one tracer counts 256 bytes more, for the resource and
	//     the scope.
	//   - One trace uses at most a sixteenth of MaxBytes, and a quarter more for roots and for
	//     parents of its spans. Leaves make room as for MaxSpans. A root span that does not fit
	//     into the trace may use another sixteenth.
	//   - KeptRequests use at most half of MaxBytes, and those with only an error inside an eighth.
	//     Beyond, Recent removes the oldest of them.
	//
	// Beyond MaxBytes, Recent removes the oldest pending trace, newest request, background root or
	// example. If none of these remains, Recent removes the oldest of KeptRequests, those with only
	// an error inside first. After KeptRequests, Recent removes the fastest of Slowest.
	//
	// Spans share blocks of 16 KiB with other spans. A span in memory prevents the reuse of the
	// whole block. The unused parts of blocks do not count for MaxBytes. The unused parts occupy at
	// most 16 KiB for each of the newest requests and each background root.
	MaxBytes int

	// Timeline's process timeline has the marks of [Recent.Strays]; nil means no marks.
	Timeline *record.Timeline

	Resource *resource.Resource // of the program; nil if the resource is unknown

	Routes *routes.Table // result of Recent.Routes; nil means a new table

	// SampledOnly states that Recent receives no unsampled requests, as from a provider of the SDK.
	SampledOnly bool
}

// Recent stores three kinds of requests in memory: the newest requests, the slowest requests, and
// the requests that a bridge.KeepPolicy kept. A request consists of a root span and all spans below
// the root span. A root span has no parent, or a parent in another process. The root span of a
// request is of kind server or consumer, or a span of marks.StartJob. Spans may arrive in any
// order, even after the end of the request.
//
// Other root spans run in the background: calls and measures without a context, and the work of
// pools. Recent stores the newest roots of each class in a separate list, so roots of one class
// never displace roots of another class. The list of the slowest requests contains no streams.
// Recent removes a request from this list when another request ends more than an hour later.
//
// Recent receives spans by [Recent.Accept], or as a span processor of a tracer provider. Recent is
// safe for concurrent use.
type Recent struct {
	c      Config
	share  int  // bytes of MaxBytes for one trace
	copies bool // all spans: see maxReferences
	groups otlpenc.Groups
	onRead onread.Functions
	strays stray.Table

	mu           sync.Mutex // guards the fields below
	traces       index
	pending      list // traces with an open local root
	unclaimed    list // other traces without a request
	newest       [local.Classes]list
	slowest      []*request // by descending duration
	slowestSince time.Time  // the earliest end in slowest, or before
	keptRequests fifo       // by a bridge.KeepPolicy
	examples     examples
	arrivals     uint64          // of requests and of pending traces
	one          [1]bridge.Spans // the list of OnEnd
	leaves       []leaf          // memory of shed
	stats        Stats
	closed       bool

	freeTraces   pool[traceData]
	freeRequests pool[request]
	buffers      buffers
}

// Stats counts the spans and requests that Recent received and removed.
type Stats struct {
	Requests     uint64 // ended requests
	KeptRequests uint64 // of Requests, the requests that a bridge.KeepPolicy kept
	Background   uint64 // other ended root spans
	SpansDropped uint64 // spans that MaxSpans or the bytes of the trace kept out or removed
	Abandoned    uint64 // traces removed before the local root's end, over MaxPending or MaxBytes
	Late         uint64 // spans removed that waited for no open local root, as after the request
	Evicted      uint64 // requests removed early over MaxBytes, or with a too large root span
	KeptEvicted  uint64 // requests that left Recent.KeptRequests early, over a share of MaxBytes
	Examples     uint64 // of Requests, the requests that were the first of their cell

	ExamplesEvicted uint64 // examples removed early, over MaxBytes

	Bytes uint64 // memory of spans now, at most MaxBytes
}

var (
	_ sdktrace.SpanProcessor = (*Recent)(nil)
	_ bridge.Output          = (*Recent)(nil)
)

// NewRecent returns an empty Recent.
func NewRecent(c Config) *Recent {
	if c.Routes == nil {
		c.Routes = routes.NewTable(routes.Config{})
	}
	c.Requests = max(0, cmp.Or(c.Requests, 64))
	c.Slowest = max(0, cmp.Or(c.Slowest, 8))
	c.KeptRequests = max(0, cmp.Or(c.KeptRequests, 128))
	c.Background = max(0, cmp.Or(c.Background, 32))
	c.Examples = max(0, cmp.Or(c.Examples, 256))
	c.MaxSpans = max(0, cmp.Or(c.MaxSpans, 512))
	c.MaxPending = max(0, cmp.Or(c.MaxPending, 1024))
	c.MaxBytes = max(0, cmp.Or(c.MaxBytes, 16<<20))
	return &Recent{c: c, share: c.MaxBytes / 16,
		copies: max(c.Requests, c.Background) > maxReferences, traces: newIndex(c),
		examples: examples{seed: maphash.MakeSeed(), cells: map[uint64]bool{}}}
}

// ForceFlush does nothing, because Recent stores spans immediately.
func (r *Recent) ForceFlush(context.Context) error { return nil }

// Shutdown stops the recording: Recent drops all later spans. Stored requests remain readable.
func (r *Recent) Shutdown(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return nil
}

// OnRead registers f. Each reading method calls f first, on the caller's goroutine and without a
// lock. f must not read from r. Several functions may be registered.
//
// A tracer provider that delivers spans late registers a function that delivers the pending spans.
// Therefore a reader receives all spans that ended before the call.
func (r *Recent) OnRead(f func()) { r.onRead.Add(f) }

// Routes returns the table of requests by route. Recent does not add requests to the table. A
// [bridge.TracerProvider] with r among the recorders adds each local root. The provider also adds
// roots if the keep policy drops the spans.
func (r *Recent) Routes() *routes.Table { return r.c.Routes }

// SampledOnly returns Config.SampledOnly.
func (r *Recent) SampledOnly() bool { return r.c.SampledOnly }

// Resource returns Config.Resource. A nil resource has no attributes.
func (r *Recent) Resource() *resource.Resource { return r.c.Resource }

// Stats returns the current counts.
func (r *Recent) Stats() Stats {
	r.onRead.Call()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// OnEnd encodes and stores a span. OnEnd also stores unsampled spans.
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

// Accept stores spans. Accept also stores unsampled spans. The caller may reuse the list and the
// roots afterwards, because Accept retains or copies the bytes. Spans with a Root end a request.
// Accept drops spans if the group, the trace id, the bytes or a positive count is missing.
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
