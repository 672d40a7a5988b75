package sessions_test

import (
	"log/slog"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/sessions"
)

// A parent was on the call stack when its child began (Scope Profiler, Timelines).
func TestTree(t *testing.T) {
	for _, c := range []struct {
		name   string
		record func(p *tape)
		want   []string
	}{
		{"SP-10 SP-11 by spans", func(p *tape) {
			p.in("c", 12*ms, 15*ms, 3, 2)
			p.in("b", 10*ms, 20*ms, 2, 1)
			p.in("d", 30*ms, 40*ms, 4, 1)
			p.in("a", 0, 50*ms, 1, 0)
		}, []string{"1/1 process:", " a 0s-50ms", "  b 10ms-20ms", "   c 12ms-15ms", "  d 30ms-40ms"}},
		{"measures without spans", func(p *tape) {
			p.in("c", 12*ms, 15*ms, 0, 1)
			p.in("b", 10*ms, 20*ms, 0, 1)
			p.in("a", 0, 50*ms, 1, 0)
		}, []string{"1/1 process:", " a 0s-50ms", "  b 10ms-20ms", "   c 12ms-15ms"}},
		{"a child of a sibling that had ended", func(p *tape) {
			p.in("b", 10*ms, 20*ms, 2, 1)
			p.in("late", 25*ms, 30*ms, 3, 2)
			p.in("a", 0, 50*ms, 1, 0)
		}, []string{"1/1 process:", " a 0s-50ms", "  b 10ms-20ms", "1/2 process · 2:", " late 25ms-30ms"}},
		{"a child that outlives its parent", func(p *tape) {
			p.in("b", 10*ms, 20*ms, 2, 1)
			p.in("longer", 15*ms, 25*ms, 3, 2)
			p.in("a", 0, 50*ms, 1, 0)
		}, []string{"1/1 process:", " a 0s-50ms", "  b 10ms-20ms", "1/2 process · 2:", " longer 15ms-25ms"}},
		{"concurrent siblings", func(p *tape) {
			p.in("b", 10*ms, 20*ms, 2, 1)
			p.in("c", 15*ms, 25*ms, 3, 1)
			p.in("in c", 16*ms, 17*ms, 4, 3)
			p.in("in b", 16*ms, 17*ms, 5, 2)
			p.in("a", 0, 50*ms, 1, 0)
		}, []string{"1/1 process:", " a 0s-50ms", "  b 10ms-20ms", "   in b 16ms-17ms", "1/2 process · 2:", " c 15ms-25ms", "  in c 16ms-17ms"}},
		{"a sibling within another one", func(p *tape) {
			p.in("b", 10*ms, 20*ms, 2, 1)
			p.in("c", 12*ms, 15*ms, 3, 1)
			p.in("a", 0, 50*ms, 1, 0)
		}, []string{"1/1 process:", " a 0s-50ms", "  b 10ms-20ms", "1/2 process · 2:", " c 12ms-15ms"}},
		{"one after the other needs one lane", func(p *tape) {
			p.in("b", 0, 10*ms, 2, 0)
			p.in("c", 10*ms, 20*ms, 3, 0)
		}, []string{"1/1 process:", " b 0s-10ms", " c 10ms-20ms"}},
		{"a moment at the end, and one at the start", func(p *tape) {
			p.add(nil, of{1, 0, 1}, observer.Mark, "start", 0, 0)
			p.add(nil, of{1, 0, 1}, observer.Mark, "end", 10*ms, 10*ms)
			p.in("a", 0, 10*ms, 1, 0)
		}, []string{"1/1 process:", " a 0s-10ms", "  start 0s-0s", "  end 10ms-10ms"}},
		{"a moment at the end of one is not the next's", func(p *tape) {
			p.add(nil, of{1, 0, 2}, observer.Mark, "end", 10*ms, 10*ms)
			p.in("b", 0, 10*ms, 2, 1)
			p.add(nil, of{1, 0, 3}, observer.Mark, "start", 10*ms, 10*ms)
			p.in("c", 10*ms, 20*ms, 3, 1)
			p.in("a", 0, 30*ms, 1, 0)
		}, []string{"1/1 process:", " a 0s-30ms", "  b 0s-10ms", "   end 10ms-10ms", "  c 10ms-20ms", "   start 10ms-10ms"}},
		{"a span of no length has nothing below it", func(p *tape) {
			p.in("c", 5*ms, 6*ms, 3, 2)
			p.in("b", 5*ms, 5*ms, 2, 1)
			p.in("a", 0, 10*ms, 1, 0)
		}, []string{"1/1 process:", " a 0s-10ms", "  b 5ms-5ms", "  c 5ms-6ms"}},
		{"equal intervals, the inner recorded first", func(p *tape) {
			p.in("b", 0, 10*ms, 2, 1)
			p.in("a", 0, 10*ms, 1, 0)
		}, []string{"1/1 process:", " a 0s-10ms", "  b 0s-10ms"}},
		{"a span that is its own parent", func(p *tape) {
			p.in("b", 5*ms, 6*ms, 2, 2)
			p.in("a", 0, 10*ms, 1, 1)
		}, []string{"1/1 process:", " a 0s-10ms", "  b 5ms-6ms"}},
		{"spans that are each other's parents", func(p *tape) {
			p.in("b", 5*ms, 6*ms, 2, 1)
			p.in("a", 0, 10*ms, 1, 2)
		}, []string{"1/1 process:", " a 0s-10ms", "  b 5ms-6ms"}},
		{"without a span in the shorter of two", func(p *tape) {
			p.add(nil, of{}, observer.Measure, "x", 20*ms, 25*ms)
			p.in("b", 10*ms, 55*ms, 2, 0)
			p.in("a", 0, 50*ms, 1, 0)
		}, []string{"1/1 process:", " a 0s-50ms", "1/2 process · 2:", " b 10ms-55ms", "  x 20ms-25ms"}},
		{"under a measure without a span", func(p *tape) {
			p.add(nil, of{1, 0, 1}, observer.Mark, "m", 15*ms, 15*ms)
			p.add(nil, of{}, observer.Measure, "x", 10*ms, 20*ms)
			p.in("a", 0, 50*ms, 1, 0)
		}, []string{"1/1 process:", " a 0s-50ms", "  x 10ms-20ms", "   m 15ms-15ms"}},
		{"a measure between moments that had passed", func(p *tape) {
			p.between("between", sessions.Interval{Start: 10 * ms, End: 15 * ms})
			p.in("b", 20*ms, 60*ms, 2, 0)
			p.in("a", 0, 50*ms, 1, 0)
		}, []string{"1/1 process:", " a 0s-50ms", "1/2 process · 2:", " b 20ms-60ms", "1/3 process · between marks:", " between 10ms-15ms"}},
		{"a parent that is not known", func(p *tape) {
			p.in("b", 5*ms, 6*ms, 2, 9)
			p.in("a", 0, 10*ms, 1, 0)
		}, []string{"1/1 process:", " a 0s-10ms", "  b 5ms-6ms"}},
		{"two in a span that has not ended, one within the other's time", func(p *tape) {
			p.in("d", 12*ms, 38*ms, 4, 2)
			p.in("c", 15*ms, 20*ms, 3, 9)
			p.in("b", 10*ms, 40*ms, 2, 9)
			p.in("in c", 16*ms, 17*ms, 0, 3)
		}, []string{"1/1 process:", " b 10ms-40ms", "  d 12ms-38ms", "1/2 process · 2:", " c 15ms-20ms", "  in c 16ms-17ms"}},
		{"two spans without a parent at the same time", func(p *tape) {
			p.in("second", 10*ms, 40*ms, 2, 0)
			p.in("in second", 12*ms, 15*ms, 0, 2)
			p.in("first", 0, 50*ms, 1, 0)
		}, []string{"1/1 process:", " first 0s-50ms", "1/2 process · 2:", " second 10ms-40ms", "  in second 12ms-15ms"}},
		{"a span without a parent in a measure without a span", func(p *tape) {
			p.in("second", 12*ms, 14*ms, 2, 0)
			p.in("first", 10*ms, 20*ms, 1, 0)
			p.in("around", 0, 50*ms, 0, 0)
		}, []string{"1/1 process:", " around 0s-50ms", "  first 10ms-20ms", "1/2 process · 2:", " second 12ms-14ms"}},
		{"a span that does not tell what is above it", func(p *tape) {
			p.add(nil, of{1, 2, 2}, observer.Resource, "call", 10*ms, 20*ms)
			p.in("a", 0, 50*ms, 1, 0)
		}, []string{"1/1 process:", " a 0s-50ms", "  call 10ms-20ms"}},
		{"before the session began", func(p *tape) {
			p.in("over", -20*ms, -10*ms, 3, 0)
			p.in("b", -5*ms, 5*ms, 2, 1)
			p.in("a", -10*ms, 10*ms, 1, 0)
		}, []string{"1/1 process:", " a -10ms-10ms", "  b -5ms-5ms"}},
		{"a measure that ends before it starts", func(p *tape) {
			p.in("b", 5*ms, 2*ms, 2, 1)
			p.in("a", 0, 10*ms, 1, 0)
		}, []string{"1/1 process:", " a 0s-10ms", "  b 5ms-5ms"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newTape(t)
			c.record(p)
			wantDrawn(t, p.session(nil), c.want...)
		})
	}
}

