package marks_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/spantest"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// shown describes what a receiver got: "span(mark mark)" for spans, "=measure" for measures, each with attributes.
func shown(parts [][]spantest.Received) string {
	var all []string
	for _, part := range parts {
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
			if len(marks) > 0 {
				item += "(" + strings.Join(marks, " ") + ")"
			}
			all = append(all, item)
		}
	}
	return strings.Join(all, " ")
}

// do records in every way under ctx.
func do(t *testing.T, ctx context.Context) {
	t.Helper()
	marks.Mark(ctx, "mark", slog.Int("n", 1))
	leaf := marks.Time(ctx, "leaf", slog.Int("n", 2))
	inner, opened := marks.Start(ctx, "opened", slog.Int("n", 3))
	marks.Mark(inner, "inside")
	marks.Time(inner, "leaf inside").End()
	opened.End(slog.Int("n", 4))
	leaf.End()
	if _, err := marks.Measure(ctx, "from the mark", marks.MeasureOptions{Start: marks.Named("mark")}); err != nil {
		t.Error(err)
	}
}

// Marks and measures under a unit's span are in its journal, in its view at once, and go with their spans.
func TestUnderAUnitsSpan(t *testing.T) {
	process, ctx := newManual()
	tracing := spantest.New((*record.Timeline)(process.Timeline))
	root := tracing.NewRoot("root")
	ctx = root.Context(ctx)
	do(t, ctx)
	want := []string{"mark", "inside", "leaf inside", "opened", "leaf", "from the mark"}
	entries := observer.FromContext(ctx).Entries()
	got := names(entries)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the view has %q, want %q", got, want)
	}
	ids := map[string]record.SpanIDs{}
	for _, e := range entries {
		ids[e.Name()] = recorded(e).Span()
	}
	for name, parent := range map[string]record.ID{
		"mark": root.IDs().Self, "leaf": root.IDs().Self, "opened": root.IDs().Self, "from the mark": root.IDs().Self,
		"inside": ids["opened"].Self, "leaf inside": ids["opened"].Self,
	} {
		if ids[name].Parent != parent || parent == (record.ID{}) || ids[name].Trace != root.IDs().Trace {
			t.Errorf("%q has the ids %v, want it under %v", name, ids[name], parent)
		}
	}
	if n := len(process.Entries()); n > 0 {
		t.Errorf("the process's timeline has %d entries", n)
	}
	root.End()
	if got, want := shown(tracing.Take()), "=leaf inside opened[n=3 n=4](inside) =leaf[n=2] =from the mark root(mark[n=1])"; got != want {
		t.Errorf("the receiver got %s, want %s", got, want)
	}
	if calls := append(root.Calls(), tracing.Calls()...); len(calls) > 0 {
		t.Errorf("the tracer got %q, too", calls)
	}
}

// Under another tracer's span, marks and measures reach it at once.
func TestUnderAnotherTracersSpan(t *testing.T) {
	process, ctx := newManual()
	tracing := spantest.New((*record.Timeline)(process.Timeline))
	foreign := tracing.Foreign("foreign", record.ToSpan)
	request := process.NewChild()
	ctx = foreign.Context(observer.NewContext(ctx, request))
	do(t, ctx)
	want := []string{
		`mark "mark" [n=1]`, `start "opened"`, `end "opened" [n=3 n=4]`, `measure "leaf" [n=2]`, `measure "from the mark" []`,
	}
	if got := foreign.Calls(); !slices.Equal(got, want) {
		t.Errorf("the span got %q, want %q", got, want)
	}
	if n := len(request.Entries()); n != 6 {
		t.Errorf("the request has %d entries, want 6", n)
	}
}

// A tracer that makes no span of a measure leaves the context as it is, and the measure to the timeline.
func TestStartWithoutASpan(t *testing.T) {
	process, ctx := newManual()
	tracing := spantest.New((*record.Timeline)(process.Timeline))
	tracing.NoStart = true
	root := tracing.NewRoot("root")
	ctx = root.Context(ctx)
	same, tm := marks.Start(ctx, "m")
	if same != ctx {
		t.Error("Start returned another context")
	}
	tm.End()
	root.End()
	if got := shown(tracing.Take()); got != "=m root" {
		t.Errorf("the receiver got %s", got)
	}
}

