package sessions_test

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// An input is an entry as a test makes it up.
type input struct {
	frame        int // 0 is the process's
	typ          observer.Type
	name         string
	start, end   time.Duration
	self, parent byte
}

// inputs are events that make sense or not: of few times, so that many are equal, and under any spans.
var inputs = rapid.Custom(func(t *rapid.T) []input {
	all := make([]input, rapid.IntRange(0, 30).Draw(t, "events"))
	for i := range all {
		in := &all[i]
		in.frame = rapid.IntRange(0, 2).Draw(t, "frame")
		in.typ = rapid.SampledFrom([]observer.Type{observer.Mark, observer.Measure, observer.Measure, observer.Resource}).Draw(t, "type")
		in.name = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
		in.start = time.Duration(rapid.IntRange(-5, 30).Draw(t, "start")) * ms
		in.end = in.start
		if in.typ != observer.Mark {
			in.end += time.Duration(rapid.IntRange(0, 20).Draw(t, "length")) * ms
			if rapid.Bool().Draw(t, "span") {
				in.self = byte(i + 1)
			}
		}
		in.parent = byte(rapid.IntRange(0, len(all)+1).Draw(t, "parent"))
	}
	return all
})

// traces are samples of three functions under spans of those numbers, under unknown ones, and under none.
var traces = rapid.Custom(func(t *rapid.T) *profile.Trace {
	tr := &profile.Trace{Interval: 3 * ms}
	for i := range 3 {
		tr.Frames = append(tr.Frames, profile.Frame{Name: string(rune('x' + i)), ResourceID: profile.None})
		tr.Stacks = append(tr.Stacks, profile.Stack{FrameID: i, ParentID: profile.None})
	}
	for id := range byte(3) {
		for span := range byte(35) {
			sc := spanContext(id+1, span)
			tr.Contexts = append(tr.Contexts, profile.SampleContext{TraceID: sc.TraceID(), SpanID: sc.SpanID()})
		}
	}
	for range rapid.IntRange(0, 20).Draw(t, "samples") {
		tr.Samples = append(tr.Samples, profile.Sample{
			Timestamp: time.Duration(rapid.IntRange(0, 100).Draw(t, "at")) * ms / 2,
			StackID:   rapid.IntRange(profile.None, 2).Draw(t, "stack"),
			ContextID: rapid.IntRange(profile.None, len(tr.Contexts)-1).Draw(t, "context"),
			Count:     1, Weight: ms,
		})
	}
	slices.SortStableFunc(tr.Samples, func(a, b profile.Sample) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	return tr
})

// The costs of an entry and of a sample.
const entryCost, sampleCost = 100 * time.Microsecond, 300 * time.Microsecond

func sessionOf(t *testing.T, all []input, tr *profile.Trace) *sessions.Session {
	p := newTape(t)
	frames := []*observer.Timeline{p.Timeline, p.NewChild(), p.NewChild()}
	for i, in := range all {
		p.add(frames[in.frame], of{byte(in.frame + 1), in.self, in.parent}, in.typ, in.name, in.start, in.end, slog.Int("n", i))
	}
	if tr != nil {
		tr.Origin, tr.Stats.SampleCost = p.time(0), sampleCost
	}
	return p.build(sessions.Recording{Trace: tr, EntryCost: entryCost})
}

// A model is a timeline's events as a list, of which everything is computed in the simplest way.
type model []sessions.Event

func (m model) below(id sessions.EventID) (out model) {
	for _, e := range m {
		if e.ParentID == id {
			out = append(out, e)
		}
	}
	return out
}

// depth is how far e is below the event, 0 if it is not.
func (m model) depth(e sessions.Event, root sessions.EventID) int {
	for n := 1; ; n++ {
		if e.ParentID == root {
			return n
		}
		if e.ParentID == 0 {
			return 0
		}
		e = m[e.ParentID-1]
	}
}

// own is the time of an event that is not below it, with overhead.
func (m model) own(e sessions.Event) time.Duration {
	if e.Type == sessions.Samples {
		return e.Time + e.Overhead
	}
	own := e.Interval.End - e.Interval.Start
	for _, c := range m.below(e.ID) {
		if c.Type == sessions.Samples {
			own -= c.Time + c.Overhead
		} else {
			own -= c.Interval.End - c.Interval.Start
		}
	}
	return own
}

func (m model) overhead(e sessions.Event) (o time.Duration) {
	if e.Type == sessions.Samples {
		return time.Duration(e.Detail[0].Value.Int64()) * sampleCost
	}
	for _, c := range m.below(e.ID) {
		if c.Type != sessions.Samples {
			o += entryCost
		}
	}
	return o
}

func (m model) aggregated(e sessions.Event) (t, overhead time.Duration) {
	t, overhead = e.Time, e.Overhead
	for _, c := range m.below(e.ID) {
		ct, co := m.aggregated(c)
		t, overhead = t+ct, overhead+co
	}
	return t, overhead
}

func inputOf(e sessions.Event) int {
	for _, a := range e.Detail {
		if a.Key == "n" {
			return int(a.Value.Int64())
		}
	}
	return -1
}

// check compares a timeline with what the events themselves say.
func (m model) check(t *rapid.T, tl sessions.Timeline, tr *profile.Trace) {
	var sum sessions.Timeline
	for i, e := range m {
		if e.ID != sessions.EventID(i+1) || e.Hits != 1 || int(e.ParentID) > i {
			t.Fatalf("event %d: %+v", i+1, e)
		}
		if i > 0 && e.Interval.Start < m[i-1].Interval.Start {
			t.Fatalf("SP-10: %+v comes after %+v", e, m[i-1])
		}
		if e.ParentID != 0 {
			p := m[e.ParentID-1]
			if p.Type == sessions.Samples || p.Interval.Start > e.Interval.Start || p.Interval.End < e.Interval.End {
				t.Fatalf("SP-11: %+v is below %+v", e, p)
			}
		}
		siblings := m.below(e.ParentID)
		for _, s := range siblings {
			groups := e.Type == sessions.Samples && s.Type == sessions.Samples // of what ran at the same time
			if s.ID > e.ID && !groups && e.Interval.Start < e.Interval.End && s.Interval.Start < s.Interval.End && s.Interval.Start < e.Interval.End {
				t.Fatalf("%+v overlaps its sibling %+v", e, s)
			}
		}
		if n := len(m.below(e.ID)); int(e.ChildCount) != n {
			t.Fatalf("SP-14: %+v has %d children", e, n)
		}
		length := e.Interval.End - e.Interval.Start
		if e.Time < 0 || e.Overhead < 0 || e.Time+e.Overhead > length || e.Time+e.Overhead != m.own(e) {
			t.Fatalf("SP-12: %+v, whose own time is %v", e, m.own(e))
		}
		if want := min(m.overhead(e), m.own(e)); e.Overhead != want {
			t.Fatalf("overhead of %+v, want %v", e, want)
		}
		total, over := m.aggregated(e)
		if e.AggregatedTime != total || e.AggregatedOverhead != over || e.Type != sessions.Samples && total+over != length {
			t.Fatalf("SP-13: %+v, want %v and %v", e, total, over)
		}
		if e.ParentID == 0 {
			if sum.ChildCount == 0 {
				sum.Interval = e.Interval
			}
			sum.ChildCount++
			sum.Interval.End = max(sum.Interval.End, e.Interval.End)
			sum.AggregatedTime += total
			sum.AggregatedOverhead += over
		}
		if e.Type == sessions.Samples {
			sum.Samples += int(e.Detail[0].Value.Int64())
			if e.Detail[1].Value.Duration() != time.Duration(e.Detail[0].Value.Int64())*ms {
				t.Fatalf("weight of %+v", e)
			}
		}
	}
	want := tl
	want.Interval, want.ChildCount, want.AggregatedTime, want.AggregatedOverhead = sum.Interval, sum.ChildCount, sum.AggregatedTime, sum.AggregatedOverhead
	want.Samples, want.Events = sum.Samples, len(m)
	if tl != want {
		t.Fatalf("got  %+v\nwant %+v", tl, want)
	}
}

// Whatever is recorded, each entry is one event, the events are trees, and their times add
// up; and each sample is in one group.
func TestModel_SP10_SP11_SP12_SP13_SP14_SP15(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all, tr := inputs.Draw(rt, "inputs"), traces.Draw(rt, "trace")
		s := sessionOf(t, all, tr)
		seen := map[int]uint32{}
		frames := map[int]uint32{}
		samples := 0
		lanes := map[uint32]int{}
		for _, tl := range s.Timelines() {
			if tl.Lane < lanes[tl.FrameID] {
				rt.Fatalf("lanes of frame %d are not in order", tl.FrameID)
			}
			lanes[tl.FrameID] = tl.Lane + 1
			m := model(slices.Collect(s.All(tl.ID)))
			m.check(rt, tl, tr)
			for _, e := range m {
				if e.Type == sessions.Samples {
					continue
				}
				i := inputOf(e)
				in := all[i]
				if _, twice := seen[i]; twice || e.Name != in.name || e.Interval != (sessions.Interval{Start: in.start, End: in.end}) ||
					e.SpanID != spanContext(1, in.self).SpanID() {
					rt.Fatalf("event %+v of %+v, there already: %v", e, in, twice)
				}
				seen[i] = tl.FrameID
				if f, known := frames[in.frame]; known && f != tl.FrameID {
					rt.Fatalf("frame %d is %d and %d", in.frame, f, tl.FrameID)
				}
				frames[in.frame] = tl.FrameID
			}
			n, last := 0, time.Duration(0)
			for sample := range s.Samples(tl.ID) {
				n++
				if s.Since(sample) < last {
					rt.Fatal("samples are not in order")
				}
				last = s.Since(sample)
			}
			if n != tl.Samples {
				rt.Fatalf("%d samples in timeline %+v", n, tl)
			}
			samples += n
		}
		want := 0
		for i, in := range all {
			if in.end >= 0 {
				want++
				if _, ok := seen[i]; !ok {
					rt.Fatalf("%+v is lost", in)
				}
			}
		}
		if len(seen) != want || samples != len(tr.Samples) || s.Stats().Entries != uint64(want) || s.Stats().Samples != uint64(samples) {
			rt.Fatalf("%d events and %d samples, want %d and %d; %+v", len(seen), samples, want, len(tr.Samples), s.Stats())
		}
	})
}

