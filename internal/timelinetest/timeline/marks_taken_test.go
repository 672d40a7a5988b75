package timeline_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/spantest"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A receiver that takes marks by themselves gets each of them once, in whatever parts units are handed over.
func TestMarksTaken(t *testing.T) { bubble(t, testMarksTaken) }

func testMarksTaken(t *testing.T) {
	rapid.Check(struct{ rapid.TB }{t}, func(t *rapid.T) {
		taken := rapid.SampledFrom([]record.MarksTaken{record.NoMarks, record.LateMarks, record.AllMarks}).Draw(t, "taken")
		tl := newManual()
		tracing := spantest.New(rec(tl.Timeline))
		tracing.Taken = taken
		tracing.Limit = rapid.SampledFrom([]int{-1, 0, 4}).Draw(t, "limit")
		var spans []*spantest.Span
		ended := map[*spantest.Span]bool{}
		var want, got []string
		serial, late := 0, 0
		name := func() string { serial++; tl.now++; return fmt.Sprint(serial) }
		pick := func(t *rapid.T) *spantest.Span { return spans[rapid.IntRange(0, len(spans)-1).Draw(t, "span")] }
		flush := func(*rapid.T) {
			if err := rec(tl.Timeline).FlushUnits(context.Background()); err != nil {
				panic(err)
			}
		}
		read := func() {
			for _, m := range tracing.TakeMarks() {
				if m.Alone && !ended[m.Span] {
					t.Fatalf("mark %s is late, although its span is open", m.Name)
				}
				got = append(got, m.Name)
			}
		}
		many := func(t *rapid.T) {
			s := pick(t)
			for range rapid.IntRange(1, 600).Draw(t, "marks") {
				n := name()
				mark(s, n)
				isLate := ended[s]
				if isLate {
					late++
				}
				if taken == record.AllMarks || taken == record.LateMarks && isLate {
					want = append(want, n)
				}
			}
		}
		spans = append(spans, tracing.NewRoot(name()))
		t.Repeat(map[string]func(*rapid.T){
			"root":  func(*rapid.T) { spans = append(spans, tracing.NewRoot(name())) },
			"child": func(t *rapid.T) { spans = append(spans, pick(t).Child(name())) },
			"marks": many,
			"end": func(t *rapid.T) {
				if s := pick(t); !ended[s] {
					ended[s] = true
					s.End()
				}
			},
			"flush": flush,
			"age": func(*rapid.T) {
				time.Sleep(5*time.Second + 1)
				settle()
			},
			"abandon": func(*rapid.T) { rec(tl.Timeline).AbandonUnits(tracing) },
		})
		flush(t)
		rec(tl.Timeline).AbandonUnits(tracing)
		read()
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("took %d marks %q, want %d %q", len(got), got, len(want), want)
		}
		s := rec(tl.Timeline).UnitStats()
		if taken != record.NoMarks {
			late = 0
		}
		if s.MarksAfterEnd != uint64(late) {
			t.Fatalf("%d late marks are lost, want %d", s.MarksAfterEnd, late)
		}
		if taken == record.AllMarks && s.MarksOverLimit+s.MarksOfOpenSpans+s.MarksDropped > 0 {
			t.Fatalf("marks that were taken count as lost: %+v", s)
		}
	})
}

// Marks of a span that stays open are taken with the next part of its unit: within 5 s.
func TestMarksOfOpenSpanTaken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tl := newManual()
		tracing := spantest.New(rec(tl.Timeline))
		tracing.Taken = record.AllMarks
		stream := tracing.NewRoot("stream")
		for _, want := range []string{"one", "two"} {
			mark(stream, want)
			time.Sleep(5*time.Second + 1)
			settle()
			if got := tracing.TakeMarks(); len(got) != 1 || got[0].Name != want || got[0].Span != stream {
				t.Errorf("took %v, want the mark %q", got, want)
			}
		}
		stream.End()
		parts := tracing.Take()
		if last := parts[len(parts)-1]; len(last) != 1 || len(last[0].Marks) != 2 {
			t.Errorf("the span came with %+v, want its two marks", last)
		}
	})
}

// A tracer that takes loose marks gets marks under no span. They do not count as marks without a span.
func TestLooseMarks(t *testing.T) {
	for _, loose := range []bool{false, true} {
		t.Run(fmt.Sprint(loose), func(t *testing.T) {
			tl := newManual()
			tracing := spantest.New(rec(tl.Timeline))
			tracing.Loose = loose
			ctx := observer.NewContext(context.Background(), tl.Timeline)
			marks.Mark(ctx, "start")
			marks.Mark(observer.NewContext(ctx, tl.NewChild()), "job")
			calls, without := 0, uint64(2)
			if loose {
				calls, without = 2, 0
			}
			if got := tracing.Calls(); len(got) != calls {
				t.Errorf("the tracer got %q, want %d marks", got, calls)
			}
			if got := rec(tl.Timeline).UnitStats().MarksWithoutSpan; got != without {
				t.Errorf("%d marks without a span, want %d", got, without)
			}
		})
	}
}