// Of measures between marks that overlap as many as 64 have an interval, the others are moments
// at their start that say how long they took.
func TestModelBetweenMarks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := newTape(t)
		all := make([]sessions.Interval, rapid.IntRange(0, 150).Draw(rt, "measures"))
		for i := range all {
			start := time.Duration(rapid.IntRange(0, 5).Draw(rt, "start")) * ms
			all[i] = sessions.Interval{Start: start, End: start + time.Duration(rapid.IntRange(1, 5).Draw(rt, "length"))*ms}
			p.between("m", all[i], slog.Int("n", i))
		}
		s := p.session(nil)
		side := make([]bool, len(all)) // those that are intervals
		for _, tl := range s.Timelines() {
			for e := range s.All(tl.ID) {
				if e.Type != sessions.Measure || e.ParentID != 0 {
					rt.Fatalf("%+v", e)
				}
				took := e.Interval.End - e.Interval.Start
				i := inputOf(e)
				if side[i] = took > 0; !side[i] && e.Detail[0].Key == "duration" {
					took = e.Detail[0].Value.Duration()
				}
				if e.Interval.Start != all[i].Start || took != all[i].End-all[i].Start || len(e.Detail) == 1 != side[i] {
					rt.Fatalf("%+v was %v", e, all[i])
				}
			}
		}
		if n := len(s.Timelines()); n > 64 || s.Stats().Events != uint64(len(all)) {
			rt.Fatalf("%d timelines, %+v of %d measures", n, s.Stats(), len(all))
		}
		for i, m := range all {
			open := 0 // when it began, or as it did
			for j, o := range all {
				if side[j] && o.Start <= m.Start && o.End > m.Start {
					open++
				}
			}
			if open > 64 || !side[i] && open < 64 {
				rt.Fatalf("%v, interval %t, was one of %d", m, side[i], open)
			}
		}
	})
}

