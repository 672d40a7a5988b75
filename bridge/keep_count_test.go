package bridge

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A request that the policy drops is counted when it ends. Nothing of it waits for a hand-over.
func TestDroppedRequestIsCountedAtOnce(t *testing.T) {
	for name, work := range map[string]func(context.Context){
		"nothing under it": func(context.Context) {},
		"a mark":           func(ctx context.Context) { marks.Mark(ctx, "a") },
	} {
		t.Run(name, func(t *testing.T) {
			p := NewTracerProvider(TracerProviderConfig{
				Timeline: observer.NewTimeline(observer.TimelineOptions{}), Sampler: sdktrace.NeverSample(), Keep: &KeepPolicy{Slow: -1},
			})
			defer func() { _ = p.Shutdown(t.Context()) }()
			ctx, span := p.Tracer("").Start(t.Context(), "GET", trace.WithSpanKind(trace.SpanKindServer))
			work(ctx)
			span.End()
			if n := p.joined.stats[requestsByReason].Load(); n != 1 {
				t.Errorf("%d requests are counted, want 1", n)
			}
		})
	}
}
