//go:build !race

// The race detector takes memory on its own account.

package timeline_test

import (
	"log/slog"
	"runtime"
	"testing"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/spantest"
	"github.com/perfline/perfline/observer"
)

// waiting returns the bytes of the journals of a timeline's units.
func waiting(tl *observer.Timeline) int { return rec(tl).UnitStats().WaitingBytes }

// Many marks on spans that stay open take bounded memory. Each of them arrives with its span, or counts.
func TestMarksOnOpenSpans(t *testing.T) { marksOnOpenSpans(t, 200_000, waiting) }

func marksOnOpenSpans(t *testing.T, n int, used func(*observer.Timeline) int) {
	for name, c := range map[string]struct {
		spans func(tracing *spantest.System) []*spantest.Span
		limit int
		most  int // bytes
	}{
		"one span": {func(tracing *spantest.System) []*spantest.Span {
			return []*spantest.Span{tracing.NewRoot("root")}
		}, 128, 2 << 20},
		"one span without a limit": {func(tracing *spantest.System) []*spantest.Span {
			return []*spantest.Span{tracing.NewRoot("root")}
		}, -1, 3 << 20},
		"many spans of a unit": {func(tracing *spantest.System) (all []*spantest.Span) {
			root := tracing.NewRoot("root")
			for range 999 {
				all = append(all, root.Child("child"))
			}
			return append(all, root)
		}, 128, 3 << 20},
		"many units that keep no marks": {func(tracing *spantest.System) (all []*spantest.Span) {
			for range 1000 {
				all = append(all, tracing.NewRoot("root"))
			}
			return all
		}, 0, 90 << 20},
		"many units": {func(tracing *spantest.System) (all []*spantest.Span) {
			for range 1000 {
				all = append(all, tracing.NewRoot("root"))
			}
			return all
		}, 128, 90 << 20},
	} {
		inBubble(t, name, func(t *testing.T) { // no time passes, so that no marks age out
			tl := observer.NewTimeline(observer.TimelineOptions{ChildBufferSize: -1, Scheduler: func(func()) {}})
			tracing := spantest.New(rec(tl))
			tracing.Limit = c.limit
			spans := c.spans(tracing)
			before, refused, marks, dropped := used(tl), 0, 0, 0
			for i := range n {
				if !mark(spans[i%len(spans)], "m", slog.Int("n", i)) {
					refused++
				}
				if i%(n/4) == n/8 {
					if grown := used(tl) - before; grown > c.most {
						t.Errorf("%d marks take %d KiB, want at most %d", i, grown>>10, c.most>>10)
					}
				}
			}
			for _, s := range spans {
				s.End()
			}
			for _, part := range tracing.Take() {
				for _, r := range part {
					marks += len(r.Marks)
					dropped += r.Dropped
					if c.limit < 0 {
						continue
					}
					if len(r.Marks) < min(c.limit, n/len(spans)) && name != "many spans of a unit" { // whose marks have room in no journal
						t.Errorf("a span arrived with %d of %d marks, want %d or more", len(r.Marks), n/len(spans), c.limit)
					}
				}
			}
			stats := tl.Stats()[observer.Mark]
			if marks+dropped+refused != n || int(stats.Recorded) != n-refused || int(stats.Overflow) != refused {
				t.Errorf("%d marks arrived, %d were dropped and %d refused, want %d; stats are %+v", marks, dropped, refused, n, stats)
			}
			if refused > 0 {
				t.Errorf("%d marks were refused though the limits of spans left room for them", refused)
			}
			if s := rec(tl).UnitStats(); s.Waiting != 0 || s.WaitingBytes != 0 {
				t.Errorf("%d units with %d bytes wait", s.Waiting, s.WaitingBytes)
			}
			runtime.KeepAlive(spans)
		})
	}
}

// The measures of a long time under one span are handed over as they come.
func TestMeasuresUnderAnOpenSpan(t *testing.T) { measuresUnderAnOpenSpan(t, 100_000, waiting) }

func measuresUnderAnOpenSpan(t *testing.T, n int, used func(*observer.Timeline) int) {
	tl := observer.NewTimeline(observer.TimelineOptions{ChildBufferSize: 100, Scheduler: func(func()) {}})
	tracing := spantest.New(rec(tl))
	came := 0
	tracing.Discard = true
	tracing.Before = func(f *record.Finished) { came += f.Len() }
	root := tracing.NewRoot("root")
	before := used(tl)
	for i := range n {
		measure(root, "m", slog.Int("n", i))
		if i%(n/4) == n/8 {
			if grown := used(tl) - before; grown > 2<<20 {
				t.Errorf("%d measures take %d KiB, want at most 2048", i, grown>>10)
			}
		}
	}
	root.End()
	tracing.HandOverEnded()
	if came != n+1 {
		t.Errorf("%d spans and measures came, want %d", came, n+1)
	}
	if s := tl.Stats()[observer.Measure]; s != (observer.TypeStats{Recorded: uint64(n), BufferFull: uint64(n - 100 - n%512)}) {
		t.Errorf("stats are %+v", s)
	}
}

// Marks of a span that never ends are counted as they are lost, too.
func TestMarksOfASpanThatNeverEndsAreCounted(t *testing.T) {
	tl := newManual().Timeline
	tracing := spantest.New(rec(tl))
	tracing.Limit = 128
	root := tracing.NewRoot("root")
	const n = 100_000
	for range n {
		mark(root, "m")
	}
	rec(tl).AbandonUnits(tracing)
	if s := rec(tl).UnitStats(); s.MarksOverLimit+s.MarksOfOpenSpans != n || s.MarksOfOpenSpans < 128 {
		t.Errorf("%d marks are counted as over the limit and %d as aged out, want %d together", s.MarksOverLimit, s.MarksOfOpenSpans, n)
	}
	root.End()
	if part := tracing.Take()[0]; part[0].Dropped != n {
		t.Errorf("the span says that %d marks were dropped, want all", part[0].Dropped)
	}
	if s := rec(tl).UnitStats(); s.MarksOverLimit+s.MarksOfOpenSpans != n {
		t.Errorf("after the span's end, %d marks are counted as over the limit and %d as aged out, want %d together", s.MarksOverLimit, s.MarksOfOpenSpans, n)
	}
}
