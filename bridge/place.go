package bridge

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/text"
)

var (
	_ record.Active = (*recordedSpan)(nil)
	_ record.Active = (*droppedSpan)(nil)
	_ record.Span   = (*recordedSpan)(nil)
	_ record.Opened = (*openedMeasure)(nil)
)

// Place makes marks and measures wait in the unit's journal unless a sampler or a processor must
// see each of them.
func (s *recordedSpan) Place() (*record.Timeline, record.Span, record.Destination, record.Tracer) {
	to := record.ToSpan
	if s.tentative || s.sampled && s.tracer.provider.simple() {
		to = record.ToUnit
	}
	return &s.Unit().Timeline, s, to, &s.tracer.provider.joined
}

// simple reports whether the measures of sampled spans are sampled, too, and no processor must see
// them.
func (p *TracerProvider) simple() bool { return p.samplesBelow && len(*p.processors.Load()) == 0 }

func (s *recordedSpan) Unit() *record.Unit {
	if u := s.unit.Load(); u != nil {
		return u
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.makeUnit()
}

// makeUnit returns the unit of a local root, which it makes if need be. s.mu is held.
func (s *recordedSpan) makeUnit() *record.Unit {
	u := s.unit.Load()
	if u != nil {
		return u
	}
	if s.served != nil {
		u = &s.served.unit
	} else {
		u = new(record.Unit)
	}
	s.tracer.provider.timeline.InitUnit(u, s.startTime, receiver{s.tracer.provider}, s.tentative)
	switch {
	case s.isOpen():
	case s.tentative && s.decided && s.keep == local.NotKept:
		u.Discard(s)
	case s.tentative: // endTentative ends the unit, which may be exported
	default:
		u.Close()
	}
	s.unit.Store(u)
	return u
}

func (s *recordedSpan) IDs() record.SpanIDs {
	return record.SpanIDs{
		Trace: s.spanContext.TraceID(), Self: record.ID(s.spanContext.SpanID()),
		Parent: record.ID(s.parent.id),
	}
}

func (s *recordedSpan) Marks() *record.SpanMarks { return &s.marks }

func (s *recordedSpan) Describe() record.Description {
	if !s.measure {
		return describe(s)
	}
	return record.Description{Type: s.entryType(), Name: s.name, Start: s.startTime, End: s.endTime}
}

// entryType returns the type of the span's entry. It is empty for spans of this module, which have
// one already.
func (s *recordedSpan) entryType() record.Type {
	if s.tracer.scope.Name == ScopeName {
		return ""
	}
	return typeOf(trace.SpanKind(s.kind))
}

// A spanContext is the context of a span, which also leads to the span's unit and its label.
type spanContext struct {
	context.Context //nolint:containedctx // it is a context, wrapping its parent
	span            *recordedSpan
}

func (c *spanContext) Value(key any) any {
	if key == spanKey {
		return c.span
	}
	if _, ok := key.(record.ContextKey); ok {
		return &c.span.Unit().Timeline
	}
	return c.span.label.Value(c.Context, key)
}

// A servedSpan is the span of a request, with all that it needs while it is open, in one object.
type servedSpan struct {
	context spanContext
	span    recordedSpan
	unit    record.Unit
	facts   serving.Facts
}

// newSpan returns a span and its context in one object. With processors they are two: a span that a
// processor keeps must not keep ctx.
func newSpan(ctx context.Context, t *tracer, served bool) (*spanContext, *recordedSpan) {
	var c *spanContext
	var s *recordedSpan
	switch {
	case len(*t.provider.processors.Load()) > 0:
		c, s = new(spanContext), new(recordedSpan)
	case served:
		all := new(servedSpan)
		c, s = &all.context, &all.span
		s.served = all
	default:
		both := new(struct {
			context spanContext
			span    recordedSpan
		})
		c, s = &both.context, &both.span
	}
	c.Context, c.span, s.tracer = ctx, s, t
	return c, s
}

// startMeasure starts the span of a measure under s, whose provider is simple.
func (s *recordedSpan) startMeasure(ctx context.Context, name string,
	start time.Time) (context.Context, record.Opened) {
	started, span := s.tracer.provider.marks.start(ctx, text.Valid(name),
		&spanStart{kind: trace.SpanKindInternal, time: start})
	measure, ok := span.(*recordedSpan)
	if !ok {
		// the ids of s are not valid, and the sampler dropped a span without a parent
		return ctx, nil
	}
	measure.measure = true
	return started, (*openedMeasure)(measure)
}

// An openedMeasure is the span of a measure that has begun, which its unit takes.
type openedMeasure recordedSpan

func (o *openedMeasure) IDs() record.SpanIDs { return (*recordedSpan)(o).IDs() }

func (o *openedMeasure) Fail(f record.Failure) { fail((*recordedSpan)(o), f) }

func (o *openedMeasure) End(at time.Time, _ []slog.Attr) record.Span {
	s := (*recordedSpan)(o)
	if !s.endState(at) {
		return nil // it has ended already
	}
	s.decideOrNote(s.unit.Load())
	s.tracer.provider.onEnd(s) // those that were registered meanwhile
	return s
}

// An openedMeasure is also a context that has only its span, of a measure or not: one more type of
// spans would add 20 kB to each program. The context is the span itself because a meter provider
// may keep the context. A context from a pool would lead to another trace then. A provider that
// keeps the context keeps the request's context in memory, too. The SDK keeps only ids.
var _ context.Context = (*openedMeasure)(nil)

func (*openedMeasure) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }
func (*openedMeasure) Done() <-chan struct{}                   { return nil }
func (*openedMeasure) Err() error                              { return nil }

func (o *openedMeasure) Value(key any) any {
	if key == spanKey {
		return (*recordedSpan)(o)
	}
	return nil
}
