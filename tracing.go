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
)

// A tracing makes a pipeline's spans and passes them on.
type tracing struct {
	provider  trace.TracerProvider
	processor *bridge.Processor // nil with perfline's own provider
	flush     func(context.Context) error
	shutdown  func(context.Context) error
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
func startTracing(c Config, res *resource.Resource, to destinations, labeler profiling.SpanLabels, vars *environ.Reader) (*tracing, error) {
	if c.TracerProvider != nil {
		return joinTracing(c, to, labeler), nil
	}
	// Before anything of the SDK reads these variables, and reports wrong ones.
	limits, sampler := spanconfig.ReadLimits(vars), spanconfig.ReadSampler(vars, c.Sampler)
	if ownspans.Enabled {
		return startOwnTracing(c, res, to, labeler, limits, sampler)
	}
	return startSDKTracing(c, described(to.processor(), res, vars), res, labeler, limits, sampler), nil
}

// startOwnTracing makes spans with perfline's own provider.
func startOwnTracing(c Config, res *resource.Resource, to destinations, labeler profiling.SpanLabels, limits sdktrace.SpanLimits, sampler sdktrace.Sampler) (*tracing, error) {
	p := bridge.TracerProviderConfig{Sampler: sampler, Limits: &limits, Resource: res, Recorders: []bridge.Output{to.recent}, ProfileIDs: labeler.ProfileIDs}
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
func startSDKTracing(c Config, next sdktrace.SpanProcessor, res *resource.Resource, labeler profiling.SpanLabels, limits sdktrace.SpanLimits, sampler sdktrace.Sampler) *tracing {
	processor := bridge.NewProcessor(next, bridge.WithTimeline(c.Timeline), bridge.WithLabeler(labeler), bridge.WithSpanLimits(limits))
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithSpanProcessor(processor),
		sdktrace.WithRawSpanLimits(limits), sdktrace.WithSampler(sampler))
	processor.Bind(provider)
	return &tracing{
		provider:  provider,
		processor: processor,
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
			}
			return err
		},
	}
}

// joinTracing takes spans from the provider of c, which the program owns.
func joinTracing(c Config, to destinations, labeler profiling.SpanLabels) *tracing {
	processor := bridge.NewProcessor(to.processor(), bridge.WithTimeline(c.Timeline), bridge.WithLabeler(labeler))
	processor.Bind(c.TracerProvider)
	c.TracerProvider.RegisterSpanProcessor(processor)
	return &tracing{
		provider:  c.TracerProvider,
		processor: processor,
		flush:     processor.ForceFlush,
		shutdown: func(ctx context.Context) error {
			err := errors.Join(processor.ForceFlush(ctx), processor.Shutdown(ctx))
			c.TracerProvider.UnregisterSpanProcessor(processor) // which is shut down already
			return err
		},
	}
}