// An event below another one was recorded under its span, or under the same span if it has none.
func TestModelParents_SP11(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := inputs.Draw(rt, "inputs")
		known := map[byte]input{}
		for _, in := range all {
			if in.self != 0 && in.end >= 0 {
				known[key(in)] = in
			}
		}
		s := sessionOf(t, all, nil)
		for _, tl := range s.Timelines() {
			m := model(slices.Collect(s.All(tl.ID)))
			for _, e := range m {
				in := all[inputOf(e)]
				for p := e.ParentID; p != 0 && in.self != 0 && in.parent == 0; p = m[p-1].ParentID {
					if m[p-1].SpanID.IsValid() {
						rt.Fatalf("%+v, which has no parent, is below %+v", in, all[inputOf(m[p-1])])
					}
				}
				want, ok := above(in, known)
				if !ok || e.ParentID == 0 {
					continue
				}
				p := e.ParentID
				for p != 0 && !m[p-1].SpanID.IsValid() { // measures without a span
					if q, ok := above(all[inputOf(m[p-1])], known); ok && q != want {
						rt.Fatalf("%+v is below %+v", in, all[inputOf(m[p-1])])
					}
					if q, ok := above(all[inputOf(m[p-1])], known); ok && q == want {
						p = 0
						break
					}
					p = m[p-1].ParentID
				}
				if p != 0 && all[inputOf(m[p-1])] != want {
					rt.Fatalf("%+v is below %+v, was recorded under %+v", in, all[inputOf(m[p-1])], want)
				}
			}
		}
	})
}

