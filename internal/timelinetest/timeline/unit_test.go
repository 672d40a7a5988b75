package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/spantest"
	"github.com/perfline/perfline/observer"
)

// mark and measure record under a span.
func mark(s *spantest.Span, name string, attrs ...slog.Attr) bool {
	p := s.At()
	return p.Record(record.Mark, name, p.Timeline.Now(), 0, attrs)
}

func measure(s *spantest.Span, name string, attrs ...slog.Attr) bool {
	p := s.At()
	return p.Record(record.Measure, name, p.Timeline.Now(), 0, attrs)
}

// children ends n spans under s, each of so many bytes.
func children(s *spantest.Span, n, bytes int) {
	for i := range n {
		c := s.Child(fmt.Sprint("child ", i))
		c.Bytes = bytes
		c.End()
	}
}

// shown describes what was received: "span(mark mark +dropped)", "=measure" for measures; parts are separated by "|".
func shown(parts [][]spantest.Received) string {
	var all []string
	for _, part := range parts {
		var items []string
		for i := range part {
			r := &part[i]
			item := r.Name() + r.Attrs
			if !r.IsSpan {
				item = "=" + item
			}
			var marks []string
			for _, m := range r.Marks {
				marks = append(marks, m.Name+m.Attrs)
			}
			if r.Dropped > 0 {
				marks = append(marks, fmt.Sprint("+", r.Dropped))
			}
			if len(marks) > 0 {
				item += "(" + strings.Join(marks, " ") + ")"
			}
			items = append(items, item)
		}
		all = append(all, strings.Join(items, " "))
	}
	return strings.Join(all, " | ")
}

// Children may end after the root, in any order, and start after it. Each span has its own marks, and takes them along.
func TestUnitHandsOver(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(tracing *spantest.System, root *spantest.Span)
		want string
	}{
		"a root alone":              {func(_ *spantest.System, root *spantest.Span) { root.End() }, "root"},
		"nothing before the root's": {func(_ *spantest.System, root *spantest.Span) { children(root, 5, 0); measure(root, "m") }, ""},
		"children, measures and marks": {func(_ *spantest.System, root *spantest.Span) {
			a := root.Child("a")
			mark(root, "1")
			mark(a, "2", slog.Int("n", 1))
			measure(a, "m", slog.Int("n", 2))
			mark(root, "3")
			a.End()
			root.End()
		}, "=m[n=2] a(2[n=1]) root(1 3)"},
		"children end after the root": {func(_ *spantest.System, root *spantest.Span) {
			a, b := root.Child("a"), root.Child("b")
			mark(a, "1")
			mark(b, "2")
			mark(root, "3")
			root.End()
			mark(a, "4")
			measure(a, "m")
			b.End()
			a.End()
		}, "root(3) | =m | b(2) | a(1 4)"},
		"a child starts after the root's end": {func(_ *spantest.System, root *spantest.Span) {
			root.End()
			a := root.Child("a")
			mark(a, "1")
			b := a.Child("b")
			mark(b, "2")
			a.End()
			b.End()
		}, "root | a(1) | b(2)"},
		"late marks": {func(tracing *spantest.System, root *spantest.Span) {
			a := root.Child("a")
			a.End()
			mark(a, "late")
			root.End()
			mark(root, "late")
			mark(a, "late")
			measure(a, "m")
			if s := tracing.Timeline.UnitStats(); s.MarksAfterEnd != 3 {
				t.Errorf("%d marks were late, want 3", s.MarksAfterEnd)
			}
		}, "a root | =m"},
		"a unit that has no root": {func(_ *spantest.System, root *spantest.Span) {
			a := root.Child("a")
			mark(a, "1")
			measure(root, "m")
			root.Unit().Close()
			root.Unit().Close()
			mark(a, "2")
			a.End()
			measure(root, "late")
		}, "=m | a(1 2) | =late"},
		"a unit that has nothing": {func(_ *spantest.System, root *spantest.Span) { root.Unit().Close() }, ""},
		"a flush": {func(tracing *spantest.System, root *spantest.Span) {
			a := root.Child("a")
			mark(root, "1")
			mark(a, "2")
			children(root, 1, 0)
			flush(t, tracing)
			flush(t, tracing) // there is nothing that has finished
			mark(root, "3")
			a.End()
			flush(t, tracing)
			root.End()
		}, "child 0 | a(2) | root(1 3)"},
		"the entries of other types": {func(_ *spantest.System, root *spantest.Span) {
			p := root.At()
			p.Record(record.Navigation, "n", 0, 0, nil)
			p.Record(record.Server, "s", 0, 0, nil)
			root.End()
		}, "root"},
		"spans with an entry": {func(_ *spantest.System, root *spantest.Span) {
			root.Child("a").EndAs(record.Resource, slog.Int("n", 1))
			root.End()
		}, "a[n=1] root"},
		"only the last marks, if a span has too many": {func(tracing *spantest.System, root *spantest.Span) {
			tracing.Limit = 2
			a := root.Child("a")
			for i := range 5 {
				mark(root, fmt.Sprint("r", i))
				mark(a, fmt.Sprint("a", i))
				children(root, 1, 0)
				flush(t, tracing)
			}
			tracing.Take()
			a.End()
			root.End()
		}, "a(a3 a4 +3) root(r3 r4 +3)"},
	} {
		t.Run(name, func(t *testing.T) {
			tracing := spantest.New(rec(newManual().Timeline))
			c.do(tracing, tracing.NewRoot("root"))
			if got := shown(tracing.Take()); got != c.want {
				t.Errorf("received %s, want %s", got, c.want)
			}
		})
	}
}

