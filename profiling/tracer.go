package profiling

import (
	"context"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/perfline/perfline/profiling/spanlabels"
)

// TracerProvider returns tp, whose spans [SpanLabels] labels, with contexts that carry
// these labels: pprof.Do under a span then adds to them, and restores them afterwards,
// where otherwise it would replace them by those of a context that knows nothing of
// them. perfline.Start sets such a provider globally. The spans are tp's own. Contexts
// of marks.Start, the HTTP middleware, bridgegrpc and [spanlabels.Do] carry labels without it.
func TracerProvider(tp trace.TracerProvider) trace.TracerProvider {
	return &tracerProvider{tp: tp}
}

type tracerProvider struct {
	embedded.TracerProvider
	tp trace.TracerProvider
}

func (p *tracerProvider) Tracer(name string, o ...trace.TracerOption) trace.Tracer {
	return &tracer{tracer: p.tp.Tracer(name, o...)}
}

type tracer struct {
	embedded.Tracer
	tracer trace.Tracer
}

func (t *tracer) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	if !spanlabels.Enabled() {
		return t.tracer.Start(ctx, name, o...)
	}
	before := spanlabels.Innermost()
	ctx, span := t.tracer.Start(ctx, name, o...)
	if s := spanlabels.Innermost(); s != before && s != nil && s.TraceID() == span.SpanContext().TraceID() {
		ctx = spanlabels.NewContext(ctx, s)
	}
	return ctx, span
}
