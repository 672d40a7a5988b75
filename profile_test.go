package perfline_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/perfline/perfline"
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

// Samples are of the span that their goroutine was in, whoever made it, and of no
// other; and the time that each gets is the time that it took.
func TestSamplesHaveTheirSpans(t *testing.T) { overBoth(t, testSamplesHaveTheirSpans) }

func testSamplesHaveTheirSpans(t *testing.T, start starter) {
	t.Helper()
	pl, recorded, _ := start(t, perfline.Config{})
	t.Cleanup(func() { _ = pl.Shutdown(context.Background()) })
	tracer := otel.Tracer("test")
	want := map[string]float64{"half": 50, "third": 30, "fifth": 20}
	for name, o := range map[string]profiling.Options{
		"cpu":  {},
		"wall": {SampleInterval: 2 * time.Millisecond, Wall: true, WallBudget: 0.2},
	} {
		t.Run(name, func(t *testing.T) {
			o.MaxBufferSize = 1_000_000
			p, err := profiling.Start(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			for range runtime.GOMAXPROCS(0) {
				wg.Go(func() {
					for p.Stats().Samples < 4_000 {
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
			got := map[string]time.Duration{}
			var total time.Duration
			samples := 0
			for _, s := range tr.Samples {
				function := ""
				for c := range tr.Calls(s) {
					if name, ok := strings.CutPrefix(c.Name, "github.com/perfline/perfline_test."); ok && want[name] > 0 {
						function = name
					}
				}
				if function == "" {
					continue
				}
				span := "none"
				if s.ContextID != profile.None {
					span = tr.Contexts[s.ContextID].SpanName
				}
				if span != function {
					t.Errorf("at %v: a sample of %s is under the span %q", s.Timestamp, function, span)
				}
				got[function] += s.Weight
				total += s.Weight
				samples++
			}
			for name, share := range want {
				is := float64(got[name]) / float64(total) * 100
				t.Logf("%s: %.1f %% of %d samples, want %.0f", name, is, samples, share)
				// Four standard deviations of 1100 samples, and what three calls weigh. There are more: on
				// a busy machine some stand for more than others, and are as if they were fewer.
				if is < share-6 || is > share+6 {
					t.Errorf("%s has %.1f %% of the time, want about %.0f", name, is, share)
				}
			}
		})
	}
}
