// Package serving starts the span and the timeline of a request that a server serves.
package serving

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/record/mirror"
	"github.com/perfline/perfline/internal/spanlabels"
)

// spanAbove returns the span in ctx if the span is local and may be the request's server span: an
// open server span, or a span of unknown kind, such as a span that the SDK's sampler dropped.
func spanAbove(ctx context.Context) (_ trace.Span, ok bool) {
	span := trace.SpanFromContext(ctx)
	if sc := span.SpanContext(); !sc.IsValid() || sc.IsRemote() {
		return nil, false
	}
	switch s := span.(type) {
	case sdktrace.ReadOnlySpan:
		return span, s.SpanKind() == trace.SpanKindServer && s.EndTime().IsZero()
	case droppedSpan:
		return span, s.SpanKind() == trace.SpanKindServer && !s.Ended()
	default:
		return span, true
	}
}

// A droppedSpan is a span that the sampler of a bridge.TracerProvider dropped.
type droppedSpan interface {
	SpanKind() trace.SpanKind
	Ended() bool
}

// Served reports whether bridgehttp or bridgegrpc already serves the request of ctx.
func Served(ctx context.Context) bool {
	_, served := record.FromContext(ctx).Timing(record.RequestStart)
	return served
}

// Timeline returns the timeline of a request that starts under span, and a context with the
// timeline. A span of perfline's provider contains a timeline. For other spans, Timeline creates a
// child of parent and returns true for closes. The caller must then close the child.
func Timeline(ctx context.Context, span trace.Span, parent *record.Timeline) (_ context.Context,
	t *record.Timeline, closes bool) {
	if s, ok := span.(record.Active); ok {
		t = &s.Unit().Timeline
	} else {
		t, closes = &parent.NewUnit(Start(span), nil).Timeline, true
		ctx = &requestContext{ctx, t, span}
		if parent.Mirrored() {
			for _, tracer := range parent.Tracers() {
				tracer.Serves(span, t.Unit())
			}
		}
	}
	_ = t.SetTiming(record.RequestStart, 0) // a request's timeline takes it
	return ctx, t, closes
}

// Mirror writes a request to the black box, unless the request's span did: the span of another
// provider that is not recorded. path may be empty.
func Mirror(u *record.Unit, span trace.Span, name, path string) {
	if u.LockMirror() != nil {
		u.UnlockMirror()
		return
	}
	h := mirror.Head{Kind: uint8(trace.SpanKindServer), Name: name,
		Start: u.MirrorTime(Start(span))}
	u.Try(OfSpan, func() {
		sc := span.SpanContext()
		h.Trace, h.Span = mirror.TraceID(sc.TraceID()), mirror.SpanID(sc.SpanID())
	})
	if slot := u.BeginMirror(); slot != nil {
		if path != "" {
			slot.Attributes().Text(string(semconv.URLPathKey), path)
		}
		slot.Begin(&h)
		u.UnlockMirror()
	}
}

// A requestContext is the context of a request with a span of another provider.
type requestContext struct {
	context.Context //nolint:containedctx // it is a context, wrapping its parent
	timeline        *record.Timeline
	span            trace.Span
}

type requestKey struct{}

func (c *requestContext) Value(key any) any {
	switch key.(type) {
	case record.ContextKey:
		return c.timeline
	case requestKey:
		return c
	}
	return c.Context.Value(key)
}

// ServerSpan returns the server span of the request in ctx, or nil. ServerSpan returns nil for a
// span of perfline's provider, and if ctx left the request.
func ServerSpan(ctx context.Context) trace.Span {
	c, ok := ctx.Value(requestKey{}).(*requestContext)
	if !ok || record.ContextTimeline(ctx) != c.timeline {
		return nil
	}
	return c.span
}

// MarkChosen sets the attribute [local.KeepReasonKey] on span if the program called marks.Keep in
// the request of t. A span of perfline's provider needs no attribute.
func MarkChosen(span trace.Span, t *record.Timeline) {
	if _, own := span.(record.Active); own {
		return
	}
	if u := t.Unit(); u != nil && u.Chosen.Load() {
		span.SetAttributes(attribute.String(local.KeepReasonKey, local.KeptForProgram.String()))
	}
}

