package outputs

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/otlpmetrics"
)

const metricsExporter = "OTEL_METRICS_EXPORTER"

// Metrics returns an exporter that sends metrics over OTLP, with the resource res. Metrics returns
// nil unless OTEL_METRICS_EXPORTER is otlp, because many backends of traces reject metrics.
func Metrics(
	vars *environ.Reader, res *resource.Resource, log *slog.Logger,
) (*otlpmetrics.Exporter, error) {
	names := environ.List(vars, metricsExporter, environ.Default(metricsExporter))
	if !slices.Contains(names, "otlp") {
		return nil, nil //nolint:nilnil // documented
	}
	s, err := otlp.Resolve(vars, otlp.Config{}, otlp.Metrics)
	if err != nil {
		return nil, err
	}
	sender, err := s.Sender()
	if err != nil {
		return nil, err
	}
	return otlpmetrics.New(otlpmetrics.Config{
		Sender: sender, To: sender.String(), Logger: log, Resource: res,
		Temporality: temporalities[choice(vars, "TEMPORALITY_PREFERENCE")],
		Aggregation: aggregation(choice(vars, "DEFAULT_HISTOGRAM_AGGREGATION")),
		Timeout:     exportTimeout(vars),
	}), nil
}

// Reader returns a reader that exports metrics with e. The interval is OTEL_METRIC_EXPORT_INTERVAL,
// by default a minute.
func Reader(vars *environ.Reader, e *otlpmetrics.Exporter) metric.Reader {
	every := environ.Read(vars, time.Minute, environ.Milliseconds(1), "OTEL_METRIC_EXPORT_INTERVAL")
	timeout := metric.WithTimeout(exportTimeout(vars))
	return metric.NewPeriodicReader(e, metric.WithInterval(every), timeout)
}

func exportTimeout(vars *environ.Reader) time.Duration {
	const name = "OTEL_METRIC_EXPORT_TIMEOUT"
	return cmp.Or(environ.Read(vars, 30*time.Second, environ.Milliseconds(0), name), noLimit)
}

// noLimit outlasts any program: the SDK's reader accepts no unlimited timeout.
const noLimit = 100 * 365 * 24 * time.Hour

func choice(vars *environ.Reader, what string) string {
	name := environ.OfSignal(otlp.Metrics.Variable, what)[0]
	return environ.Read(vars, environ.Default(name), environ.Choice(name), name)
}

var temporalities = map[string]metric.TemporalitySelector{
	"cumulative": metric.CumulativeTemporalitySelector,
	"delta":      metric.DeltaTemporalitySelector,
	"lowmemory":  metric.LowMemoryTemporalitySelector,
}

// aggregation returns the default aggregations, with the named aggregation for histograms. The
// specification sets the sizes.
func aggregation(histogram string) metric.AggregationSelector {
	return func(k metric.InstrumentKind) metric.Aggregation {
		if k == metric.InstrumentKindHistogram &&
			histogram == "base2_exponential_bucket_histogram" {
			return metric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}
		}
		return metric.DefaultAggregationSelector(k)
	}
}
