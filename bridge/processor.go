package bridge

import (
	"context"
	"errors"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/spanlabels"
)

// An Option configures [NewProcessor] and [Sync].
type Option func(*options)

type options struct {
	timeline   *observer.Timeline
	limits     sdktrace.SpanLimits
	profileIDs spanlabels.Scope
}

func newOptions(opts []Option) options {
	o := options{timeline: observer.Default(), limits: sdktrace.NewSpanLimits()}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// WithTimeline says which process timeline to carry; without it, the default one.
func WithTimeline(t *observer.Timeline) Option {
	return func(o *options) {
		for t.Parent() != nil {
			t = t.Parent()
		}
		o.timeline = t
	}
}

// WithSpanLimits sets the limits for what the bridge makes; without it they
// come from the OTEL_SPAN_* variables, as those of the SDK do. Set it when the
// tracer provider was given limits in code: a processor cannot ask for them.
func WithSpanLimits(l sdktrace.SpanLimits) Option {
	return func(o *options) { o.limits = l }
}

// WithProfileIDs says which spans of measures begun with marks.Start carry the attribute pyroscope.profile.id. Without
// it none do. profiling.NewTracerProvider takes the same scope for the spans that the SDK makes. Of several processors
// of one provider, the first one's option counts. With [Sync] it does nothing.
func WithProfileIDs(scope spanlabels.Scope) Option {
	return func(o *options) { o.profileIDs = scope }
}

// A Processor stands in front of a span processor and hands it spans with their
// marks as events, and measures as spans. It is safe for concurrent use.
type Processor struct {
	hub        *hub
	next       sdktrace.SpanProcessor
	limits     sdktrace.SpanLimits
	profileIDs spanlabels.Scope
	provider   atomic.Pointer[sdktrace.TracerProvider] // the one whose spans come here
	stopped    atomic.Bool
}

var _ sdktrace.SpanProcessor = (*Processor)(nil)

// NewProcessor returns a processor that hands spans to next, usually a batch
// span processor. From then on it carries the timeline until its Shutdown, which
// the tracer provider's Shutdown calls. Several processors, of one provider or
// of several, may carry the same timeline: entries go to those whose provider
// made the span. It replaces a [Sync] on the same timeline.
func NewProcessor(next sdktrace.SpanProcessor, opts ...Option) *Processor {
	o := newOptions(opts)
	p := &Processor{next: next, limits: o.limits, profileIDs: o.profileIDs}
	o.timeline.Attach(func(current observer.Bridge) observer.Bridge {
		h, ok := current.(*hub)
		if !ok {
			h = newHub(o.timeline)
		}
		p.hub = h
		h.add(p)
		return h
	})
	return p
}

// Bind tells which provider the processor belongs to, so that measures under no
// span become spans of it even before it has made one. Otherwise it is learned
// from the first span, and before that the global provider serves.
func (p *Processor) Bind(tp *sdktrace.TracerProvider) {
	if p.provider.CompareAndSwap(nil, tp) {
		p.hub.learned()
	}
}

// OnStart notes under which request the span is made, and passes it on.
func (p *Processor) OnStart(parent context.Context, s sdktrace.ReadWriteSpan) {
	if p.provider.Load() == nil {
		if tp, ok := s.TracerProvider().(*sdktrace.TracerProvider); ok {
			p.Bind(tp)
		}
	}
	if !p.stopped.Load() {
		p.hub.starts(parent, s)
	}
	p.next.OnStart(parent, s)
}

// OnEnd queues the span; it reaches the next processor with its marks. A span of
// other instrumentation becomes an entry of its request's timeline.
func (p *Processor) OnEnd(s sdktrace.ReadOnlySpan) {
	if p.stopped.Load() {
		return
	}
	p.hub.ends(s)
	if !p.hub.tl.Post(&postedSpan{span: s, to: p}) {
		// No room: better the span without its marks than no span.
		p.hub.stats.hurried.Add(1)
		p.next.OnEnd(s)
	}
}

// ForceFlush hands over all that was recorded before the call and then flushes
// the next processor.
func (p *Processor) ForceFlush(ctx context.Context) error {
	if p.stopped.Load() {
		return nil
	}
	return errors.Join(p.hub.flush(ctx), p.next.ForceFlush(ctx))
}

// Shutdown hands over all that was recorded before the call, stops carrying the
// timeline and shuts the next processor down. Further calls do nothing.
//
// Measures that have no local span above them need the provider to become spans,
// and the SDK's makes none any more once its Shutdown has begun: call the
// provider's ForceFlush before. Those that come too late are counted as Unmade.
func (p *Processor) Shutdown(ctx context.Context) error {
	if p.stopped.Swap(true) {
		return nil
	}
	err := p.hub.flush(ctx)
	last := false
	p.hub.tl.Attach(func(current observer.Bridge) observer.Bridge {
		last = p.hub.remove(p) == 0
		if last && current == observer.Bridge(p.hub) {
			return nil
		}
		return current
	})
	if last {
		p.hub.foreign.TakeAll()
	}
	if last && err == nil {
		err = p.hub.abandon(ctx)
	}
	return errors.Join(err, p.next.Shutdown(ctx))
}

// Stats are the counts of the timeline's bridge, which the processors of that
// timeline share.
func (p *Processor) Stats() Stats {
	s := p.hub.stats.read()
	s.Unjoined = p.hub.foreign.Forgotten()
	return s
}

// capture is a span processor that keeps the last span ended.
type capture struct{ span sdktrace.ReadOnlySpan }

func (c *capture) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (c *capture) OnEnd(s sdktrace.ReadOnlySpan)                   { c.span = s }
func (c *capture) Shutdown(context.Context) error                  { return nil }
func (c *capture) ForceFlush(context.Context) error                { return nil }