// Start returns the start time of span. If span does not implement StartTime, Start returns the
// current time.
func Start(span trace.Span) time.Time {
	if s, ok := span.(sdktrace.ReadOnlySpan); ok {
		return s.StartTime()
	}
	return time.Now()
}

// The names of the program's code in the reports of panics. A panic of the program's code is
// counted on the timeline, and the request continues without the code's result.
const (
	OfPropagators = "a propagator"
	OfSpan        = "a tracer, or a span of another package"
	OfMeter       = "a meter provider"
)

// Asked calls f with r and returns the result. If f is nil or panics, Asked returns usual.
func Asked[R, A any](tl *record.Timeline, what string, f func(R) A, r R, usual A) A {
	if f != nil {
		tl.Try(what, func() { usual = f(r) })
	}
	return usual
}

// SpanAbove returns the span in ctx if other instrumentation started that span for the request.
func SpanAbove(ctx context.Context, tl *record.Timeline) (span trace.Span, ok bool) {
	tl.Try(OfSpan, func() { span, ok = spanAbove(ctx) })
	return span, ok
}

// StartSpan starts the server span of a request as a child of the span in ctx. If public is true,
// the span starts a new trace, with a link to the caller's span.
func StartSpan(ctx context.Context, tl *record.Timeline, t trace.Tracer, name string, r Request,
	public bool) (started context.Context, span trace.Span) {
	started, span = ctx, noop.Span{}
	tl.Try(OfSpan, func() { started, span = startSpan(ctx, t, name, r, public) }) //nolint:fatcontext // once
	return started, span
}

// Instrument returns t, and reports err to OpenTelemetry's error handler. If err is not nil, the
// instrument records nothing.
func Instrument[T any](t T, err error) T {
	if err != nil {
		otel.Handle(err)
	}
	return t
}

// A Request provides the facts of a request and of the answer. The methods must not retain f.
type Request interface {
	// Tell sets the facts of the request in f. The provider calls Tell while the span starts.
	Tell(f *Facts)
	// TellAnswer sets the facts of the answer in f. [Answer] calls TellAnswer.
	TellAnswer(f *Facts)
}

// Facts contains the raw data for the attributes of a request and the answer. The encoder creates
// the attributes only when the encoder encodes the span, because many spans are never encoded. The
// span stores Facts. Facts must not reference memory of the request.
type Facts struct {
	Form      Form // interprets the other fields
	Texts     [8]string
	Numbers   [3]int64
	Addresses [2]netip.AddrPort
	Kind      any // a pointer: the kind of the answer
}

// A Form converts facts to attributes. A Form writes at most [MaxAttributes], with distinct keys
// and valid UTF-8. All methods may be called concurrently.
type Form interface {
	// Request writes the attributes of the request. All calls for f write the same attributes.
	Request(f *Facts, to AttributeSink)
	// Path returns the path of the request, or "".
	Path(f *Facts) string
	// Answer writes the attributes of the answer. Answer runs only after [RequestSpan].Answer.
	Answer(f *Facts, to AttributeSink)
}

// Size returns the number of bytes in f.Texts.
func (f *Facts) Size() (n int) {
	for _, text := range &f.Texts {
		n += len(text)
	}
	return n
}

// An AttributeSink encodes attributes, or collects attributes in a list.
type AttributeSink interface {
	Text(key attribute.Key, value string)
	Int(key attribute.Key, value int64)
	KeyValues(attrs []attribute.KeyValue)
}

// Text writes an attribute. Text ignores an empty value, which means unknown.
func Text(to AttributeSink, key attribute.Key, value string) {
	if value != "" {
		to.Text(key, value)
	}
}

// Int writes an attribute. Int ignores values of 0 and less, which mean unknown.
func Int(to AttributeSink, key attribute.Key, value int64) {
	if value > 0 {
		to.Int(key, value)
	}
}

// MaxAttributes is the largest number of attributes of a request and its answer together.
const MaxAttributes = 16

