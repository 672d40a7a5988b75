package otelgrpc

// This file is for the options WithMetricAttributes and WithMetricAttributesFn, and for the scope's name. It passes
// perfline a MeterProvider that records in otelgrpc's scope, with these attributes besides those of perfline.

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

type shimMeterProvider struct {
	metric.MeterProvider
	config *config
}

func (p shimMeterProvider) Meter(_ string, opts ...metric.MeterOption) metric.Meter {
	opts = slices.Concat(opts, []metric.MeterOption{metric.WithInstrumentationVersion(Version)})
	return shimMeter{p.MeterProvider.Meter(ScopeName, opts...), p.config}
}

type shimMeter struct {
	metric.Meter
	config *config
}

func (m shimMeter) Float64Histogram(name string, opts ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	h, err := m.Meter.Float64Histogram(name, opts...)
	return shimHistogram{h, m.config}, err
}

type shimHistogram struct {
	metric.Float64Histogram
	config *config
}

func (h shimHistogram) Record(ctx context.Context, v float64, opts ...metric.RecordOption) {
	attrs := slices.Clone(h.config.attributes)
	if f := h.config.attributesFn; f != nil {
		attrs = append(attrs, f(ctx)...)
	}
	h.Float64Histogram.Record(ctx, v, slices.Concat(opts, []metric.RecordOption{metric.WithAttributes(attrs...)})...)
}

// meterProvider returns the MeterProvider for perfline.
func (c *config) meterProvider() metric.MeterProvider {
	if c.meters == nil {
		c.meters = otel.GetMeterProvider()
	}
	return shimMeterProvider{c.meters, c}
}

// WithMetricAttributes adds attributes to those of metrics.
func WithMetricAttributes(a ...attribute.KeyValue) Option {
	return optionFunc(func(c *config) { c.attributes = append(c.attributes, a...) })
}

// WithMetricAttributesFn adds attributes to those of metrics, by the context with which perfline records.
func WithMetricAttributesFn(f func(context.Context) []attribute.KeyValue) Option {
	return optionFunc(func(c *config) { c.attributesFn = f })
}
