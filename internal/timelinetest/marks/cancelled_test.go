package marks_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// Recording reads values from its context and ignores whether it is cancelled.
func TestCancelledContext(t *testing.T) {
	tl, ctx := newManual()
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_, errs := everything(ctx)
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if n := len(tl.Entries()); n != 5 {
		t.Errorf("%d entries, want 5", n)
	}
}

// Without a context, all goes to the process's default timeline.
func TestNilContext(t *testing.T) {
	var ctx context.Context
	tl := observer.ProcessTimeline()
	const name = "marks with a nil context"
	marks.ClearMarks(ctx) // other tests filled the one timeline that all share
	marks.ClearMeasures(ctx)
	defer func() {
		marks.ClearMarks(ctx, name)
		marks.ClearMeasures(ctx, name)
		if n := len(tl.EntriesByName(name)); n != 0 {
			t.Errorf("%d entries left after clearing", n)
		}
	}()
	marks.Mark(ctx, name)
	at, err := marks.MarkAt(ctx, name, time.Nanosecond)
	if err != nil || at.Timeline() != tl {
		t.Errorf("MarkAt: %v on %p", err, at.Timeline())
	}
	if _, err = marks.MarkAt(ctx, name, -1); !errors.Is(err, marks.ErrNegative) {
		t.Errorf("UT-5: %v, want ErrNegative", err)
	}
	m, err := marks.Measure(ctx, name, marks.MeasureOptions{Start: marks.Named(name)})
	if err != nil || m.StartTime() != time.Nanosecond {
		t.Errorf("UT-21: measured from %v, %v, want 1ns, the mark made last", m.StartTime(), err)
	}
	if _, err = marks.Measure(ctx, name, marks.MeasureOptions{Start: marks.Named("never made")}); !errors.Is(err, marks.ErrNoMark) {
		t.Errorf("UT-21: %v, want ErrNoMark", err)
	}
	if n := len(tl.EntriesByName(name)); n != 3 {
		t.Errorf("%d entries on the default timeline, want two marks and a measure", n)
	}
}

// Every moment is taken from one clock that does not go back.
func TestTimesAreMonotonic_UT27(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	ctx := observer.NewContext(context.Background(), tl)
	before := tl.Now()
	for range 100 {
		marks.Mark(ctx, "m")
		marks.Time(ctx, "t").End()
	}
	after := tl.Now()
	last := before
	for _, e := range tl.Entries() {
		if e.StartTime() < last || e.Duration() < 0 || e.StartTime()+e.Duration() > after {
			t.Fatalf("UT-27: %q from %v for %v, want it between %v and %v", e.Name(), e.StartTime(), e.Duration(), last, after)
		}
		last = e.StartTime()
	}
	if last == before {
		t.Error("UT-27: the clock stands still")
	}
}
