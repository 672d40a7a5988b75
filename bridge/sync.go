package bridge

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/spanlabels"
)

// Sync carries a timeline to any OpenTelemetry tracer provider, on the recording
// goroutine: a mark calls AddEvent, a measure Start and End with timestamps. It
// is for providers that are not the SDK's, for programs whose samplers or other
// span processors must see measures, and for those that cannot add a
// [Processor]. It costs what OpenTelemetry costs.
//
// Measures under no span are made with tp. It is an error if the timeline is
// carried already, by a Processor or by Sync. The function returned ends it; it
// may be called more than once.
func Sync(tp trace.TracerProvider, opts ...Option) (stop func(), err error) {
	o := newOptions(opts)
	s := &synchronous{provider: tp, spans: newFinder()}
	o.timeline.Attach(func(current observer.Bridge) observer.Bridge {
		if current != nil {
			err = fmt.Errorf("bridge: the timeline is carried by a %T already: stop that one first, or give Sync a timeline of its own", current)
			return current
		}
		return s
	})
	if err != nil {
		return nil, err
	}
	return func() {
		o.timeline.Attach(func(current observer.Bridge) observer.Bridge {
			if current == observer.Bridge(s) {
				return nil
			}
			return current
		})
	}, nil
}

// synchronous is the bridge that Sync attaches.
type synchronous struct {
	provider trace.TracerProvider
	spans    finder
}

var _ observer.SyncBridge = (*synchronous)(nil)

func (s *synchronous) Scope(ctx context.Context) (any, bool) { return s.spans.active(ctx) }

func (s *synchronous) Start(ctx context.Context, name string, start time.Time) (context.Context, any) {
	ctx, span := s.tracer(trace.SpanFromContext(ctx)).Start(ctx, text.Valid(name), trace.WithTimestamp(start))
	if !span.IsRecording() {
		return ctx, unsampled{}
	}
	return ctx, &openedSpan{span: span}
}

func (s *synchronous) tracer(parent trace.Span) trace.Tracer {
	if sc := parent.SpanContext(); sc.IsValid() && !sc.IsRemote() {
		return parent.TracerProvider().Tracer(ScopeName)
	}
	return s.provider.Tracer(ScopeName)
}

func (s *synchronous) Recorded(e observer.Entry) {
	var b batch
	b.add(&e)
	it := &b.items[0]
	switch it.typ {
	case observer.Mark:
		if span, ok := it.scope.(trace.Span); ok {
			span.AddEvent(it.name, trace.WithTimestamp(it.start), trace.WithAttributes(convert(b.attrs)...))
		}
	case observer.Measure:
		switch scope := it.scope.(type) {
		case nil:
			recordSpan(context.Background(), s.provider.Tracer(ScopeName), it, b.attrs)
		case *openedSpan:
			scope.span.SetAttributes(convert(b.attrs)...)
			scope.span.End(trace.WithTimestamp(it.start.Add(it.duration)))
		case trace.Span:
			recordSpan(trace.ContextWithSpan(context.Background(), scope), s.tracer(scope), it, b.attrs)
		}
	default: // spans of their own instrumentation
	}
}

// Collect has nothing to do: all was done when it was recorded.
func (s *synchronous) Collect(iter.Seq[*observer.Entry]) bool { return false }

// recordSpan makes a span of a measure through a tracer. The measure is over, so that no sample is of the span.
func recordSpan(ctx context.Context, t trace.Tracer, it *item, detail []slog.Attr) {
	start, end := it.span()
	_, span := t.Start(spanlabels.Without(ctx), it.name, trace.WithTimestamp(start), trace.WithAttributes(convert(detail)...))
	span.End(trace.WithTimestamp(end))
}
