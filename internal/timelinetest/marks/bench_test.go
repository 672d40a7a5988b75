package marks_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// now is what one time.Now() costs here, in nanoseconds. Every benchmark
// reports its cost in these too ("xNow"), since machines differ and drift.
func now() float64 {
	const n = 200_000
	best := time.Duration(1 << 62)
	for range 5 {
		start := time.Now()
		for range n {
			_ = time.Now()
		}
		best = min(best, time.Since(start))
	}
	return float64(best) / n
}

func bench(b *testing.B, f func()) {
	b.ReportAllocs()
	t := now()
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/t, "xNow")
}

func deep(ctx context.Context, n int) context.Context {
	for i := range n {
		ctx = context.WithValue(ctx, benchKey(i), i)
	}
	return ctx
}

type benchKey int

func BenchmarkTimeNow(b *testing.B) { bench(b, func() { _ = time.Now() }) }

func BenchmarkMark(b *testing.B) {
	process := context.Background()
	child := observer.ProcessTimeline().NewChild()
	defer child.Close()
	request := deep(observer.NewContext(process, child), 5)
	b.Run("process/0 attrs", func(b *testing.B) { bench(b, func() { marks.Mark(process, "m") }) })
	b.Run("process/2 attrs", func(b *testing.B) {
		bench(b, func() { marks.Mark(process, "m", slog.String("k", "v"), slog.Int("n", 1)) })
	})
	b.Run("process/4 attrs", func(b *testing.B) {
		bench(b, func() {
			marks.Mark(process, "m", slog.String("k", "v"), slog.Int("n", 1), slog.Bool("b", true), slog.Float64("f", 1))
		})
	})
	b.Run("request, depth 5/2 attrs", func(b *testing.B) {
		bench(b, func() { marks.Mark(request, "m", slog.String("k", "v"), slog.Int("n", 1)) })
	})
	b.Run("process, all cores/0 attrs", func(b *testing.B) {
		b.ReportAllocs()
		t := now()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				marks.Mark(process, "m")
			}
		})
		b.ReportMetric(float64(b.Elapsed())/float64(b.N)/t, "xNow")
	})
}

func BenchmarkTimeEnd(b *testing.B) {
	ctx := context.Background()
	b.Run("0 attrs", func(b *testing.B) { bench(b, func() { marks.Time(ctx, "t").End() }) })
	b.Run("2 attrs", func(b *testing.B) {
		bench(b, func() { marks.Time(ctx, "t", slog.String("k", "v"), slog.Int("n", 1)).End() })
	})
}

func BenchmarkMeasureByNames(b *testing.B) {
	child := observer.ProcessTimeline().NewChild()
	defer child.Close()
	ctx := observer.NewContext(context.Background(), child)
	marks.Mark(ctx, "a")
	marks.Mark(ctx, "b")
	o := marks.MeasureOptions{Start: marks.Named("a"), End: marks.Named("b")}
	bench(b, func() {
		if _, err := marks.Measure(ctx, "m", o); err != nil {
			b.Fatal(err)
		}
	})
}