func flush(t interface {
	Helper()
	Error(args ...any)
}, tracing *spantest.System) {
	t.Helper()
	if err := tracing.Timeline.FlushUnits(context.Background()); err != nil {
		t.Error(err)
	}
}

// A long unit is cut. Marks of spans that have not finished wait for their span.
func TestUnitIsCut(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(root *spantest.Span)
		want []int // lengths of the parts
		long uint64
	}{
		"parts of 512 spans": {func(root *spantest.Span) { children(root, 1100, 1) }, []int{512, 512, 77}, 2},
		"parts of 512 measures": {func(root *spantest.Span) {
			for range 1100 {
				measure(root, "m")
			}
		}, []int{512, 512, 77}, 2},
		"parts of 512 KiB": {func(root *spantest.Span) { children(root, 5, 256<<10) }, []int{2, 2, 2}, 2},
		"a large span":     {func(root *spantest.Span) { children(root, 2, 10<<20) }, []int{1, 1, 1}, 2},
		"large attributes count": {func(root *spantest.Span) {
			text := slog.String("text", strings.Repeat("x", record.MaxText))
			for range 40 {
				measure(root, "m", text)
			}
		}, []int{32, 9}, 1},
		"marks alone are no part": {func(root *spantest.Span) {
			for range 100 {
				mark(root, strings.Repeat("x", 100<<10))
			}
		}, []int{1}, 0},
	} {
		inBubble(t, name, func(t *testing.T) { // no part gets old
			tracing := spantest.New(rec(newManual().Timeline))
			root, first, dropped := tracing.NewRoot("root"), "", 0
			mark(root, "first")
			c.do(root)
			root.End()
			var lengths []int
			for _, part := range tracing.Take() {
				lengths = append(lengths, len(part))
				if last := part[len(part)-1]; last.Span == root && last.IsSpan {
					first, dropped = last.Marks[0].Name, last.Dropped
					if n := len(last.Marks) + last.Dropped; name == "marks alone are no part" && n != 101 {
						t.Errorf("the root has %d marks, want 101", n)
					}
				}
			}
			if !slices.Equal(lengths, c.want) {
				t.Errorf("received parts of %v, want %v", lengths, c.want)
			}
			if first != "first" && name != "marks alone are no part" {
				t.Errorf("the root's first mark is %q, want the one that waited", first)
			}
			if s := tracing.Timeline.UnitStats(); s != (record.UnitStats{LongUnits: c.long, MarksOverLimit: uint64(dropped)}) {
				t.Errorf("stats are %+v, want %d long ones, and %d marks dropped", s, c.long, dropped)
			}
		})
	}
}

