//go:build lab

package perfline_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/internal/cpushare"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

//go:noinline
func half(scale int) { keep(spin(50 * scale)) }

//go:noinline
func third(scale int) { keep(spin(30 * scale)) }

//go:noinline
func fifth(scale int) { keep(spin(20 * scale)) }

//go:noinline
func spin(n int) (x uint64) {
	x = 88172645463325252
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

//go:noinline
func keep(uint64) {}

// share is the part of its CPU time that each function of compute takes, in percent.
var share = map[string]float64{"half": 50, "third": 30, "fifth": 20}

var engines = map[string]profiling.Options{
	"cpu":  {},
	"wall": {SampleInterval: 2 * time.Millisecond, Wall: true, WallBudget: 0.2},
}

// compute takes CPU time under spans until the profiler has so many samples, and returns the trace.
// Each function runs under a span of its own name.
func compute(t *testing.T, recorded context.Context, o profiling.Options, samples uint64) *profile.Trace {
	t.Helper()
	tracer := otel.Tracer("test")
	o.MaxBufferSize, o.Spans = 1_000_000, profiling.EverySpan
	p, err := profiling.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for p.Stats().Samples < samples {
				// Work that always takes as long could keep in step with the kernel's clock.
				scale := 1000 + rand.IntN(6000)
				ctx, span := tracer.Start(recorded, "fifth") // around the others
				func() {
					_, inner := tracer.Start(ctx, "half")
					defer inner.End()
					half(scale)
				}()
				func() {
					_, inner := marks.Start(ctx, "third")
					defer inner.End()
					third(scale)
				}()
				fifth(scale)
				span.End()
			}
		})
	}
	wg.Wait()
	tr, err := p.Stop()
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// functionOf returns which function of compute a sample is of, or "".
func functionOf(tr *profile.Trace, s profile.Sample) (function string) {
	for c := range tr.Calls(s) {
		if name, ok := strings.CutPrefix(c.Name, "github.com/perfline/perfline_test."); ok && share[name] > 0 {
			function = name
		}
	}
	return function
}

// A sample names the span that was active on its goroutine, from any provider, and no other span.
func TestLabSamplesHaveTheirSpans(t *testing.T) { overBoth(t, labSamplesHaveTheirSpans) }

func labSamplesHaveTheirSpans(t *testing.T, start starter) {
	t.Helper()
	pl, recorded, _ := start(t, perfline.Config{})
	t.Cleanup(func() { _ = pl.Shutdown(context.Background()) })
	for name, o := range engines {
		t.Run(name, func(t *testing.T) {
			samples := uint64(60)
			if o.Wall {
				samples *= 10 // most are of other goroutines, which wait
			}
			tr := compute(t, recorded, o, samples)
			seen := map[string]int{}
			for _, s := range tr.Samples {
				function := functionOf(tr, s)
				if function == "" {
					continue
				}
				seen[function]++
				span := "none"
				if s.ContextID != profile.None {
					span = tr.Contexts[s.ContextID].SpanName
				}
				if span != function {
					t.Errorf("at %v: a sample of %s is under the span %q", s.Timestamp, function, span)
				}
			}
			if len(seen) != len(share) {
				t.Errorf("samples by function are %v, want some of each of %v", seen, share)
			}
		})
	}
}

// Each span gets the time that it took.
func TestLabSpansGetTheirTime(t *testing.T) {
	pl, recorded, _ := start(t, perfline.Config{})
	t.Cleanup(func() { _ = pl.Shutdown(context.Background()) })
	cpushare.Check(t, func() error {
		for engine, o := range engines {
			tr := compute(t, recorded, o, 1200)
			got := map[string]time.Duration{}
			var total time.Duration
			for _, s := range tr.Samples {
				if function := functionOf(tr, s); function != "" {
					got[function] += s.Weight
					total += s.Weight
				}
			}
			for function, want := range share {
				is := float64(got[function]) / float64(total) * 100
				t.Logf("%s: %s has %.1f %% of %v, want %.0f", engine, function, is, total, want)
				// Four standard deviations of 1100 samples.
				if math.Abs(is-want) > 6 {
					return fmt.Errorf("%s: %s has %.1f %% of the time, want about %.0f", engine, function, is, want)
				}
			}
		}
		return nil
	})
}