// A RequestSpan is a span of perfline's provider.
type RequestSpan interface {
	// Takes reports whether the span records attributes. Takes returns true for a span that waits
	// for a decision of a keep policy, although IsRecording returns false.
	Takes() bool

	// Answer adds the attributes of the answer. r must be complete.
	Answer(r Request)

	// ExportedUnsampled reports whether an ended span is exported although the sampler dropped the
	// span.
	ExportedUnsampled() bool
}

// MetricsContext returns the context for the metrics of a request after the end of span. If span is
// exported although the sampler dropped span, the context marks span as sampled. Exemplars then
// refer to span.
func MetricsContext(ctx context.Context, span trace.Span) context.Context {
	if s, ok := span.(RequestSpan); ok && s.ExportedUnsampled() {
		sc := span.SpanContext()
		return trace.ContextWithSpanContext(ctx,
			sc.WithTraceFlags(sc.TraceFlags().WithSampled(true)))
	}
	return ctx
}

// Answer adds the attributes of the answer to a span of any provider.
func Answer(span trace.Span, r Request) {
	if s, ok := span.(RequestSpan); ok {
		s.Answer(r)
		return
	}
	list := NewAttributeList()
	defer list.Free()
	r.TellAnswer(&list.Facts)
	list.Facts.Form.Answer(&list.Facts, list)
	span.SetAttributes(list.Attributes...)
}

// Takes reports whether a span of any provider records attributes.
func Takes(span trace.Span) bool {
	if s, ok := span.(RequestSpan); ok {
		return s.Takes()
	}
	return span.IsRecording()
}

// A Tracer is a tracer of perfline's provider. A Tracer calls the methods of a request only if the
// span or the sampler needs attributes.
type Tracer interface {
	StartServer(ctx context.Context, name string, r Request, newRoot bool,
		links []trace.Link) (context.Context, trace.Span)
}

// An AttributeList collects attributes, and stores the facts of the attributes.
type AttributeList struct {
	Attributes []attribute.KeyValue
	Facts      Facts
}

var _ AttributeSink = (*AttributeList)(nil)

var lists = sync.Pool{New: func() any {
	return &AttributeList{Attributes: make([]attribute.KeyValue, 0, MaxAttributes)}
}}

// NewAttributeList returns an empty list from a pool. The caller must call Free.
func NewAttributeList() *AttributeList { return lists.Get().(*AttributeList) }

// Free releases the list to the pool. Call Free after OpenTelemetry's API has copied the
// attributes.
func (l *AttributeList) Free() {
	l.Attributes, l.Facts = l.Attributes[:0], Facts{}
	lists.Put(l)
}

// Text implements [AttributeSink].
func (l *AttributeList) Text(key attribute.Key, value string) {
	l.Attributes = append(l.Attributes, key.String(value))
}

// Int implements [AttributeSink].
func (l *AttributeList) Int(key attribute.Key, value int64) {
	l.Attributes = append(l.Attributes, key.Int64(value))
}

// KeyValues implements [AttributeSink].
func (l *AttributeList) KeyValues(attrs []attribute.KeyValue) {
	l.Attributes = append(l.Attributes, attrs...)
}

func startSpan(ctx context.Context, t trace.Tracer, name string, r Request,
	public bool) (context.Context, trace.Span) {
	var links []trace.Link
	if public && trace.SpanContextFromContext(ctx).IsValid() {
		links = []trace.Link{trace.LinkFromContext(ctx)}
	}
	if t, ok := t.(Tracer); ok {
		return t.StartServer(ctx, name, r, public, links)
	}
	list := NewAttributeList()
	defer list.Free()
	r.Tell(&list.Facts)
	list.Facts.Form.Request(&list.Facts, list)
	options := append(make([]trace.SpanStartOption, 0, 4), serverKind,
		trace.WithAttributes(list.Attributes...))
	if public {
		options = append(options, trace.WithNewRoot(), trace.WithLinks(links...))
	}
	ctx, span, _ := spanlabels.Start(ctx, t, name, options...)
	return ctx, span
}

var serverKind = trace.WithSpanKind(trace.SpanKindServer)
