package marks_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/spantest"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// everything records one entry in every way there is, and returns the errors. asked
// is how often an attribute's value was asked for: it is given to two marks, and five
// times to three measures.
func everything(ctx context.Context) (asked counting, errs []error) {
	lazy := slog.Any("lazy", &asked)
	marks.Mark(ctx, "mark", lazy)
	_, err1 := marks.MarkAt(ctx, "mark", 1, lazy)
	marks.Time(ctx, "measure", lazy).End(lazy)
	_, tm := marks.Start(ctx, "measure", lazy)
	tm.End(lazy)
	_, err2 := marks.Measure(ctx, "measure", marks.MeasureOptions{Start: marks.Named("mark"), Detail: []slog.Attr{lazy}})
	return asked, []error{err1, err2}
}

func TestObserversMakeEntriesWanted(t *testing.T) {
	process, ctx := newManual()
	tracing := spantest.New((*record.Timeline)(process.Timeline))
	child, sibling := process.NewChild(), process.NewChild()
	ctx = tracing.Foreign("unrecorded", record.ToObservers).Context(observer.NewContext(ctx, child))
	check := func(when string, marksWanted, measuresWanted int) {
		t.Helper()
		asked, errs := everything(ctx)
		want := counting(marksWanted)
		if measuresWanted > 0 {
			want += 5
		}
		if asked != want {
			t.Errorf("%s: a value was asked for %d times, want %d", when, asked, want)
		}
		for _, err := range errs {
			if err != nil {
				t.Errorf("%s: %v", when, err)
			}
		}
		if n := len(child.EntriesByType(observer.Mark)); n != marksWanted {
			t.Errorf("%s: %d marks recorded, want %d", when, n, marksWanted)
		}
		if n := len(child.EntriesByType(observer.Measure)); n != measuresWanted {
			t.Errorf("%s: %d measures recorded, want %d", when, n, measuresWanted)
		}
		(*record.Timeline)(child).Clear(record.Mark)
		(*record.Timeline)(child).Clear(record.Measure)
	}
	observe := func(tl *observer.Timeline, types ...observer.Type) *observer.Observer {
		obs, err := tl.Observe(func(observer.List) {}, observer.Options{Types: types})
		if err != nil {
			t.Fatal(err)
		}
		return obs
	}
	check("nobody wants anything", 0, 0)
	observe(sibling, observer.Mark, observer.Measure)
	check("another request's observer", 0, 0)
	obs := observe(child, observer.Mark)
	check("the request's observer of marks", 2, 0)
	obs.Disconnect()
	check("after Disconnect", 0, 0)
	observe(process.Timeline, observer.Mark, observer.Measure)
	check("the process's observer", 2, 3)
	ctx = tracing.Foreign("recorded", record.ToSpan).Context(ctx)
	check("the span is recorded, too", 2, 3)
}

// A timing that began unwanted stays unwanted, and costs nothing later.
func TestUnwantedChecksItsOptions(t *testing.T) {
	process, ctx := newManual()
	ctx = unrecorded(ctx)
	five := 5 * time.Nanosecond
	for _, c := range []struct {
		name string
		o    marks.MeasureOptions
		is   error
	}{
		{"names are not looked up", marks.MeasureOptions{Start: marks.Named("a"), End: marks.Named("b")}, nil},
		{"a name and a duration", marks.MeasureOptions{Start: marks.Named("a"), Duration: &five}, nil},
		{"UT-11", marks.MeasureOptions{Duration: &five}, marks.ErrOptions},
		{"UT-12", marks.MeasureOptions{Start: marks.Named("a"), Duration: &five, End: marks.Named("b")}, marks.ErrOptions},
		{"UT-22 end", marks.MeasureOptions{Start: marks.Named("a"), End: marks.At(-1)}, marks.ErrNegative},
		{"UT-22 duration", marks.MeasureOptions{End: marks.Named("a"), Duration: after(-1)}, marks.ErrNegative},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := marks.Measure(ctx, "m", c.o)
			if !errors.Is(err, c.is) {
				t.Errorf("got %v, want %v", err, c.is)
			}
			if m.Name() != "" || m.Timeline() != nil {
				t.Errorf("got the entry %q, want the zero one", m.Name())
			}
		})
	}
	if _, err := marks.MarkAt(ctx, "m", -1); !errors.Is(err, marks.ErrNegative) {
		t.Errorf("UT-5: got %v, want ErrNegative", err)
	}
	tm := marks.Time(ctx, "began unwanted")
	if _, err := process.Observe(func(observer.List) {}, observer.Options{Type: observer.Measure}); err != nil {
		t.Fatal(err)
	}
	tm.End()
	marks.Time(ctx, "began wanted").End()
	if got := names(process.Entries()); !slices.Equal(got, []string{"began wanted"}) {
		t.Errorf("recorded %v", got)
	}
}
