package sessions_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

func TestMain(m *testing.M) {
	leaktest.Main(m)
}

const ms = time.Millisecond

// of says where an entry belongs, by numbers: the trace, the entry's own span and the one above. 0 is none.
type of struct{ trace, self, parent byte }

func (s of) ids() record.SpanIDs {
	self, parent := spanContext(s.trace, s.self), spanContext(s.trace, s.parent)
	ids := record.SpanIDs{Trace: self.TraceID(), Self: record.ID(self.SpanID()), Parent: record.ID(parent.SpanID())}
	if s.self == 0 {
		ids.Trace = parent.TraceID()
	}
	return ids
}

func spanContext(id, span byte) trace.SpanContext {
	c := trace.SpanContextConfig{TraceFlags: trace.FlagsSampled}
	if span != 0 {
		c.TraceID, c.SpanID = trace.TraceID{id}, trace.SpanID{1, span}
	}
	return trace.NewSpanContext(c)
}

// A tape is a timeline whose entries are gathered, to make a session of. Its times are since that began.
type tape struct {
	*observer.Timeline
	t       testing.TB
	zero    time.Duration // of the session, on the timeline
	entries []observer.Entry
}

func newTape(t testing.TB) *tape {
	p := &tape{Timeline: observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}}), t: t, zero: -time.Hour} // so that nothing is in the future
	p.observe()
	return p
}

func (p *tape) observe() {
	p.t.Helper()
	obs, err := p.Observe(func(l observer.List) {
		for e := range slices.Values(l.Entries()) {
			if e.Type() != observer.GC || (*record.Entry)(&e).NumAttrs() == 0 { // not this test's own collections
				p.entries = append(p.entries, e)
			}
		}
	}, observer.Options{Types: observer.SupportedEntryTypes()})
	if err != nil {
		p.t.Fatal(err)
	}
	if t, ok := p.t.(*testing.T); ok {
		t.Cleanup(obs.Disconnect)
	}
}

// add records an entry on a timeline of the tape's, or on its own if that is nil.
func (p *tape) add(on *observer.Timeline, where of, typ observer.Type, name string, start, end time.Duration, attrs ...slog.Attr) {
	if on == nil {
		on = p.Timeline
	}
	(*record.Timeline)(on).Show(where.ids(), record.Description{Type: record.Type(typ), Name: name, Start: p.time(start), End: p.time(end), Attrs: record.Freeze(attrs)})
}

// time is a time of the session by the wall clock.
func (p *tape) time(at time.Duration) time.Time { return p.Origin().Add(p.zero + at) }

// in records a measure in the process's frame, which is span self, unless that is 0, under span parent.
func (p *tape) in(name string, start, end time.Duration, self, parent byte) {
	p.add(nil, of{1, self, parent}, observer.Measure, name, start, end)
}

// between records a measure between two marks that had passed, in the process's frame.
func (p *tape) between(name string, i sessions.Interval, attrs ...slog.Attr) {
	e, err := (*record.Timeline)(p.Timeline).NewEntry(record.Measure, name, p.zero+i.Start, i.End-i.Start, attrs...)
	if err != nil {
		p.t.Fatal(err)
	}
	(*record.Timeline)(p.Timeline).Queue(context.Background(), e)
}

// session is what was recorded, as a session of an hour.
func (p *tape) session(tr *profile.Trace) *sessions.Session {
	p.t.Helper()
	return p.build(sessions.Recording{Trace: tr})
}

// build completes r by what was recorded, and builds the session.
func (p *tape) build(r sessions.Recording) *sessions.Session {
	p.t.Helper()
	p.Deliver()
	r.Started, r.Length, r.Entries = p.time(0), time.Hour, slices.Values(p.entries)
	s, _, err := sessions.Build(context.Background(), r)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// draw is a session's trees as text: a line for each timeline and each event, by depth.
func draw(s *sessions.Session) string {
	var b strings.Builder
	for _, tl := range s.Timelines() {
		fmt.Fprintf(&b, "%d/%d %s:\n", tl.FrameID, tl.ID, tl.Title())
		depth := map[sessions.EventID]int{}
		for e := range s.All(tl.ID) {
			depth[e.ID] = depth[e.ParentID] + 1
			fmt.Fprintf(&b, "%s%s %v-%v\n", strings.Repeat(" ", depth[e.ID]), e.Name, e.Interval.Start, e.Interval.End)
		}
	}
	return b.String()
}

func wantDrawn(t *testing.T, s *sessions.Session, want ...string) {
	t.Helper()
	if got := draw(s); got != strings.Join(want, "\n")+"\n" {
		t.Errorf("got\n%swant\n%s", got, strings.Join(want, "\n"))
	}
}

func ask(t testing.TB, s *sessions.Session, q sessions.Query) []sessions.Event {
	t.Helper()
	list, _ := askFor(t, s, q)
	return list
}

// askFor is ask, and tells whether further events follow.
func askFor(t testing.TB, s *sessions.Session, q sessions.Query) (list []sessions.Event, more bool) {
	t.Helper()
	list, more, err := s.Events(t.Context(), q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return list, more
}

func names(events []sessions.Event) string {
	var all []string
	for _, e := range events {
		all = append(all, e.Name)
	}
	return strings.Join(all, " ")
}
