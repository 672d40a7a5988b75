package bridgegrpc_test

import (
	"runtime/pprof"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/stats"

	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/internal/spanlabels"
)

// The goroutine of a call is labelled while it runs, and the handler's context carries the label.
func TestCallsAreLabelled(t *testing.T) {
	defer spanlabels.Hold(spanlabels.EverySpan)()
	r := newRig(t)
	providers := map[string]trace.TracerProvider{"perfline's": r.provider}
	if sdk, ok := r.provider.(*sdktrace.TracerProvider); ok {
		providers = map[string]trace.TracerProvider{"the provider that labels": spanlabels.WrapTracerProvider(sdk), "the SDK's in it": sdk}
	}
	for name, tp := range providers {
		t.Run(name, func(t *testing.T) {
			h := bridgegrpc.Server{TracerProvider: tp, Timeline: r.tl}.Handler()
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
