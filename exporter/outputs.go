package exporter

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/internal/environ"
)

// Outputs are where spans and metrics go: checked, and not connected yet.
type Outputs struct {
	target func(context.Context) (*Target, error)                           // nil: nowhere
	reader func(context.Context, *resource.Resource) (metric.Reader, error) // nil: nowhere
	opened []interface{ Shutdown(context.Context) error }                   // made already
}

// Resolve finds out where spans and metrics go, by c and the variables:
//
//   - Spans go where OTEL_TRACES_EXPORTER says: otlp, console, none, or a name that the
//     program registered with the autoexport package. An endpoint alone means otlp.
//   - Metrics go where OTEL_METRICS_EXPORTER says, and nowhere without it: many backends of
//     traces take no metrics. It may be prometheus, too, which listens at once on
//     OTEL_EXPORTER_PROMETHEUS_HOST and _PORT, by default localhost:9464.
//
// Variables that are wrong and do no harm are logged, and their defaults count. Other
// wrong variables and fields are errors that name the value and the rule. Call Connect or
// Shutdown afterwards.
func Resolve(ctx context.Context, c Config) (*Outputs, error) {
	vars := environ.NewReader(c.Logger)
	o := &Outputs{}
	err := o.resolveTraces(ctx, vars, c)
	if err == nil {
		err = o.resolveMetrics(ctx, vars)
	}
	if err != nil {
		return nil, errors.Join(err, o.Shutdown(ctx))
	}
	return o, nil
}

// Connect makes the exporters. The target is nil if spans go nowhere, and the reader is nil
// if metrics go nowhere. Metrics over OTLP and on the console carry res.
func (o *Outputs) Connect(ctx context.Context, res *resource.Resource) (t *Target, r metric.Reader, err error) {
	if o.target != nil {
		if t, err = o.target(ctx); err != nil {
			return nil, nil, err
		}
	}
	if o.reader != nil {
		r, err = o.reader(ctx, res)
	}
	return t, r, err
}

// Shutdown closes what Resolve has opened. It is for when Connect is not called.
func (o *Outputs) Shutdown(ctx context.Context) error {
	var all error
	for _, opened := range o.opened {
		all = errors.Join(all, opened.Shutdown(ctx))
	}
	return all
}

const tracesExporter = "OTEL_TRACES_EXPORTER"

// unknownExporter is the error of the autoexport package, of an internal type.
const unknownExporter = "unknown exporter or metrics producer"

func (o *Outputs) resolveTraces(ctx context.Context, vars *environ.Reader, c Config) error {
	name := environ.Get(tracesExporter)
	if name == "" || c.Endpoint != "" {
		endpoint, err := c.endpoint(traces)
		if err != nil || endpoint == nil {
			return err
		}
		name = "otlp"
	}
	switch name {
	case "none":
		return nil
	case "otlp":
		s, err := c.settings(vars, traces)
		if err != nil {
			return err
		}
		o.target = s.target
		return nil
	case "console":
		o.target = func(context.Context) (*Target, error) {
			e, err := stdouttrace.New()
			return &Target{SpanExporter: e, Name: name}, err
		}
		return nil
	}
	e, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return badExporter(tracesExporter, err)
	}
	o.opened = append(o.opened, e)
	o.target = func(context.Context) (*Target, error) { return &Target{SpanExporter: e, Name: name}, nil }
	return nil
}

// badExporter explains an error of the autoexport package.
func badExporter(variable string, err error) error {
	if err.Error() == unknownExporter {
		return fmt.Errorf("exporter: %w", environ.Error(variable))
	}
	return fmt.Errorf("exporter: %s %q: %w", variable, environ.Get(variable), err)
}

// target makes the OTLP exporter of spans.
func (s *settings) target(ctx context.Context) (*Target, error) {
	t := &Target{Name: s.name(), answers: s.answers}
	var err error
	if s.protocol == GRPC {
		t.SpanExporter, err = otlptracegrpc.New(ctx, optionsOf[otlptracegrpc.Option]{
			endpoint: otlptracegrpc.WithEndpointURL, headers: otlptracegrpc.WithHeaders, timeout: otlptracegrpc.WithTimeout,
			insecure: otlptracegrpc.WithInsecure, gzip: otlptracegrpc.WithCompressor("gzip"),
		}.of(s)...)
	} else {
		t.SpanExporter, err = otlptracehttp.New(ctx, optionsOf[otlptracehttp.Option]{
			endpoint: otlptracehttp.WithEndpointURL, headers: otlptracehttp.WithHeaders, timeout: otlptracehttp.WithTimeout,
			insecure: otlptracehttp.WithInsecure, gzip: otlptracehttp.WithCompression(otlptracehttp.GzipCompression),
		}.of(s)...)
	}
	if err != nil {
		return nil, fmt.Errorf("exporter: OTLP over %s: %w", t.Name, t.discreet(err))
	}
	return t, nil
}
