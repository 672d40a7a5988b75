package bridge_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// drop is a processor that does nothing, at the end of both ways.
type drop struct{}

func (drop) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (drop) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (drop) Shutdown(context.Context) error                  { return nil }
func (drop) ForceFlush(context.Context) error                { return nil }

// now is what one time.Now() costs here, in nanoseconds; benchmarks report
// their cost in these too ("xNow").
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

// ways are a tracer with our processor, and one without, for comparison.
func ways(b *testing.B, opts ...sdktrace.TracerProviderOption) (ours, plain trace.Tracer, ctx context.Context) {
	b.Helper()
	tl := observer.NewTimeline(observer.TimelineOptions{})
	with := sdktrace.NewTracerProvider(append(opts, sdktrace.WithSpanProcessor(bridge.NewProcessor(drop{}, bridge.WithTimeline(tl))))...)
	without := sdktrace.NewTracerProvider(append(opts, sdktrace.WithSpanProcessor(drop{}))...)
	b.Cleanup(func() {
		_ = with.Shutdown(context.Background())
		_ = without.Shutdown(context.Background())
	})
	return with.Tracer("t"), without.Tracer("t"), observer.NewContext(context.Background(), tl)
}

// eventsEach spreads a span over as many events as its limit allows.
const eventsEach = 100

func BenchmarkTimeNow(b *testing.B) { bench(b, func() { _ = time.Now() }) }

// A mark with two attributes under a sampled span, and AddEvent; a new span
// every hundred in both.
func BenchmarkEvent(b *testing.B) {
	ours, plain, base := ways(b)
	b.Run("perfline/Mark", func(b *testing.B) {
		ctx, span := ours.Start(base, "s")
		n := 0
		bench(b, func() {
			if n++; n%eventsEach == 0 {
				span.End()
				ctx, span = ours.Start(base, "s")
			}
			marks.Mark(ctx, "m", slog.String("k", "v"), slog.Int("n", 1))
		})
		span.End()
	})
	b.Run("opentelemetry/AddEvent", func(b *testing.B) {
		ctx, span := plain.Start(base, "s")
		n := 0
		bench(b, func() {
			if n++; n%eventsEach == 0 {
				span.End()
				ctx, span = plain.Start(base, "s")
			}
			trace.SpanFromContext(ctx).AddEvent("m", trace.WithAttributes(attribute.String("k", "v"), attribute.Int("n", 1)))
		})
		span.End()
	})
}

func BenchmarkSpan(b *testing.B) {
	ours, plain, base := ways(b)
	ctx, span := ours.Start(base, "s")
	defer span.End()
	plainCtx, plainSpan := plain.Start(base, "s")
	defer plainSpan.End()
	b.Run("perfline/Time-End", func(b *testing.B) {
		bench(b, func() { marks.Time(ctx, "t", slog.String("k", "v"), slog.Int("n", 1)).End() })
	})
	b.Run("perfline/Start-End", func(b *testing.B) {
		bench(b, func() {
			_, t := marks.Start(ctx, "t", slog.String("k", "v"), slog.Int("n", 1))
			t.End()
		})
	})
	b.Run("opentelemetry/Start-End", func(b *testing.B) {
		bench(b, func() {
			_, s := plain.Start(plainCtx, "t", trace.WithAttributes(attribute.String("k", "v"), attribute.Int("n", 1)))
			s.End()
		})
	})
}

// A request's worth: five marks and three measures under a span of its own.
func BenchmarkRequest(b *testing.B) {
	for _, sampled := range []bool{true, false} {
		name, sampler := "sampled", sdktrace.AlwaysSample()
		if !sampled {
			name, sampler = "unsampled", sdktrace.NeverSample()
		}
		ours, plain, base := ways(b, sdktrace.WithSampler(sampler))
		b.Run(name+"/empty", func(b *testing.B) {
			bench(b, func() {
				_, span := plain.Start(base, "request")
				span.End()
			})
		})
		b.Run(name+"/perfline", func(b *testing.B) {
			bench(b, func() {
				child := observer.FromContext(base).NewChild()
				ctx, span := ours.Start(observer.NewContext(base, child), "request")
				for range 5 {
					marks.Mark(ctx, "m", slog.String("k", "v"), slog.Int("n", 1))
				}
				for range 3 {
					marks.Time(ctx, "t", slog.String("k", "v"), slog.Int("n", 1)).End()
				}
				span.End()
				child.Close()
			})
		})
		b.Run(name+"/opentelemetry", func(b *testing.B) {
			bench(b, func() {
				ctx, span := plain.Start(base, "request")
				for range 5 {
					if s := trace.SpanFromContext(ctx); s.IsRecording() {
						s.AddEvent("m", trace.WithAttributes(attribute.String("k", "v"), attribute.Int("n", 1)))
					}
				}
				for range 3 {
					_, s := plain.Start(ctx, "t")
					if s.IsRecording() {
						s.SetAttributes(attribute.String("k", "v"), attribute.Int("n", 1))
					}
					s.End()
				}
				span.End()
			})
		})
	}
}
