package outputs

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlp"
)

const (
	metricsExporter = "OTEL_METRICS_EXPORTER"
	producers       = "OTEL_METRICS_PRODUCERS"
	prometheusHost  = "OTEL_EXPORTER_PROMETHEUS_HOST"
	prometheusPort  = "OTEL_EXPORTER_PROMETHEUS_PORT"
)

func (o *Outputs) resolveMetrics(ctx context.Context, vars *environ.Reader) error {
	name := environ.Get(metricsExporter)
	switch name {
	case "", "none":
		return nil
	case "otlp":
		s, err := otlp.Resolve(vars, otlp.Config{}, otlp.Metrics)
		if err != nil {
			return err
		}
		preferences(vars)
		o.reader = periodic(vars, overOTLP(s))
		return nil
	case "console":
		o.reader = periodic(vars, func(context.Context) (metric.Exporter, error) { return stdoutmetric.New() })
		return nil
	case "prometheus":
		if err := checkScraped(); err != nil {
			return err
		}
	}
	r, err := autoexport.NewMetricReader(ctx)
	switch {
	case err == nil:
	case name != "prometheus":
		return badExporter(metricsExporter, err)
	case err.Error() == unknownExporter:
		return fmt.Errorf("exporter: %w", environ.Error(producers))
	default:
		return fmt.Errorf("exporter: %s and %s: must be where prometheus can listen: %w", prometheusHost, prometheusPort, err)
	}
	o.opened = append(o.opened, r)
	o.reader = func(context.Context, *resource.Resource) (metric.Reader, error) { return r, nil }
	return nil
}

// preferences checks the variables that OpenTelemetry's exporters of metrics read. Their defaults are what the
// exporters go by when a variable is wrong.
func preferences(vars *environ.Reader) {
	for _, what := range []string{"TEMPORALITY_PREFERENCE", "DEFAULT_HISTOGRAM_AGGREGATION"} {
		name := environ.OfSignal(otlp.Metrics.Variable, what)[0]
		environ.Read(vars, environ.Default(name), environ.Choice(name), name)
	}
}

// checkScraped refuses an address for prometheus that no machine has. Others must be tried.
func checkScraped() error {
	if raw := environ.Get(prometheusPort); raw != "" {
		if port, ok := environ.Whole(raw); !ok || port < 0 || port > math.MaxUint16 {
			return fmt.Errorf("exporter: %w", environ.Error(prometheusPort))
		}
	}
	if host := environ.Get(prometheusHost); host != "" {
		_, err := netip.ParseAddr(host)
		if err != nil && !strings.ContainsAny(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz") {
			return fmt.Errorf("exporter: %w", environ.Error(prometheusHost))
		}
	}
	return nil
}

// periodic returns what makes the reader that sends to an exporter.
func periodic(vars *environ.Reader, connect func(context.Context) (metric.Exporter, error)) func(context.Context, *resource.Resource) (metric.Reader, error) {
	every := environ.Read(vars, time.Minute, environ.Milliseconds(1), "OTEL_METRIC_EXPORT_INTERVAL")
	timeout := environ.Read(vars, 30*time.Second, environ.Milliseconds(1), "OTEL_METRIC_EXPORT_TIMEOUT")
	return func(ctx context.Context, res *resource.Resource) (metric.Reader, error) {
		e, err := connect(ctx)
		if err != nil {
			return nil, err
		}
		return metric.NewPeriodicReader(describedExporter{e, res}, metric.WithInterval(every), metric.WithTimeout(timeout)), nil
	}
}

// A describedExporter sends metrics with a resource. OpenTelemetry's provider adds what it reads from
// OTEL_RESOURCE_ATTRIBUTES to the one that it is given, also if that is wrong.
type describedExporter struct {
	metric.Exporter
	res *resource.Resource
}

func (d describedExporter) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	m.Resource = d.res
	return d.Exporter.Export(ctx, m)
}

// overOTLP makes the OTLP exporter of metrics. It reads the variables that Resolve has checked.
func overOTLP(s *otlp.Settings) func(context.Context) (metric.Exporter, error) {
	return func(ctx context.Context) (e metric.Exporter, err error) {
		if s.Protocol == otlp.GRPC {
			e, err = otlpmetricgrpc.New(ctx, chosen(s, otlpmetricgrpc.WithTimeout, otlpmetricgrpc.WithInsecure(), otlpmetricgrpc.WithCompressor("gzip"))...)
		} else {
			e, err = otlpmetrichttp.New(ctx, chosen(s, otlpmetrichttp.WithTimeout, otlpmetrichttp.WithInsecure(), otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression))...)
		}
		if err != nil {
			return nil, fmt.Errorf("exporter: metrics by OTLP over %s: %w", s.Protocol, s.Redact(err))
		}
		return redactingExporter{e, s}, nil
	}
}

// chosen returns the options that s asks for.
func chosen[O any](s *otlp.Settings, timeout func(time.Duration) O, insecure, gzip O) []O {
	options := []O{timeout(s.Timeout)}
	if s.TLS == nil {
		options = append(options, insecure)
	}
	if s.Gzip {
		options = append(options, gzip)
	}
	return options
}

// A redactingExporter has errors that may be printed.
type redactingExporter struct {
	metric.Exporter
	settings *otlp.Settings
}

func (e redactingExporter) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	return e.settings.Redact(e.Exporter.Export(ctx, m))
}
