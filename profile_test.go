package perfline_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

// forceSample takes a sample of the caller as soon as state says that a profiler samples: on a busy machine, the
// runtime takes its time to answer whether the CPU profiler is free.
func forceSample(state func() profiling.State) {
	for state() != profiling.Started {
		time.Sleep(time.Millisecond)
	}
	profiling.ForceSample()
}

// A sample names the span that was active on its goroutine, from any provider, and no other span.
func TestSamplesHaveTheirSpans(t *testing.T) { overBoth(t, testSamplesHaveTheirSpans) }

func testSamplesHaveTheirSpans(t *testing.T, start starter) {
	t.Helper()
	pl, recorded, _ := start(t, perfline.Config{})
	t.Cleanup(func() { _ = pl.Shutdown(context.Background()) })
	tracer := otel.Tracer("test")
	for name, o := range map[string]profiling.Options{"cpu": {SampleInterval: time.Hour}, "wall": {SampleInterval: time.Hour, Wall: true}} {
		t.Run(name, func(t *testing.T) {
			o.Spans = profiling.EverySpan
			p, err := profiling.Start(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			forceSample(p.State)
			ctx, span := tracer.Start(recorded, "outer")
			forceSample(p.State)
			func() {
				_, inner := tracer.Start(ctx, "inner")
				defer inner.End()
				forceSample(p.State)
			}()
			func() {
				_, inner := marks.Start(ctx, "measure")
				defer inner.End()
				forceSample(p.State)
			}()
			forceSample(p.State)
			span.End()
			forceSample(p.State)
			tr, err := p.Stop()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range tr.Samples {
				switch {
				case s.Weight != 0: // of the engine
				case s.ContextID == profile.None:
					got = append(got, "none")
				default:
					got = append(got, tr.Contexts[s.ContextID].SpanName)
				}
			}
			if want := []string{"none", "outer", "inner", "measure", "outer", "none"}; !slices.Equal(got, want) {
				t.Errorf("the samples are of %q, want %q", got, want)
			}
		})
	}
}
