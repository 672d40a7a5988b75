package spantest

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// A System is a tracing system that is attached to a timeline. Set the fields before the first use.
type System struct {
	Timeline *record.Timeline
	Limit    int                    // of the marks of a span; negative for none
	Before   func(*record.Finished) // is called first with each part; nil for nothing
	Discard  bool                   // keep nothing, for measurements
	NoStart  bool                   // Start creates no span
	Taken    record.MarksTaken      // the result of TakesMarks
	Loose    bool                   // the result of TakesLooseMarks
	Detach   func()

	root Foreign
	ids  atomic.Uint64

	mu    sync.Mutex // guards what follows
	parts [][]Received
	marks []TakenMark
}

// A TakenMark is a mark that the receiver received separately from the span.
type TakenMark struct {
	Span  *Span
	Name  string
	Alone bool
}

var (
	_ record.Tracer   = (*System)(nil)
	_ record.Receiver = (*System)(nil)
	_ record.Active   = (*Span)(nil)
	_ record.Span     = (*Span)(nil)
)

// spanKey is the key of the active span in a context.
type spanKey struct{}

// New returns a system that is attached to t.
func New(t *record.Timeline) *System {
	record.SetSpanKey(spanKey{})
	s := &System{Timeline: t, Limit: -1}
	s.root.system = s
	s.Detach = t.Attach(s)
	return s
}

// Received is a finished span, or a measure.
type Received struct {
	Span     *Span // the finished span, or the parent span of the measure
	IsSpan   bool
	Measure  string
	Start    time.Time
	Duration time.Duration
	Attrs    string
	Marks    []Mark // of the span, the oldest first
	Dropped  int    // marks of the span
}

// A Mark is a mark of a finished span.
type Mark struct {
	Name  string
	Time  time.Time
	Attrs string
}

// Name returns the name of the span or of the measure.
func (r *Received) Name() string {
	if r.IsSpan {
		return r.Span.Name
	}
	return r.Measure
}

// HandOver implements [record.Receiver].
func (s *System) HandOver(parts []*record.Finished) {
	for _, f := range parts {
		s.handOver(f)
	}
}

func (s *System) handOver(f *record.Finished) {
	if s.Before != nil {
		s.Before(f)
	}
	if s.Discard {
		return
	}
	part := Read(f)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts = append(s.parts, part)
	for i := range f.Len() {
		if m, under, ok := f.Mark(i); ok {
			s.marks = append(s.marks, TakenMark{under.(*Span), m.Name(), m.Alone()})
		}
	}
}

// Read returns the spans and measures of a part. Read panics if the number of a span's marks
// differs from the span's count of marks.
func Read(f *record.Finished) (part []Received) {
	for i := range f.Len() {
		it := f.At(i)
		if it == nil {
			continue
		}
		span, _ := it.Span.(*Span)
		r := Received{Span: span, IsSpan: it.IsSpan, Measure: it.Measure, Start: it.Start,
			Duration: it.Duration, Attrs: text(it.Attrs)}
		if it.IsSpan {
			for m := f.LastMark(span); m.Valid(); m = m.Previous() {
				r.Marks = append(r.Marks, Mark{m.Name(), m.Time(), text(m.Attrs())})
			}
			for i, k := 0, len(r.Marks)-1; i < k; i, k = i+1, k-1 {
				r.Marks[i], r.Marks[k] = r.Marks[k], r.Marks[i]
			}
			r.Dropped = span.marks.Dropped()
			if n := span.marks.Len(); n != len(r.Marks) {
				panic(fmt.Sprintf("span %q has %d marks, and says %d", span.Name, len(r.Marks), n))
			}
		}
		part = append(part, r)
	}
	return part
}

func text(attrs []slog.Attr) string {
	if len(attrs) == 0 {
		return ""
	}
	return fmt.Sprint(attrs)
}

// MarkLimit implements [record.Receiver].
func (s *System) MarkLimit() int { return s.Limit }

// TakesMarks implements [record.Receiver].
func (s *System) TakesMarks() record.MarksTaken { return s.Taken }

// Serves implements [record.Tracer]: the spans are in no black box.
func (s *System) Serves(any, *record.Unit) {}

// TakesLooseMarks implements [record.Tracer].
func (s *System) TakesLooseMarks() bool { return s.Loose }

// TakeMarks returns the marks that the receiver received separately since the last call.
func (s *System) TakeMarks() []TakenMark {
	s.HandOverEnded()
	s.mu.Lock()
	defer s.mu.Unlock()
	marks := s.marks
	s.marks = nil
	return marks
}

// Take returns the parts that the receiver received since the last call.
func (s *System) Take() [][]Received {
	s.HandOverEnded()
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := s.parts
	s.parts = nil
	return parts
}

// HandOverEnded hands over all ended units.
func (s *System) HandOverEnded() { _ = s.Timeline.HandOverEnded(context.Background()) }

// Under implements [record.Tracer]. Only a Foreign is a span of another tracer.
func (s *System) Under(_ context.Context, span any) (any, record.Destination) {
	if f, ok := span.(*Foreign); ok {
		return nil, f.To
	}
	return nil, record.ToTimeline
}

// target returns what keeps the calls under a span.
func (s *System) target(span any) *Foreign {
	switch x := span.(type) {
	case *Foreign:
		return x
	case *Span:
		return &x.calls
	default:
		return &s.root
	}
}

// IDs implements [record.Tracer].
func (s *System) IDs(span any) record.SpanIDs { return s.target(span).ids }

// Mark implements [record.Tracer].
func (s *System) Mark(span any, name string, _ time.Time, attrs []slog.Attr) {
	if !s.Discard {
		s.target(span).note("mark %q %v", name, attrs)
	}
}

// Measure implements [record.Tracer].
func (s *System) Measure(span any, m record.Measured) {
	switch f := s.target(span); {
	case s.Discard:
	case m.Failure != nil:
		f.note("measure %q %v failed: %s", m.Name, m.Attrs, m.Failure.Message)
	default:
		f.note("measure %q %v", m.Name, m.Attrs)
	}
}

// Calls returns the calls of the tracer's methods without a span.
func (s *System) Calls() []string { return s.root.Calls() }

func (s *System) newID() (id record.ID) {
	binary.BigEndian.PutUint64(id[:], s.ids.Add(1))
	return id
}

// Start implements [record.Tracer].
func (s *System) Start(ctx context.Context, to record.Destination, name string,
	start time.Time) (context.Context, record.Opened) {
	if s.NoStart {
		return ctx, nil
	}
	active := ctx.Value(spanKey{})
	if parent, ok := active.(*Span); ok && to == record.ToUnit {
		c := &startedSpan{Context: ctx}
		parent.begin(&c.span, name, start)
		return c, (*openedSpan)(&c.span)
	}
	c := &startedForeign{Context: ctx, parent: &s.root}
	switch parent := active.(type) {
	case *Foreign:
		c.parent = parent
	case *Span:
		c.parent = &parent.calls
	}
	c.span = Foreign{Name: name, To: record.ToSpan, system: s,
		ids: record.SpanIDs{Self: s.newID(), Parent: c.parent.ids.Self}}
	if !s.Discard {
		c.parent.note("start %q", name)
	}
	return c, c
}

// IDsOf returns the ids of the active span in a context.
func IDsOf(ctx context.Context) record.SpanIDs {
	switch s := ctx.Value(spanKey{}).(type) {
	case *Span:
		return s.ids
	case *Foreign:
		return s.ids
	default:
		return record.SpanIDs{}
	}
}
