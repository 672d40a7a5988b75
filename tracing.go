package perfline

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/exporter/requests"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/spanconfig"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/spanlabels"
)

// A tracing makes a pipeline's spans and passes them on.
type tracing struct {
	provider trace.TracerProvider
	labels   *profiling.TracerProvider // over provider; nil with perfline's own, whose spans label by themselves
	stats    func() bridge.Stats
	flush    func(context.Context) error
	shutdown func(context.Context) error
}

// global returns the provider that is set globally.
func (t *tracing) global() trace.TracerProvider {
	if t.labels != nil {
		return t.labels
	}
	return t.provider
}

// destinations are where ended spans go.
type destinations struct {
	recent   *requests.Recent
	encoded  *exporter.Delivery // nil unless spans go over OTLP
	snapshot delivery           // nil unless spans go to another exporter
}

// processor returns a span processor that passes spans to all of d.
func (d destinations) processor() sdktrace.SpanProcessor {
	switch {
	case d.encoded != nil:
		return &encodedOnce{recent: d.recent, delivery: d.encoded}
	case d.snapshot != nil:
		return fanOut{d.recent, d.snapshot}
	default:
		return d.recent
	}
}

// startTracing returns the tracing that c asks for.
func startTracing(c Config, res *resource.Resource, to destinations, profileIDs spanlabels.Scope, vars *environ.Reader) *tracing {
	if c.TracerProvider != nil {
		return joinTracing(c, to, profileIDs)
	}
	// Before anything of the SDK reads these variables, and reports wrong ones.
	limits, sampler := spanconfig.ReadLimits(vars), spanconfig.ReadSampler(vars, c.Sampler)
	p := bridge.TracerProviderConfig{
		Timeline: c.Timeline, Sampler: sampler, Limits: &limits, Resource: res, Recorders: []bridge.Output{to.recent}, ProfileIDs: profileIDs,
	}
	if to.encoded != nil {
		p.Exporters = []bridge.Output{to.encoded}
	}
	if to.snapshot != nil {
		p.Processors = []sdktrace.SpanProcessor{to.snapshot}
	}
	provider := bridge.NewTracerProvider(p)
	return &tracing{provider: provider, stats: provider.Stats, flush: provider.ForceFlush, shutdown: provider.Shutdown}
}

// joinTracing takes spans from the provider of c, which the program owns.
func joinTracing(c Config, to destinations, profileIDs spanlabels.Scope) *tracing {
	joined := bridge.NewProcessor(bridge.WithTimeline(c.Timeline), bridge.WithTracerProvider(c.TracerProvider))
	next := to.processor()
	c.TracerProvider.RegisterSpanProcessor(joined)
	c.TracerProvider.RegisterSpanProcessor(next)
	labels := profiling.NewTracerProvider(c.TracerProvider, profileIDs)
	return &tracing{
		provider: c.TracerProvider,
		labels:   labels,
		stats:    joined.Stats,
		flush:    next.ForceFlush,
		shutdown: func(ctx context.Context) error {
			err := errors.Join(joined.Shutdown(ctx), next.ForceFlush(ctx), next.Shutdown(ctx))
			c.TracerProvider.UnregisterSpanProcessor(joined) // both are shut down already
			c.TracerProvider.UnregisterSpanProcessor(next)
			labels.Stop()
			return err
		},
	}
}