// Read-your-writes: whatever was handed over or cleared meanwhile, names mean the most recent mark, UT-21.
func TestNamesInAUnit(t *testing.T) {
	process, ctx := newManual()
	tracing := spantest.New((*record.Timeline)(process.Timeline))
	root := tracing.NewRoot("root")
	ctx = root.Context(ctx)
	u := observer.FromContext(ctx)
	for i := range 1200 { // more than a part
		process.now = u.Now() + 1
		at := u.Now()
		marks.Mark(ctx, "m")
		m, err := marks.Measure(ctx, "x", marks.MeasureOptions{Start: marks.Named("m")})
		if err != nil || m.StartTime() != at {
			t.Fatalf("UT-21: measure %d starts at %v, want %v: %v", i, m.StartTime(), at, err)
		}
		if i%100 == 0 {
			if err := (*record.Timeline)(process.Timeline).FlushUnits(context.Background()); err != nil {
				t.Error(err)
			}
		}
	}
	marks.ClearMarks(ctx)
	if _, err := marks.Measure(ctx, "x", marks.MeasureOptions{Start: marks.Named("m")}); !errors.Is(err, marks.ErrNoMark) {
		t.Errorf("UT-8: after ClearMarks: %v, want ErrNoMark", err)
	}
	marks.ClearMeasures(ctx)
	if got := u.Entries(); len(got) != 0 {
		t.Errorf("UT-20: left %q", names(got))
	}
	root.End()
	marked, measured := 0, 0
	for _, part := range tracing.Take() {
		for _, r := range part {
			marked += len(r.Marks)
			if !r.IsSpan {
				measured++
			}
		}
	}
	if marked != 1200 || measured != 1200 {
		t.Errorf("the receiver got %d marks and %d measures, want 1200 of each: clearing hides from the view only", marked, measured)
	}
	if _, err := marks.Measure(ctx, "x", marks.MeasureOptions{Start: marks.Named("m")}); !errors.Is(err, marks.ErrNoMark) {
		t.Errorf("after the unit's end: %v, want ErrNoMark", err)
	}
}

// A mark with the context of an ended unit is in no other unit's data.
func TestContextsKeptForEver(t *testing.T) {
	process := observer.NewTimeline(observer.TimelineOptions{})
	tracing := spantest.New((*record.Timeline)(process))
	end := func(name string) context.Context {
		root := tracing.NewRoot(name)
		ctx := root.Context(context.Background())
		marks.Mark(ctx, "of "+name)
		if got := names(observer.FromContext(ctx).Entries()); slices.ContainsFunc(got, func(n string) bool { return n != "of "+name }) {
			t.Errorf("the view of %s has %q", name, got)
		}
		tracing.Take()
		root.End()
		parts := tracing.Take()
		if len(parts) != 1 || len(parts[0]) != 1 || slices.ContainsFunc(parts[0][0].Marks, func(m spantest.Mark) bool { return m.Name != "of "+name }) {
			t.Errorf("the unit of %s is %s", name, shown(parts))
		}
		return ctx
	}
	var old []context.Context
	for i := range 100 {
		old = append(old, end(fmt.Sprint("unit ", i)))
	}
	for i := range 20 {
		for _, old := range old[i : i+3] {
			marks.Mark(old, "late")
			marks.Time(old, "late").End()
			_, tm := marks.Start(old, "late")
			tm.End()
		}
		end(fmt.Sprint("another ", i))
	}
	if s := (*record.Timeline)(process).UnitStats(); s.MarksAfterEnd != 60 {
		t.Errorf("%d marks were late, want 60", s.MarksAfterEnd)
	}
}

type failing func() string

func (f failing) Error() string { return f() }

