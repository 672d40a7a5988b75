package bridge

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/internal/tracelog"
	"github.com/perfline/perfline/internal/underway"
	"github.com/perfline/perfline/observer"
)

// ProcessorConfig configures [NewProcessor].
type ProcessorConfig struct {
	// Timeline is the process timeline to join. nil means observer.ProcessTimeline().
	Timeline *observer.Timeline

	// TracerProvider makes the spans of measures under no span. nil means the provider of the first
	// span that the processor sees, and before that the global one.
	TracerProvider trace.TracerProvider

	// Marks says what marks become. Without Logs, marks are span events.
	Marks MarkForm

	// Logs, when set, takes marks as log records, with Resource. The program flushes it and shuts
	// it down.
	Logs LogOutput

	// LogLimits are the limits of these records. nil means OTEL_LOGRECORD_* and OTEL_ATTRIBUTE_*.
	LogLimits *LogLimits

	// Resource describes the program in log records. nil means resource.Default().
	Resource *resource.Resource
}

// A Processor joins a timeline with a provider that is not a [TracerProvider], from NewProcessor
// until Shutdown. It is safe for concurrent use.
//
// As a span processor of the SDK's provider, it also brings spans of other instrumentation onto the
// timeline of their request when they end. It does not export spans: register it beside the
// processor that does. Marks and measures work without that registration.
type Processor struct {
	timeline *record.Timeline
	joined   joined
	detach   func()
	provider atomic.Pointer[trace.TracerProvider]
	requests *requests
	stopped  atomic.Bool
}

// requests has the timeline of each span's request. Processors of a timeline share it, so that a
// span with two processors joins once.
type requests struct {
	underway.Table[record.Timeline]
	users atomic.Int32
}

// share returns the table of the processors that have joined a timeline, or a new one.
func share(t *record.Timeline) *requests {
	for _, tracer := range t.Tracers() {
		if j, ok := tracer.(*joined); ok && j.requests != nil && j.requests.users.Add(1) > 1 {
			return j.requests
		}
	}
	r := &requests{}
	r.users.Add(1)
	return r
}

var _ sdktrace.SpanProcessor = (*Processor)(nil)

// NewProcessor returns a processor, which joins the timeline at once. If several processors or
// TracerProviders join a timeline, the last one makes the spans of measures that have no active
// span.
func NewProcessor(c ProcessorConfig) *Processor {
	p := &Processor{timeline: processTimeline((*record.Timeline)(c.Timeline))}
	p.joined.tracer = p.tracer
	var groups otlpenc.Groups
	p.joined.logs = newMarkLogs(p.timeline, c.Marks, c.Logs, c.LogLimits, c.Resource, &groups)
	if c.TracerProvider != nil {
		p.provider.Store(&c.TracerProvider)
	}
	p.requests = share(p.timeline)
	p.joined.requests = p.requests
	p.detach = p.joined.attach(p.timeline)
	return p
}

func (p *Processor) tracer() trace.Tracer {
	if tp := p.provider.Load(); tp != nil {
		return scope.Tracer(*tp)
	}
	return scope.Tracer(otel.GetTracerProvider())
}

// OnStart notes under which request the span is made.
func (p *Processor) OnStart(parent context.Context, s sdktrace.ReadWriteSpan) {
	if p.provider.Load() == nil {
		tp := s.TracerProvider()
		p.provider.CompareAndSwap(nil, &tp)
	}
	if p.stopped.Load() {
		return
	}
	own, ok := s.(*recordedSpan)
	// the SDK has begun the span's task; perfline's spans note themselves
	if !ok && tracelog.Enabled() {
		if above := s.Parent(); above.IsValid() && !above.IsRemote() {
			tracelog.Start(parent, s.SpanContext().SpanID(), s.Name())
		} else {
			tracelog.Root(parent, s.SpanContext(), s.Name())
		}
	}
	// whose unit has the span
	if s.InstrumentationScope().Name == ScopeName || ok &&
		own.tracer.provider.timeline == p.timeline {
		return
	}
	if t := record.FromContext(parent); t.Parent() != nil && processTimeline(t) == p.timeline {
		p.requests.Put(s.SpanContext(), t)
	}
}

// OnEnd makes an entry of a span of other instrumentation.
func (p *Processor) OnEnd(s sdktrace.ReadOnlySpan) {
	if p.stopped.Load() {
		return
	}
	if _, own := s.(endedSpan); !own && tracelog.Enabled() {
		tracelog.End(s.SpanContext().SpanID(), s.Name())
	}
	if s.InstrumentationScope().Name == ScopeName {
		return
	}
	if t := p.requests.Take(s.SpanContext()); t != nil {
		t.Show(record.SpanIDs{
			Trace: s.SpanContext().TraceID(), Self: record.ID(s.SpanContext().SpanID()),
			Parent: record.ID(s.Parent().SpanID()),
		}, describe(s))
	}
}

// ForceFlush has nothing to do.
func (p *Processor) ForceFlush(context.Context) error { return nil }

// Shutdown leaves the timeline. Further calls do nothing.
func (p *Processor) Shutdown(context.Context) error {
	if !p.stopped.Swap(true) {
		p.detach()
		if p.requests.users.Add(-1) == 0 {
			p.requests.TakeAll()
		}
	}
	return nil
}

// Stats returns the counts of the processor. MarksWithoutSpan and SpansOffTimeline cover all
// processors of the timeline.
func (p *Processor) Stats() Stats {
	s := p.joined.stats.read(p.timeline, p.joined.logs)
	s.SpansOffTimeline = p.requests.Evicted()
	return s
}
