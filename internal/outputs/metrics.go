package outputs

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/otlpmetrics"
)

const metricsExporter = "OTEL_METRICS_EXPORTER"

func (o *Outputs) resolveMetrics(vars *environ.Reader, log *slog.Logger) error {
	if !slices.Contains(environ.List(vars, metricsExporter, environ.Default(metricsExporter)),
		"otlp") {
		return nil
	}
	s, err := otlp.Resolve(vars, otlp.Config{}, otlp.Metrics)
	if err != nil {
		return err
	}
	sender, err := s.Sender()
	if err != nil {
		return err
	}
	o.opened = append(o.opened, closing{sender})
	every := environ.Read(vars, time.Minute, environ.Milliseconds(1), "OTEL_METRIC_EXPORT_INTERVAL")
	c := otlpmetrics.Config{
		Sender: sender, To: sender.String(), Logger: log,
		Temporality: temporality(choice(vars, "TEMPORALITY_PREFERENCE")),
		Aggregation: aggregation(choice(vars, "DEFAULT_HISTOGRAM_AGGREGATION")),
		Timeout:     exportTimeout(vars),
	}
	o.reader = func(res *resource.Resource) metric.Reader {
		c.Resource = res
		o.Points = otlpmetrics.New(c)
		return metric.NewPeriodicReader(o.Points, metric.WithInterval(every),
			metric.WithTimeout(c.Timeout))
	}
	return nil
}

// exportTimeout returns how long an export may take.
func exportTimeout(vars *environ.Reader) time.Duration {
	return cmp.Or(environ.Read(vars, 30*time.Second, environ.Milliseconds(0),
		"OTEL_METRIC_EXPORT_TIMEOUT"), noLimit)
}

// noLimit is a time for an export that never ends before the program: the SDK's reader knows no
// other way to say so.
const noLimit = 100 * 365 * 24 * time.Hour

// choice returns the value of a variable of OTLP's metrics.
func choice(vars *environ.Reader, what string) string {
	name := environ.OfSignal(otlp.Metrics.Variable, what)[0]
	return environ.Read(vars, environ.Default(name), environ.Choice(name), name)
}

// temporality returns what a preference stands for, as in the specification of OTLP's exporters of
// metrics.
func temporality(preference string) metric.TemporalitySelector {
	return func(k metric.InstrumentKind) metricdata.Temporality {
		delta := k == metric.InstrumentKindCounter || k == metric.InstrumentKindHistogram ||
			k == metric.InstrumentKindObservableCounter
		switch {
		case preference == "delta" && delta, preference == "lowmemory" && delta &&
			k != metric.InstrumentKindObservableCounter:
			return metricdata.DeltaTemporality
		default:
			return metricdata.CumulativeTemporality
		}
	}
}

// aggregation returns the aggregations with the one that histograms have by name. The sizes are the
// specification's.
func aggregation(histogram string) metric.AggregationSelector {
	return func(k metric.InstrumentKind) metric.Aggregation {
		if k == metric.InstrumentKindHistogram &&
			histogram == "base2_exponential_bucket_histogram" {
			return metric.AggregationBase2ExponentialHistogram{MaxSize: 160, MaxScale: 20}
		}
		return metric.DefaultAggregationSelector(k)
	}
}