// A failed measure's span has the reason, its entry the attribute "error". The last reason counts.
func TestFail(t *testing.T) {
	fail := func(ctx context.Context, begin string, errs ...error) {
		var tm *marks.Timing
		if begin == "Start" {
			_, tm = marks.Start(ctx, "m", slog.Int("n", 1))
		} else {
			tm = marks.Time(ctx, "m", slog.Int("n", 1))
		}
		for _, err := range errs {
			tm.Fail(err)
		}
		tm.End(slog.Int("n", 2))
		tm.Fail(errors.New("after the end"))
	}
	for _, begin := range []string{"Time", "Start"} {
		for name, c := range map[string]struct {
			errs  []error
			entry string
		}{
			"nil":      {[]error{nil}, "[n=1 n=2]"},
			"an error": {[]error{errors.New("bad")}, "[n=1 n=2 error=bad]"},
			"two":      {[]error{errors.New("bad"), errors.New("worse"), nil}, "[n=1 n=2 error=worse]"},
			"a panic":  {[]error{failing(func() string { panic("no") })}, "[n=1 n=2 error=%!v(PANIC=Error method: no)]"},
		} {
			t.Run(begin+" "+name, func(t *testing.T) {
				process, ctx := newManual()
				fail(ctx, begin, c.errs...)
				tracing := spantest.New((*record.Timeline)(process.Timeline))
				foreign := tracing.Foreign("f", record.ToSpan)
				fail(foreign.Context(ctx), begin, c.errs...)
				root := tracing.NewRoot("root")
				fail(root.Context(ctx), begin, c.errs...)
				for _, e := range append(process.Entries(), (*observer.Timeline)(&root.Unit().Timeline).Entries()...) {
					if got := fmt.Sprint(e.Detail()); got != c.entry {
						t.Errorf("an entry has %s, want %s", got, c.entry)
					}
				}
				root.End()
				failed := strings.Contains(c.entry, "error")
				received, calls := shown(tracing.Take()), fmt.Sprint(foreign.Calls(), root.Calls())
				switch {
				case strings.Contains(calls, "fail") != failed:
					t.Errorf("the spans got %s", calls)
				case begin == "Start" && received != "m[n=1 n=2] root":
					t.Errorf("the receiver got %s", received)
				case begin == "Time" && !failed && received != "=m[n=1 n=2] root", begin == "Time" && failed && received != "root":
					t.Errorf("the receiver got %s", received)
				}
			})
		}
	}
	var never *marks.Timing
	never.Fail(errors.New("bad"))
}

// A method of a value that blocks, panics or ends its goroutine stays with the goroutine that records.
func TestValuesStayWithTheirGoroutine(t *testing.T) {
	for name, run := range map[string]func(context.Context, failing){
		"Mark": func(ctx context.Context, v failing) { marks.Mark(ctx, "m", slog.Any("v", v)) },
		"Time": func(ctx context.Context, v failing) { marks.Time(ctx, "m", slog.Any("v", v)).End() },
		"End":  func(ctx context.Context, v failing) { marks.Time(ctx, "m").End(slog.Any("v", v)) },
		"Measure": func(ctx context.Context, v failing) {
			_, _ = marks.Measure(ctx, "m", marks.MeasureOptions{Start: marks.At(0), Detail: []slog.Attr{slog.Any("v", v)}})
		},
		"Start": func(ctx context.Context, v failing) {
			_, tm := marks.Start(ctx, "m", slog.Any("v", v))
			tm.End()
		},
		"End after Start": func(ctx context.Context, v failing) {
			_, tm := marks.Start(ctx, "m")
			tm.End(slog.Any("v", v))
		},
		"Fail": func(ctx context.Context, v failing) {
			tm := marks.Time(ctx, "m")
			defer tm.End()
			tm.Fail(v)
		},
		"Fail after Start": func(ctx context.Context, v failing) {
			_, tm := marks.Start(ctx, "m")
			defer tm.End()
			tm.Fail(v)
		},
	} {
		t.Run(name, func(t *testing.T) {
			process := observer.NewTimeline(observer.TimelineOptions{})
			tracing := spantest.New((*record.Timeline)(process))
			if _, err := process.Observe(func(observer.List) {}, observer.Options{Types: []observer.Type{observer.Mark, observer.Measure}}); err != nil {
				t.Fatal(err)
			}
			under := map[string]context.Context{
				"a unit":         tracing.NewRoot("root").Context(context.Background()),
				"another tracer": tracing.Foreign("f", record.ToSpan).Context(observer.NewContext(context.Background(), process.NewChild())),
				"the process":    observer.NewContext(context.Background(), process),
			}
			for where, ctx := range under {
				on := observer.FromContext(ctx)
				count := func(what string, want int) {
					t.Helper()
					if got := len(on.EntriesByName("m")); got != want {
						t.Errorf("%s, %s: %d entries, want %d", where, what, got, want)
					}
				}
				entered, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
				go func() {
					defer close(done)
					run(ctx, func() string { close(entered); <-goOn; return "text" })
				}()
				<-entered
				count("while a value blocks", 0)
				run(ctx, func() string { panic("bad") })
				count("after a panic", 1)
				run(ctx, func() string { on.Entries(); marks.Mark(ctx, "within"); return "" })
				count("after a value that records", 2)
				var exits sync.WaitGroup
				spawn(&exits, func() { run(ctx, func() string { runtime.Goexit(); return "" }) })
				exits.Wait()
				exited := 3
				if name == "Time" || name == "Start" || name == "Measure" {
					exited = 2 // the measure has not begun
				}
				count("after a value that ends the goroutine", exited)
				process.Deliver()
				close(goOn)
				<-done
				count("at the end", exited+1)
			}
		})
	}
}
