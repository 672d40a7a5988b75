package bridge

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/internal/text"
)

var (
	_ record.Active   = (*recordedSpan)(nil)
	_ record.Active   = (*droppedSpan)(nil)
	_ record.Span     = (*recordedSpan)(nil)
	_ record.Mirrored = (*recordedSpan)(nil)
	_ record.Opened   = (*openedMeasure)(nil)
)

// Place implements [record.Active]. The unit's journal stores marks and measures. Place bypasses
// the journal if a sampler or a processor must receive each mark and measure.
func (s *recordedSpan) Place() (*record.Timeline, record.Span, record.Destination, record.Tracer) {
	to := record.ToSpan
	if s.tentative || s.sampled && s.tracer.provider.usesJournal() {
		to = record.ToUnit
	}
	return &s.Unit().Timeline, s, to, &s.tracer.provider.attachment
}

// usesJournal reports whether no processor must see the measures of sampled spans, and the sampler
// samples all of these measures.
func (p *TracerProvider) usesJournal() bool {
	return p.samplesChildren && len(*p.processors.Load()) == 0
}

// Unit returns the span's unit. The first call for a local root creates the unit.
func (s *recordedSpan) Unit() *record.Unit {
	if u := s.unit.Load(); u != nil {
		return u
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.unit.Load()
	switch {
	case u != nil: // another goroutine was first
		return u
	case s.object != nil:
		u = &s.object.unit
	default:
		u = new(record.Unit)
	}
	s.tracer.provider.timeline.InitUnit(u, s.startTime, receiver{s.tracer.provider}, s.tentative)
	switch {
	case s.isOpen():
	case s.tentative && s.decided && s.keep == local.NotKept:
		u.Discard(s)
	case s.tentative: // endTentative ends the unit, and may export the unit
	default:
		u.Close()
	}
	s.unit.Store(u)
	return u
}

func (s *recordedSpan) IDs() record.SpanIDs {
	return record.SpanIDs{Trace: s.spanContext.TraceID(), Self: record.ID(s.spanContext.SpanID()),
		Parent: record.ID(s.parent.id)}
}

func (s *recordedSpan) Marks() *record.SpanMarks { return &s.marks }

func (s *recordedSpan) Describe() record.Description {
	if !s.measure {
		return describe(s)
	}
	return record.Description{Type: s.entryType(), Name: s.name, Start: s.startTime, End: s.endTime}
}

// entryType returns the type of the span's timeline entry. The type is empty for a span of
// perfline's own scope, which already has an entry.
func (s *recordedSpan) entryType() record.Type {
	if s.tracer.scope.Name == scope.Name {
		return ""
	}
	return typeOf(trace.SpanKind(s.kind))
}

// A spanContext is the context of a span. Value also returns the span's unit and label.
type spanContext struct {
	context.Context //nolint:containedctx // it is a context, wrapping its parent
	span            *recordedSpan
}

func (c *spanContext) Value(key any) any {
	if key == spanKey {
		return c.span
	}
	switch key.(type) {
	case record.ContextKey:
		return &c.span.Unit().Timeline
	case record.ActiveKey:
		return c.span
	}
	return c.span.label.Value(c.Context, key)
}

// A requestSpan is the span of a served request in one allocation with the data of an open span.
type requestSpan struct {
	context spanContext
	span    recordedSpan
	unit    record.Unit
	facts   serving.Facts
}

// newSpan returns a span and its context. Without processors, one allocation stores both. A
// processor may retain the span, which must not keep ctx in memory.
func newSpan(ctx context.Context, t *tracer, isRequest bool) (*spanContext, *recordedSpan) {
	var c *spanContext
	var s *recordedSpan
	switch {
	case len(*t.provider.processors.Load()) > 0:
		c, s = new(spanContext), new(recordedSpan)
	case isRequest:
		all := new(requestSpan)
		c, s = &all.context, &all.span
		s.object = all
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

// startMeasure starts the span of a measure under s. usesJournal of the provider is true.
func (s *recordedSpan) startMeasure(ctx context.Context, name string,
	start time.Time) (context.Context, record.Opened) {
	started, span := s.tracer.provider.marks.start(ctx, text.Valid(name),
		&spanStart{kind: trace.SpanKindInternal, time: start})
	measure, ok := span.(*recordedSpan)
	if !ok {
		return ctx, nil // the ids of s are invalid, so the sampler dropped a root
	}
	measure.measure = true
	return started, (*openedMeasure)(measure)
}

// An openedMeasure is the span of a started measure in a unit's journal.
//
// An openedMeasure is also a context with the span alone, for exemplars: another type of span would
// add 20 kB to each program. The context is the span itself, because a meter provider may retain
// the context, and a pooled context would then lead to another trace. A provider that retains the
// context keeps the request's context in memory, too. The SDK retains only ids.
type openedMeasure recordedSpan

func (o *openedMeasure) IDs() record.SpanIDs { return (*recordedSpan)(o).IDs() }

func (o *openedMeasure) Fail(f record.Failure) { setFailure((*recordedSpan)(o), f) }

func (o *openedMeasure) End(at time.Time, _ []slog.Attr) record.Span {
	s := (*recordedSpan)(o)
	if !s.markEnded(at) {
		return nil
	}
	unit := s.unit.Load()
	s.applyKeepPolicy(unit)
	s.tracer.provider.onEnd(s) // processors that were registered after the start
	return s
}

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