// A running unit is handed over after 2.5 to 5 s, and nothing runs when none waits.
func TestUnitsSweep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tl := observer.NewTimeline(observer.TimelineOptions{})
		tracing := spantest.New(rec(tl))
		a := tracing.NewRoot("a")
		children(a, 2, 10)
		mark(a, "1")
		time.Sleep(time.Second)
		b := tracing.NewRoot("b")
		measure(b, "m")
		if s := rec(tl).UnitStats(); s.Waiting != 2 || s.WaitingBytes == 0 {
			t.Errorf("%d units and %d bytes wait, want 2 and some", s.Waiting, s.WaitingBytes)
		}
		time.Sleep(1500*time.Millisecond + 1)
		settle()
		if got := shown(tracing.Take()); got != "" {
			t.Errorf("after 2.5 s, %s has come", got)
		}
		time.Sleep(2500 * time.Millisecond)
		settle()
		if got := shown(tracing.Take()); got != "child 0 child 1 | =m" && got != "=m | child 0 child 1" {
			t.Errorf("after 5 s, %s has come, want the children and the measure", got)
		}
		if s := rec(tl).UnitStats(); s.OldUnits != 2 || s.Waiting != 1 {
			t.Errorf("stats are %+v, want 2 old ones, and 1 with a mark that waits", s)
		}
		time.Sleep(time.Hour)
		settle()
		mark(a, "2")
		children(a, 1, 10)
		a.End()
		b.End()
		if got := shown(tracing.Take()); got != "child 0 a(1 2) | b" {
			t.Errorf("the end brought %s", got)
		}
		if s := rec(tl).UnitStats(); s != (record.UnitStats{OldUnits: 2}) {
			t.Errorf("stats are %+v, want 2 old ones", s)
		}
	})
}

// Many units that never end are bounded in number and in bytes, and what has finished is handed over all the same.
func TestUnitsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		units, size, mostUnits, mostBytes int
	}{
		"number": {20_000, 1, 16 << 10, 20_000 * 8 << 10},
		"bytes":  {2_000, 200 << 10, 2_000, 64 << 20},
	} {
		inBubble(t, name, func(t *testing.T) { // no unit gets old
			tl := newManual().Timeline
			tracing := spantest.New(rec(tl))
			for range c.units {
				children(tracing.NewRoot("root"), 1, c.size)
			}
			received := len(tracing.Take())
			s := rec(tl).UnitStats()
			if s.Waiting > c.mostUnits || s.WaitingBytes > c.mostBytes || s.Waiting < c.mostUnits/3 && s.WaitingBytes < c.mostBytes/3 {
				t.Errorf("%d units and %d bytes wait, want at most %d and %d, and not much less", s.Waiting, s.WaitingBytes, c.mostUnits, c.mostBytes)
			}
			if s.CrowdedUnits == 0 || int(s.CrowdedUnits) != received || received+s.Waiting != c.units {
				t.Errorf("of %d units, %d were handed over for want of room, %d arrived, and %d wait", c.units, s.CrowdedUnits, received, s.Waiting)
			}
			flush(t, tracing)
			received += len(tracing.Take())
			if s := rec(tl).UnitStats(); received != c.units || s.Waiting != 0 || s.WaitingBytes != 0 {
				t.Errorf("%d of %d units arrived, and %d with %d bytes wait still", received, c.units, s.Waiting, s.WaitingBytes)
			}
		})
	}
}

// Where there is no room for a mark, it is refused and counted. Spans that finish are handed over.
func TestMarksFindNoRoom(t *testing.T) { bubble(t, testMarksFindNoRoom) } // no mark gets old

