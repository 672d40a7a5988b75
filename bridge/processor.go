package bridge

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
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

	// TracerProvider creates the spans of measures without a parent span. nil means the provider of
	// the first span that the processor receives. Until the first span, nil means the global
	// provider.
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

// A Processor connects a timeline to a provider that is not a [TracerProvider], until Shutdown. All
// methods may be called concurrently.
//
// Register the Processor with the SDK's provider. A Processor does not export spans, so also
// register a processor that exports spans. When a span of other instrumentation ends, the Processor
// adds the span to the timeline of the request. Marks and measures work without this registration.
type Processor struct {
	timeline   *record.Timeline
	attachment attachment
	detach     func()
	provider   atomic.Pointer[trace.TracerProvider]
	stopped    atomic.Bool
	traced     underway.Table[tracedSpan] // for the execution trace
	traces     atomic.Bool                // traced has had a span
}

// A requestTable contains the open spans of requests. All processors of a timeline share one table,
// so that a span with two processors becomes one entry.
type requestTable struct {
	underway.Table[openSpan]
	users atomic.Int32
}

// An openSpan is an open span and the timeline of the span's request.
type openSpan struct {
	timeline *record.Timeline
	span     trace.Span
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

// NewProcessor returns a processor that is attached to the timeline. A timeline may have several
// processors and TracerProviders. The last attached processor or TracerProvider creates the spans
// of measures without a parent span.
func NewProcessor(c ProcessorConfig) *Processor {
	p := &Processor{timeline: processTimeline((*record.Timeline)(c.Timeline))}
	p.attachment.tracer = p.tracer
	var groups otlpenc.Groups
	p.attachment.logs = newMarkLogs(p.timeline, c.Marks, c.Logs, c.LogLimits, c.Resource, &groups)
	if c.TracerProvider != nil {
		p.provider.Store(&c.TracerProvider)
	}
	p.attachment.requests, p.attachment.mirrored = requestsOf(p.timeline), &mirroredTable{}
	p.detach = p.attachment.attach(p.timeline)
	return p
}

func (p *Processor) tracer() trace.Tracer {
	if tp := p.provider.Load(); tp != nil {
		return scope.Tracer(*tp)
	}
	return scope.Tracer(otel.GetTracerProvider())
}

// OnStart stores the timeline of the request that contains the new span.
func (p *Processor) OnStart(parent context.Context, s sdktrace.ReadWriteSpan) {
	if p.provider.Load() == nil {
		tp := s.TracerProvider()
		p.provider.CompareAndSwap(nil, &tp)
	}
	if p.stopped.Load() {
		return
	}
	own, ok := s.(*recordedSpan)
	// a recordedSpan writes to the execution trace itself
	if !ok && tracelog.Enabled() {
		p.traceStart(s)
	}
	if !ok && p.timeline.Mirrored() {
		p.mirrorStart(s)
	}
	if s.InstrumentationScope().Name == scope.Name ||
		ok && own.tracer.provider.timeline == p.timeline { // the unit makes the entry
		return
	}
	if t := record.FromContext(parent); t.Parent() != nil && processTimeline(t) == p.timeline {
		p.attachment.requests.Put(s.SpanContext(), openSpan{t, s})
	}
}

// OnEnd adds a span of other instrumentation to the timeline of the request.
func (p *Processor) OnEnd(s sdktrace.ReadOnlySpan) {
	if p.stopped.Load() {
		return
	}
	if _, own := s.(endedSpan); !own && p.traces.Load() {
		p.traceEnd(s)
	}
	if p.timeline.Mirrored() {
		p.mirrorEnd(s)
	}
	if s.InstrumentationScope().Name == scope.Name {
		return
	}
	if t := p.attachment.requests.Take(s.SpanContext()).timeline; t != nil {
		sc := s.SpanContext()
		if u := t.Unit(); u != nil && s.SpanKind() == trace.SpanKindServer {
			u.FoundRoute(routeOf(s.Name(), s.Attributes()))
		}
		t.Show(record.SpanIDs{Trace: sc.TraceID(), Self: record.ID(sc.SpanID()),
			Parent: record.ID(s.Parent().SpanID())}, describe(s))
	}
}

// ForceFlush returns nil, because a Processor does not buffer.
func (p *Processor) ForceFlush(context.Context) error { return nil }

// Shutdown detaches the processor from the timeline. Further calls do nothing.
func (p *Processor) Shutdown(context.Context) error {
	if !p.stopped.Swap(true) {
		p.detach()
		if p.attachment.requests.users.Add(-1) == 0 {
			p.attachment.requests.TakeAll()
		}
		p.traced.TakeAll()
		p.attachment.mirrored.freeAll()
	}
	return nil
}

// Stats returns the counts of the processor. The fields MarksWithoutSpan and SpansOffTimeline count
// for all processors of the timeline.
func (p *Processor) Stats() Stats {
	s := p.attachment.stats.read(p.timeline, p.attachment.logs)
	s.SpansOffTimeline = p.attachment.requests.Evicted()
	return s
}

// routeOf returns the route of a server span of HTTP, or "". The route is the name's part after the
// method, such as "GET /items/{id}", or the attribute http.route. otelhttp sets the attribute
// before the handler, and the name once more after the handler.
func routeOf(name string, attrs []attribute.KeyValue) string {
	if _, target, ok := strings.Cut(name, " "); ok && strings.HasPrefix(target, "/") {
		return target
	}
	for _, kv := range attrs {
		if kv.Key == semconv.HTTPRouteKey {
			return kv.Value.AsString()
		}
	}
	return ""
}

// describe returns the timeline entry of an ended span.
func describe(s sdktrace.ReadOnlySpan) record.Description {
	d := record.Description{Type: typeOf(s.SpanKind()), Name: s.Name(), Start: s.StartTime(),
		End: s.EndTime()}
	all := s.Attributes()
	d.Attrs = make([]slog.Attr, 0, len(all)+3)
	if d.Type == record.Resource {
		d.Attrs = append(d.Attrs, slog.String(observer.InitiatorKey, initiator(all)))
	}
	d.Attrs = append(d.Attrs,
		slog.String("span_id", s.SpanContext().SpanID().String()),
		slog.String("scope", s.InstrumentationScope().Name))
	for _, kv := range all {
		d.Attrs = append(d.Attrs, slog.Attr{Key: string(kv.Key), Value: detailValue(kv.Value)})
	}
	return d
}

// typeOf returns the type of a span's entry. A call to a database or another service is a resource,
// any other span a measure.
func typeOf(k trace.SpanKind) record.Type {
	if k == trace.SpanKindClient || k == trace.SpanKindProducer {
		return record.Resource
	}
	return record.Measure
}

func detailValue(v attribute.Value) slog.Value {
	switch v.Type() {
	case attribute.BOOLSLICE, attribute.INT64SLICE, attribute.FLOAT64SLICE, attribute.STRINGSLICE,
		attribute.BYTESLICE:
		return slog.AnyValue(v.AsInterface())
	default: // JSON for a map and a list of mixed values
		return otlpenc.Detail(v)
	}
}

// initiator returns the initiatorType (Resource Timing) of a call. initiator reads attributes that
// the semantic conventions require.
func initiator(attrs []attribute.KeyValue) string {
	for _, kv := range attrs {
		switch key := string(kv.Key); {
		case key == "rpc.system.name", key == "rpc.system":
			return kv.Value.AsString()
		case key == "messaging.system":
			return "messaging"
		case key == "http.request.method", key == "http.method":
			return "fetch"
		case strings.HasPrefix(key, "db."): // db.system.name may be absent
			return "db"
		}
	}
	return "other"
}
