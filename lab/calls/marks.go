package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

const timelineGroup = "timeline, no backend"

// quiet returns a process timeline that collects only on request. A burst is measured
// without the collection, whose work is in the CPU column all the same. The buffer is
// soon full, as in a service.
func quiet() *observer.Timeline {
	return observer.NewTimeline(
		observer.TimelineOptions{Scheduler: func(func()) {}, BufferSize: 1000})
}

type key int

// deep puts depth values into a context.
func deep(ctx context.Context, depth int) context.Context {
	for i := range depth {
		ctx = context.WithValue(ctx, key(i), i) //nolint:fatcontext // the depth is what is wanted
	}
	return ctx
}

// The operations are functions of their own, as in a program: within one large
// function the compiler stops inlining, and every call is dearer.

func mark0(ctx context.Context, n int) {
	for range n {
		marks.Mark(ctx, "m")
	}
}

func mark2(ctx context.Context, n int) {
	for i := range n {
		marks.Mark(ctx, "m", slog.String("k", "v"), slog.Int("n", i))
	}
}

func mark4(ctx context.Context, n int) {
	for i := range n {
		marks.Mark(ctx, "m", slog.String("k", "v"), slog.Int("n", i), slog.Bool("b", true),
			slog.Float64("f", 1.5))
	}
}

func timeEnd0(ctx context.Context, n int) {
	for range n {
		marks.Time(ctx, "t").End()
	}
}

func timeEnd2(ctx context.Context, n int) {
	for i := range n {
		marks.Time(ctx, "t", slog.String("k", "v"), slog.Int("n", i)).End()
	}
}

func startEnd0(ctx context.Context, n int) {
	for range n {
		_, t := marks.Start(ctx, "s")
		t.End()
	}
}

func startEnd2(ctx context.Context, n int) {
	for i := range n {
		_, t := marks.Start(ctx, "t", slog.String("k", "v"), slog.Int("n", i))
		t.End()
	}
}

func measureByNames(ctx context.Context, n int) {
	o := marks.MeasureOptions{Start: marks.Named("a"), End: marks.Named("b")}
	for range n {
		if _, err := marks.Measure(ctx, "m", o); err != nil {
			panic(err) // both names are marked by betweenNames
		}
	}
}

func timeNows(_ context.Context, n int) {
	for range n {
		_ = time.Now()
	}
}

func attributes2(_ context.Context, n int) {
	for i := range n {
		nothing("m", slog.String("k", "v"), slog.Int("n", i))
	}
}

// nothing is what a call costs that only takes its attributes.
//
//go:noinline
func nothing(string, ...slog.Attr) {}

const burst = 4000 // calls that record one entry each

// An operation makes n calls under ctx.
type operation func(ctx context.Context, n int)

// onRequest is a row of requests' timelines. Each burst has a
// request of its own, which is closed before the collector comes, as short
// requests are.
func onRequest(op operation, prepare func(ctx context.Context)) func() (*bench, error) {
	return func() (*bench, error) {
		tl := quiet()
		var request *observer.Timeline
		var ctx context.Context
		prepared := uint64(0) // entries that are not calls
		open := func() {
			request = tl.NewChild()
			ctx = observer.NewContext(context.Background(), request) //nolint:fatcontext // another request, not a deeper context
			if prepare != nil {
				before := tl.Stats().Total().Recorded
				prepare(ctx)
				prepared += tl.Stats().Total().Recorded - before
			}
		}
		open()
		b := &bench{burst: 1000, op: func(n int) { op(ctx, n) }}
		b.settle = func() error {
			request.Close()
			(*record.Timeline)(tl).Flush()
			open()
			return nil
		}
		b.check = func(calls uint64) error {
			if got := tl.Stats().Total(); got.Recorded-prepared != calls || got.Overflow > 0 {
				return fmt.Errorf("%d calls, %d recorded, %d lost", calls, got.Recorded-prepared,
					got.Overflow)
			}
			return nil
		}
		return b, nil
	}
}

// betweenNames makes the marks for measureByNames.
func betweenNames(ctx context.Context) {
	marks.Mark(ctx, "a")
	marks.Mark(ctx, "b")
}

// onProcess is a row of a process timeline that some observers watch.
func onProcess(observers int, op operation) func() (*bench, error) {
	return func() (*bench, error) {
		tl := quiet()
		seen := 0
		for range observers {
			_, err := tl.Observe(func(l observer.List) { seen += len(l.Entries()) },
				observer.Options{Types: []observer.Type{observer.Mark, observer.Measure},
					MaxBuffer: 1 << 16})
			if err != nil {
				return nil, err
			}
		}
		ctx := observer.NewContext(context.Background(), tl)
		b := &bench{burst: burst, op: func(n int) { op(ctx, n) }}
		b.settle = func() error { tl.Deliver(); return nil }
		b.check = func(calls uint64) error {
			if got := tl.Stats().Total(); got.Recorded != calls ||
				uint64(seen) != calls*uint64(observers) {
				return fmt.Errorf("%d calls, %d recorded, %d seen by %d observers", calls,
					got.Recorded, seen, observers)
			}
			return nil
		}
		return b, nil
	}
}

// without is a row that records nothing.
func without(op operation) func() (*bench, error) {
	return func() (*bench, error) {
		return &bench{burst: burst, op: func(n int) { op(context.Background(), n) }}, nil
	}
}

// onClock is a row of what every entry pays for its time.
func onClock() (*bench, error) {
	tl := quiet()
	return &bench{burst: burst, op: func(n int) {
		for range n {
			_ = tl.Now()
		}
	}}, nil
}

func timelineRows() (rows []*row) {
	add := func(name string, procs int, open func() (*bench, error)) {
		rows = append(rows, &row{group: timelineGroup, name: name, procs: procs, open: open})
	}
	add("`time.Now()`", 1, without(timeNows))
	add("the timeline's clock, `Timeline.Now()`", 1, onClock)
	add("two attributes alone, given to a function that does nothing", 1, without(attributes2))
	markWith := map[int]operation{0: mark0, 2: mark2, 4: mark4}
	for _, procs := range []int{1, 2} {
		for _, attrs := range []int{0, 2, 4} {
			add(fmt.Sprintf("`Mark`, %d attributes, %s", attrs, cores(procs)), procs,
				onProcess(0, markWith[attrs]))
		}
	}
	add("`Mark`, 2 attributes, one of 1000 in a request without a span", 1, onRequest(mark2, nil))
	for _, observers := range []int{1, 3} {
		add(fmt.Sprintf("`Mark`, 2 attributes, observers: %d", observers), 1,
			onProcess(observers, mark2))
	}
	for _, procs := range []int{1, 2} {
		add("`Time…End`, "+cores(procs), procs, onProcess(0, timeEnd0))
	}
	add("`Time…End`, 2 attributes", 1, onProcess(0, timeEnd2))
	add("`Start…End`", 1, onProcess(0, startEnd0))
	add("`Measure` between two names, one of 1000 in a request without a span", 1,
		onRequest(measureByNames, betweenNames))
	return rows
}

func cores(n int) string {
	if n == 1 {
		return "1 goroutine"
	}
	return fmt.Sprintf("%d goroutines at once", n)
}
