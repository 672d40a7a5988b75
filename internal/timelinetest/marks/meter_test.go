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
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/spantest"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A meter notes the measures that it gets, and wants those that begin with "m.".
type meter struct {
	mu  sync.Mutex
	got []string
	of  []any
}

func (*meter) Wants(name string) bool { return strings.HasPrefix(name, "m.") }

func (m *meter) Measured(span any, name string, d time.Duration, attrs []slog.Attr, failure *record.Failure) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := fmt.Sprintf("%s %v %v", name, d, attrs)
	if failure != nil {
		text += " failed: " + failure.Message
	}
	m.got, m.of = append(m.got, text), append(m.of, span)
}

func (m *meter) take() (got []string, of []any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	got, of, m.got, m.of = m.got, m.of, nil, nil
	return got, of
}

// places are contexts under which measures are recorded.
var places = []struct {
	name     string
	recorded bool
	under    func(*spantest.System, context.Context) context.Context
}{
	{"no tracer", true, func(s *spantest.System, ctx context.Context) context.Context { s.Detach(); return ctx }},
	{"no span", true, func(_ *spantest.System, ctx context.Context) context.Context { return ctx }},
	{"a unit's span", true, func(s *spantest.System, ctx context.Context) context.Context { return s.NewRoot("r").Context(ctx) }},
	{"a span that processors see", true, func(s *spantest.System, ctx context.Context) context.Context {
		r := s.NewRoot("r")
		r.To = record.ToSpan
		return r.Context(ctx)
	}},
	{"a unit's span that is not recorded", false, func(s *spantest.System, ctx context.Context) context.Context {
		r := s.NewRoot("r")
		r.To = record.ToObservers
		return r.Context(ctx)
	}},
	{"another tracer's span", true, func(s *spantest.System, ctx context.Context) context.Context {
		return s.Foreign("f", record.ToSpan).Context(ctx)
	}},
	{"another tracer's span that is not recorded", false, func(s *spantest.System, ctx context.Context) context.Context {
		return s.Foreign("f", record.ToObservers).Context(ctx)
	}},
	{"a remote span", true, func(s *spantest.System, ctx context.Context) context.Context {
		return s.Foreign("f", record.ToTimeline).Context(ctx)
	}},
}

// A meter gets each measure that it wants once, wherever and however that is recorded. A place that does not record stays empty.
func TestMeterGetsEveryMeasure(t *testing.T) {
	bad := errors.New("no stock")
	five := 5 * time.Nanosecond
	ways := []struct {
		name, want string
		record     func(context.Context, *manual)
	}{
		{"Time", "m.a 3ns [k=v n=2]", func(ctx context.Context, p *manual) {
			tm := marks.Time(ctx, "m.a", slog.String("k", "v"))
			p.now += 3
			tm.End(slog.Int("n", 2))
		}},
		{"Time of text to freeze", "m.a 3ns [e=no stock]", func(ctx context.Context, p *manual) {
			tm := marks.Time(ctx, "m.a")
			p.now += 3
			tm.End(slog.Any("e", bad))
		}},
		{"Time that failed", "m.a 3ns [k=v] failed: no stock", func(ctx context.Context, p *manual) {
			tm := marks.Time(ctx, "m.a", slog.String("k", "v"))
			p.now += 3
			tm.Fail(bad)
			tm.End()
			tm.End()
		}},
		{"Time that another goroutine ends", "m.a 3ns []", func(ctx context.Context, p *manual) {
			tm := marks.Time(ctx, "m.a")
			p.now += 3
			ended := make(chan struct{})
			go func() { defer close(ended); tm.End() }()
			<-ended
		}},
		{"an attribute that ends the goroutine", "m.a 0s [e=!GOEXIT]", func(ctx context.Context, _ *manual) {
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				marks.Time(ctx, "m.a").End(slog.Any("e", goexiting{}))
			}()
			<-ended
		}},
		{"Start", "m.a 3ns [k=v]", func(ctx context.Context, p *manual) {
			_, tm := marks.Start(ctx, "m.a", slog.String("k", "v"))
			p.now += 3
			tm.End()
		}},
		{"Start that failed", "m.a 3ns [] failed: no stock", func(ctx context.Context, p *manual) {
			_, tm := marks.Start(ctx, "m.a")
			p.now += 3
			tm.Fail(bad)
			tm.End()
		}},
		{"Timerify", "m.a 3ns [] failed: no stock", func(ctx context.Context, p *manual) {
			f := marks.Timerify("m.a", func(context.Context, int) (int, error) { p.now += 3; return 0, bad }, marks.TimerifyOptions{})
			_, _ = f(ctx, 1)
		}},
		{"Measure of times", "m.a -2ns [k=v]", func(ctx context.Context, _ *manual) {
			_, _ = marks.Measure(ctx, "m.a", marks.MeasureOptions{Start: marks.At(5), End: marks.At(3), Detail: []slog.Attr{slog.String("k", "v")}})
		}},
		{"Measure of a duration", "m.a 5ns []", func(ctx context.Context, _ *manual) {
			marks.Mark(ctx, "here")
			_, _ = marks.Measure(ctx, "m.a", marks.MeasureOptions{Start: marks.Named("here"), Duration: &five})
		}},
	}
	for _, place := range places {
		for _, w := range ways {
			t.Run(place.name+"/"+w.name, func(t *testing.T) {
				process, ctx := newManual()
				tl := (*record.Timeline)(process.Timeline)
				m := &meter{}
				detach := tl.Meter(m)
				tracing := spantest.New(tl)
				ctx = place.under(tracing, ctx)
				w.record(ctx, process)
				marks.Time(ctx, "other").End()
				got, _ := m.take()
				if !slices.Equal(got, []string{w.want}) {
					t.Errorf("the meter got %q, want %q", got, w.want)
				}
				var entries []string
				for _, tl := range []*observer.Timeline{process.Timeline, observer.FromContext(ctx)} {
					for _, typ := range []observer.Type{observer.Mark, observer.Measure} {
						entries = append(entries, names(tl.EntriesByType(typ))...)
					}
				}
				if recorded := slices.Contains(entries, "m.a"); recorded != place.recorded {
					t.Errorf("the timeline has %q; recorded there: want %t", entries, place.recorded)
				}
				if !place.recorded && len(tracing.Calls()) > 0 {
					t.Errorf("the tracer got %q, want nothing", tracing.Calls())
				}
				detach()
				w.record(ctx, process)
				if got, _ := m.take(); len(got) > 0 {
					t.Errorf("the meter got %q after it was detached", got)
				}
			})
		}
	}
}

