package bridgegrpc_test

import (
	"context"
	"runtime/pprof"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/stats"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/spanlabels"
)

// The goroutine of a call is labelled while it runs, and the handler's context carries the label.
func TestCallsAreLabelled(t *testing.T) {
	defer spanlabels.Hold(spanlabels.EverySpan)()
	tl := observer.NewTimeline(observer.TimelineOptions{})
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(bridge.NewProcessor(
		sdktrace.NewSimpleSpanProcessor(tracetest.NewInMemoryExporter()), bridge.WithTimeline(tl))))
	defer func() {
		if err := sdk.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	labelled := profiling.NewTracerProvider(sdk, 0)
	for name, tp := range map[string]trace.TracerProvider{"the provider that labels": labelled, "the SDK's in it": sdk} {
		t.Run(name, func(t *testing.T) {
			h := bridgegrpc.Server{TracerProvider: tp, Timeline: tl}.Handler()
			ctx := h.TagRPC(t.Context(), &stats.RPCTagInfo{FullMethodName: "/" + buy})
			if now := spanlabels.Innermost(); now == nil || now.Name() != buy {
				t.Errorf("the goroutine works for %v, want the span of %q", now, buy)
			}
			if name, _ := pprof.Label(ctx, "span_name"); name != buy {
				t.Errorf("the context carries a label of %q, want %q", name, buy)
			}
			h.HandleRPC(ctx, &stats.Begin{})
			h.HandleRPC(ctx, &stats.End{})
			if now := spanlabels.Innermost(); now != nil {
				t.Errorf("after the call, the goroutine works for %q", now.Name())
			}
		})
	}
}
