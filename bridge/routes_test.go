package bridge_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/marks"
)

// doWork makes local roots of each kind. The contexts and the spans below them do not count.
func doWork(ctx context.Context, tracer trace.Tracer) {
	start := func(name string, kind trace.SpanKind, attrs ...attribute.KeyValue) (context.Context, trace.Span) {
		return tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attrs...))
	}
	below, span := start("GET", trace.SpanKindServer)
	span.SetName("GET /items/{id}")
	_, child := tracer.Start(below, "child", trace.WithSpanKind(trace.SpanKindClient))
	marks.Time(below, "render").End()
	time.Sleep(time.Second)
	child.End()
	span.End()
	span.End()
	_, span = start("GET /items/{id}", trace.SpanKindServer)
	span.SetStatus(codes.Error, "")
	time.Sleep(3 * time.Second)
	span.End()
	_, span = start("events", trace.SpanKindServer)
	span.SetAttributes(attribute.Bool(record.StreamKey, true))
	span.End()
	_, span = start("job", trace.SpanKindInternal, attribute.Bool(record.JobKey, true))
	span.End()
	_, span = start("orders", trace.SpanKindConsumer)
	span.End()
	_, span = start("ping", trace.SpanKindClient)
	span.End()
	remote := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: span.SpanContext().TraceFlags(), Remote: true})
	_, span = tracer.Start(trace.ContextWithRemoteSpanContext(ctx, remote), "GET /called", trace.WithSpanKind(trace.SpanKindServer))
	span.End()
}

// workDone is what a table has after doWork.
var workDone = []routes.Summary{
	{Route: "GET /items/{id}", Class: local.Request, Count: 2, Failed: 1, PerSecond: 0.5, Max: 3 * time.Second},
	{Route: "GET /called", Class: local.Request, Count: 1, PerSecond: 0.25},
	{Route: "job", Class: local.Request, Count: 1, PerSecond: 0.25},
	{Route: "orders", Class: local.Request, Count: 1, PerSecond: 0.25},
	{Route: "events", Class: local.Stream, Count: 1, PerSecond: 0.25},
	{Route: "ping", Class: local.Background, Count: 1, PerSecond: 0.25},
}

func compareRoutes(t *testing.T, table *routes.Table, want []routes.Summary) {
	t.Helper()
	got := table.Summaries(routes.SinceStart).Routes
	for i := range got {
		got[i].P50, got[i].P95, got[i].P99 = 0, 0, 0 // tests of the table compare these
	}
	if !slices.Equal(got, want) {
		t.Errorf("the routes are %+v, want %+v", got, want)
	}
}

// Each local root of the provider counts once, whatever the sampler decides, unless it is dropped and no policy watches it.
func TestRoutesOfProvider(t *testing.T) {
	decided := func(d sdktrace.SamplingDecision) sdktrace.Sampler { return fixed{Decision: d} }
	for _, c := range []struct {
		name    string
		sampler sdktrace.Sampler
		keep    *bridge.KeepPolicy
		want    []routes.Summary
	}{
		{"sampled", sdktrace.AlwaysSample(), nil, workDone},
		{"sampled and watched", sdktrace.AlwaysSample(), &bridge.KeepPolicy{}, workDone},
		{"only recorded", decided(sdktrace.RecordOnly), nil, workDone},
		{"dropped and watched", sdktrace.NeverSample(), &bridge.KeepPolicy{Slow: -1, WithoutFailed: true}, workDone},
		{"dropped, and some kept", sdktrace.ParentBased(sdktrace.NeverSample()), &bridge.KeepPolicy{}, workDone},
		{"dropped", sdktrace.NeverSample(), &bridge.KeepPolicy{Off: true}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := openKeepRig(t, bridge.TracerProviderConfig{Sampler: c.sampler, Keep: c.keep})
				table := r.recorded.table
				doWork(r.ctx, r.tracer)
				compareRoutes(t, table, c.want)
				if len(c.want) > 0 {
					marks.Time(r.ctx, "tick").End()
					if got := len(table.Summaries(routes.SinceStart).Routes); got != len(c.want)+1 {
						t.Errorf("with a measure under no span, there are %d routes, want %d", got, len(c.want)+1)
					}
				}
			})
		})
	}
}
