package bridge

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/bridge/internal/attributes"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/internal/text"
)

// ScopeName is the instrumentation scope of spans that this module makes.
const ScopeName = scope.Name

// A joined is what a TracerProvider or a Processor attaches to its timeline. It calls
// OpenTelemetry's API at once: AddEvent for a mark, Start and End for a measure. Spans of a
// TracerProvider need it only where their samplers or processors must see these calls.
type joined struct {
	tracer   func() trace.Tracer // for measures under no local span
	timeline *record.Timeline    // counts panics
	stats    counters
	logs     *markLogs // nil: marks do not become log records
	requests *requests // of a Processor
	last     atomic.Pointer[sdkTracer]
}

// An sdkTracer is the tracer of a provider of the SDK, which takes a while to find it.
type sdkTracer struct {
	trace.Tracer
	provider *sdktrace.TracerProvider
}

var _ record.Tracer = (*joined)(nil)

// attach makes j the tracer of a timeline.
func (j *joined) attach(t *record.Timeline) (detach func()) {
	learn()
	j.timeline = t
	return t.Attach(j)
}

// try calls f, which calls the methods of a span that another provider has made.
func (j *joined) try(f func()) bool {
	return j.timeline.Try("a span or a provider of another package", f)
}

// spanOf returns the active span of a context. It is one without a span context if there is none.
func spanOf(active any) trace.Span {
	if span, ok := active.(trace.Span); ok {
		return span
	}
	return noop.Span{}
}

// Under returns the destination of entries under a span of another provider.
func (j *joined) Under(active any) (to record.Destination) {
	switch reflect.TypeOf(active) { // asking a span of the SDK takes its lock
	case sdkTypes.recording:
		return record.ToSpan
	case sdkTypes.dropped:
		return record.ToObservers
	}
	j.try(func() { // else to the timeline
		span := spanOf(active)
		switch sc := span.SpanContext(); {
		case !sc.IsValid():
		case sc.IsSampled(), span.IsRecording():
			to = record.ToSpan
		default:
			to = record.ToObservers
		}
	})
	return to
}

// IDs returns the ids of a span. A span without Parent counts as its own.
func (j *joined) IDs(active any) (ids record.SpanIDs) {
	j.try(func() {
		sc := spanOf(active).SpanContext()
		if !sc.IsValid() {
			return
		}
		ids = record.SpanIDs{Trace: sc.TraceID(), Self: record.ID(sc.SpanID()),
			Parent: record.ID(sc.SpanID())}
		if s, ok := active.(interface{ Parent() trace.SpanContext }); ok {
			ids.Parent = record.ID(s.Parent().SpanID())
		}
	})
	return ids
}

// TakesLooseMarks reports whether marks under no span become log records.
func (j *joined) TakesLooseMarks() bool { return j.logs != nil }

// Mark adds an event to a span, or makes a log record.
func (j *joined) Mark(active any, name string, at time.Time, attrs []slog.Attr) {
	var sc trace.SpanContext
	event := false
	j.try(func() {
		span := spanOf(active)
		sc = span.SpanContext()
		event = span.IsRecording() && (!j.logs.replaces() || !sc.IsSampled()) &&
			addEvent(span, name, at, attrs)
	})
	if event {
		j.stats[markEvents].Add(1)
	}
	switch {
	case j.logs.wants(sc, event):
		j.logs.emit(sc, name, at, attrs)
		if !event {
			j.stats[markRecords].Add(1)
		}
	case event:
	case sc.IsRemote():
		j.stats[marksWithoutSpan].Add(1)
	default:
		j.stats[marksAfterEnd].Add(1)
	}
}

// addEvent adds an event to a span. It returns false if the span is known to have ended meanwhile.
func addEvent(span trace.Span, name string, at time.Time, attrs []slog.Attr) bool {
	name = text.Valid(name)
	if own, ok := span.(*recordedSpan); ok {
		return own.addEvent(
			sdktrace.Event{Name: name, Attributes: attributes.Convert(attrs), Time: at})
	}
	if len(attrs) == 0 { // an option less
		span.AddEvent(name, trace.WithTimestamp(at))
	} else {
		span.AddEvent(name, trace.WithTimestamp(at),
			trace.WithAttributes(attributes.Convert(attrs)...))
	}
	return true
}

// Measure makes a span. The measure is over, so that no sample is of the span.
func (j *joined) Measure(active any, m record.Measured) {
	j.try(func() {
		parent := spanOf(active)
		ctx := context.Background()
		if active != nil {
			ctx = trace.ContextWithSpan(ctx, parent)
		}
		if spanlabels.Enabled() {
			ctx = spanlabels.Without(ctx)
		}
		start, end := ordered(m.Start, m.Duration)
		_, span := j.tracerUnder(parent).Start(ctx, text.Valid(m.Name), trace.WithTimestamp(start),
			trace.WithAttributes(attributes.Convert(m.Attrs)...))
		if own, ok := span.(*recordedSpan); ok {
			own.measure = true
		} else if span.IsRecording() {
			j.stats[measureSpans].Add(1)
		}
		if m.Failure != nil {
			fail(span, *m.Failure)
		}
		span.End(trace.WithTimestamp(end))
	})
}

