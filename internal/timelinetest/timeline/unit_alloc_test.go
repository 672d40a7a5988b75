//go:build !race

// The race detector allocates on its own account.

package timeline_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/spantest"
	"github.com/perfline/perfline/observer"
)

// A unit allocates itself. Its spans are the tracing system's.
func TestUnitAllocs(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}})
	tracing := spantest.New(rec(tl))
	tracing.Discard = true
	root := tracing.NewRoot("root")
	root.End()
	k, v := "key", "value"
	for _, c := range []struct {
		what string
		want float64
		do   func()
	}{
		{"a span alone", 0, func() { tracing.Timeline.HandOver(tracing, root) }},
		{"a unit and its root", 2, func() { tracing.NewRoot("root").End() }},
		{"with 20 marks and measures", 2, func() {
			root := tracing.NewRoot("root")
			p := root.At()
			for range 10 {
				p.Record(record.Mark, "m", 0, 0, []slog.Attr{slog.String(k, v)})
				p.Record(record.Measure, "m", 0, 0, []slog.Attr{slog.String(k, v), slog.Int("n", 1)})
			}
			root.End()
		}},
		{"with a child", 3, func() {
			root := tracing.NewRoot("root")
			root.Child("child").End()
			root.End()
		}},
		{"a mark after the end", 0, func() { mark(root, "m") }},
		{"a measure after the end", 0, func() { measure(root, "m") }},
	} {
		runs := 0
		handedOver := func() { // often, as in a program whose processors are not busy
			c.do()
			if runs++; runs%16 == 0 {
				tracing.HandOverEnded()
			}
		}
		if got := testing.AllocsPerRun(1000, handedOver); got != c.want {
			t.Errorf("%s: %v allocations, want %v", c.what, got, c.want)
		}
	}
}

// Recording allocates nothing wherever it goes, up to 16 attributes.
func TestRecordAllocs(t *testing.T) {
	k, v, n := "key", "value", 42
	for _, c := range places() {
		ctx := c.context(t)
		var p record.Place
		p.Locate(ctx)
		for _, typ := range []record.Type{record.Mark, record.Measure} {
			check := func(what string, do func()) {
				t.Helper()
				if got := testing.AllocsPerRun(2000, do); got != 0 {
					t.Errorf("%s, %s %s: %v allocations, want 0", c.name, typ, what, got)
				}
			}
			check("located", func() {
				var p record.Place
				p.Locate(ctx)
				p.Wants(typ)
			})
			check("without attributes", func() { p.Record(typ, "m", 0, 0, nil) })
			check("with one", func() { p.Record(typ, "m", 0, 0, []slog.Attr{slog.String(k, v)}) })
			check("with four", func() {
				p.Record(typ, "m", 0, 0, []slog.Attr{slog.String(k, v), slog.Int("n", n), slog.Bool("b", true), slog.Float64("f", 1.5)})
			})
			check("with 16", func() {
				a := slog.Int("n", n)
				p.Record(typ, "m", 0, 0, []slog.Attr{a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a})
			})
		}
	}
}

// A placed is where entries are recorded.
type placed struct {
	name    string
	context func(testing.TB) context.Context
}

// places are all branches of recording.
func places() (all []placed) {
	for _, observed := range []string{"", ", observed"} {
		for _, on := range []string{"the process", "a child", "a child that is full"} {
			timeline := func(t testing.TB) (*observer.Timeline, context.Context) {
				size := 1 << 20
				if on == "a child that is full" {
					size = -1
				}
				tl := observer.NewTimeline(observer.TimelineOptions{BufferSize: -1, ChildBufferSize: size, Scheduler: func(func()) {}}) // no pass, which allocates, runs meanwhile
				if observed != "" {
					if _, err := tl.Observe(func(observer.List) {}, observer.Options{Types: []observer.Type{observer.Mark, observer.Measure}}); err != nil {
						t.Fatal(err)
					}
				}
				switch on {
				case "a child", "a child that is full":
					return tl, observer.NewContext(context.Background(), tl.NewChild())
				default:
					return tl, observer.NewContext(context.Background(), tl)
				}
			}
			tracing := func(t testing.TB) (*spantest.System, context.Context) {
				tl, ctx := timeline(t)
				s := spantest.New(rec(tl))
				s.Discard = true
				return s, ctx
			}
			foreign := func(to record.Destination) func(testing.TB) context.Context {
				return func(t testing.TB) context.Context {
					s, ctx := tracing(t)
					return s.Foreign("f", to).Context(ctx)
				}
			}
			own := func(to record.Destination) func(testing.TB) context.Context {
				return func(t testing.TB) context.Context {
					s, ctx := tracing(t)
					s.Limit = 128
					root := s.NewRoot("root")
					root.To = to
					t.Cleanup(func() { root.End() }) // its entries take memory, which other tests measure
					return root.Context(ctx)
				}
			}
			on += observed
			all = append(all,
				placed{on + ", no tracer", func(t testing.TB) context.Context { _, ctx := timeline(t); return ctx }},
				placed{on + ", no span", func(t testing.TB) context.Context { _, ctx := tracing(t); return ctx }},
				placed{on + ", another tracer's span", foreign(record.ToSpan)},
				placed{on + ", a remote span", foreign(record.ToTimeline)},
				placed{on + ", a span that is not recorded", foreign(record.ToObservers)},
			)
			if on == "the process"+observed {
				all = append(all,
					placed{"a unit's span" + observed, own(record.ToUnit)},
					placed{"a unit's span that processors see" + observed, own(record.ToSpan)},
					placed{"a unit's span that is not recorded" + observed, own(record.ToObservers)},
				)
			}
		}
	}
	return all
}
