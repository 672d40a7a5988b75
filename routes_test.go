package perfline_test

import (
	"slices"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/marks"
)

// decidesAlways decides the same about each span.
type decidesAlways struct {
	sdktrace.Sampler
	decision sdktrace.SamplingDecision
}

func (s decidesAlways) ShouldSample(sdktrace.SamplingParameters) sdktrace.SamplingResult {
	return sdktrace.SamplingResult{Decision: s.decision}
}

// Each local root counts once in its route, whoever makes the spans: those that are recorded, and
// with perfline's own provider also those that the sampler drops.
func TestRoutesAreCountedOnce(t *testing.T) {
	overBoth(t, func(t *testing.T, start starter) {
		own := t.Name() == "TestRoutesAreCountedOnce/perfline"
		for _, c := range []struct {
			name     string
			decision sdktrace.SamplingDecision
			counts   bool
		}{
			{"sampled", sdktrace.RecordAndSample, true},
			{"only recorded", sdktrace.RecordOnly, true},
			{"dropped", sdktrace.Drop, own},
		} {
			t.Run(c.name, func(t *testing.T) {
				pl, ctx, _ := start(t, perfline.Config{Sampler: decidesAlways{sdktrace.AlwaysSample(), c.decision}})
				tracer := pl.TracerProvider().Tracer("test")
				for range 3 {
					ctx, request := tracer.Start(ctx, "GET", trace.WithSpanKind(trace.SpanKindServer))
					_, child := tracer.Start(ctx, "select", trace.WithSpanKind(trace.SpanKindClient))
					child.End()
					request.SetName("GET /items/{id}")
					request.End()
				}
				_, ping := tracer.Start(ctx, "ping", trace.WithSpanKind(trace.SpanKindClient))
				ping.End()
				got := []string{}
				for _, r := range stored(pl).Routes().Summaries(routes.SinceStart).Routes {
					if r.Class == local.Request && r.Count != 3 || r.Class == local.Background && r.Count != 1 {
						t.Errorf("%s counts %d", r.Route, r.Count)
					}
					got = append(got, r.Route)
				}
				want := []string{"GET /items/{id}", "ping"}
				if !c.counts {
					want = []string{}
				}
				if !slices.Equal(got, want) {
					t.Errorf("the routes are %q, want %q", got, want)
				}
			})
		}
	})
}

// Messages and jobs are no requests in the totals, whoever makes the spans.
func TestMessagesAreCountedApart(t *testing.T) {
	overBoth(t, func(t *testing.T, start starter) {
		pl, ctx, _ := start(t, perfline.Config{})
		tracer := pl.TracerProvider().Tracer("test")
		_, request := tracer.Start(ctx, "GET /items", trace.WithSpanKind(trace.SpanKindServer))
		request.End()
		_, message := tracer.Start(ctx, "process orders", trace.WithSpanKind(trace.SpanKindConsumer))
		message.End()
		_, job := marks.StartJob(ctx, "nightly")
		job.End()
		table := stored(pl).Routes()
		requests, _ := table.TotalOf(false, routes.SinceStart)
		others, _ := table.TotalOf(true, routes.SinceStart)
		all, _ := table.Total(local.Request, routes.SinceStart)
		if requests.Count != 1 || others.Count != 2 || all.Count != 3 {
			t.Errorf("%d requests and %d messages and jobs of %d, want 1 and 2 of 3", requests.Count, others.Count, all.Count)
		}
	})
}