// Start starts the span of a measure.
func (j *joined) Start(ctx context.Context, to record.Destination, name string,
	start time.Time) (context.Context, record.Opened) {
	parent := trace.SpanFromContext(ctx)
	if p, ok := parent.(*recordedSpan); ok && to == record.ToUnit {
		return p.startMeasure(ctx, name, start)
	}
	o := &openedSpan{joined: j}
	started := ctx
	ok := j.try(func() {
		started, o.span, _ = spanlabels.Start(ctx, j.tracerUnder(parent), text.Valid(name), trace.WithTimestamp(start)) //nolint:fatcontext // once
		o.recorded = o.span.IsRecording()
	})
	if !ok {
		return ctx, nil
	}
	if own, ok := o.span.(*recordedSpan); ok {
		o.own, own.measure = true, true // its hand-over counts it
	}
	return started, o
}

// tracerUnder returns the tracer of spans under parent: of the provider that made it if it is a
// local span.
func (j *joined) tracerUnder(parent trace.Span) trace.Tracer {
	if s, ok := parent.(*recordedSpan); ok {
		return s.tracer.provider.marks
	}
	sc := parent.SpanContext()
	if !sc.IsValid() || sc.IsRemote() {
		return j.tracer()
	}
	p := parent.TracerProvider()
	sdk, ok := p.(*sdktrace.TracerProvider)
	if !ok {
		return scope.Tracer(p)
	}
	if last := j.last.Load(); last != nil && last.provider == sdk {
		return last.Tracer
	}
	t := scope.Tracer(p)
	j.last.Store(&sdkTracer{t, sdk})
	return t
}

// ordered returns the times of a span. A measure may run backwards, a span may not.
func ordered(start time.Time, duration time.Duration) (from, to time.Time) {
	end := start.Add(duration)
	if duration < 0 {
		return end, start
	}
	return start, end
}

// fail gives a span the status and the event of a failure.
func fail(span trace.Span, f record.Failure) {
	message := text.Valid(f.Message)
	span.SetStatus(codes.Error, message)
	span.AddEvent(semconv.ExceptionEventName, trace.WithTimestamp(f.At),
		trace.WithAttributes(semconv.ExceptionType(f.Type), semconv.ExceptionMessage(message)))
}

// An openedSpan is the span of a measure that has begun.
type openedSpan struct {
	span     trace.Span
	joined   *joined
	recorded bool
	own      bool // a TracerProvider's
}

func (o *openedSpan) IDs() record.SpanIDs {
	if !o.recorded { // it may be the parent itself
		return record.SpanIDs{}
	}
	return o.joined.IDs(o.span)
}

func (o *openedSpan) Fail(f record.Failure) { o.joined.try(func() { fail(o.span, f) }) }

func (o *openedSpan) End(at time.Time, attrs []slog.Attr) record.Span {
	o.joined.try(func() { o.span.SetAttributes(attributes.Convert(attrs)...) })
	o.joined.try(func() { o.span.End(trace.WithTimestamp(at)) })
	if o.recorded && !o.own {
		o.joined.stats[measureSpans].Add(1)
	}
	return nil
}

// sdkTypes are the types of the SDK's recorded spans and of its dropped spans. Both are nil if they
// are the same.
var sdkTypes struct{ recording, dropped reflect.Type }

// spanKey is OpenTelemetry's key of the active span in a context.
var spanKey any

// learn finds out the key, by being a context that is asked for it, and the types.
var learn = sync.OnceFunc(func() {
	probe := &keyProbe{Context: context.Background()}
	trace.SpanFromContext(probe)
	spanKey = probe.key
	record.SetSpanKey(spanKey)
	kind := func(s sdktrace.Sampler) reflect.Type {
		_, span := sdktrace.NewTracerProvider(sdktrace.WithSampler(s)).Tracer("").Start(
			context.Background(), "")
		defer span.End()
		return reflect.TypeOf(span)
	}
	recording, dropped := kind(sdktrace.AlwaysSample()), kind(sdktrace.NeverSample())
	if recording != dropped {
		sdkTypes.recording, sdkTypes.dropped = recording, dropped
	}
})

type keyProbe struct {
	context.Context //nolint:containedctx // it is a context, wrapping its parent
	key             any
}

func (p *keyProbe) Value(key any) any {
	p.key = key
	return nil
}
