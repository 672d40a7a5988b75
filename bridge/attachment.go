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
	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/internal/text"
)

// An attachment attaches a TracerProvider or a Processor to its timeline. For each mark and
// measure, the attachment calls OpenTelemetry's API at once: AddEvent for a mark, Start and End for
// a measure. Spans of a TracerProvider use the attachment only where a sampler or a processor must
// see these calls.
type attachment struct {
	tracer   func() trace.Tracer // makes measures under no local span
	timeline *record.Timeline    // counts panics
	stats    counters
	logs     *markLogs      // nil without log records
	requests *requestTable  // nil unless a Processor attached
	mirrored *mirroredTable // likewise
	last     atomic.Pointer[sdkTracer]
}

// An sdkTracer caches a tracer of an SDK provider, which takes a lock to find the tracer.
type sdkTracer struct {
	trace.Tracer
	provider *sdktrace.TracerProvider
}

var _ record.Tracer = (*attachment)(nil)

// attach makes a the tracer of a timeline, and returns a function that detaches a.
func (a *attachment) attach(t *record.Timeline) (detach func()) {
	probeSDK()
	a.timeline = t
	return t.Attach(a)
}

// try runs f, which calls a span or a provider of the program. try returns false if f panics.
func (a *attachment) try(f func()) bool {
	return a.timeline.Try("a span or a provider of another package", f)
}

// spanOf returns the active span of a context, or a no-op span.
func spanOf(active any) trace.Span {
	if span, ok := active.(trace.Span); ok {
		return span
	}
	return noop.Span{}
}

// Under implements [record.Tracer]. Entries under a span of another provider belong to the
// innermost span of perfline's provider above. If the SDK makes the request's spans, entries under
// a no-op span belong to the open span with the same id, or to the server span.
func (a *attachment) Under(ctx context.Context, active any) (above any, to record.Destination) {
	if a.requests != nil { // the SDK makes the spans; a call of an SDK span would take its lock
		switch reflect.TypeOf(active) {
		case sdkTypes.recording:
			return nil, record.ToSpan
		case sdkTypes.dropped:
			return nil, record.ToObservers
		}
	}
	a.try(func() {
		span := spanOf(active)
		if own, _ := spanAbove(ctx, span); own != nil {
			above = own
			return
		}
		sc := span.SpanContext()
		if sc.IsValid() && !sc.IsRemote() && !span.IsRecording() {
			if open := a.openSpan(ctx, sc); open != nil {
				above, to = open, record.ToSpan
				return
			}
		}
		switch {
		case !sc.IsValid():
		case sc.IsSampled(), span.IsRecording():
			to = record.ToSpan
		default:
			to = record.ToObservers
		}
	})
	return above, to
}

// openSpan returns the recording span with the ids of sc, or the recording server span of the
// request in ctx, or nil.
func (a *attachment) openSpan(ctx context.Context, sc trace.SpanContext) trace.Span {
	if a.requests != nil {
		if open := a.requests.Get(sc).span; open != nil && open.IsRecording() {
			return open
		}
	}
	if server := serving.ServerSpan(ctx); server != nil && server.IsRecording() {
		return server
	}
	return nil
}

