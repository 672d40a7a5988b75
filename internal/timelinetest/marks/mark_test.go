package marks_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

func TestMark_UT1(t *testing.T) {
	tl, ctx := newManual()
	tl.now = 3 * time.Millisecond
	attrs := []slog.Attr{slog.String("k", "v"), slog.Int("n", 2)}
	marks.Mark(ctx, "m", attrs...)
	attrs[0] = slog.String("k", "changed")

	got := tl.Entries()
	if len(got) != 1 {
		t.Fatalf("%d entries, want 1 (UT-1: add once, X9)", len(got))
	}
	e := got[0]
	t.Run("UT-4 entryType mark, duration 0", func(t *testing.T) {
		if e.Name() != "m" || e.Type() != observer.Mark || e.Duration() != 0 {
			t.Errorf("got %q %q %v", e.Name(), e.Type(), e.Duration())
		}
	})
	t.Run("UT-5 startTime is now", func(t *testing.T) {
		if e.StartTime() != tl.now {
			t.Errorf("got %v, want %v", e.StartTime(), tl.now)
		}
	})
	t.Run("UT-6 detail is copied at the call", func(t *testing.T) {
		if d := e.Detail(); len(d) != 2 || d[0].Value.String() != "v" || d[1].Value.Int64() != 2 {
			t.Errorf("got %v", d)
		}
	})
	t.Run("UT-6 missing detail is nil", func(t *testing.T) {
		marks.Mark(ctx, "bare")
		if d := tl.EntriesByName("bare")[0].Detail(); d != nil {
			t.Errorf("got %v", d)
		}
	})
}

func TestMarkManyAttributes(t *testing.T) {
	tl, ctx := newManual()
	var attrs []slog.Attr
	for i := range 9 {
		attrs = append(attrs, slog.Int(string(rune('a'+i)), i))
	}
	marks.Mark(ctx, "m", attrs...)
	d := tl.Entries()[0].Detail()
	if len(d) != len(attrs) {
		t.Fatalf("%d attributes, want %d", len(d), len(attrs))
	}
	for i := range d {
		if !d[i].Equal(attrs[i]) {
			t.Errorf("attribute %d is %v, want %v", i, d[i], attrs[i])
		}
	}
}

func TestMarkAt(t *testing.T) {
	tl, ctx := newManual()
	tl.now = 10
	t.Run("UT-5 given time is used", func(t *testing.T) {
		m, err := marks.MarkAt(ctx, "at", 7, slog.Bool("b", true))
		if err != nil || m.Name() != "at" || m.StartTime() != 7 || m.Detail()[0].Key != "b" {
			t.Errorf("got %q at %v, %v", m.Name(), m.StartTime(), err)
		}
		if e := tl.EntriesByName("at"); len(e) != 1 || e[0].StartTime() != 7 {
			t.Errorf("recorded %v", e)
		}
	})
	t.Run("UT-1 it is queued, buffered and returned, UT-4 as a mark of no duration", func(t *testing.T) {
		obs, err := tl.Observe(func(observer.List) {}, observer.Options{Type: observer.Mark})
		if err != nil {
			t.Fatal(err)
		}
		m, err := marks.MarkAt(ctx, "queued", 3)
		if err != nil || m.Name() != "queued" || m.Type() != observer.Mark || m.Duration() != 0 {
			t.Errorf("returned %s %q for %v, %v", m.Type(), m.Name(), m.Duration(), err)
		}
		buffered, observed := tl.EntriesByName("queued"), obs.TakeRecords()
		if len(buffered) != 1 || len(observed) != 1 || buffered[0].Duration() != 0 || observed[0].Name() != "queued" {
			t.Errorf("buffered %v, observed %v, want one each", buffered, observed)
		}
		obs.Disconnect()
	})
	t.Run("UT-5 negative time", func(t *testing.T) {
		_, err := marks.MarkAt(ctx, "past", -time.Second)
		if !errors.Is(err, marks.ErrNegative) || !strings.Contains(err.Error(), `"past"`) || !strings.Contains(err.Error(), "-1s") {
			t.Errorf("got %v, want ErrNegative with name and value", err)
		}
		if len(tl.EntriesByName("past")) != 0 {
			t.Error("it was recorded")
		}
	})
	t.Run("UT-2 PT-11 the constructor does not queue, and a mark has no duration", func(t *testing.T) {
		m, err := newMark(ctx, "made", tl.now)
		if err != nil || m.StartTime() != tl.now || m.Type() != observer.Mark || m.Duration() != 0 {
			t.Errorf("got %v %v for %v, %v", m.Type(), m.StartTime(), m.Duration(), err)
		}
		if len(tl.EntriesByName("made")) != 0 {
			t.Error("it was recorded")
		}
		if !(*record.Timeline)(tl.Timeline).Queue(ctx, record.Entry(m)) || len(tl.EntriesByName("made")) != 1 {
			t.Error("Queue did not record it")
		}
	})
}

