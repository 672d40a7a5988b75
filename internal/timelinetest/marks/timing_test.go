package marks_test

import (
	"context"
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

func TestTime(t *testing.T) {
	tl, ctx := newManual()
	tl.now = 10
	tm := marks.Time(ctx, "work", slog.Int("a", 1))
	tl.now = 25
	tm.End(slog.Int("b", 2))
	tl.now = 99
	tm.End()

	got := tl.Entries()
	if len(got) != 1 {
		t.Fatalf("%d entries after two Ends, want 1", len(got))
	}
	if e := got[0]; e.Type() != observer.Measure || e.StartTime() != 10 || e.Duration() != 15 {
		t.Errorf("got %s at %v for %v", e.Type(), e.StartTime(), e.Duration())
	}
	if d := fmt.Sprint(got[0].Detail()); d != "[a=1 b=2]" {
		t.Errorf("got %s", d)
	}
}

func TestTimingAttributes(t *testing.T) {
	attrs := func(from, n int) (out []slog.Attr) {
		for i := range n {
			out = append(out, slog.Int(fmt.Sprint(from+i), from+i))
		}
		return out
	}
	for begin := range 7 {
		for end := range 7 {
			tl, ctx := newManual()
			marks.Time(ctx, "x", attrs(0, begin)...).End(attrs(begin, end)...)
			if got, want := fmt.Sprint(tl.Entries()[0].Detail()), fmt.Sprint(attrs(0, begin+end)); got != want {
				t.Errorf("%d at Time and %d at End: got %s, want %s", begin, end, got, want)
			}
		}
	}
}

func TestStartWithoutBridge(t *testing.T) {
	tl, ctx := newManual()
	ctx2, outer := marks.Start(ctx, "outer", slog.Bool("x", true))
	marks.Mark(ctx2, "inside")
	tl.now = 4
	outer.End()
	got := tl.Entries()
	if !slices.Equal(names(got), []string{"inside", "outer"}) || got[1].Duration() != 4 {
		t.Errorf("got %v", names(got))
	}
}

func TestTimingEndedByMany(t *testing.T) {
	tl, ctx := newManual()
	tm := marks.Time(ctx, "x")
	var wg sync.WaitGroup
	for range 8 {
		spawn(&wg, func() { tm.End() })
	}
	wg.Wait()
	if n := len(tl.Entries()); n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
}

func TestTimingNeverBegun(*testing.T) {
	var zero marks.Timing
	zero.End()
	var none *marks.Timing
	none.End()
}

func TestTimingLeftOpenLeavesNothing(t *testing.T) {
	tl, ctx := newManual()
	marks.Time(ctx, "never ended")
	_, _ = marks.Start(ctx, "nor this")
	if got := tl.Entries(); len(got) != 0 {
		t.Errorf("got %v", names(got))
	}
}

// A measure by name must find a mark of the same goroutine at any moment, also
// while the collector moves it.
func TestMeasureFindsItsMarksWhileCollected(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Interval: time.Microsecond})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	spawn(&wg, func() {
		for {
			select {
			case <-stop:
				return
			default:
				(*record.Timeline)(tl).Flush()
			}
		}
	})
	ctx := context.Background()
	for i := range 3000 {
		child := tl.NewChild()
		reqCtx := observer.NewContext(ctx, child)
		marks.Mark(reqCtx, "m")
		for range 3 {
			if _, err := marks.Measure(reqCtx, "x", marks.MeasureOptions{Start: marks.Named("m")}); err != nil {
				t.Fatalf("request %d: %v", i, err)
			}
		}
		if n := len(child.Entries()); n != 4 {
			t.Fatalf("request %d: Entries has %d, want 4", i, n)
		}
		child.Close()
	}
	close(stop)
	wg.Wait()
}
