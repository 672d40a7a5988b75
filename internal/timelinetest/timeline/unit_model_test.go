package timeline_test

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/spantest"
	"github.com/perfline/perfline/observer"
)

// A unitModel says what units, their views, their receiver and an observer of everything must have.
type unitModel struct {
	t       *rapid.T
	tl      *manual
	tracing *spantest.System
	limit   int // of a span's marks
	keeps   int // entries of a type, in a view
	serial  int

	spans    []*modelSpan
	came     map[string]int // finished spans and measures that the receiver got
	due      []string       // those that it must have got
	late     uint64
	arrived  uint64   // marks
	marked   uint64   // marks recorded
	seen     []string // by the observer
	recorded []string // for the observer
	counts   observer.TypeStats
}

type modelSpan struct {
	*spantest.Span
	unit  *modelUnit
	root  bool
	ended bool
	marks []string // recorded while it was open
	aged  int      // of these, those that may have aged out
}

type modelUnit struct {
	ended   bool
	waiting []string            // finished, and not handed over
	view    map[string][]string // by type
	latest  map[string]string
}

// In any order of starts, ends, marks, measures, cuts, flushes, sweeps and reads, nothing is lost without a count or doubled, and each mark
// goes with its span.
func TestUnitsAgainstModel(t *testing.T) {
	bubble(t, testUnitsAgainstModel)
}

func testUnitsAgainstModel(t *testing.T) {
	rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) {
		m := &unitModel{
			t: t, limit: rapid.SampledFrom([]int{-1, 0, 1, 4}).Draw(t, "limit"), keeps: rapid.SampledFrom([]int{3, 2000}).Draw(t, "view"),
			came: map[string]int{},
		}
		m.tl = newManual(func(o *observer.TimelineOptions) { o.ChildBufferSize = m.keeps })
		m.tracing = spantest.New(rec(m.tl.Timeline))
		m.tracing.Limit = m.limit
		if rapid.Bool().Draw(t, "observed") {
			if _, err := m.tl.Observe(func(l observer.List) { m.seen = append(m.seen, names(l.Entries())...) }, both); err != nil {
				t.Fatal(err)
			}
		}
		observed := rec(m.tl.Timeline).Watched()
		m.root(t)
		t.Repeat(map[string]func(*rapid.T){
			"root":    m.root,
			"child":   m.child,
			"mark":    m.mark,
			"measure": m.measure,
			"many":    func(t *rapid.T) { m.many(t) },
			"end":     m.end,
			"end too": m.end,
			"large":   m.large,
			"close":   m.close,
			"flush":   func(*rapid.T) { m.flush() },
			"age": func(*rapid.T) {
				time.Sleep(5*time.Second + 1)
				settle()
				m.handOverAll()
			},
			"abandon": func(*rapid.T) {
				m.flush()
				rec(m.tl.Timeline).AbandonUnits(m.tracing)
				for _, s := range m.spans {
					s.aged = len(s.marks)
				}
			},
			"clear": m.clear,
			"":      func(*rapid.T) { m.check(observed) },
		})
		for _, s := range m.spans {
			if !s.ended {
				m.endSpan(s)
			}
		}
		m.check(observed)
		if s := rec(m.tl.Timeline).UnitStats(); s.Waiting != 0 || s.WaitingBytes != 0 {
			t.Fatalf("at the end %d units with %d bytes wait", s.Waiting, s.WaitingBytes)
		}
		if s := rec(m.tl.Timeline).UnitStats(); m.arrived+s.MarksAfterEnd+s.MarksOverLimit+s.MarksOfOpenSpans != m.marked {
			t.Fatalf("%d marks arrived, stats are %+v, want %d marks", m.arrived, s, m.marked)
		}
	})
}

func (m *unitModel) name(what string) string {
	m.serial++
	m.tl.now++
	return fmt.Sprint(what, " ", m.serial)
}

func (m *unitModel) pick(t *rapid.T) *modelSpan {
	return m.spans[rapid.IntRange(max(0, len(m.spans)-12), len(m.spans)-1).Draw(t, "span")]
}

func (m *unitModel) root(*rapid.T) {
	u := &modelUnit{view: map[string][]string{}, latest: map[string]string{}}
	m.spans = append(m.spans, &modelSpan{Span: m.tracing.NewRoot(m.name("root")), unit: u, root: true})
}

func (m *unitModel) child(t *rapid.T) {
	p := m.pick(t)
	m.spans = append(m.spans, &modelSpan{Span: p.Child(m.name("span")), unit: p.unit})
}

func (m *unitModel) mark(t *rapid.T) {
	s, name := m.pick(t), m.name("mark")
	if !mark(s.Span, name, slog.String("is", name)) {
		t.Fatal("refused")
	}
	m.marked++
	if s.ended {
		m.late++
	} else {
		s.marks = append(s.marks, name)
	}
	m.entry(s, "mark", name)
}

// entry notes an entry of a span's unit.
func (m *unitModel) entry(s *modelSpan, typ, name string) {
	m.counts.Recorded++
	m.recorded = append(m.recorded, name)
	if s.unit.ended {
		return
	}
	if typ == "mark" {
		s.unit.latest[name] = name
	}
	if len(s.unit.view[typ]) < m.keeps {
		s.unit.view[typ] = append(s.unit.view[typ], name)
	}
}

func (m *unitModel) measure(t *rapid.T) { m.measureUnder(m.pick(t)) }

func (m *unitModel) measureUnder(s *modelSpan) {
	name := m.name("measure")
	if !measure(s.Span, name, slog.String("is", name)) {
		m.t.Fatal("refused")
	}
	m.entry(s, "measure", name)
	m.finished(s.unit, name)
}

