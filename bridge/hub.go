package bridge

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/underway"
	"github.com/perfline/perfline/observer"
)

// ScopeName is the instrumentation scope of the spans that measures become.
const ScopeName = "github.com/perfline/perfline"

// maxQueued bounds the entries between the timeline's collector and the hub's
// worker, which falls behind only when a next processor blocks. Ends of spans
// may take as much again: rather a span without some marks than none.
const maxQueued = 1 << 17

// A hub is the bridge of one process timeline, shared by its processors. Scope
// and Start run on the recording goroutines; Collect copies what concerns
// OpenTelemetry out of the timeline; a worker that runs while there is work
// does the rest, so that nothing it calls can hold the timeline up.
type hub struct {
	tl      *observer.Timeline
	spans   finder
	stats   counters
	foreign underway.Table[observer.Timeline] // by spans of other instrumentation, their request's timeline
	targets atomic.Pointer[targets]

	mu      sync.Mutex // guards what follows
	queue   []*batch
	queued  int // items in queue
	free    []*batch
	owed    bool          // spans ended in the last pass: the next one matters even when empty
	quiet   bool          // the last pass had nothing to do
	running chan struct{} // closed when the worker stops; nil when it does not run

	worker worker // owned by the worker's goroutine
}

var _ observer.Bridge = (*hub)(nil)

// targets are the processors, copied on write.
type targets struct {
	all []*Processor
	by  map[*sdktrace.TracerProvider][]*Processor
}

func newHub(tl *observer.Timeline) *hub {
	h := &hub{tl: tl, spans: newFinder()}
	h.targets.Store(&targets{})
	h.worker = worker{hub: h, empty: emptySpan(), pending: map[trace.SpanID]*pendingSpan{}}
	return h
}

// add, learned and remove change the targets.
func (h *hub) add(p *Processor) {
	h.retarget(func(all []*Processor) []*Processor { return append(all, p) })
}

func (h *hub) learned() { h.retarget(func(all []*Processor) []*Processor { return all }) }

// remove reports how many processors are left.
func (h *hub) remove(p *Processor) int {
	return h.retarget(func(all []*Processor) []*Processor {
		return slices.DeleteFunc(all, func(x *Processor) bool { return x == p })
	})
}

func (h *hub) retarget(change func([]*Processor) []*Processor) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := &targets{all: change(slices.Clone(h.targets.Load().all)), by: map[*sdktrace.TracerProvider][]*Processor{}}
	for _, p := range t.all {
		if tp := p.provider.Load(); tp != nil {
			t.by[tp] = append(t.by[tp], p)
		}
	}
	h.targets.Store(t)
	return len(t.all)
}

// Scope implements [observer.Bridge]: the scope is the span active in ctx.
func (h *hub) Scope(ctx context.Context) (any, bool) { return h.spans.active(ctx) }

// owners finds the processors a span's children go to, and the SDK's span to
// take the resource from. Both are empty for a span that is none of ours.
func (h *hub) owners(span trace.Span) (sdktrace.ReadOnlySpan, []*Processor) {
	if s, ok := span.(*startedSpan); ok {
		return s.anchor, s.to
	}
	ro, ok := span.(sdktrace.ReadOnlySpan)
	if !ok {
		return nil, nil
	}
	tp, ok := span.TracerProvider().(*sdktrace.TracerProvider)
	if !ok {
		return nil, nil
	}
	return ro, h.targets.Load().by[tp]
}

// tracer is the one to make a span under parent with: of the provider that made
// parent if it is a local span, else of a processor's that runs, which it
// returns too, else the global one. It is nil when all processors have been
// shut down: their providers make no spans any more.
func (h *hub) tracer(parent trace.Span) (trace.Tracer, *Processor) {
	if sc := parent.SpanContext(); sc.IsValid() && !sc.IsRemote() {
		return parent.TracerProvider().Tracer(ScopeName), nil
	}
	running := false
	for _, p := range h.targets.Load().all {
		if p.stopped.Load() {
			continue
		}
		running = true
		if tp := p.provider.Load(); tp != nil {
			return tp.Tracer(ScopeName), p
		}
	}
	if !running {
		return nil, nil
	}
	return otel.GetTracerProvider().Tracer(ScopeName), nil
}

// Collect implements [observer.Bridge].
func (h *hub) Collect(pass iter.Seq[*observer.Entry]) (again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := &batch{}
	if n := len(h.free); n > 0 {
		b, h.free = h.free[n-1], h.free[:n-1]
	}
	for e := range pass {
		room := maxQueued
		switch e.Type() {
		case observer.Mark:
			switch e.Scope().(type) {
			case nil:
				h.stats.unattached.Add(1)
				continue
			case unsampled:
				continue
			}
		case observer.Measure:
			switch e.Scope().(type) {
			case unsampled, *foreign:
				continue
			case *ending:
				again, room = true, 2*maxQueued
			}
		case "":
			again, room = true, 2*maxQueued
		default:
			continue
		}
		if h.queued+len(b.items) >= room {
			if e.Type() == "" {
				h.stats.dropped.Add(1)
			} else {
				h.stats.overflow.Add(1)
			}
			continue
		}
		b.add(e)
	}
	h.quiet = len(b.items) == 0 && !h.owed
	if h.quiet {
		h.recycle(b)
		return false
	}
	h.owed = again
	h.queue = append(h.queue, b)
	h.queued += len(b.items)
	if h.running == nil {
		h.running = make(chan struct{})
		go h.work()
	}
	return again
}

// recycle keeps an emptied batch for a later pass. h.mu is held.
func (h *hub) recycle(b *batch) {
	const maxFree = 4
	if b.reset() && len(h.free) < maxFree {
		h.free = append(h.free, b)
	}
}

// work runs the worker until nothing is queued.
func (h *hub) work() {
	for {
		h.mu.Lock()
		queue := h.queue
		h.queue = nil
		if len(queue) == 0 {
			close(h.running)
			h.running = nil
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
		for _, b := range queue {
			h.worker.pass(b)
			h.mu.Lock()
			h.queued -= len(b.items)
			h.recycle(b)
			h.mu.Unlock()
		}
	}
}

// abandon makes the worker count what it still holds as lost, after a flush and
// when no processor is left.
func (h *hub) abandon(ctx context.Context) error {
	for {
		if err := h.wait(ctx); err != nil {
			return err
		}
		h.mu.Lock()
		if h.running == nil { // nobody else owns the worker's state, and h.mu keeps it so
			h.worker.abandon()
			h.mu.Unlock()
			return nil
		}
		h.mu.Unlock()
	}
}

// wait returns when the worker has nothing left to do.
func (h *hub) wait(ctx context.Context) error {
	for {
		h.mu.Lock()
		running := h.running
		h.mu.Unlock()
		if running == nil {
			return nil
		}
		select {
		case <-running:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// flush hands over all that was recorded before the call. A span takes two
// passes, and so does one that the worker itself made of a measure without a
// parent: five passes are enough however busy the process is.
func (h *hub) flush(ctx context.Context) error {
	for range 5 {
		h.tl.Flush()
		if err := h.wait(ctx); err != nil {
			return err
		}
		h.mu.Lock()
		quiet := h.quiet
		h.mu.Unlock()
		if quiet {
			break
		}
	}
	return nil
}