type goexiting struct{}

func (goexiting) Error() string { runtime.Goexit(); return "" }

// The meter is asked for the span that leads to the measure: its own one, or the one around it.
func TestMeterGetsSpan(t *testing.T) {
	process, ctx := newManual()
	tl := (*record.Timeline)(process.Timeline)
	m := &meter{}
	defer tl.Meter(m)()
	tracing := spantest.New(tl)
	root := tracing.NewRoot("root")
	marks.Time(ctx, "m.none").End()
	marks.Time(root.Context(ctx), "m.under").End()
	_, own := marks.Start(root.Context(ctx), "m.own")
	own.End()
	_, of := m.take()
	if len(of) != 3 {
		t.Fatalf("%d measures, want 3", len(of))
	}
	if of[0] != nil || of[1] != any(root) {
		t.Errorf("without a span: %v; under a span: %v, want none and %v", of[0], of[1], root)
	}
	if _, ok := of[2].(record.Opened); !ok {
		t.Errorf("of a span of its own: %T, want an Opened", of[2])
	}
}

// A measure that began for the meter alone stays so, although an observer comes and the meter goes.
func TestMeterAlone(t *testing.T) {
	process, ctx := newManual()
	m := &meter{}
	detach := (*record.Timeline)(process.Timeline).Meter(m)
	tm := marks.Time(unrecorded(ctx), "m.a")
	if _, err := process.Observe(func(observer.List) {}, observer.Options{Type: observer.Measure}); err != nil {
		t.Fatal(err)
	}
	detach()
	tm.End()
	if got, _ := m.take(); len(got) > 0 || len(process.Entries()) > 0 {
		t.Errorf("the meter got %q, and the timeline %q, want nothing", got, names(process.Entries()))
	}
}

// Under a span that is not recorded, the meter gets no measure whose beginning is not known.
func TestMeterWithoutMarks(t *testing.T) {
	process, ctx := newManual()
	m := &meter{}
	defer (*record.Timeline)(process.Timeline).Meter(m)()
	marks.Mark(ctx, "a") // of the process, and of another request
	child := process.NewChild()
	_ = (*record.Timeline)(child).SetTiming(record.ResponseStart, 2)
	process.now = 7
	request := unrecorded(observer.NewContext(ctx, child))
	for _, c := range []struct {
		name string
		ctx  context.Context
		o    marks.MeasureOptions
		want []string
	}{
		{"between marks", request, marks.MeasureOptions{Start: marks.Named("a")}, nil},
		{"from the request's origin", request, marks.MeasureOptions{}, []string{"m.a 7ns []"}},
		{"from a moment of the request", request, marks.MeasureOptions{Start: marks.Named(record.ResponseStart)}, []string{"m.a 5ns []"}},
		{"from an origin that is not known", unrecorded(ctx), marks.MeasureOptions{}, nil},
		{"from a mark of the process", unrecorded(ctx), marks.MeasureOptions{Start: marks.Named("a"), End: marks.At(9)}, nil},
		{"until a time", unrecorded(ctx), marks.MeasureOptions{End: marks.At(9)}, []string{"m.a 9ns []"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if e, err := marks.Measure(c.ctx, "m.a", c.o); err != nil || e.Name() != "" {
				t.Errorf("got the entry %q and the error %v, want neither", e.Name(), err)
			}
			if got, _ := m.take(); !slices.Equal(got, c.want) {
				t.Errorf("the meter got %q, want %q", got, c.want)
			}
		})
	}
	if _, err := marks.Measure(request, "m.a", marks.MeasureOptions{Start: marks.At(-1)}); !errors.Is(err, marks.ErrNegative) {
		t.Errorf("a negative time: the error is %v, want ErrNegative", err)
	}
}

// The last meter that was attached gets the measures.
func TestMetersTakeTurns(t *testing.T) {
	process, ctx := newManual()
	tl := (*record.Timeline)(process.Timeline)
	first, second := &meter{}, &meter{}
	detachFirst := tl.Meter(first)
	detachSecond := tl.Meter(second)
	count := func(when string, wantFirst, wantSecond int) {
		t.Helper()
		marks.Time(ctx, "m.a").End()
		a, _ := first.take()
		b, _ := second.take()
		if len(a) != wantFirst || len(b) != wantSecond {
			t.Errorf("%s: the meters got %d and %d measures, want %d and %d", when, len(a), len(b), wantFirst, wantSecond)
		}
	}
	count("both", 0, 1)
	detachSecond()
	detachSecond()
	count("the second is detached", 1, 0)
	detachFirst()
	count("none", 0, 0)
}
