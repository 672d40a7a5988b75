package bridge_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
)

// arrives returns the context of a request that a span has sent over the network.
func arrives(ctx context.Context, call trace.Span) context.Context {
	return trace.ContextWithRemoteSpanContext(ctx, call.SpanContext().WithRemote(true))
}

// A request that an open client span of the provider has sent is inside the caller's request, and
// not one more request. After the end of the call, and from elsewhere, it is a request of its own.
func TestCallIntoTheProcessCountsOnce(t *testing.T) {
	for _, c := range []struct {
		name    string
		sampler sdktrace.Sampler
	}{{"sampled", sdktrace.AlwaysSample()}, {"dropped and watched", sdktrace.NeverSample()}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := openKeepRig(t, bridge.TracerProviderConfig{Sampler: c.sampler, Keep: &bridge.KeepPolicy{Slow: -1, WithoutFailed: true}})
				serve := func(ctx context.Context, name string) {
					_, span := r.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer))
					time.Sleep(time.Second)
					span.End()
				}
				outer, gateway := r.tracer.Start(r.ctx, "GET /gateway", trace.WithSpanKind(trace.SpanKindServer))
				_, call := r.tracer.Start(outer, "GET", trace.WithSpanKind(trace.SpanKindClient))
				serve(arrives(r.ctx, call), "GET /inner")
				call.End()
				serve(arrives(r.ctx, call), "GET /late")
				serve(arrives(r.ctx, gateway), "GET /sent") // by no client span
				gateway.End()
				compareRoutes(t, r.recorded.table, []routes.Summary{
					{Route: "GET /gateway", Class: local.Request, Count: 1, PerSecond: 1.0 / 3, Max: 3 * time.Second},
					{Route: "GET /late", Class: local.Request, Count: 1, PerSecond: 1.0 / 3, Max: time.Second},
					{Route: "GET /sent", Class: local.Request, Count: 1, PerSecond: 1.0 / 3, Max: time.Second},
					{Route: "GET /inner", Class: local.Inner, Count: 1, PerSecond: 1.0 / 3, Max: time.Second},
				})
				if total, _ := r.recorded.table.Total(local.Request, routes.SinceStart); total.Count != 3 {
					t.Errorf("the load is %d requests, want 3", total.Count)
				}
			})
		})
	}
}

// Calls that are forgotten because too many are open are counted.
func TestForgottenCalls(t *testing.T) {
	const many = 100_000 // more than can be remembered
	p := bridge.NewTracerProvider(bridge.TracerProviderConfig{})
	defer func() { _ = p.Shutdown(t.Context()) }()
	tracer := p.Tracer("test")
	first, count := 0, func() int { return int(p.RequestCounts()["forgotten_calls"]) }
	for n := range many {
		tracer.Start(t.Context(), "call", trace.WithSpanKind(trace.SpanKindClient))
		if n == 0 {
			first = count()
		}
	}
	if last := count(); first != 0 || last < many/2 || last >= many {
		t.Errorf("%d calls are forgotten after the first call and %d after %d, want 0 and most", first, last, many)
	}
}
