//go:build !race

// The race detector allocates on its own account.

package bridgegrpc_test

import (
	"context"
	"net"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/observer"
)

// nowhere is an output that takes spans and keeps none.
type nowhere struct{}

func (nowhere) Accept([]bridge.Spans)            {}
func (nowhere) ForceFlush(context.Context) error { return nil }
func (nowhere) Shutdown(context.Context) error   { return nil }

// A unary call on a server allocates no more than the limits below, without gRPC's own work. The addresses of the connection become
// texts only when a span is encoded.
func TestCallAllocs(t *testing.T) {
	for _, c := range []struct {
		name    string
		sampler sdktrace.Sampler
		outputs []bridge.Output
		most    float64
	}{
		{"exported", sdktrace.AlwaysSample(), []bridge.Output{nowhere{}}, 8},
		{"sampled, without an output", sdktrace.AlwaysSample(), nil, 6},
		{"not sampled", sdktrace.NeverSample(), []bridge.Output{nowhere{}}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}, MaxPending: 1 << 18})
			p := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl, Sampler: c.sampler, Exporters: c.outputs})
			defer func() {
				if err := p.Shutdown(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			h := bridgegrpc.Server{
				TracerProvider: p, Propagators: propagation.TraceContext{}, Timeline: tl,
				MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())),
			}.Handler()
			ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("content-type", "application/grpc", "user-agent", "test"))
			ctx = peer.NewContext(ctx, &peer.Peer{
				Addr:      &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 4711},
				LocalAddr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443},
			})
			info := &stats.RPCTagInfo{FullMethodName: "/" + buy}
			events := []stats.RPCStats{&stats.InHeader{}, &stats.Begin{}, &stats.InPayload{}, &stats.OutHeader{}, &stats.OutPayload{}, &stats.OutTrailer{}, &stats.End{}}
			runs := 0
			call := func() {
				if runs++; runs%32 == 0 {
					p.Stats() // hands over the calls that have ended, as a program does now and then
				}
				ctx := h.TagRPC(ctx, info)
				for _, e := range events {
					h.HandleRPC(ctx, e)
				}
			}
			call()
			if got := testing.AllocsPerRun(1000, call); got > c.most {
				t.Errorf("%v allocations, want at most %v", got, c.most)
			}
		})
	}
}
