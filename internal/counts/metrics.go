package counts

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/perfline/perfline/exporter"
)

// Register registers the metrics of the table that read returns. Each call of read must return the
// same metrics. OpenTelemetry's readers call read concurrently.
func Register(meter metric.Meter, read func() Table) (metric.Registration, error) {
	ints, floats := map[string]metric.Int64Observable{}, map[string]metric.Float64Observable{}
	var all []metric.Observable
	var failed error
	for _, m := range read() {
		unit, what := metric.WithUnit(m.Unit), metric.WithDescription(m.What)
		var o metric.Observable
		var err error
		switch {
		case m.Unit == seconds:
			floats[m.Name], err = meter.Float64ObservableCounter(m.Name, unit, what)
			o = floats[m.Name]
		case m.Key == m.Name, len(m.Rows) > 0 && m.Rows[0].Now:
			ints[m.Name], err = meter.Int64ObservableUpDownCounter(m.Name, unit, what)
			o = ints[m.Name]
		default:
			ints[m.Name], err = meter.Int64ObservableCounter(m.Name, unit, what)
			o = ints[m.Name]
		}
		all, failed = append(all, o), errors.Join(failed, err)
	}
	if failed != nil {
		return nil, failed
	}
	return meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, m := range read() {
			for _, c := range m.Rows {
				attrs := metric.WithAttributes(m.attributes(c)...)
				if m.Unit == seconds {
					o.ObserveFloat64(floats[m.Name], time.Duration(c.N).Seconds(), attrs)
				} else {
					o.ObserveInt64(ints[m.Name], int64(c.N), attrs)
				}
			}
		}
		return nil
	}, all...)
}

// attributes returns the attributes that identify a row of m.
func (m Metric) attributes(c exporter.Count) (attrs []attribute.KeyValue) {
	if m.Key != "" {
		attrs = append(attrs, attribute.String(m.Key, c.Name))
	}
	if c.Kind != "" {
		attrs = append(attrs, attribute.String("perfline.entry.type", c.Kind))
	}
	return attrs
}
