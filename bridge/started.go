package bridge

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/spanlabels"
)

// A startedSpan is the span of a measure begun with marks.Start. Its id is
// reserved when it begins, so that other libraries' spans can be its children;
// the rest is put together after its end, off the request's path.
//
// To other libraries it is the span active in ctx. What they set on it through
// OpenTelemetry's API is kept; End is left to whoever started the measure.
type startedSpan struct {
	embedded.Span

	sc       trace.SpanContext
	parent   trace.SpanContext
	anchor   sdktrace.ReadOnlySpan // the nearest span above that the SDK made
	to       []*Processor
	provider trace.TracerProvider
	label    *spanlabels.Span // of the goroutine that began it, nil without one
	over     atomic.Bool      // it was handed over

	mu sync.Mutex // guards what follows: other libraries' additions
	// added is nil until another library adds something, which few do.
	added *additions
}

type additions struct {
	name   string
	attrs  []attribute.KeyValue
	events []sdktrace.Event
	links  []sdktrace.Link
	status sdktrace.Status
}

var _ trace.Span = (*startedSpan)(nil)

// ending is a startedSpan in the scope of the measure that ends it, where a
// *startedSpan is the scope of entries under it.
type ending startedSpan

var _ observer.Opened = (*ending)(nil)

// Ended implements [observer.Opened].
func (e *ending) Ended() {
	if e.label != nil {
		e.label.End((*startedSpan)(e).renamed())
	}
}

// Spans tells the measure's span and the one above it, for who joins entries by spans.
func (e *ending) Spans() (self, parent trace.SpanContext) { return e.sc, e.parent }

// node is a context and the span it carries, with its label, in one allocation.
type node struct {
	context.Context     //nolint:containedctx // it is a context, wrapping its parent
	key             any // OpenTelemetry's key for the active span
	span            startedSpan
}

func (n *node) Value(key any) any {
	if key == n.key {
		return &n.span
	}
	return n.span.label.Value(n.Context, key)
}

func (s *startedSpan) SpanContext() trace.SpanContext       { return s.sc }
func (s *startedSpan) IsRecording() bool                    { return !s.over.Load() }
func (s *startedSpan) TracerProvider() trace.TracerProvider { return s.provider }

// End does nothing: the measure's End ends the span.
func (s *startedSpan) End(...trace.SpanEndOption) {}

func (s *startedSpan) add(f func(*additions)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.added == nil {
		s.added = &additions{}
	}
	f(s.added)
}

// renamed is the name that another library gave it, "" for none.
func (s *startedSpan) renamed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.added == nil {
		return ""
	}
	return s.added.name
}

func (s *startedSpan) SetName(name string) { s.add(func(a *additions) { a.name = name }) }

func (s *startedSpan) SetAttributes(kvs ...attribute.KeyValue) {
	s.add(func(a *additions) {
		for _, kv := range kvs {
			if kv.Valid() {
				a.attrs = append(a.attrs, kv)
			}
		}
	})
}

func (s *startedSpan) SetStatus(code codes.Code, description string) {
	s.add(func(a *additions) {
		if a.status.Code > code { // Ok wins over Error, Error over Unset
			return
		}
		a.status = sdktrace.Status{Code: code}
		if code == codes.Error {
			a.status.Description = description
		}
	})
}

func (s *startedSpan) AddEvent(name string, o ...trace.EventOption) {
	c := trace.NewEventConfig(o...)
	s.add(func(a *additions) {
		a.events = append(a.events, sdktrace.Event{Name: name, Attributes: c.Attributes(), Time: c.Timestamp()})
	})
}

func (s *startedSpan) AddLink(l trace.Link) {
	s.add(func(a *additions) {
		a.links = append(a.links, sdktrace.Link{SpanContext: l.SpanContext, Attributes: l.Attributes})
	})
}

// RecordError adds the event that the semantic conventions define for exceptions.
func (s *startedSpan) RecordError(err error, o ...trace.EventOption) {
	if err == nil {
		return
	}
	s.AddEvent("exception", append(o, trace.WithAttributes(
		attribute.String("exception.type", typeName(err)),
		attribute.String("exception.message", text.Valid(err.Error())),
	))...)
}

// Start implements [observer.Bridge].
func (h *hub) Start(ctx context.Context, name string, start time.Time) (context.Context, any) {
	parent := trace.SpanFromContext(ctx)
	sc := parent.SpanContext()
	if anchor, to := h.owners(parent); len(to) > 0 && sc.IsSampled() {
		n := &node{Context: ctx, key: h.spans.key}
		n.span.sc = sc.WithSpanID(newSpanID())
		n.span.parent = sc
		n.span.anchor = anchor
		n.span.to = to
		n.span.provider = parent.TracerProvider()
		n.span.label = spanlabels.Set(ctx, n.span.sc, name, false)
		if id, ok := n.span.label.ProfileID(to[0].profileIDs); ok {
			n.span.added = &additions{attrs: []attribute.KeyValue{id}}
		}
		under := context.Context(n)
		if h.spans.key == nil { // OpenTelemetry changed how it looks spans up
			under = spanlabels.NewContext(trace.ContextWithSpan(ctx, &n.span), n.span.label)
		}
		return under, (*ending)(&n.span)
	}
	// Nothing to take the resource and the sampling decision from: no span, a
	// remote one, or one of a provider without a processor.
	tracer, by := h.tracer(parent)
	if tracer == nil {
		return ctx, unsampled{}
	}
	ctx, span, label := spanlabels.Start(ctx, tracer, text.Valid(name), trace.WithTimestamp(start))
	if !span.IsRecording() {
		return ctx, unsampled{}
	}
	return ctx, &openedSpan{span: span, by: by, label: label}
}

// openedSpan is the scope of a measure that is a span of a tracer's already.
type openedSpan struct {
	span trace.Span
	by   *Processor // whose provider's tracer, nil if it is nobody's here
	// label is of the goroutine that began it, nil without one. The measure ends it, and not the span: that is
	// ended off the request's path.
	label *spanlabels.Span
}

var _ observer.Opened = (*openedSpan)(nil)

// Ended implements [observer.Opened].
func (o *openedSpan) Ended() {
	if o.label != nil {
		o.label.End(nameOf(o.span))
	}
}

// Spans tells the measure's span and the one above, which is the same one if that does not tell.
func (o *openedSpan) Spans() (self, parent trace.SpanContext) {
	return o.span.SpanContext(), parentOf(o.span)
}

// nameOf is a span's name if it tells, else "".
func nameOf(s trace.Span) string {
	if s, ok := s.(interface{ Name() string }); ok {
		return s.Name()
	}
	return ""
}

// parentOf is a span's parent if it tells, else itself: no parent means that it has none.
func parentOf(s trace.Span) trace.SpanContext {
	if s, ok := s.(interface{ Parent() trace.SpanContext }); ok {
		return s.Parent()
	}
	return s.SpanContext()
}