func testMarksFindNoRoom(t *testing.T) {
	tl := newManual().Timeline
	tracing := spantest.New(rec(tl))
	const units, room = 20_000, 16 << 10
	roots := make([]*spantest.Span, units)
	refused := 0
	for i := range roots {
		roots[i] = tracing.NewRoot("root")
		if !mark(roots[i], "m") {
			refused++
		}
	}
	if s := tl.Stats()[observer.Mark]; refused < units-room || int(s.Overflow) != refused || int(s.Recorded) != units-refused {
		t.Errorf("%d marks were refused, stats say %+v", refused, s)
	}
	marks := 0
	for _, root := range roots {
		root.End()
	}
	for _, part := range tracing.Take() {
		marks += len(part[0].Marks)
	}
	if marks+refused != units {
		t.Errorf("%d marks arrived and %d were refused, want %d together", marks, refused, units)
	}
	if s := rec(tl).UnitStats(); s.Waiting != 0 || s.WaitingBytes != 0 {
		t.Errorf("%d units with %d bytes wait, want none", s.Waiting, s.WaitingBytes)
	}
}

// Marks of spans that never end go when it is crowded, and count. The span may still end, and says how many it lost.
func TestMarksAgeOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tl := observer.NewTimeline(observer.TimelineOptions{})
		tracing := spantest.New(rec(tl))
		const units = 20_000
		marks := 0
		roots := make([]*spantest.Span, units)
		for i := range roots {
			roots[i] = tracing.NewRoot("root")
			if mark(roots[i], "m") {
				marks++
			}
		}
		time.Sleep(6 * time.Second)
		settle()
		if s := rec(tl).UnitStats(); int(s.MarksOfOpenSpans) != marks || s.Waiting != 0 || s.WaitingBytes != 0 {
			t.Errorf("stats are %+v, want %d marks aged out and nothing that waits", s, marks)
		}
		if !mark(roots[0], "there is room again") {
			t.Error("refused")
		}
		roots[0].End()
		if got := shown(tracing.Take()); got != "root(there is room again +1)" {
			t.Errorf("received %s", got)
		}
	})
}

// AbandonUnits drops the marks that wait for one receiver, and no others.
func TestAbandonUnits(t *testing.T) {
	tl := newManual().Timeline
	one, other := spantest.New(rec(tl)), spantest.New(rec(tl))
	a, b := one.NewRoot("a"), other.NewRoot("b")
	for _, s := range []*spantest.Span{a, b} {
		mark(s, "1")
		mark(s, "2")
	}
	rec(tl).AbandonUnits(one)
	if s := rec(tl).UnitStats(); s.MarksOfOpenSpans != 2 || s.Waiting != 1 {
		t.Errorf("stats are %+v, want 2 aged out and 1 unit that waits", s)
	}
	mark(a, "3")
	a.End()
	b.End()
	if got := shown(one.Take()) + " " + shown(other.Take()); got != "a(3 +2) b(1 2)" {
		t.Errorf("received %s", got)
	}
}

// A span without a unit goes to its receiver at once.
func TestHandOverOfASpan(t *testing.T) {
	tl := newManual().Timeline
	tracing := spantest.New(rec(tl))
	tracing.Timeline.HandOver(tracing, tracing.NewRoot("alone"))
	if got := shown(tracing.Take()); got != "alone" {
		t.Errorf("received %s", got)
	}
}