// many measures make a unit long.
func (m *unitModel) many(t *rapid.T) {
	s := m.pick(t)
	for range rapid.SampledFrom([]int{20, 600}).Draw(t, "n") {
		m.measureUnder(s)
	}
}

// large ends a span that fills a part alone.
func (m *unitModel) large(t *rapid.T) {
	p := m.pick(t)
	c := p.Child(m.name("large"))
	c.Bytes = 1 << 20
	c.End()
	m.finished(p.unit, c.Name)
	m.handOver(p.unit)
}

// close ends a unit without its root, which ends later.
func (m *unitModel) close(t *rapid.T) {
	s := m.pick(t)
	s.Unit().Close()
	m.endUnit(s.unit)
	m.handOver(s.unit)
}

func (m *unitModel) endUnit(u *modelUnit) {
	u.ended = true
	u.view, u.latest = map[string][]string{}, map[string]string{}
}

func (m *unitModel) flush() {
	flush(m.t, m.tracing)
	m.handOverAll()
}

func (m *unitModel) handOverAll() {
	for _, s := range m.spans {
		m.handOver(s.unit)
	}
}

func (m *unitModel) end(t *rapid.T) {
	if s := m.pick(t); !s.ended {
		m.endSpan(s)
	}
}

func (m *unitModel) endSpan(s *modelSpan) {
	m.tl.now++
	s.ended = true
	if !s.root {
		s.End()
		m.finished(s.unit, s.Name)
		return
	}
	m.endUnit(s.unit)
	s.End()
	m.finished(s.unit, s.Name)
}

// finished notes a finished span or measure.
func (m *unitModel) finished(u *modelUnit, name string) {
	u.waiting = append(u.waiting, name)
	if u.ended || len(u.waiting) == 512 {
		m.handOver(u)
	}
}

func (m *unitModel) handOver(u *modelUnit) {
	m.due = append(m.due, u.waiting...)
	u.waiting = nil
}

func (m *unitModel) clear(t *rapid.T) {
	s := m.pick(t)
	n := s.Unit().Clear(record.Mark)
	if n != len(s.unit.view["mark"]) {
		t.Fatalf("%d marks were cleared, want %d", n, len(s.unit.view["mark"]))
	}
	s.unit.view["mark"], s.unit.latest = nil, map[string]string{}
}

func (m *unitModel) check(observed bool) {
	t := m.t
	for _, part := range m.tracing.Take() {
		unit := part[0].Span.Unit()
		for i := range part {
			r := &part[i]
			if r.Span.Unit() != unit {
				t.Fatalf("a part has spans of several units")
			}
			m.came[r.Name()]++
			m.arrived += uint64(len(r.Marks))
			if r.IsSpan {
				m.checkMarks(r)
			} else if want := fmt.Sprintf("[is=%s]", r.Measure); r.Attrs != want {
				t.Fatalf("%q has the attributes %s", r.Measure, r.Attrs)
			}
		}
	}
	if len(m.came) != len(m.due) {
		t.Fatalf("%d spans and measures came, want %d", len(m.came), len(m.due))
	}
	for _, name := range m.due {
		if m.came[name] != 1 {
			t.Fatalf("%q came %d times, want once", name, m.came[name])
		}
	}
	for _, s := range m.spans {
		if !s.root {
			continue
		}
		u := s.Unit()
		for typ, want := range s.unit.view {
			if got := names(view(&u.Timeline).EntriesByType(observer.Type(typ))); !slices.Equal(got, want) {
				t.Fatalf("the view of %q has %q, want %q", s.Name, got, want)
			}
		}
		if s.unit.ended && len(view(&u.Timeline).Entries()) > 0 {
			t.Fatalf("after its end, the view of %q has %q", s.Name, names(view(&u.Timeline).Entries()))
		}
		for name := range s.unit.latest {
			if _, ok := u.Latest(name); !ok {
				t.Fatalf("%q is not known by its name", name)
			}
		}
	}
	if s := rec(m.tl.Timeline).UnitStats(); s.MarksAfterEnd != m.late {
		t.Fatalf("stats are %+v, want %d late", s, m.late)
	}
	if s := m.tl.Stats().Total(); s.Recorded != m.counts.Recorded || s.Overflow != 0 {
		t.Fatalf("stats are %+v, want %d recorded", s, m.counts.Recorded)
	}
	if observed {
		m.tl.run()
		if !slices.Equal(m.seen, m.recorded) {
			t.Fatalf("the observer has %q, want %q", m.seen, m.recorded)
		}
	}
}

// checkMarks checks that a finished span has its last marks, in their order, and counts the others.
func (m *unitModel) checkMarks(r *spantest.Received) {
	i := slices.IndexFunc(m.spans, func(s *modelSpan) bool { return s.Span == r.Span })
	if i < 0 { // a large one
		return
	}
	all, aged := m.spans[i].marks, m.spans[i].aged
	if len(r.Marks)+r.Dropped != len(all) {
		m.t.Fatalf("%q has %d marks and dropped %d, want %d together", r.Name(), len(r.Marks), r.Dropped, len(all))
	}
	if r.Dropped > aged && (m.limit < 0 || len(r.Marks) < m.limit) {
		m.t.Fatalf("%q has %d marks and dropped %d, and the limit is %d", r.Name(), len(r.Marks), r.Dropped, m.limit)
	}
	for i, mark := range r.Marks {
		if want := all[r.Dropped+i]; mark.Name != want || mark.Attrs != fmt.Sprintf("[is=%s]", want) {
			m.t.Fatalf("mark %d of %q is %q with %s, want %q", i, r.Name(), mark.Name, mark.Attrs, want)
		}
	}
}
