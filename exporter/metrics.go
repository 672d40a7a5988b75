package exporter

import (
	"context"
	"fmt"
	"os"
	"strings"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// NewMetricReader makes what OTEL_METRICS_EXPORTER asks for; nil when it is unset
// or "none". Many backends of traces take no metrics, so that an endpoint alone
// sends none there.
//
//   - "otlp": OTLP by the OTEL_EXPORTER_OTLP_* and OTEL_METRIC_EXPORT_* variables,
//     with the protocol chosen as for spans
//   - "prometheus", "console", or one that the program registered with the
//     autoexport package
//
// It does not connect; "prometheus" listens, on OTEL_EXPORTER_PROMETHEUS_HOST and
// _PORT, by default localhost:9464. An unknown exporter, an unknown protocol and an
// endpoint that is no URL are errors that name the value and where it came from.
func NewMetricReader(ctx context.Context) (sdkmetric.Reader, error) {
	name := strings.TrimSpace(os.Getenv("OTEL_METRICS_EXPORTER"))
	switch name {
	case "", "none":
		return nil, nil //nolint:nilnil // documented: nil means that nothing is to be exported
	case "otlp":
		return otlpMetrics(ctx)
	}
	r, err := autoexport.NewMetricReader(ctx)
	if err != nil {
		return nil, fmt.Errorf("exporter: OTEL_METRICS_EXPORTER %q: %w", name, err)
	}
	return r, nil
}

func otlpMetrics(ctx context.Context) (sdkmetric.Reader, error) {
	var c Config
	endpoint, err := c.endpoint("METRICS")
	if err != nil {
		return nil, err
	}
	protocol, err := c.protocol("METRICS", endpoint)
	if err != nil {
		return nil, err
	}
	if err := checkVariables("METRICS"); err != nil {
		return nil, err
	}
	var e sdkmetric.Exporter
	if protocol == GRPC {
		e, err = otlpmetricgrpc.New(ctx)
	} else {
		e, err = otlpmetrichttp.New(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("exporter: metrics by OTLP over %s: %w", protocol, err)
	}
	return sdkmetric.NewPeriodicReader(discreetExporter{e, c.answers("METRICS")}), nil
}

// A discreetExporter has errors that may be printed.
type discreetExporter struct {
	sdkmetric.Exporter
	answers
}

func (d discreetExporter) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	return d.discreet(d.Exporter.Export(ctx, m))
}
