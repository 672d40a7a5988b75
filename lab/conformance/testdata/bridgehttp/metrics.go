package otelhttp

// This file is for the name of the scope of metrics. It passes perfline a MeterProvider that
// records in otelhttp's scope.

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

type shimMeterProvider struct{ metric.MeterProvider }

func (p shimMeterProvider) Meter(_ string, opts ...metric.MeterOption) metric.Meter {
	return p.MeterProvider.Meter(ScopeName, append(opts, metric.WithInstrumentationVersion(Version), metric.WithSchemaURL(""))...)
}

// meterProvider returns the MeterProvider for perfline.
func (c *config) meterProvider() metric.MeterProvider {
	if c.meters == nil {
		c.meters = otel.GetMeterProvider()
	}
	return shimMeterProvider{c.meters}
}