// Flush waits for what another goroutine hands over, and not for what finishes meanwhile.
func TestUnitsFlush(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tl := observer.NewTimeline(observer.TimelineOptions{})
		tracing := spantest.New(rec(tl))
		blocked := make(chan struct{})
		var entered atomic.Bool
		tracing.Before = func(f *record.Finished) {
			if it := f.At(0); it.IsSpan && it.Span.(*spantest.Span).Name == "slow" { //nolint:forcetypeassert // all are of this type
				entered.Store(true)
				<-blocked
			}
		}
		root := tracing.NewRoot("root")
		root.Child("slow").End()
		go root.End() // another one hands it over
		settle()
		busy, stop := tracing.NewRoot("busy"), make(chan struct{})
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Millisecond): // it goes on
					children(busy, 600, 1)
				}
			}
		}()
		flushed := make(chan error, 1)
		go func() { flushed <- rec(tl).FlushUnits(context.Background()) }()
		time.Sleep(time.Second)
		select {
		case err := <-flushed:
			t.Fatalf("FlushUnits returned %v while a part was handed over", err)
		default:
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := rec(tl).FlushUnits(ctx); err != context.DeadlineExceeded { //nolint:errorlint // it is the cause itself
			t.Errorf("another FlushUnits returned %v, want the end of its context", err)
		}
		close(blocked)
		if err := <-flushed; err != nil || !entered.Load() {
			t.Error(err)
		}
		close(stop)
	})
}

// A flush whose context has ended hands over nothing, and says why.
func TestFlushInAnEndedContext(t *testing.T) {
	tracing := spantest.New(rec(newManual().Timeline))
	root := tracing.NewRoot("root")
	children(root, 1, 0)
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("shut down")
	cancel(why)
	if err := tracing.Timeline.FlushUnits(ctx); !errors.Is(err, why) {
		t.Errorf("got %v, want the cause", err)
	}
	root.End()
	if got := shown(tracing.Take()); got != "child 0 root" {
		t.Errorf("received %s", got)
	}
}

// Times of handed-over items are wall-clock times, also for a unit that is as old as a wrong clock may be.
func TestTimesOfAUnit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tracing := spantest.New(rec(observer.NewTimeline(observer.TimelineOptions{})))
		root := tracing.NewRoot("root")
		var want []time.Time
		for range 5 {
			time.Sleep(7 * time.Second)
			want = append(want, time.Now(), time.Now())
			mark(root, "m")
			measure(root, "m")
		}
		root.End()
		var got []time.Time
		for _, part := range tracing.Take() {
			for _, r := range part {
				for _, m := range r.Marks {
					got = append(got, m.Time)
				}
				if !r.IsSpan {
					got = append(got, r.Start)
				}
			}
		}
		slices.SortFunc(got, time.Time.Compare)
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// A journal keeps all attributes of an entry, however many they are.
func TestManyAttributes(t *testing.T) {
	const n = 1<<16 + 1
	attrs := make([]slog.Attr, n)
	for i := range attrs {
		attrs[i] = slog.Int("k", i)
	}
	tracing := spantest.New(rec(newManual().Timeline))
	came := 0
	tracing.Before = func(f *record.Finished) {
		if it := f.At(0); it != nil && !it.IsSpan {
			came = len(it.Attrs)
		}
	}
	root := tracing.NewRoot("root")
	p := root.At()
	p.Record(record.Measure, "m", 0, 0, attrs)
	root.End()
	if came != n {
		t.Errorf("%d attributes came, want %d", came, n)
	}
}

// A journal that is full of marks that their tracer has is emptied, and does not wait for anything.
func TestJournalOfMarksThatTheTracerHas(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	s := spantest.New(rec(tl))
	s.Discard, s.Limit = true, 128
	root := s.NewRoot("root")
	root.To = record.ToSpan
	var place record.Place
	place.Locate(root.Context(context.Background()))
	name := strings.Repeat("x", 1000)
	for rec(tl).UnitStats().WaitingBytes < 500_000 {
		place.Record(record.Mark, name, 0, 0, nil)
	}
	for range 30 {
		place.Record(record.Mark, name, 0, 0, nil)
		if got := rec(tl).UnitStats(); got.WaitingBytes < 50_000 {
			if got.Waiting > 1 || got.Waiting == 0 && got.WaitingBytes > 0 {
				t.Errorf("stats are %+v", got)
			}
			return
		}
	}
	t.Errorf("stats are %+v, want an empty journal after 512 KiB", rec(tl).UnitStats())
}
