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
	// span that the processor receives, and before that span the global provider.
	TracerProvider trace.TracerProvider

	// Marks is the form of marks. Without Logs, marks are span events.
	Marks MarkForm

	// Logs, when set, receives marks as log records. The program must flush Logs and shut Logs
	// down.
	Logs LogOutput

	// LogLimits are the limits of the log records. nil means OTEL_LOGRECORD_* and OTEL_ATTRIBUTE_*.
	LogLimits *LogLimits

	// Resource is the resource of the log records. nil means resource.Default().
	Resource *resource.Resource
}

// A Processor joins a timeline with a provider that is not a [TracerProvider], from NewProcessor
// until Shutdown. All methods may be called concurrently.
//
// Register the Processor with the SDK's provider, beside the processor that exports: the Processor
// does not export spans. Spans of other instrumentation then become entries of their request's
// timeline when the spans end. Marks and measures need no registration.
type Processor struct {
	timeline   *record.Timeline
	attachment attachment
	detach     func()
	provider   atomic.Pointer[trace.TracerProvider]
	requests   *requestTable
	stopped    atomic.Bool
}

// A requestTable maps each open span to the timeline of its request. All processors of a timeline
// share one table, so that a span with two processors becomes one entry.
type requestTable struct {
	underway.Table[record.Timeline]
	users atomic.Int32
}

// requestsOf returns the table of the processors that are attached to t, or a new table.
func requestsOf(t *record.Timeline) *requestTable {
	for _, tracer := range t.Tracers() {
		if a, ok := tracer.(*attachment); ok && a.requests != nil && a.requests.users.Add(1) > 1 {
			return a.requests
		}
	}
	r := &requestTable{}
	r.users.Add(1)
	return r
}

var _ sdktrace.SpanProcessor = (*Processor)(nil)

// NewProcessor returns a processor and attaches the processor to the timeline. If several
// processors or TracerProviders are attached to a timeline, the last one makes the spans of
// measures under no span.
func NewProcessor(c ProcessorConfig) *Processor {
	p := &Processor{timeline: processTimeline((*record.Timeline)(c.Timeline))}
	p.attachment.tracer = p.tracer
	var groups otlpenc.Groups
	p.attachment.logs = newMarkLogs(p.timeline, c.Marks, c.Logs, c.LogLimits, c.Resource, &groups)
	if c.TracerProvider != nil {
		p.provider.Store(&c.TracerProvider)
	}
	p.requests = requestsOf(p.timeline)
	p.attachment.requests = p.requests
	p.detach = p.attachment.attach(p.timeline)
	return p
}

func (p *Processor) tracer() trace.Tracer {
	if tp := p.provider.Load(); tp != nil {
		return scope.Tracer(*tp)
	}
	return scope.Tracer(otel.GetTracerProvider())
}

// OnStart stores the timeline of the request under which the span starts.
func (p *Processor) OnStart(parent context.Context, s sdktrace.ReadWriteSpan) {
	if p.provider.Load() == nil {
		tp := s.TracerProvider()
		p.provider.CompareAndSwap(nil, &tp)
	}
	if p.stopped.Load() {
		return
	}
	own, ok := s.(*recordedSpan)
	// the SDK has made the task of the span; perfline's spans write to the execution trace themselves
	if !ok && tracelog.Enabled() {
		if above := s.Parent(); above.IsValid() && !above.IsRemote() {
			tracelog.Start(parent, s.SpanContext().SpanID(), s.Name())
		} else {
			tracelog.Root(parent, s.SpanContext(), s.Name())
		}
	}
	if s.InstrumentationScope().Name == ScopeName ||
		ok && own.tracer.provider.timeline == p.timeline { // the unit makes the entry
		return
	}
	if t := record.FromContext(parent); t.Parent() != nil && processTimeline(t) == p.timeline {
		p.requests.Put(s.SpanContext(), t)
	}
}

// OnEnd makes an entry from a span of other instrumentation.
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
		sc := s.SpanContext()
		t.Show(record.SpanIDs{Trace: sc.TraceID(), Self: record.ID(sc.SpanID()),
			Parent: record.ID(s.Parent().SpanID())}, describe(s))
	}
}

// ForceFlush returns nil: a Processor does not buffer.
func (p *Processor) ForceFlush(context.Context) error { return nil }

// Shutdown detaches the processor from the timeline. Further calls do nothing.
func (p *Processor) Shutdown(context.Context) error {
	if !p.stopped.Swap(true) {
		p.detach()
		if p.requests.users.Add(-1) == 0 {
			p.requests.TakeAll()
		}
	}
	return nil
}

// Stats returns the counts of the processor. MarksWithoutSpan and SpansOffTimeline are the counts
// of all processors of the timeline.
func (p *Processor) Stats() Stats {
	s := p.attachment.stats.read(p.timeline, p.attachment.logs)
	s.SpansOffTimeline = p.requests.Forgotten()
	return s
}