// IDs returns the ids of a span. If the span has no method Parent, the parent id is the span's id.
func (a *attachment) IDs(active any) (ids record.SpanIDs) {
	a.try(func() {
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

// TakesLooseMarks reports whether marks without a span become log records.
func (a *attachment) TakesLooseMarks() bool { return a.logs != nil }

func (a *attachment) Mark(active any, name string, at time.Time, attrs []slog.Attr) {
	var sc trace.SpanContext
	event := false
	a.try(func() {
		span := spanOf(active)
		sc = span.SpanContext()
		event = span.IsRecording() && (!a.logs.replacesEvents() || !sc.IsSampled()) &&
			addEvent(span, name, at, attrs)
	})
	if event {
		a.stats[markEvents].Add(1)
		if a.mirrored != nil && a.timeline.Mirrored() {
			a.mirrorMark(sc, name, at, attrs)
		}
	}
	switch {
	case a.logs.makesRecord(sc, event):
		a.logs.emit(sc, name, at, attrs)
		if !event {
			a.stats[markRecords].Add(1)
		}
	case event:
	case sc.IsRemote():
		a.stats[marksWithoutSpan].Add(1)
	case reflect.TypeOf(active) != sdkTypes.recording && !isOwn(active):
		a.stats[marksUnderNoOp].Add(1)
	default:
		a.stats[marksAfterEnd].Add(1)
	}
}

// isOwn reports whether a span is of a TracerProvider.
func isOwn(span any) bool {
	switch span.(type) {
	case *recordedSpan, *droppedSpan:
		return true
	}
	return false
}

// addEvent adds an event to a span. addEvent returns false if the span has certainly ended.
func addEvent(span trace.Span, name string, at time.Time, attrs []slog.Attr) bool {
	name = text.Valid(name)
	if own, ok := span.(*recordedSpan); ok {
		return own.addEvent(
			sdktrace.Event{Name: name, Attributes: attributes.Convert(attrs), Time: at})
	}
	if len(attrs) == 0 { // saves an option's allocation
		span.AddEvent(name, trace.WithTimestamp(at))
	} else {
		span.AddEvent(name, trace.WithTimestamp(at),
			trace.WithAttributes(attributes.Convert(attrs)...))
	}
	return true
}

// Measure creates a span from a finished measure. The span has no profiler label, because the
// measure has ended.
func (a *attachment) Measure(active any, m record.Measured) {
	a.try(func() {
		parent := spanOf(active)
		ctx := context.Background()
		if active != nil {
			ctx = trace.ContextWithSpan(ctx, parent)
		}
		if spanlabels.Enabled() {
			ctx = spanlabels.Without(ctx)
		}
		start, end := spanTimes(m.Start, m.Duration)
		_, span := a.tracerUnder(parent).Start(ctx, text.Valid(m.Name), trace.WithTimestamp(start),
			trace.WithAttributes(attributes.Convert(m.Attrs)...))
		if own, ok := span.(*recordedSpan); ok {
			own.measure = true
		} else if span.IsRecording() {
			a.stats[measureSpans].Add(1)
		}
		if m.Failure != nil {
			setFailure(span, *m.Failure)
		}
		span.End(trace.WithTimestamp(end))
	})
}

func (a *attachment) Start(ctx context.Context, to record.Destination, name string,
	start time.Time) (context.Context, record.Opened) {
	parent := trace.SpanFromContext(ctx)
	if !isOwn(parent) {
		if above, _ := a.Under(ctx, parent); above != nil {
			parent = spanOf(above)
			ctx = trace.ContextWithSpan(ctx, parent)
		}
	}
	if p, ok := parent.(*recordedSpan); ok && to == record.ToUnit {
		return p.startMeasure(ctx, name, start)
	}
	o := &openedSpan{attachment: a}
	started, name, at := ctx, text.Valid(name), trace.WithTimestamp(start)
	ok := a.try(func() {
		started, o.span, _ = spanlabels.Start(ctx, a.tracerUnder(parent), name, at) //nolint:fatcontext // once
		o.recording = o.span.IsRecording()
	})
	if !ok {
		return ctx, nil
	}
	if s, ok := o.span.(*recordedSpan); ok {
		o.counted, s.measure = true, true
	}
	return started, o
}

// tracerUnder returns the tracer of spans under parent. A local parent's provider makes the tracer.
func (a *attachment) tracerUnder(parent trace.Span) trace.Tracer {
	if s, ok := parent.(*recordedSpan); ok {
		return s.tracer.provider.marks
	}
	sc := parent.SpanContext()
	if !sc.IsValid() || sc.IsRemote() {
		return a.tracer()
	}
	p := parent.TracerProvider()
	switch reflect.TypeOf(p) {
	case noOpTypes.ofPackage, noOpTypes.ofContext: // the span makes no children
		return a.tracer()
	}
	sdk, ok := p.(*sdktrace.TracerProvider)
	if !ok {
		return scope.Tracer(p)
	}
	cached := a.last.Load()
	if cached == nil || cached.provider != sdk {
		cached = &sdkTracer{scope.Tracer(p), sdk}
		a.last.Store(cached)
	}
	return cached.Tracer
}

// spanTimes returns the times of a measure's span. A measure may have a negative duration, a span
// must not.
func spanTimes(start time.Time, duration time.Duration) (from, to time.Time) {
	end := start.Add(duration)
	if duration < 0 {
		return end, start
	}
	return start, end
}

// setFailure sets the status Error on a span and adds an event "exception".
func setFailure(span trace.Span, f record.Failure) {
	message := text.Valid(f.Message)
	span.SetStatus(codes.Error, message)
	span.AddEvent(semconv.ExceptionEventName, trace.WithTimestamp(f.At),
		trace.WithAttributes(semconv.ExceptionType(f.Type), semconv.ExceptionMessage(message)))
}

// An openedSpan is the span of a started measure.
type openedSpan struct {
	span       trace.Span
	attachment *attachment
	recording  bool
	counted    bool // the hand-over of a TracerProvider counts the span
}

func (o *openedSpan) IDs() record.SpanIDs {
	if !o.recording { // the span may be the parent itself
		return record.SpanIDs{}
	}
	return o.attachment.IDs(o.span)
}

func (o *openedSpan) Fail(f record.Failure) { o.attachment.try(func() { setFailure(o.span, f) }) }

func (o *openedSpan) End(at time.Time, attrs []slog.Attr) record.Span {
	o.attachment.try(func() { o.span.SetAttributes(attributes.Convert(attrs)...) })
	o.attachment.try(func() { o.span.End(trace.WithTimestamp(at)) })
	if o.recording && !o.counted {
		o.attachment.stats[measureSpans].Add(1)
	}
	return nil
}

// The types of the SDK's recording spans and of its dropped spans. Both are nil if the SDK has one
// type for both.
var sdkTypes struct{ recording, dropped reflect.Type }

// The types of OpenTelemetry's no-op providers: of package noop, and of a span that is only known
// by its context.
var noOpTypes = struct{ ofPackage, ofContext reflect.Type }{
	reflect.TypeFor[noop.TracerProvider](),
	reflect.TypeOf(trace.SpanFromContext(trace.ContextWithSpanContext(context.Background(),
		trace.SpanContext{})).TracerProvider()),
}

// The key that OpenTelemetry's API uses for the active span in a context.
var spanKey any

// probeSDK sets spanKey and sdkTypes. A probe context receives the key from the API.
var probeSDK = sync.OnceFunc(func() {
	probe := &keyProbe{Context: context.Background()}
	trace.SpanFromContext(probe)
	spanKey = probe.key
	record.SetSpanKey(spanKey)
	spanType := func(s sdktrace.Sampler) reflect.Type {
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSampler(s)).Tracer("")
		_, span := tracer.Start(context.Background(), "")
		defer span.End()
		return reflect.TypeOf(span)
	}
	recording, dropped := spanType(sdktrace.AlwaysSample()), spanType(sdktrace.NeverSample())
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
