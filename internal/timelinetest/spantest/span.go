package spantest

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// A Span is a span of a unit. Set the fields before the first use.
type Span struct {
	Name  string
	Bytes int                // the result of Size
	To    record.Destination // of marks and measures under the span

	system     *System
	unit       *record.Unit
	root       bool
	ids        record.SpanIDs
	start, end time.Time
	marks      record.SpanMarks
	calls      Foreign // keeps what is recorded ToSpan
}

// NewRoot returns the root span of a new unit.
func (s *System) NewRoot(name string) *Span { return s.newRoot(name, false) }

// NewTentative returns the root span of a new undecided unit.
func (s *System) NewTentative(name string) *Span { return s.newRoot(name, true) }

func (s *System) newRoot(name string, undecided bool) *Span {
	start := time.Now()
	r := &Span{Name: name, To: record.ToUnit, system: s, root: true, start: start,
		ids: record.SpanIDs{Self: s.newID()}}
	copy(r.ids.Trace[:], r.ids.Self[:])
	r.unit = new(record.Unit)
	s.Timeline.InitUnit(r.unit, start, s, undecided)
	r.calls = Foreign{Name: name, system: s, ids: r.ids}
	return r
}

// Child returns a span under s.
func (s *Span) Child(name string) *Span {
	c := new(Span)
	s.begin(c, name, time.Now())
	return c
}

// begin makes c a span under s.
func (s *Span) begin(c *Span, name string, start time.Time) {
	c.Name, c.To, c.system, c.unit, c.start = name, s.To, s.system, s.unit, start
	c.ids = record.SpanIDs{Trace: s.ids.Trace, Self: s.system.newID(), Parent: s.ids.Self}
	c.calls.Name, c.calls.system, c.calls.ids = name, s.system, c.ids
}

// Context returns a context in which s is the active span.
func (s *Span) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, spanKey{}, s)
}

// End ends the span. The timeline records no entry for the span.
func (s *Span) End() {
	s.end = time.Now()
	if s.root {
		s.unit.End(s)
		return
	}
	s.unit.EndSpan(s, "", nil)
}

// EndAs ends a span and records an entry for the span. The span must not be a root.
func (s *Span) EndAs(typ record.Type, attrs ...slog.Attr) {
	s.end = time.Now()
	s.unit.EndSpan(s, typ, attrs)
}

// Calls returns the marks and measures that were recorded under the span. The To of the span must
// be ToSpan.
func (s *Span) Calls() []string { return s.calls.Calls() }

// Place implements [record.Active].
func (s *Span) Place() (*record.Timeline, record.Span, record.Destination, record.Tracer) {
	return &s.unit.Timeline, s, s.To, s.system
}

// At returns the place of entries under the span.
func (s *Span) At() (p record.Place) {
	p.Timeline, p.Span, p.To, p.Tracer = s.Place()
	p.Under = s
	return p
}

// Unit implements [record.Active].
func (s *Span) Unit() *record.Unit { return s.unit }

// IDs implements [record.Span].
func (s *Span) IDs() record.SpanIDs { return s.ids }

// Marks implements [record.Span].
func (s *Span) Marks() *record.SpanMarks { return &s.marks }

// Size implements [record.Span].
func (s *Span) Size() int { return s.Bytes }

// Describe implements [record.Span].
func (s *Span) Describe() record.Description {
	return record.Description{Name: s.Name, Start: s.start, End: s.end}
}

// A startedSpan is the context of a measure's span.
type startedSpan struct {
	context.Context //nolint:containedctx // it is a context, wrapping its parent
	span            Span
}

func (c *startedSpan) Value(key any) any {
	if key == (spanKey{}) {
		return &c.span
	}
	return c.Context.Value(key)
}

type openedSpan Span

func (o *openedSpan) IDs() record.SpanIDs { return o.ids }

func (o *openedSpan) Fail(f record.Failure) { o.calls.note("fail %q", f.Message) }

func (o *openedSpan) End(at time.Time, _ []slog.Attr) record.Span {
	o.end = at
	return (*Span)(o)
}

// A Foreign is a span of another tracer. A Foreign stores the calls of the tracer's methods under
// the span.
type Foreign struct {
	Name string
	To   record.Destination // of marks and measures under the span

	system *System
	ids    record.SpanIDs

	mu    sync.Mutex // guards calls
	calls []string
}

// Foreign returns a span of another tracer.
func (s *System) Foreign(name string, to record.Destination) *Foreign {
	return &Foreign{Name: name, To: to, system: s, ids: record.SpanIDs{Self: s.newID()}}
}

// Context returns a context in which f is the active span.
func (f *Foreign) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, spanKey{}, f)
}

// Calls returns the calls under f. Examples are "mark m [k=v]" and "measure m [k=v]". For spans
// that start under f, examples are "start m" and "end m [k=v]".
func (f *Foreign) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

func (f *Foreign) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

// A startedForeign is the span of a measure, by another tracer, and its context.
type startedForeign struct {
	context.Context //nolint:containedctx // it is a context, wrapping its parent
	span            Foreign
	parent          *Foreign
}

func (c *startedForeign) Value(key any) any {
	if key == (spanKey{}) {
		return &c.span
	}
	return c.Context.Value(key)
}

func (c *startedForeign) IDs() record.SpanIDs { return c.span.ids }

func (c *startedForeign) Fail(f record.Failure) {
	c.parent.note("fail %q: %s", c.span.Name, f.Message)
}

func (c *startedForeign) End(_ time.Time, attrs []slog.Attr) record.Span {
	if !c.span.system.Discard {
		c.parent.note("end %q %v", c.span.Name, attrs)
	}
	return nil
}