func TestClear_UT8_UT9_UT20(t *testing.T) {
	tl, ctx := newManual()
	for _, n := range []string{"a", "b", "a"} {
		marks.Mark(ctx, n)
		marks.Time(ctx, n).End()
	}
	obs, err := tl.Observe(func(observer.List) {}, observer.Options{Type: observer.Mark})
	if err != nil {
		t.Fatal(err)
	}
	marks.Mark(ctx, "late")
	marks.ClearMarks(ctx, "nobody")
	marks.ClearMarks(ctx, "A")
	if n := len(tl.EntriesByType(observer.Mark)); n != 4 {
		t.Errorf("UT-8 unknown name: %d marks left, want 4", n)
	}
	marks.ClearMarks(ctx, "a")
	if got := names(tl.EntriesByType(observer.Mark)); !slices.Equal(got, []string{"b", "late"}) {
		t.Errorf("UT-8 exact name: left %v", got)
	}
	if n := len(tl.EntriesByType(observer.Measure)); n != 3 {
		t.Errorf("UT-8 measures untouched: %d left, want 3", n)
	}
	marks.Mark(ctx, "c")
	marks.ClearMarks(ctx, "late", "c")
	if got := names(tl.EntriesByType(observer.Mark)); !slices.Equal(got, []string{"b"}) {
		t.Errorf("UT-8 two names: left %v", got)
	}
	marks.ClearMarks(ctx)
	if got := tl.EntriesByType(observer.Mark); len(got) != 0 {
		t.Errorf("UT-8 all: left %v", names(got))
	}
	if got := names(obs.TakeRecords()); !slices.Equal(got, []string{"late", "c"}) {
		t.Errorf("UT-9 observers keep what they have: got %v", got)
	}
	if _, err := marks.Measure(ctx, "m", marks.MeasureOptions{Start: marks.Named("late")}); !errors.Is(err, marks.ErrNoMark) {
		t.Errorf("cleared mark still has a name: %v", err)
	}
	marks.ClearMeasures(ctx, "nobody")
	marks.ClearMeasures(ctx, "B")
	if n := len(tl.EntriesByType(observer.Measure)); n != 3 {
		t.Errorf("UT-20 unknown name: %d measures left, want 3", n)
	}
	marks.ClearMeasures(ctx, "a")
	if got := names(tl.EntriesByType(observer.Measure)); !slices.Equal(got, []string{"b"}) {
		t.Errorf("UT-20: left %v", got)
	}
	marks.Time(ctx, "c").End()
	marks.Time(ctx, "d").End()
	marks.ClearMeasures(ctx, "c", "d")
	if got := names(tl.EntriesByType(observer.Measure)); !slices.Equal(got, []string{"b"}) {
		t.Errorf("UT-20 two names: left %v", got)
	}
	marks.ClearMeasures(ctx)
	if got := tl.Entries(); len(got) != 0 {
		t.Errorf("UT-20 all: left %v", names(got))
	}
}

func TestNilContextIsHarmless(t *testing.T) {
	var ctx context.Context
	marks.Mark(ctx, "m")
	marks.Time(ctx, "t").End()
	ctx2, s := marks.Start(ctx, "s")
	if ctx2 == nil {
		t.Error("Start returned a nil context")
	}
	s.End()
	if _, err := marks.Measure(ctx, "x", marks.MeasureOptions{}); err != nil {
		t.Error(err)
	}
	marks.ClearMarks(ctx, "m")
	marks.ClearMeasures(ctx)
}

func TestRequestsKeepTheirNames(t *testing.T) {
	process, ctx := newManual()
	a, b := process.NewChild(), process.NewChild()
	ctxA, ctxB := observer.NewContext(ctx, a), observer.NewContext(ctx, b)
	marks.Mark(ctxA, "m")
	if _, err := marks.Measure(ctxB, "x", marks.MeasureOptions{Start: marks.Named("m")}); !errors.Is(err, marks.ErrNoMark) {
		t.Errorf("the other request's mark was found: %v", err)
	}
	if len(process.Entries()) != 0 || len(b.Entries()) != 0 || len(a.Entries()) != 1 {
		t.Error("the mark is not in its own timeline alone")
	}
	process.now = 5
	c := process.NewChild()
	process.now = 12
	m, err := marks.Measure(observer.NewContext(ctx, c), "since the origin", marks.MeasureOptions{})
	if err != nil || m.StartTime() != 0 || m.Duration() != 7 {
		t.Errorf("got %v for %v, %v; want 0 for 7ns", m.StartTime(), m.Duration(), err)
	}
}

func TestWhereNothingIsWanted(t *testing.T) {
	tl, ctx := newManual()
	ctx = unrecorded(ctx)
	marks.Mark(ctx, "m")
	marks.Time(ctx, "t").End()
	_, s := marks.Start(ctx, "s")
	s.End()
	m, err := marks.Measure(ctx, "x", marks.MeasureOptions{Start: marks.Named("never made")})
	if err != nil || m.Name() != "" {
		t.Errorf("Measure looked names up: %q, %v", m.Name(), err)
	}
	if _, err = marks.Measure(ctx, "x", marks.MeasureOptions{Start: marks.At(-1)}); !errors.Is(err, marks.ErrNegative) {
		t.Errorf("Measure did not check its options: %v", err)
	}
	if got := tl.Entries(); len(got) != 0 {
		t.Errorf("recorded %v", names(got))
	}
	if _, err := tl.Observe(func(observer.List) {}, observer.Options{Types: []observer.Type{observer.Mark}}); err != nil {
		t.Fatal(err)
	}
	marks.Mark(ctx, "wanted")
	marks.Time(ctx, "not wanted").End()
	if got := names(tl.Entries()); !slices.Equal(got, []string{"wanted"}) {
		t.Errorf("with an observer of marks, recorded %v", got)
	}
}