// Each request is a frame, as is the process, and the collector (SP-7); one that goes
// through several documents, such as a handler within another, stays one.
func TestFrames_SP7_SP9(t *testing.T) {
	p := newTape(t)
	first, second := p.NewChild(), p.NewChild()
	p.add(second, of{3, 1, 0}, observer.Navigation, "/late", 30*ms, 40*ms)
	p.add(first, of{2, 3, 2}, observer.Measure, "query", 12*ms, 14*ms)
	p.add(first, of{2, 4, 2}, observer.Measure, "beside it", 13*ms, 15*ms)
	p.add(first, of{2, 2, 0}, observer.Navigation, "/early", 10*ms, 20*ms)
	p.add(nil, of{}, observer.GC, "gc", 13*ms, 14*ms)
	p.add(nil, of{}, observer.Mark, "tick", 50*ms, 50*ms)
	s := p.session(nil)
	wantDrawn(t, s,
		"1/1 process:", " tick 50ms-50ms",
		"2/2 gc:", " gc 13ms-14ms",
		"3/3 /early:", " /early 10ms-20ms", "  query 12ms-14ms",
		"3/4 /early · 2:", " beside it 13ms-15ms",
		"4/5 /late:", " /late 30ms-40ms")
	for _, tl := range s.Timelines()[2:4] {
		if want := spanContext(2, 2); tl.TraceID != want.TraceID() || tl.SpanID != want.SpanID() || tl.Lane != int(tl.ID)-3 {
			t.Errorf("timeline %d is lane %d of trace %v, span %v", tl.ID, tl.Lane, tl.TraceID, tl.SpanID)
		}
	}
}

// Two requests that overlap on one timeline, which is a mistake, harm nothing.
func TestTwoRequestsOnOneTimeline(t *testing.T) {
	p := newTape(t)
	child := p.NewChild()
	p.add(child, of{2, 1, 0}, observer.Navigation, "/a", 0, 20*ms)
	p.add(child, of{2, 2, 0}, observer.Navigation, "/b", 10*ms, 30*ms)
	if n := len(p.session(nil).Timelines()); n != 2 {
		t.Errorf("%d timelines, want one for each", n)
	}
}

// The lane that has the request is the frame's first, whatever began before it.
func TestLaneOfTheRequest(t *testing.T) {
	p := newTape(t)
	child := p.NewChild()
	p.add(child, of{2, 5, 9}, observer.Measure, "wait", -5*ms, 2*ms)
	p.add(child, of{2, 1, 0}, observer.Navigation, "/a", 0, 20*ms)
	p.add(child, of{2, 2, 1}, observer.Measure, "work", 3*ms, 4*ms)
	wantDrawn(t, p.session(nil), "3/1 /a:", " /a 0s-20ms", "  work 3ms-4ms", "3/2 /a · 2:", " wait -5ms-2ms")
}

// Parents that are wrong in a long chain or circle do not make it slow.
func TestManyWrongParents(t *testing.T) {
	p := newTape(t)
	for i := range 100 {
		p.in("a", time.Duration(i)*ms, time.Duration(i)*ms, byte(i+1), byte((i+1)%100+1))
	}
	p.in("b", 0, time.Second, 200, 0)
	s := p.session(nil)
	if tl := s.Timelines(); len(tl) != 1 || tl[0].ChildCount != 1 || tl[0].Events != 101 {
		t.Errorf("got %+v", tl)
	}
}
