package marks_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

func TestMeasure(t *testing.T) {
	// now is 100; mark a was made at 10 and again, but with a time in the past,
	// at 5; b at 30.
	for _, c := range []struct {
		name            string
		o               marks.MeasureOptions
		start, duration time.Duration
	}{
		{"UT-14 UT-15 none: origin to now", marks.MeasureOptions{}, 0, 100},
		{"UT-15 start mark to now", marks.MeasureOptions{Start: marks.Named("b")}, 30, 70},
		{"UT-21 most recent mark is the last added", marks.MeasureOptions{Start: marks.Named("a")}, 5, 95},
		{"UT-14 start and end marks", marks.MeasureOptions{Start: marks.Named("a"), End: marks.Named("b")}, 5, 25},
		{"UT-14 times", marks.MeasureOptions{Start: marks.At(1), End: marks.At(4)}, 1, 3},
		{"UT-14 end only: from the origin", marks.MeasureOptions{End: marks.At(4)}, 0, 4},
		{"UT-14 start and duration", marks.MeasureOptions{Start: marks.Named("b"), Duration: after(7)}, 30, 7},
		{"UT-15 duration and end", marks.MeasureOptions{Duration: after(7), End: marks.Named("b")}, 23, 7},
		{"UT-15 start before the origin", marks.MeasureOptions{Duration: after(40), End: marks.Named("b")}, -10, 40},
		{"UT-14 zero duration is given", marks.MeasureOptions{Start: marks.At(9), Duration: after(0)}, 9, 0},
		{"UT-17 negative duration", marks.MeasureOptions{Start: marks.Named("b"), End: marks.Named("a")}, 30, -25},
		{"UT-15 times equal to names are times", marks.MeasureOptions{Start: marks.At(0)}, 0, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl, ctx := newManual()
			tl.now = 10
			marks.Mark(ctx, "a")
			tl.now = 30
			marks.Mark(ctx, "b")
			if _, err := marks.MarkAt(ctx, "a", 5); err != nil {
				t.Fatal(err)
			}
			tl.now = 100
			m, err := marks.Measure(ctx, "m", c.o)
			if err != nil {
				t.Fatal(err)
			}
			if m.StartTime() != c.start || m.Duration() != c.duration || m.Type() != observer.Measure || m.Name() != "m" {
				t.Errorf("got %v for %v, want %v for %v", m.StartTime(), m.Duration(), c.start, c.duration)
			}
			got := tl.EntriesByType(observer.Measure)
			if len(got) != 1 || got[0].StartTime() != c.start || got[0].Duration() != c.duration {
				t.Errorf("UT-19: recorded %v", got)
			}
		})
	}
}

func TestMeasureIsQueued_UT19(t *testing.T) {
	tl, ctx := newManual()
	obs, err := tl.Observe(func(observer.List) {}, observer.Options{Type: observer.Measure})
	if err != nil {
		t.Fatal(err)
	}
	m, err := marks.Measure(ctx, "m", marks.MeasureOptions{})
	if err != nil || m.Name() != "m" {
		t.Errorf("returned %q, %v", m.Name(), err)
	}
	if buffered, observed := tl.Entries(), obs.TakeRecords(); len(buffered) != 1 || len(observed) != 1 || observed[0].Name() != "m" {
		t.Errorf("buffered %v, observed %v, want one each", buffered, observed)
	}
}

func TestMeasureDetail_UT18(t *testing.T) {
	tl, ctx := newManual()
	detail := []slog.Attr{slog.Int("n", 1)}
	if _, err := marks.Measure(ctx, "with", marks.MeasureOptions{Start: marks.At(0), Detail: detail}); err != nil {
		t.Fatal(err)
	}
	detail[0] = slog.Int("n", 2)
	if _, err := marks.Measure(ctx, "without", marks.MeasureOptions{Start: marks.At(0)}); err != nil {
		t.Fatal(err)
	}
	if d := tl.EntriesByName("with")[0].Detail(); len(d) != 1 || d[0].Value.Int64() != 1 {
		t.Errorf("UT-18: got %v, want n=1 as at the call", d)
	}
	if d := tl.EntriesByName("without")[0].Detail(); d != nil {
		t.Errorf("UT-18: got %v, want nil", d)
	}
}

func TestMeasureErrors(t *testing.T) {
	d := func(n time.Duration) *time.Duration { return &n }
	for _, c := range []struct {
		name string
		o    marks.MeasureOptions
		is   error
		says []string
	}{
		{"UT-11 duration alone", marks.MeasureOptions{Duration: d(time.Second)}, marks.ErrOptions, []string{"Duration 1s", "Start or End"}},
		{"UT-11 detail alone", marks.MeasureOptions{Detail: []slog.Attr{slog.Int("n", 1)}}, marks.ErrOptions, []string{"Detail", "Start or End"}},
		{"UT-13 an empty detail is given, a nil one is not", marks.MeasureOptions{Detail: []slog.Attr{}}, marks.ErrOptions, []string{"Detail", "Start or End"}},
		{"UT-12 start, duration and end", marks.MeasureOptions{Start: marks.At(1), Duration: d(2), End: marks.At(3)}, marks.ErrOptions, []string{"Duration 2ns", "all given"}},
		{"UT-13 options before conversion", marks.MeasureOptions{Start: marks.At(-1), Duration: d(2), End: marks.Named("?")}, marks.ErrOptions, nil},
		{"UT-21 unknown start mark", marks.MeasureOptions{Start: marks.Named("nope")}, marks.ErrNoMark, []string{`Start "nope"`}},
		{"UT-21 unknown end mark", marks.MeasureOptions{End: marks.Named("nope")}, marks.ErrNoMark, []string{`End "nope"`}},
		{"UT-21 names are case-sensitive", marks.MeasureOptions{Start: marks.Named("KNOWN")}, marks.ErrNoMark, nil},
		{"UT-24 a number given as a name is a name", marks.MeasureOptions{Start: marks.Named("51.15")}, marks.ErrNoMark, []string{`"51.15"`}},
		{"UT-22 negative start", marks.MeasureOptions{Start: marks.At(-5)}, marks.ErrNegative, []string{"Start -5ns"}},
		{"UT-22 negative end", marks.MeasureOptions{End: marks.At(-5)}, marks.ErrNegative, []string{"End -5ns"}},
		{"UT-22 negative duration with start", marks.MeasureOptions{Start: marks.At(1), Duration: d(-2)}, marks.ErrNegative, []string{"Duration -2ns"}},
		{"UT-22 negative duration with end", marks.MeasureOptions{End: marks.At(1), Duration: d(-2)}, marks.ErrNegative, []string{"Duration -2ns"}},
		{"UT-16 the end's error wins over the start's", marks.MeasureOptions{Start: marks.At(-1), End: marks.Named("nope")}, marks.ErrNoMark, []string{"End"}},
		{"UT-16 the end's error wins, the other way", marks.MeasureOptions{Start: marks.Named("nope"), End: marks.At(-1)}, marks.ErrNegative, []string{"End"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl, ctx := newManual()
			marks.Mark(ctx, "known")
			_, err := marks.Measure(ctx, "the measure", c.o)
			if !errors.Is(err, c.is) {
				t.Fatalf("got %v, want %v", err, c.is)
			}
			for _, want := range append(c.says, `"the measure"`) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if n := len(tl.EntriesByType(observer.Measure)); n != 0 {
				t.Errorf("%d measures recorded", n)
			}
		})
	}
}
