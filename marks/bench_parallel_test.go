package marks_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// benchParallel is bench on all cores. Its "xNow" is the time each call takes
// the whole machine; with perfect scaling it is that of one core divided by
// their number.
func benchParallel(b *testing.B, build func() func()) {
	b.Helper()
	b.ReportAllocs()
	t := now()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		f := build()
		for pb.Next() {
			f()
		}
	})
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/t, "xNow")
}

func BenchmarkMarkParallel(b *testing.B) {
	ctx := context.Background()
	b.Run("process/0 attrs", func(b *testing.B) {
		benchParallel(b, func() func() { return func() { marks.Mark(ctx, "m") } })
	})
	b.Run("process/2 attrs", func(b *testing.B) {
		benchParallel(b, func() func() {
			return func() { marks.Mark(ctx, "m", slog.String("k", "v"), slog.Int("n", 1)) }
		})
	})
	b.Run("process/4 attrs", func(b *testing.B) {
		benchParallel(b, func() func() {
			return func() {
				marks.Mark(ctx, "m", slog.String("k", "v"), slog.Int("n", 1), slog.Bool("b", true), slog.Float64("f", 1))
			}
		})
	})
	b.Run("a request each, depth 5/2 attrs", func(b *testing.B) {
		benchParallel(b, func() func() {
			child := observer.Default().NewChild()
			request := deep(observer.NewContext(ctx, child), 5)
			return func() { marks.Mark(request, "m", slog.String("k", "v"), slog.Int("n", 1)) }
		})
	})
	b.Run("one request for all, depth 5/2 attrs", func(b *testing.B) {
		child := observer.Default().NewChild()
		defer child.Close()
		request := deep(observer.NewContext(ctx, child), 5)
		benchParallel(b, func() func() {
			return func() { marks.Mark(request, "m", slog.String("k", "v"), slog.Int("n", 1)) }
		})
	})
}

func BenchmarkMarkRequest(b *testing.B) {
	child := observer.Default().NewChild()
	defer child.Close()
	request := deep(observer.NewContext(context.Background(), child), 5)
	b.Run("depth 5/0 attrs", func(b *testing.B) { bench(b, func() { marks.Mark(request, "m") }) })
	b.Run("depth 5/4 attrs", func(b *testing.B) {
		bench(b, func() {
			marks.Mark(request, "m", slog.String("k", "v"), slog.Int("n", 1), slog.Bool("b", true), slog.Float64("f", 1))
		})
	})
}

// BenchmarkStartEnd is without a bridge; package bridge has it with one.
func BenchmarkStartEnd(b *testing.B) {
	ctx := context.Background()
	b.Run("0 attrs", func(b *testing.B) {
		bench(b, func() {
			_, t := marks.Start(ctx, "s")
			t.End()
		})
	})
	b.Run("2 attrs", func(b *testing.B) {
		bench(b, func() {
			_, t := marks.Start(ctx, "s", slog.String("k", "v"), slog.Int("n", 1))
			t.End()
		})
	})
}

// BenchmarkMeasureAt needs no look-up, BenchmarkMeasureByNames two.
func BenchmarkMeasureAt(b *testing.B) {
	child := observer.Default().NewChild()
	defer child.Close()
	ctx := observer.NewContext(context.Background(), child)
	o := marks.MeasureOptions{Start: marks.At(1), End: marks.At(2)}
	bench(b, func() {
		if _, err := marks.Measure(ctx, "m", o); err != nil {
			b.Fatal(err)
		}
	})
}
