package counts

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/perfline/perfline/exporter"
)

// Register makes the metrics of the table that read returns. Later tables may have other numbers,
// but no other metrics. OpenTelemetry's readers call read, also at the same time.
func Register(meter metric.Meter, read func() Table) (metric.Registration, error) {
	counts, times := map[string]metric.Int64Observable{}, map[string]metric.Float64Observable{}
	var all []metric.Observable
	var failed error
	for _, m := range read() {
		unit, what := metric.WithUnit(m.Unit), metric.WithDescription(m.What)
		var err error
		switch {
		case m.Times != nil:
			times[m.Name], err = meter.Float64ObservableCounter(m.Name, unit, what)
			all = append(all, times[m.Name])
		case m.State, len(m.Rows) > 0 && m.Rows[0].Now:
			counts[m.Name], err = meter.Int64ObservableUpDownCounter(m.Name, unit, what)
			all = append(all, counts[m.Name])
		default:
			counts[m.Name], err = meter.Int64ObservableCounter(m.Name, unit, what)
			all = append(all, counts[m.Name])
		}
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		return nil, failed
	}
	return meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, m := range read() {
			for _, c := range m.Rows {
				attrs := metric.WithAttributes(m.attributes(c)...)
				o.ObserveInt64(counts[m.Name], int64(c.N), attrs)
			}
			for activity, spent := range m.Times {
				var attrs []attribute.KeyValue
				if activity != "" {
					attrs = append(attrs, attribute.String("perfline.activity", activity))
				}
				o.ObserveFloat64(times[m.Name], spent.Seconds(), metric.WithAttributes(attrs...))
			}
		}
		return nil
	}, all...)
}

// attributes returns what tells a row from the others of its metric.
func (m Metric) attributes(c exporter.Count) (attrs []attribute.KeyValue) {
	switch {
	case m.State:
		attrs = append(attrs, attribute.String(m.Name, c.Name))
	case c.Name != "" && !c.Now: // the metric's name says "pending"
		attrs = append(attrs, attribute.String("perfline.outcome", c.Name))
	}
	if c.Kind != "" {
		attrs = append(attrs, attribute.String("perfline.entry.type", c.Kind))
	}
	return attrs
}
