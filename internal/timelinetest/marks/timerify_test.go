package marks_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/spantest"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

var errRefused = errors.New("refused")

type call func(context.Context, string) (int, error)

func explode() { panic("no such shelf") }

func TestTimerify(t *testing.T) {
	for _, c := range []struct {
		name     string
		f        call
		result   int
		err      error
		panicked any
		detail   string
	}{
		{"returns", func(_ context.Context, arg string) (int, error) { return len(arg), nil }, 5, nil, nil, `{"from":"shelf"}`},
		{"returns an error", func(context.Context, string) (int, error) { return 7, errRefused }, 7, errRefused, nil, `{"from":"shelf","error":"refused"}`},
		{"returns an error that cannot be told", func(context.Context, string) (int, error) { return 0, unspeakable{} }, 0, unspeakable{}, nil,
			`{"from":"shelf","error":"%!v(PANIC=Error method: no)"}`},
		{"panics", func(context.Context, string) (int, error) { explode(); return 0, nil }, 0, nil, "no such shelf", `{"from":"shelf","panic":true}`},
	} {
		for _, wanted := range []bool{true, false} {
			t.Run(c.name+map[bool]string{true: "", false: ", unwanted"}[wanted], func(t *testing.T) {
				process, ctx := newManual()
				if !wanted {
					ctx = unrecorded(ctx)
				}
				var took []time.Duration
				var had, got context.Context
				attrs := []slog.Attr{slog.String("from", "shelf")}
				timed := marks.Timerify("load", func(ctx context.Context, arg string) (int, error) {
					had = ctx
					process.now += 3
					return c.f(ctx, arg)
				}, marks.TimerifyOptions{Attrs: attrs, Histogram: func(ctx context.Context, d time.Duration) {
					took, got = append(took, d), ctx
					process.now += 100 // not the call's
					if n := len(process.Entries()); wanted != (n == 1) {
						t.Errorf("the histogram was called with %d measures recorded", n)
					}
				}})
				attrs[0] = slog.String("changed", "later")
				process.now = 2

				result, panicked, err := outcome(ctx, timed)

				if result != c.result || !errors.Is(err, c.err) || panicked != c.panicked {
					t.Errorf("got %v, error %v, panic %v, want %v, %v, %v", result, err, panicked, c.result, c.err, c.panicked)
				}
				if len(took) != 1 || took[0] != 3 || got != had {
					t.Errorf("the histogram got %v, want 3ns, with the context that the call had", took)
				}
				measures := process.Entries()
				if !wanted {
					if len(measures) > 0 {
						t.Errorf("recorded %v", measures)
					}
					return
				}
				if len(measures) != 1 || measures[0].Name() != "load" || measures[0].StartTime() != 2 || measures[0].Duration() != 3 {
					t.Fatalf("recorded %v, want load from 2ns for 3ns", measures)
				}
				if got := detail(t, measures[0]); got != c.detail {
					t.Errorf("attributes %s, want %s", got, c.detail)
				}
			})
		}
	}
}

// outcome calls f. The stack of a panic must show where the panic began, once. A panic
// that was recovered and raised again would be there twice.
func outcome(ctx context.Context, f call) (result int, panicked any, err error) {
	defer func() {
		if panicked = recover(); panicked == nil {
			return
		}
		if stack := string(debug.Stack()); !strings.Contains(stack, "marks_test.explode") || strings.Count(stack, "\npanic(") != 1 {
			panicked = "with another stack:\n" + stack
		}
	}()
	result, err = f(ctx, "socks")
	return result, nil, err
}

func TestTimerifyWithoutOptions(t *testing.T) {
	process, ctx := newManual()
	timed := marks.Timerify("load", func(context.Context, string) (int, error) { return 1, nil }, marks.TimerifyOptions{})
	if result, err := timed(ctx, ""); result != 1 || err != nil {
		t.Errorf("got %v, %v", result, err)
	}
	if got := process.EntriesByName("load", observer.Measure); len(got) != 1 || recorded(got[0]).NumAttrs() != 0 {
		t.Errorf("recorded %v, want one measure without attributes", got)
	}
}

// untold is an error whose text must not be read.
type untold struct{ t *testing.T }

func (u untold) Error() string {
	u.t.Error("the error's text was made and nothing wants it")
	return ""
}

