package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

const timelineGroup = "timeline, no backend"

// quiet is a process timeline that collects when it is told to only, so that a
// burst is measured without it and its work is in the CPU column all the same.
func quiet() *observer.Timeline {
	return observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}})
}

type key int

// deep puts depth values into a context.
func deep(ctx context.Context, depth int) context.Context {
	for i := range depth {
		ctx = context.WithValue(ctx, key(i), i)
	}
	return ctx
}

// mark makes a mark with n attributes.
func mark(ctx context.Context, attrs int) func(int) {
	switch attrs {
	case 0:
		return func(n int) {
			for range n {
				marks.Mark(ctx, "m")
			}
		}
	case 2:
		return func(n int) {
			for i := range n {
				marks.Mark(ctx, "m", slog.String("k", "v"), slog.Int("n", i))
			}
		}
	default:
		return func(n int) {
			for i := range n {
				marks.Mark(ctx, "m", slog.String("k", "v"), slog.Int("n", i), slog.Bool("b", true), slog.Float64("f", 1.5))
			}
		}
	}
}

const burst = 4000 // calls that record one entry each

// onRequest is a row of a request's timeline, depth values deep.
func onRequest(depth int, op func(ctx context.Context) func(int)) func() (*bench, error) {
	return func() (*bench, error) {
		tl := quiet()
		request := tl.NewChild()
		if err := request.SetBufferSize(observer.Mark, 0); err != nil { // as if each burst were another request
			return nil, err
		}
		if err := request.SetBufferSize(observer.Measure, 0); err != nil {
			return nil, err
		}
		ctx := deep(observer.NewContext(context.Background(), request), depth)
		return &bench{burst: burst, op: op(ctx), settle: flush(tl)}, nil
	}
}

func flush(tl *observer.Timeline) func() error {
	return func() error { tl.Flush(); return nil }
}

func onProcess(observers int, op func(ctx context.Context) func(int)) func() (*bench, error) {
	return func() (*bench, error) {
		tl := quiet()
		seen := 0
		for range observers {
			_, err := tl.Observe(func(l observer.List) { seen += len(l.Entries()) },
				observer.Options{Types: []observer.Type{observer.Mark, observer.Measure}, MaxBuffer: 1 << 16})
			if err != nil {
				return nil, err
			}
		}
		b := &bench{burst: burst, op: op(observer.NewContext(context.Background(), tl))}
		b.settle = func() error { tl.Deliver(); return nil }
		b.check = func(calls uint64) error {
			if got := tl.Stats().Total(); got.Recorded != calls || uint64(seen) != calls*uint64(observers) {
				return fmt.Errorf("%d calls, %d recorded, %d seen by %d observers", calls, got.Recorded, seen, observers)
			}
			return nil
		}
		return b, nil
	}
}

func timelineRows() (rows []*row) {
	add := func(name string, procs int, open func() (*bench, error)) {
		rows = append(rows, &row{group: timelineGroup, name: name, procs: procs, open: open})
	}
	add("`time.Now()`", 1, func() (*bench, error) {
		return &bench{burst: burst, op: func(n int) {
			for range n {
				_ = time.Now()
			}
		}}, nil
	})
	for _, procs := range []int{1, 2} {
		for _, attrs := range []int{0, 2, 4} {
			add(fmt.Sprintf("`Mark`, %d attributes, %s", attrs, cores(procs)), procs,
				onProcess(0, func(ctx context.Context) func(int) { return mark(ctx, attrs) }))
		}
	}
	for _, depth := range []int{1, 5, 10} {
		for _, attrs := range []int{0, 2, 4} {
			add(fmt.Sprintf("`Mark`, %d attributes, request, depth %d", attrs, depth), 1,
				onRequest(depth-1, func(ctx context.Context) func(int) { return mark(ctx, attrs) }))
		}
	}
	for _, observers := range []int{1, 3} {
		add(fmt.Sprintf("`Mark`, 2 attributes, observers: %d", observers), 1,
			onProcess(observers, func(ctx context.Context) func(int) { return mark(ctx, 2) }))
	}
	for _, procs := range []int{1, 2} {
		add("`Time…End`, "+cores(procs), procs, onProcess(0, timeEnd))
	}
	add("`Time…End`, 2 attributes", 1, onProcess(0, func(ctx context.Context) func(int) {
		return func(n int) {
			for i := range n {
				marks.Time(ctx, "t", slog.String("k", "v"), slog.Int("n", i)).End()
			}
		}
	}))
	add("`Start…End`", 1, onProcess(0, func(ctx context.Context) func(int) {
		return func(n int) {
			for range n {
				_, t := marks.Start(ctx, "s")
				t.End()
			}
		}
	}))
	add("`Measure` between two names, request", 1, func() (*bench, error) {
		b, err := onRequest(0, func(ctx context.Context) func(int) { return measureByNames(ctx) })()
		return b, err
	})
	rows[len(rows)-1].last = true
	return rows
}

func cores(n int) string {
	if n == 1 {
		return "1 goroutine"
	}
	return fmt.Sprintf("%d goroutines at once", n)
}

func timeEnd(ctx context.Context) func(int) {
	return func(n int) {
		for range n {
			marks.Time(ctx, "t").End()
		}
	}
}

func measureByNames(ctx context.Context) func(int) {
	tl := observer.FromContext(ctx)
	if err := tl.SetBufferSize(observer.Mark, 2); err != nil {
		panic(err) // the type and the size are constants
	}
	marks.Mark(ctx, "a")
	marks.Mark(ctx, "b")
	o := marks.MeasureOptions{Start: marks.Named("a"), End: marks.Named("b")}
	return func(n int) {
		for range n {
			if _, err := marks.Measure(ctx, "m", o); err != nil {
				panic(err) // both names are marked above
			}
		}
	}
}
