package bridgegrpc_test

import (
	"context"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/stats"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/observer"
)

type discarded struct{}

func (discarded) Accept([]bridge.Spans)            {}
func (discarded) ForceFlush(context.Context) error { return nil }
func (discarded) Shutdown(context.Context) error   { return nil }

// The exemplar of rpc.server.call.duration leads to the call's span if that is exported, also if it is because a policy keeps it.
func TestExemplars(t *testing.T) {
	own := func(s sdktrace.Sampler, keep bridge.KeepPolicy) trace.TracerProvider {
		return bridge.NewTracerProvider(bridge.TracerProviderConfig{
			Timeline: observer.NewTimeline(observer.TimelineOptions{}), Sampler: s, Keep: &keep, Exporters: []bridge.Output{discarded{}},
		})
	}
	for _, c := range []struct {
		name  string
		spans trace.TracerProvider
		want  bool
	}{
		{"sampled", own(sdktrace.AlwaysSample(), bridge.KeepPolicy{}), true},
		{"not sampled", own(sdktrace.NeverSample(), bridge.KeepPolicy{Off: true}), false},
		{"kept in memory", own(sdktrace.NeverSample(), bridge.KeepPolicy{Share: 1}), false},
		{"kept and exported", own(sdktrace.NeverSample(), bridge.KeepPolicy{Share: 1, Export: true}), true},
		{"sampled by the SDK", sdktrace.NewTracerProvider(), true},
		{"not sampled by the SDK", sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			reader := sdkmetric.NewManualReader()
			h := bridgegrpc.Server{
				TracerProvider: c.spans, MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
				Timeline: observer.NewTimeline(observer.TimelineOptions{}),
			}.Handler()
			ctx := h.TagRPC(t.Context(), &stats.RPCTagInfo{FullMethodName: "/" + buy})
			h.HandleRPC(ctx, &stats.Begin{})
			h.HandleRPC(ctx, &stats.End{})
			var all metricdata.ResourceMetrics
			if err := reader.Collect(t.Context(), &all); err != nil {
				t.Fatal(err)
			}
			p := all.ScopeMetrics[0].Metrics[0].Data.(metricdata.Histogram[float64]).DataPoints[0] //nolint:forcetypeassert // it panics then
			of := trace.SpanContextFromContext(ctx)
			traceID, spanID := of.TraceID(), of.SpanID()
			switch {
			case !c.want && len(p.Exemplars) > 0:
				t.Errorf("the exemplars are %+v, want none", p.Exemplars)
			case c.want && (len(p.Exemplars) != 1 || string(p.Exemplars[0].TraceID) != string(traceID[:]) || string(p.Exemplars[0].SpanID) != string(spanID[:])):
				t.Errorf("the exemplars are %+v, want one that leads to %s %s", p.Exemplars, traceID, spanID)
			}
		})
	}
}
