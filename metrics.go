package perfline

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/profiling"
)

// registerMetrics shows the counts as OpenTelemetry metrics:
//
//	perfline.entries           by perfline.entry.type and perfline.outcome
//	perfline.bridge            by perfline.outcome
//	perfline.delivery          by perfline.outcome
//	perfline.delivery.pending  now
//	perfline.delivery.unanswered, perfline.delivery.retries
//	perfline.profiles          by perfline.outcome
//	perfline.profiles.pending  now
//	perfline.profiles.retries
//	perfline.profiling.lost, perfline.profiling.gaps, perfline.profiling.gap_time
//	perfline.profiling.engine  1 for the engine in use, which perfline.profiling.engine names
//	perfline.profiling.state   1 for the state that perfline.profiling.state names, 0 for the others
func (p *Pipeline) registerMetrics(mp metric.MeterProvider) (metric.Registration, error) {
	m := mp.Meter(bridge.ScopeName)
	var all []metric.Observable
	var failed error
	instrument := func(o metric.Observable, err error) {
		all, failed = append(all, o), errors.Join(failed, err)
	}
	counters, pending := map[string]metric.Int64Observable{}, map[string]metric.Int64Observable{}
	for _, c := range []struct{ group, unit, what string }{
		{"perfline.entries", "{entry}", "Entries of the timeline, by what became of them."},
		{"perfline.bridge", "{item}", "Marks, measures and spans at the bridge to OpenTelemetry, by what became of them."},
		{"perfline.delivery", "{span}", "Spans on their way to the backend, by what became of them."},
		{"perfline.delivery.unanswered", "{span}", "Failed spans that the backend may have taken."},
		{"perfline.delivery.retries", "{request}", "Requests with spans that were sent again."},
		{"perfline.profiles", "{profile}", "Profiles on their way to Pyroscope, by what became of them."},
		{"perfline.profiles.retries", "{request}", "Requests with a profile that were sent again."},
		{"perfline.profiling.lost", "{sample}", "Samples of continuous profiling that the engine could not keep."},
		{"perfline.profiling.gaps", "{gap}", "How often continuous profiling sampled nothing for a time."},
	} {
		counter, err := m.Int64ObservableCounter(c.group, metric.WithUnit(c.unit), metric.WithDescription(c.what))
		instrument(counter, err)
		counters[c.group] = counter
	}
	for _, c := range []struct{ group, unit, what string }{
		{"perfline.delivery", "{span}", "Spans that wait for the backend."},
		{"perfline.profiles", "{profile}", "Profiles that wait for Pyroscope."},
	} {
		counter, err := m.Int64ObservableUpDownCounter(c.group+".pending", metric.WithUnit(c.unit), metric.WithDescription(c.what))
		instrument(counter, err)
		pending[c.group] = counter
	}
	gapTime, err := m.Float64ObservableCounter("perfline.profiling.gap_time", metric.WithUnit("s"),
		metric.WithDescription("How long in all continuous profiling sampled nothing."))
	instrument(gapTime, err)
	state, err := m.Int64ObservableUpDownCounter("perfline.profiling.state", metric.WithUnit("1"),
		metric.WithDescription("Whether continuous profiling samples: 1 for the state that it is in."))
	instrument(state, err)
	engine, err := m.Int64ObservableUpDownCounter(engineGroup, metric.WithUnit("1"),
		metric.WithDescription("Which engine samples for continuous profiling: 1 for the one in use."))
	instrument(engine, err)
	if failed != nil {
		return nil, failed
	}
	return m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := p.Stats()
		for _, c := range p.exist(s.Counts()) {
			if c.Group == engineGroup {
				o.ObserveInt64(engine, int64(c.N), metric.WithAttributes(attribute.String(engineGroup, c.Name)))
			} else if c.Now {
				o.ObserveInt64(pending[c.Group], int64(c.N))
			} else {
				o.ObserveInt64(counters[c.Group], int64(c.N), metric.WithAttributes(attributes(c)...))
			}
		}
		if p.profiles == nil {
			return nil
		}
		o.ObserveFloat64(gapTime, s.Profiles.GapTime.Seconds())
		for _, is := range []profiling.State{profiling.Started, profiling.Paused, profiling.Stopped} {
			n := int64(0)
			if is == s.Profiles.State {
				n = 1
			}
			o.ObserveInt64(state, n, metric.WithAttributes(attribute.String("perfline.profiling.state", string(is))))
		}
		return nil
	}, all...)
}

// attributes tell a count from the others of its metric.
func attributes(c exporter.Count) []attribute.KeyValue {
	var attrs []attribute.KeyValue
	if c.Name != "" {
		attrs = append(attrs, attribute.String("perfline.outcome", c.Name))
	}
	if c.Kind != "" {
		attrs = append(attrs, attribute.String("perfline.entry.type", c.Kind))
	}
	return attrs
}