func key(in input) byte { return in.self + byte(in.frame)*64 }

// above is what an input was recorded under: spans of no length count as what they are below.
func above(in input, known map[byte]input) (input, bool) {
	self := in
	for range known {
		p, ok := known[in.parent+byte(self.frame)*64]
		if !ok {
			return input{}, false
		}
		if p.end > p.start && p != self {
			return p, true
		}
		in = p
	}
	return input{}, false
}

// The calls of one goroutine are one timeline, and its tree is the call tree.
func TestModelNested_SP11(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var all []input
		var parents []int
		now := time.Duration(0)
		var call func(parent int, span byte, depth int)
		call = func(parent int, span byte, depth int) {
			began, self := now, byte(0)
			if rapid.Bool().Draw(rt, "span") && len(all) < 200 {
				self = byte(len(parents) + 1)
			}
			id := len(parents)
			parents = append(parents, parent)
			under := span
			if self != 0 {
				under = self
			}
			now += ms
			if depth < 5 {
				for range rapid.IntRange(0, 3).Draw(rt, "calls") {
					call(id, under, depth+1)
					now += ms * time.Duration(rapid.IntRange(0, 1).Draw(rt, "pause"))
				}
			}
			now += ms
			all = append(all, input{typ: observer.Measure, name: fmt.Sprint(id), start: began, end: now, self: self, parent: span})
		}
		for range rapid.IntRange(1, 2).Draw(rt, "roots") {
			if len(parents) < 100 {
				call(-1, 0, 0)
			}
		}
		if len(parents) > 250 {
			rt.Skip("spans have a byte here")
		}
		s := sessionOf(t, all, nil)
		tls := s.Timelines()
		if len(tls) != 1 {
			rt.Fatalf("%d timelines\n%s", len(tls), draw(s))
		}
		m := model(slices.Collect(s.All(1)))
		for _, e := range m {
			got := "-1"
			if e.ParentID != 0 {
				got = m[e.ParentID-1].Name
			}
			id := 0
			_, _ = fmt.Sscan(e.Name, &id)
			if want := fmt.Sprint(parents[id]); got != want {
				rt.Fatalf("%s is below %s, want %s", e.Name, got, want)
			}
		}
	})
}
