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
	"github.com/perfline/perfline/internal/ownspans"
	"github.com/perfline/perfline/internal/spanconfig"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/spanlabels"
)

// A tracing makes a pipeline's spans and passes them on.
type tracing struct {
	provider  trace.TracerProvider
	processor *bridge.Processor         // nil with perfline's own provider
	labels    *profiling.TracerProvider // over provider; nil with perfline's own, whose spans label by themselves
	flush     func(context.Context) error
	shutdown  func(context.Context) error
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
func startTracing(c Config, res *resource.Resource, to destinations, profileIDs spanlabels.Scope, vars *environ.Reader) (*tracing, error) {
	if c.TracerProvider != nil {
		return joinTracing(c, to, profileIDs), nil
	}
	// Before anything of the SDK reads these variables, and reports wrong ones.
	limits, sampler := spanconfig.ReadLimits(vars), spanconfig.ReadSampler(vars, c.Sampler)
	if ownspans.Enabled {
		return startOwnTracing(c, res, to, profileIDs, limits, sampler)
	}
	return startSDKTracing(c, described(to.processor(), res, vars), res, profileIDs, limits, sampler), nil
}

// startOwnTracing makes spans with perfline's own provider.
func startOwnTracing(c Config, res *resource.Resource, to destinations, profileIDs spanlabels.Scope, limits sdktrace.SpanLimits, sampler sdktrace.Sampler) (*tracing, error) {
	p := bridge.TracerProviderConfig{Sampler: sampler, Limits: &limits, Resource: res, Recorders: []bridge.Output{to.recent}, ProfileIDs: profileIDs}
	if to.encoded != nil {
		p.Exporters = []bridge.Output{to.encoded}
	}
	if to.snapshot != nil {
		p.Processors = []sdktrace.SpanProcessor{to.snapshot}
	}
	provider := bridge.NewTracerProvider(p)
	stop, err := bridge.Sync(provider, bridge.WithTimeline(c.Timeline))
	if err != nil {
		return nil, err
	}
	return &tracing{
		provider: provider,
		flush:    provider.ForceFlush,
		shutdown: func(ctx context.Context) error {
			stop()
			return provider.Shutdown(ctx)
		},
	}, nil
}

// startSDKTracing makes spans with a provider of the SDK.
func startSDKTracing(c Config, next sdktrace.SpanProcessor, res *resource.Resource, profileIDs spanlabels.Scope, limits sdktrace.SpanLimits, sampler sdktrace.Sampler) *tracing {
	processor := bridge.NewProcessor(next, bridge.WithTimeline(c.Timeline), bridge.WithProfileIDs(profileIDs), bridge.WithSpanLimits(limits))
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithSpanProcessor(processor),
		sdktrace.WithRawSpanLimits(limits), sdktrace.WithSampler(sampler))
	processor.Bind(provider)
	labels := profiling.NewTracerProvider(provider, profileIDs)
	return &tracing{
		provider:  provider,
		processor: processor,
		labels:    labels,
		flush:     provider.ForceFlush,
		shutdown: func(ctx context.Context) error {
			// Measures without a span become spans only while the provider is open. What
			// this cannot deliver is counted as lost.
			_ = provider.ForceFlush(ctx)
			err := provider.Shutdown(ctx)
			if ctx.Err() != nil {
				// The SDK's provider leaves its processors running when ctx is over before
				// it has come to them.
				err = processor.Shutdown(ctx)
				labels.Stop()
			}
			return err
		},
	}
}

// joinTracing takes spans from the provider of c, which the program owns.
func joinTracing(c Config, to destinations, profileIDs spanlabels.Scope) *tracing {
	processor := bridge.NewProcessor(to.processor(), bridge.WithTimeline(c.Timeline), bridge.WithProfileIDs(profileIDs))
	processor.Bind(c.TracerProvider)
	c.TracerProvider.RegisterSpanProcessor(processor)
	labels := profiling.NewTracerProvider(c.TracerProvider, profileIDs)
	return &tracing{
		provider:  c.TracerProvider,
		processor: processor,
		labels:    labels,
		flush:     processor.ForceFlush,
		shutdown: func(ctx context.Context) error {
			err := errors.Join(processor.ForceFlush(ctx), processor.Shutdown(ctx))
			c.TracerProvider.UnregisterSpanProcessor(processor) // which is shut down already
			labels.Stop()
			return err
		},
	}
}
