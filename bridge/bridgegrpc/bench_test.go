package bridgegrpc_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc/stats"

	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/observer"
)

// BenchmarkHandler is what a unary call's events cost in the handlers of both
// sides, without gRPC's own work.
func BenchmarkHandler(b *testing.B) {
	sampled := func(s sdktrace.Sampler) *sdktrace.TracerProvider {
		return sdktrace.NewTracerProvider(sdktrace.WithSampler(s))
	}
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	for _, c := range []struct {
		name   string
		server bridgegrpc.Server
		client bridgegrpc.Client
	}{
		{"nothing set up", bridgegrpc.Server{}, bridgegrpc.Client{}},
		{"not sampled, metrics", bridgegrpc.Server{TracerProvider: sampled(sdktrace.NeverSample()), MeterProvider: meters, Propagators: propagation.TraceContext{}},
			bridgegrpc.Client{TracerProvider: sampled(sdktrace.NeverSample()), MeterProvider: meters, Propagators: propagation.TraceContext{}}},
		{"sampled, metrics", bridgegrpc.Server{TracerProvider: sampled(sdktrace.AlwaysSample()), MeterProvider: meters, Propagators: propagation.TraceContext{}},
			bridgegrpc.Client{TracerProvider: sampled(sdktrace.AlwaysSample()), MeterProvider: meters, Propagators: propagation.TraceContext{}}},
	} {
		c.server.Timeline = observer.NewTimeline(observer.TimelineOptions{BufferSize: -1})
		ctx := observer.NewContext(context.Background(), c.server.Timeline)
		info := &stats.RPCTagInfo{FullMethodName: "/" + buy}
		for _, side := range []struct {
			name    string
			handler stats.Handler
			events  []stats.RPCStats
		}{
			{"client", c.client.Handler(), []stats.RPCStats{&stats.Begin{}, &stats.OutHeader{}, &stats.OutPayload{}, &stats.InHeader{}, &stats.InPayload{}, &stats.InTrailer{}, &stats.End{}}},
			{"server", c.server.Handler(), []stats.RPCStats{&stats.InHeader{}, &stats.Begin{}, &stats.InPayload{}, &stats.OutHeader{}, &stats.OutPayload{}, &stats.OutTrailer{}, &stats.End{}}},
		} {
			b.Run(c.name+"/"+side.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					ctx := side.handler.TagRPC(ctx, info)
					for _, e := range side.events {
						side.handler.HandleRPC(ctx, e)
					}
				}
			})
		}
	}
}
