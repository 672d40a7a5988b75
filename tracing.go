package perfline

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/spanconfig"
	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/internal/within"
)

// A tracing makes a pipeline's spans, and delivers them.
type tracing struct {
	provider trace.TracerProvider
	labels   *spanlabels.TracerProvider // wraps an SDK's provider; nil with perfline's own

	annotator *annotator // nil unless spans are exported and Config.Waits is set

	stats    func() bridge.Stats
	requests func() map[string]uint64 // the decisions about Config.Keep; nil without any
	flush    func(context.Context) error
	shutdown func(context.Context) error
}

// global returns the provider for OpenTelemetry's global.
func (t *tracing) global() trace.TracerProvider {
	if t.labels != nil {
		return t.labels
	}
	return t.provider
}

func startTracing(c Config, res *resource.Resource, logs bridge.LogOutput, to *destinations,
	vars *environ.Reader) *tracing {
	logLimits := bridge.LogLimits(spanconfig.ReadLogLimits(vars))
	to.explain(c)
	if c.TracerProvider != nil {
		return joinTracing(c, res, logs, &logLimits, to)
	}
	limits, sampler := spanconfig.ReadLimits(vars), spanconfig.ReadSampler(vars, c.Sampler)
	p := bridge.TracerProviderConfig{
		Timeline: c.Timeline, Sampler: sampler, Limits: &limits, Resource: res,
		Recorders: []bridge.Output{to.recent},
		Keep:      &c.Keep, OnSlow: to.onSlow,
		Marks: c.Marks, Logs: logs, LogLimits: &logLimits,
	}
	if to.spool != nil {
		p.Recorders = append(p.Recorders, to.spool)
	}
	if to.output != nil {
		p.Exporters = []bridge.Output{to.output}
	}
	if to.snapshot != nil {
		p.Processors = []sdktrace.SpanProcessor{to.snapshot}
	}
	provider := bridge.NewTracerProvider(p)
	t := &tracing{provider: provider, annotator: to.annotator, stats: provider.Stats,
		flush: provider.ForceFlush, shutdown: provider.Shutdown}
	if !c.Keep.Off {
		t.requests = provider.RequestCounts
	}
	return t
}

// warnOfEarlier logs that the program set a tracer provider before Start, and returns the type of
// that provider, or "". OpenTelemetry's tracers forward to the first provider of the process for
// ever.
func warnOfEarlier(c Config, earlier trace.TracerProvider) (name string) {
	if earlier == trace.TracerProvider(c.TracerProvider) || !isForeign(earlier) {
		return ""
	}
	name = fmt.Sprintf("%T", earlier)
	c.Logger.Warn("perfline: the program set a tracer provider before perfline.Start: tracers that packages made before Start use that provider; call perfline.Start first, or set Config.TracerProvider",
		"provider", name)
	return name
}

// isForeign reports whether p is neither OpenTelemetry's initial provider nor the provider of a
// Start.
func isForeign(p trace.TracerProvider) bool {
	const initial = "go.opentelemetry.io/otel/internal/global"
	switch p.(type) {
	case *bridge.TracerProvider, *spanlabels.TracerProvider:
		return false
	}
	of := reflect.Indirect(reflect.ValueOf(p))
	return of.IsValid() && of.Type().PkgPath() != initial
}

// replacedBy returns the type of the global provider now, or "" if spans of the global provider may
// reach t.
func (t *tracing) replacedBy(now trace.TracerProvider) string {
	if now == t.provider || !isForeign(now) || t.isIn(reflect.ValueOf(now)) {
		return ""
	}
	return fmt.Sprintf("%T", now)
}

// isIn reports whether a wrapper contains the provider of t in a field.
func (t *tracing) isIn(wrapper reflect.Value) bool {
	of := reflect.Indirect(wrapper)
	if of.Kind() != reflect.Struct {
		return false
	}
	own := reflect.ValueOf(t.provider).Pointer()
	global := reflect.ValueOf(t.global()).Pointer()
	for i := range of.NumField() {
		field := of.Field(i)
		if field.Kind() == reflect.Interface {
			field = field.Elem()
		}
		if field.Kind() == reflect.Pointer &&
			(field.Pointer() == own || field.Pointer() == global) {
			return true
		}
	}
	return false
}

// joinTracing adds processors to the program's provider. Shutdown removes the processors, and the
// provider shuts them down once more.
func joinTracing(c Config, res *resource.Resource, logs bridge.LogOutput,
	logLimits *bridge.LogLimits, to *destinations) *tracing {
	processor := bridge.NewProcessor(bridge.ProcessorConfig{
		Timeline: c.Timeline, TracerProvider: c.TracerProvider, Marks: c.Marks, Logs: logs,
		LogLimits: logLimits, Resource: res,
	})
	to.decideBeside(c)
	c.TracerProvider.RegisterSpanProcessor(processor)
	c.TracerProvider.RegisterSpanProcessor(to)
	labels := spanlabels.WrapTracerProvider(c.TracerProvider)
	t := &tracing{
		provider: c.TracerProvider, labels: labels, annotator: to.annotator,
		stats: processor.Stats, flush: to.ForceFlush,
		shutdown: func(ctx context.Context) error {
			err := errors.Join(processor.Shutdown(ctx), to.ForceFlush(ctx), to.Shutdown(ctx))
			r := within.Begin(ctx, 2*within.Grace)
			// Unregister blocks while the provider's own Shutdown runs, which may hang.
			r.Do("perfline: leaving Config.TracerProvider", func(context.Context) error {
				labels.Stop()
				c.TracerProvider.UnregisterSpanProcessor(processor)
				to.removeFrom(c.TracerProvider)
				return nil
			})
			return errors.Join(err, r.End())
		},
	}
	if to.decisions != nil {
		t.requests = to.decisions.counts
	}
	return t
}
