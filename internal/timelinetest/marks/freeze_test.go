package marks_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/spantest"
	"github.com/perfline/perfline/marks"
)

// Values are frozen at the call, even where the entry is recorded later.
func TestValuesAreFrozenAtTheCall_UT6(t *testing.T) {
	for name, record := range map[string]func(ctx context.Context, a slog.Attr, change func()) error{
		"Mark": func(ctx context.Context, a slog.Attr, change func()) error {
			marks.Mark(ctx, "m", a)
			change()
			return nil
		},
		"MarkAt": func(ctx context.Context, a slog.Attr, change func()) error {
			_, err := marks.MarkAt(ctx, "m", 1, a)
			change()
			return err
		},
		"Time": func(ctx context.Context, a slog.Attr, change func()) error {
			tm := marks.Time(ctx, "m", a)
			change()
			tm.End()
			return nil
		},
		"Time, as one of many": func(ctx context.Context, a slog.Attr, change func()) error {
			tm := marks.Time(ctx, "m", a, slog.Attr{}, slog.Attr{}, slog.Attr{}, slog.Attr{}, slog.Attr{})
			change()
			tm.End()
			return nil
		},
		"Start": func(ctx context.Context, a slog.Attr, change func()) error {
			_, tm := marks.Start(ctx, "m", a)
			change()
			tm.End()
			return nil
		},
		"End": func(ctx context.Context, a slog.Attr, change func()) error {
			marks.Time(ctx, "m").End(a)
			change()
			return nil
		},
		"Measure": func(ctx context.Context, a slog.Attr, change func()) error {
			_, err := marks.Measure(ctx, "m", marks.MeasureOptions{Start: marks.At(0), Detail: []slog.Attr{a}})
			change()
			return err
		},
		"Timerify": func(ctx context.Context, a slog.Attr, change func()) error {
			f := func(context.Context, int) (int, error) { return 0, nil }
			timed := marks.Timerify("m", f, marks.TimerifyOptions{Attrs: []slog.Attr{a}})
			change()
			_, err := timed(ctx, 0)
			return err
		},
		"handler": func(ctx context.Context, a slog.Attr, change func()) error {
			slog.New(marks.NewHandler(nil, nil)).LogAttrs(ctx, slog.LevelWarn, "m", a)
			change()
			return nil
		},
		"handler's own": func(ctx context.Context, a slog.Attr, change func()) error {
			log := slog.New(marks.NewHandler(nil, nil).WithAttrs([]slog.Attr{a}))
			change()
			log.WarnContext(ctx, "m")
			return nil
		},
		"handler's own in a group": func(ctx context.Context, a slog.Attr, change func()) error {
			log := slog.New(marks.NewHandler(nil, nil).WithGroup("g").WithAttrs([]slog.Attr{a}))
			change()
			log.WarnContext(ctx, "m")
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			tl, ctx := newManual()
			header := http.Header{"A": {"1"}}
			list := []float64{1}
			group := []slog.Attr{slog.Any("list", list), slog.Any("header", header)}
			err := record(ctx, slog.Attr{Key: "k", Value: slog.GroupValue(group...)}, func() {
				header.Set("A", "2")
				list[0] = 2
				group[0] = slog.Int("other", 1)
			})
			got := tl.Entries()
			if err != nil || len(got) != 1 {
				t.Fatalf("got %v, %v", got, err)
			}
			if text := fmt.Sprint(got[0].Detail()); !strings.Contains(text, "k=[list=[1] header=map[A:[1]]]") {
				t.Errorf("got %s", text)
			}
		})
	}
}

// A mark that nothing wants is returned as it would be without attributes.
func TestUnwantedMarkAt(t *testing.T) {
	_, ctx := newManual()
	ctx = unrecorded(ctx)
	m, err := marks.MarkAt(ctx, "m", 7, slog.Int("n", 1))
	if err != nil || m.Name() != "m" || m.StartTime() != 7 || recorded(m).NumAttrs() != 0 {
		t.Errorf("got %v with %v, %v", m, m.Detail(), err)
	}
}

type exits struct{}

func (exits) Error() string { runtime.Goexit(); return "" }

// A method that ends the goroutine keeps nothing from being recorded that had begun.
func TestGoexitInAnAttribute(t *testing.T) {
	bad := slog.Any("k", exits{})
	for name, c := range map[string]struct {
		record func(ctx context.Context)
		want   string // attributes; "" if nothing is recorded
	}{
		"Mark": {func(ctx context.Context) { marks.Mark(ctx, "m", bad) }, "[k=!GOEXIT]"},
		"End":  {func(ctx context.Context) { marks.Time(ctx, "m", slog.Int("n", 1)).End(bad) }, "[n=1 k=!GOEXIT]"},
		"End after Start": {func(ctx context.Context) {
			_, tm := marks.Start(ctx, "m")
			tm.End(bad)
		}, "[k=!GOEXIT]"},
		"handler": {func(ctx context.Context) {
			slog.New(marks.NewHandler(nil, nil)).LogAttrs(ctx, slog.LevelWarn, "m", bad)
		}, "[level=WARN k=!GOEXIT]"},
		"Timerify": {func(ctx context.Context) {
			_, _ = marks.Timerify("m", func(context.Context, int) (int, error) { return 0, exits{} }, marks.TimerifyOptions{})(ctx, 0)
		}, "[error=!GOEXIT]"},
		"Time":   {func(ctx context.Context) { defer marks.Time(ctx, "m", bad).End() }, ""},
		"Start":  {func(ctx context.Context) { marks.Start(ctx, "m", bad) }, ""},
		"MarkAt": {func(ctx context.Context) { _, _ = marks.MarkAt(ctx, "m", 1, bad) }, ""},
		"Measure": {func(ctx context.Context) {
			_, _ = marks.Measure(ctx, "m", marks.MeasureOptions{Start: marks.At(0), Detail: []slog.Attr{bad}})
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tl, ctx := newManual()
			tracing := spantest.New((*record.Timeline)(tl.Timeline))
			var wg sync.WaitGroup
			spawn(&wg, func() {
				c.record(ctx)
				t.Error("it returned")
			})
			wg.Wait()
			got := tl.Entries()
			if len(got) > 1 || (len(got) == 1) != (c.want != "") || (len(got) == 1 && fmt.Sprint(got[0].Detail()) != c.want) {
				t.Errorf("got %v, want one entry with %q", got, c.want)
			}
			started, ended := 0, 0
			for _, call := range tracing.Calls() {
				switch verb, _, _ := strings.Cut(call, " "); verb {
				case "start":
					started++
				case "end":
					ended++
				}
			}
			if started != ended {
				t.Errorf("%d spans were started and %d ended: %q", started, ended, tracing.Calls())
			}
		})
	}
}
