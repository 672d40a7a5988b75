package perfline

import (
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// waitsMetrics are the metrics of Config.Waits that are not counts.
type waitsMetrics struct {
	time  metric.Float64Observable
	state metric.Int64Observable
}

func newWaitsMetrics(m metric.Meter) (waitsMetrics, error) {
	spent, err := m.Float64ObservableCounter("perfline.waits.time", metric.WithUnit("s"),
		metric.WithDescription(
			"Total time in which the flight recorder was armed, wrote snapshots, and analysed them."))
	state, err2 := m.Int64ObservableUpDownCounter("perfline.waits.state", metric.WithUnit("1"),
		metric.WithDescription("State of the flight recorder: 1 for the current one."))
	return waitsMetrics{spent, state}, errors.Join(err, err2)
}

func (w waitsMetrics) observe(o metric.Observer, s waits.Stats, now waits.State) {
	for activity, spent := range map[string]time.Duration{"armed": s.Armed, "writing": s.Writing,
		"analysing": s.Analysing} {
		o.ObserveFloat64(w.time, spent.Seconds(),
			metric.WithAttributes(attribute.String("perfline.activity", activity)))
	}
	for _, status := range waiting.Statuses() {
		n := int64(0)
		if status == now.Status {
			n = 1
		}
		o.ObserveInt64(w.state, n,
			metric.WithAttributes(attribute.String("perfline.waits.state", string(status))))
	}
}