func TestTimerifyUnwantedErrorIsLeftAlone(t *testing.T) {
	_, ctx := newManual()
	ctx = unrecorded(ctx)
	timed := marks.Timerify("load", func(context.Context, int) (int, error) { return 0, untold{t} }, marks.TimerifyOptions{})
	if _, err := timed(ctx, 1); err != (untold{t}) { //nolint:errorlint // the very error
		t.Errorf("got another error, %T", err)
	}
}

// Spans that f starts under its context are children of the measure.
func TestTimerifyIsTheParent(t *testing.T) {
	process, ctx := newManual()
	tracing := spantest.New((*record.Timeline)(process.Timeline))
	parents := map[string]record.SpanIDs{}
	inner := marks.Timerify("inner", func(ctx context.Context, _ int) (int, error) {
		parents["mark"], parents["inner"] = spantest.IDsOf(ctx), spantest.IDsOf(ctx)
		marks.Mark(ctx, "mark")
		return 0, nil
	}, marks.TimerifyOptions{})
	outer := marks.Timerify("outer", func(ctx context.Context, n int) (int, error) {
		parents["leaf"], parents["outer"] = spantest.IDsOf(ctx), spantest.IDsOf(ctx)
		marks.Time(ctx, "leaf").End()
		return inner(ctx, n)
	}, marks.TimerifyOptions{})
	for what, ctx := range map[string]context.Context{
		"a unit's span":         tracing.NewRoot("root").Context(ctx),
		"another tracer's span": tracing.Foreign("foreign", record.ToSpan).Context(observer.NewContext(ctx, process.NewChild())),
	} {
		if _, err := outer(ctx, 1); err != nil {
			t.Fatal(err)
		}
		request := observer.FromContext(ctx)
		for name, want := range parents {
			if name == "mark" || name == "leaf" {
				want = record.SpanIDs{Trace: want.Trace, Parent: want.Self}
			}
			if e := request.EntriesByName(name); len(e) != 1 || recorded(e[0]).Span() != want {
				t.Errorf("%s: %q: %v, want one with the ids %v", what, name, e, want)
			}
		}
		if parents["inner"].Parent != parents["outer"].Self || parents["outer"].Parent != spantest.IDsOf(ctx).Self || parents["outer"].Self == (record.ID{}) {
			t.Errorf("%s: the spans are %v under %v", what, parents, spantest.IDsOf(ctx))
		}
	}
}

func TestTimerifyEndsWithTheGoroutine(t *testing.T) {
	process, ctx := newManual()
	timed := marks.Timerify("load", func(context.Context, int) (int, error) {
		runtime.Goexit()
		return 0, nil
	}, marks.TimerifyOptions{})
	var wg sync.WaitGroup
	spawn(&wg, func() { _, _ = timed(ctx, 1) })
	wg.Wait()
	if got := process.Entries(); len(got) != 1 || detail(t, got[0]) != `{"panic":true}` {
		t.Errorf("recorded %v, want the measure with panic", got)
	}
}

func TestTimerifyConcurrently(t *testing.T) {
	process := observer.NewTimeline(observer.TimelineOptions{})
	ctx := observer.NewContext(context.Background(), process)
	many := make([]slog.Attr, 2*record.InlineAttrs)
	for i := range many {
		many[i] = slog.Int(string(rune('a'+i)), i)
	}
	timed := marks.Timerify("load", func(_ context.Context, n int) (int, error) { return n, errRefused }, marks.TimerifyOptions{Attrs: many})
	const goroutines, each = 8, 50
	var wg sync.WaitGroup
	for range goroutines {
		spawn(&wg, func() {
			for i := range each {
				if n, err := timed(ctx, i); n != i || !errors.Is(err, errRefused) {
					t.Errorf("call %d returned %d, %v", i, n, err)
				}
			}
		})
	}
	wg.Wait()
	measures := process.EntriesByName("load")
	if len(measures) != goroutines*each {
		t.Errorf("%d measures, want %d", len(measures), goroutines*each)
	}
	for _, e := range measures {
		if got, want := detail(t, e), `{"a":0,"b":1,"c":2,"d":3,"e":4,"f":5,"g":6,"h":7,"error":"refused"}`; got != want {
			t.Fatalf("attributes %s, want %s", got, want)
		}
	}
}

func TestTimerifyNeedsAFunction(t *testing.T) {
	defer func() {
		want := `marks: Timerify "load": f is nil: it needs a function to time`
		if p := recover(); p != want {
			t.Errorf("panic %v, want %s", p, want)
		}
	}()
	marks.Timerify[int, int]("load", nil, marks.TimerifyOptions{})
}
