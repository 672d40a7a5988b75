package flight_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/waits"
	"github.com/perfline/perfline/waits/flight"
)

// A request of about 50 µs that switches goroutines often, while the recorder is disarmed and armed.
func BenchmarkRequest(b *testing.B) {
	for _, armed := range []bool{false, true} {
		b.Run(map[bool]string{false: "disarmed", true: "armed"}[armed], func(b *testing.B) {
			provider := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: observer.NewTimeline(observer.TimelineOptions{})})
			tracer := provider.Tracer("test")
			r := flight.NewRecorder(flight.Config{})
			if armed {
				if err := r.Arm(0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				ctx, span := tracer.Start(context.Background(), "GET /", trace.WithSpanKind(trace.SpanKindServer))
				switches(ctx, 20)
				span.End()
			}
			b.StopTimer()
			if err := r.Shutdown(b.Context()); err != nil {
				b.Error(err)
			}
			if err := provider.Shutdown(b.Context()); err != nil {
				b.Error(err)
			}
		})
	}
}

// switches passes the processor to another goroutine and back n times, and computes in between.
func switches(_ context.Context, n int) {
	there, back := make(chan uint64), make(chan uint64)
	var all sync.WaitGroup
	all.Go(func() {
		for v := range there {
			back <- v * v
		}
	})
	v := uint64(1)
	for range n {
		for range 1000 {
			v = v*6364136223846793005 + 1442695040888963407
		}
		there <- v
		v += <-back
	}
	close(there)
	all.Wait()
}

// Slow, when it refuses and when it accepts.
func BenchmarkSlow(b *testing.B) {
	root := bridge.Root{Name: "GET /", Start: time.Now(), End: time.Now()}
	b.Run("disarmed", func(b *testing.B) {
		r := flight.NewRecorder(flight.Config{})
		b.ReportAllocs()
		for b.Loop() {
			r.Slow(root)
		}
	})
	b.Run("armed", func(b *testing.B) {
		r := flight.NewRecorder(flight.Config{MinInterval: time.Hour, MinAge: time.Hour})
		if err := r.Arm(0); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			r.Slow(root)
		}
		b.StopTimer()
		if err := r.Shutdown(b.Context()); err != nil {
			b.Error(err)
		}
	})
}

// A snapshot of a full window, and its analysis for one request.
func BenchmarkSnapshot(b *testing.B) {
	provider := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: observer.NewTimeline(observer.TimelineOptions{})})
	tracer := provider.Tracer("test")
	r := flight.NewRecorder(flight.Config{MinInterval: -1, MaxCPU: -1})
	answers := make(chan *waits.Request, 1)
	r.Watch(func(_ bridge.Root, result *waits.Request) { answers <- result })
	if err := r.Arm(0); err != nil {
		b.Fatal(err)
	}
	request := func() bridge.Root {
		began := time.Now()
		ctx, span := tracer.Start(context.Background(), "GET /", trace.WithSpanKind(trace.SpanKindServer))
		switches(ctx, 20)
		span.End()
		return bridge.Root{TraceID: span.SpanContext().TraceID(), SpanID: span.SpanContext().SpanID(), Name: "GET /", Start: began, End: time.Now()}
	}
	for b.Loop() {
		b.StopTimer()
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
			request()
		}
		b.StartTimer()
		if !r.Slow(request()) {
			b.Fatalf("refused: %+v", r.Stats())
		}
		if <-answers == nil {
			b.Fatalf("not analysed: %+v", r.Stats())
		}
	}
	s := r.Stats()
	b.ReportMetric(float64(s.SnapshotBytes)/float64(s.Snapshots)/1e6, "MB/snapshot")
	b.ReportMetric(float64(s.Writing.Milliseconds())/float64(s.Snapshots), "ms-writing/snapshot")
	b.ReportMetric(float64(s.Analysing.Milliseconds())/float64(s.Snapshots), "ms-analysing/snapshot")
	if err := r.Shutdown(b.Context()); err != nil {
		b.Error(err)
	}
	if err := provider.Shutdown(b.Context()); err != nil {
		b.Error(err)
	}
}
