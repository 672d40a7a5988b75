package marks_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

func TestRequestTimelines(t *testing.T) {
	t.Run("UT-21 the process's marks are not the request's", func(t *testing.T) {
		process, ctx := newManual()
		marks.Mark(ctx, "m")
		child := observer.NewContext(ctx, process.NewChild())
		if _, err := marks.Measure(child, "x", marks.MeasureOptions{Start: marks.Named("m")}); !errors.Is(err, marks.ErrNoMark) {
			t.Errorf("got %v, want ErrNoMark", err)
		}
		if _, err := marks.Measure(ctx, "x", marks.MeasureOptions{Start: marks.Named("m")}); err != nil {
			t.Error(err)
		}
	})
	t.Run("UT-21 two requests with one name", func(t *testing.T) {
		process, ctx := newManual()
		var requests []context.Context
		for i := range 3 {
			process.now = time.Duration(10 * i)
			requests = append(requests, observer.NewContext(ctx, process.NewChild()))
			process.now += time.Duration(i + 1)
			marks.Mark(requests[i], "m")
		}
		process.now = 100
		for i, r := range requests {
			m, err := marks.Measure(r, "x", marks.MeasureOptions{Start: marks.Named("m")})
			if w := time.Duration(i + 1); err != nil || m.StartTime() != w || m.Duration() != time.Duration(100-10*i)-w {
				t.Errorf("request %d: got %v for %v, %v, want it from %v until now", i, m.StartTime(), m.Duration(), err, w)
			}
		}
	})
	t.Run("UT-8 UT-20 clearing is the request's own", func(t *testing.T) {
		process, ctx := newManual()
		a, b := process.NewChild(), process.NewChild()
		ctxA := observer.NewContext(ctx, a)
		for _, r := range []context.Context{ctx, ctxA, observer.NewContext(ctx, b)} {
			marks.Mark(r, "m")
			marks.Time(r, "t").End()
		}
		marks.ClearMarks(ctxA)
		marks.ClearMeasures(ctxA)
		for name, on := range map[string]*observer.Timeline{"process": process.Timeline, "the other request": b} {
			if got := names(on.Entries()); !slices.Equal(got, []string{"m", "t"}) {
				t.Errorf("%s: left %v", name, got)
			}
		}
		if got := names(a.Entries()); len(got) != 0 {
			t.Errorf("the request itself: left %v", got)
		}
	})
	t.Run("UT-9 the observer of the process keeps what a request clears", func(t *testing.T) {
		process, ctx := newManual()
		obs, err := process.Observe(func(observer.List) {}, observer.Options{Type: observer.Mark})
		if err != nil {
			t.Fatal(err)
		}
		ctx = observer.NewContext(ctx, process.NewChild())
		marks.Mark(ctx, "m")
		marks.ClearMarks(ctx, "m")
		if got := names(obs.TakeRecords()); !slices.Equal(got, []string{"m"}) {
			t.Errorf("got %v, want the mark", got)
		}
	})
	t.Run("a timing that outlives its request", func(t *testing.T) {
		process, ctx := newManual()
		var starts []time.Duration
		if _, err := process.Observe(func(l observer.List) {
			for _, e := range l.Entries() {
				starts = append(starts, e.StartTime(), e.Duration())
			}
		}, observer.Options{Type: observer.Measure}); err != nil {
			t.Fatal(err)
		}
		process.now = 10
		child := process.NewChild()
		process.now = 15
		tm := marks.Time(observer.NewContext(ctx, child), "background")
		child.Close()
		process.now = 40
		tm.End()
		process.Deliver()
		if !slices.Equal(starts, []time.Duration{15, 25}) {
			t.Errorf("the process's observer saw start and duration %v, want [15ns 25ns]", starts)
		}
	})
}

// UT-21: the most recent mark counts even when the buffer had no room for it.
func TestMeasureAfterTheBufferIsFull(t *testing.T) {
	process := observer.NewTimeline(observer.TimelineOptions{ChildBufferSize: 2})
	child := process.NewChild()
	ctx := observer.NewContext(context.Background(), child)
	for i := range 10 {
		if _, err := marks.MarkAt(ctx, "tick", time.Duration(i)); err != nil {
			t.Fatal(err)
		}
		if i%3 == 0 {
			(*record.Timeline)(process).Flush()
		}
		m, err := marks.Measure(ctx, "since the tick", marks.MeasureOptions{Start: marks.Named("tick"), End: marks.At(100)})
		if err != nil || m.StartTime() != time.Duration(i) {
			t.Errorf("after tick %d: measured from %v, %v", i, m.StartTime(), err)
		}
	}
	if n := len(child.EntriesByName("tick")); n != 2 {
		t.Errorf("PT-3: %d marks kept, want 2", n)
	}
}

// Many requests at once, each with the same names: none sees another's.
func TestConcurrentRequests(t *testing.T) {
	process := observer.NewTimeline(observer.TimelineOptions{Interval: 20 * time.Microsecond})
	var all sync.WaitGroup
	for g := range 8 {
		spawn(&all, func() {
			for i := range 100 {
				child := process.NewChild()
				ctx := observer.NewContext(context.Background(), child)
				id := g*1000 + i
				marks.Mark(ctx, "begin", slog.Int("id", id))
				marks.Time(ctx, "work", slog.Int("id", id)).End()
				if _, err := marks.Measure(ctx, "all", marks.MeasureOptions{Start: marks.Named("begin"), Detail: []slog.Attr{slog.Int("id", id)}}); err != nil {
					t.Error(err)
				}
				entries := child.Entries()
				if len(entries) != 3 {
					t.Errorf("request %d has %v", id, names(entries))
				}
				for _, e := range entries {
					if got, want := fmt.Sprint(e.Detail()), fmt.Sprintf("[id=%d]", id); got != want {
						t.Errorf("request %d has an entry with %s", id, got)
					}
				}
				child.Close()
			}
		})
	}
	all.Wait()
	(*record.Timeline)(process).Flush()
	if s := process.Stats()[observer.Mark]; s.Recorded != 800 {
		t.Errorf("%d marks recorded, want 800", s.Recorded)
	}
}
