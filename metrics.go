package perfline

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/profiling"
)

// registerMetrics makes OpenTelemetry metrics of the counts:
//
//	perfline.entries            by perfline.entry.type and perfline.outcome
//	perfline.marks              by perfline.outcome
//	perfline.spans              by perfline.outcome; .off_timeline and .unlabelled
//	perfline.panics             panics of the program's code
//	perfline.requests           by perfline.outcome; .exported, .untracked and .refused
//	perfline.delivery.spans     by perfline.outcome; .pending, .unanswered and .retries
//	perfline.delivery.logs      the same
//	perfline.delivery.metrics   the same
//	perfline.delivery.otlp_profiles  the same
//	perfline.delivery.profiles  by perfline.outcome; .pending and .retries
//	perfline.profiling.failed, .put_off, .lost_samples, .gaps and .gap_time
//	perfline.profiling.engine   1 for the engine in use, which perfline.profiling.engine names
//	perfline.profiling.state    1 for the state that perfline.profiling.state names, 0 for the others
//	perfline.measures           by perfline.outcome; .series
//	perfline.waits.requests     by perfline.outcome; .pending
//	perfline.waits.snapshots    by perfline.outcome; .snapshot_bytes, .panics, .results, .result_bytes, .too_large and .evicted
//	perfline.waits.time         by perfline.activity: armed, writing, analysing
//	perfline.waits.state        1 for the state that perfline.waits.state names, 0 for the others
func (p *Pipeline) registerMetrics(mp metric.MeterProvider) (metric.Registration, error) {
	m := scope.Meter(mp)
	var all []metric.Observable
	var failed error
	instrument := func(o metric.Observable, err error) {
		all, failed = append(all, o), errors.Join(failed, err)
	}
	counters, pending := map[string]metric.Int64Observable{}, map[string]metric.Int64Observable{}
	for _, c := range []struct{ group, unit, what string }{
		{"perfline.entries", "{entry}", "Entries of the timeline, by outcome."},
		{"perfline.marks", "{mark}", "Marks, by outcome: event of a span, log record, or why not."},
		{"perfline.spans", "{span}", "Spans, from measures and from other code."},
		{"perfline.panics", "{panic}", "Panics of the program's code that perfline called."},
		{"perfline.requests", "{request}", "Requests, by what the keep policy decided."},
		{"perfline.requests.exported", "{request}",
			"Requests that were not sampled and were exported because they are kept."},
		{"perfline.requests.untracked", "{request}",
			"Unsampled requests that could not be kept, because most spans of their instrumentation never end."},
		{"perfline.requests.refused", "{entry}",
			"Marks, measures and spans of unsampled requests that found no room in memory."},
		{"perfline.spans.off_timeline", "{span}",
			"Spans missing on their request's timeline, because too many were open."},
		{"perfline.spans.unlabelled", "{span}",
			"Spans missing in profiles, because too many were open."},
		{"perfline.delivery.spans", "{span}", "Spans on their way to the backend, by outcome."},
		{"perfline.delivery.spans.unanswered", "{span}", "Failed spans that the backend may have."},
		{"perfline.delivery.spans.retries", "{request}",
			"Requests with spans that were sent again."},
		{"perfline.delivery.logs", "{record}",
			"Log records on their way to the backend, by outcome."},
		{"perfline.delivery.logs.unanswered", "{record}",
			"Failed log records that the backend may have."},
		{"perfline.delivery.logs.retries", "{request}",
			"Requests with log records that were sent again."},
		{"perfline.delivery.metrics", "{point}",
			"Metric points on their way to the backend, by outcome."},
		{"perfline.delivery.metrics.unanswered", "{point}",
			"Failed metric points that the backend may have."},
		{"perfline.delivery.metrics.retries", "{request}",
			"Requests with metrics that were sent again."},
		{"perfline.delivery.profiles", "{profile}",
			"Profiles on their way to Pyroscope, by outcome."},
		{"perfline.delivery.profiles.retries", "{request}",
			"Requests with a profile that were sent again."},
		{"perfline.delivery.otlp_profiles", "{profile}",
			"Profiles over OTLP on their way to the receiver, by outcome."},
		{"perfline.delivery.otlp_profiles.unanswered", "{profile}",
			"Failed profiles over OTLP that the receiver may have."},
		{"perfline.delivery.otlp_profiles.retries", "{request}",
			"Requests with profiles over OTLP that were sent again."},
		{"perfline.profiling.failed", "{profile}", "Profiles that could not be taken."},
		{"perfline.profiling.put_off", "{profile}",
			"Profiles of the runtime that were left out, because their kind takes too much time."},
		{"perfline.profiling.lost_samples", "{sample}", "Samples that the engine lost."},
		{"perfline.profiling.gaps", "{gap}", "How often profiling sampled nothing for a while."},
		{measuresGroup, "{measure}",
			"Measures that the histogram of measures has without their attributes, or lost, by outcome."},
		{"perfline.waits.requests", "{request}",
			"Slow requests given to the flight recorder, by outcome."},
		{"perfline.waits.snapshots", "{snapshot}", "Snapshots of the execution trace, by outcome."},
		{"perfline.waits.snapshot_bytes", "By", "Size of all snapshots."},
		{"perfline.waits.panics", "{panic}", "Panics in the analysis of snapshots."},
		{"perfline.waits.too_large", "{result}",
			"Results that were kept without their goroutines."},
		{"perfline.waits.evicted", "{result}", "Results that newer ones replaced."},
	} {
		counter, err := m.Int64ObservableCounter(c.group, metric.WithUnit(c.unit),
			metric.WithDescription(c.what))
		instrument(counter, err)
		counters[c.group] = counter
	}
	for _, c := range []struct{ group, name, unit, what string }{
		{"perfline.delivery.spans", ".pending", "{span}", "Spans in the queue for the backend."},
		{"perfline.delivery.logs", ".pending", "{record}",
			"Log records in the queue for the backend."},
		{"perfline.delivery.metrics", ".pending", "{point}",
			"Metric points in the queue for the backend."},
		{"perfline.delivery.profiles", ".pending", "{profile}",
			"Profiles in the queue for Pyroscope."},
		{"perfline.delivery.otlp_profiles", ".pending", "{profile}",
			"Profiles in the queue for the receiver over OTLP."},
		{measuresGroup + ".series", "", "{series}", "Series of the histogram of measures."},
		{"perfline.waits.requests", ".pending", "{request}",
			"Slow requests that wait for a snapshot or its analysis."},
		{"perfline.waits.results", "", "{result}",
			"Results in memory: what slow requests waited for."},
		{"perfline.waits.result_bytes", "", "By", "Approximate size of the results in memory."},
	} {
		counter, err := m.Int64ObservableUpDownCounter(c.group+c.name, metric.WithUnit(c.unit),
			metric.WithDescription(c.what))
		instrument(counter, err)
		pending[c.group] = counter
	}
	gapTime, err := m.Float64ObservableCounter("perfline.profiling.gap_time", metric.WithUnit("s"),
		metric.WithDescription("Total time in which profiling sampled nothing."))
	instrument(gapTime, err)
	state, err := m.Int64ObservableUpDownCounter("perfline.profiling.state", metric.WithUnit("1"),
		metric.WithDescription("State of profiling: 1 for the current one."))
	instrument(state, err)
	engine, err := m.Int64ObservableUpDownCounter(engineGroup, metric.WithUnit("1"),
		metric.WithDescription("Engine that samples: 1 for the one in use."))
	instrument(engine, err)
	waits, err := newWaitsMetrics(m)
	instrument(waits.time, err)
	instrument(waits.state, nil)
	if failed != nil {
		return nil, failed
	}
	return m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		// which guards against the program's code: the caller is a goroutine of OpenTelemetry's SDK
		s := p.Stats()
		for _, c := range p.present(s.Counts()) {
			if c.Group == engineGroup {
				o.ObserveInt64(engine, int64(c.N),
					metric.WithAttributes(attribute.String(engineGroup, c.Name)))
			} else if c.Now {
				o.ObserveInt64(pending[c.Group], int64(c.N))
			} else {
				o.ObserveInt64(counters[c.Group], int64(c.N),
					metric.WithAttributes(attributes(c)...))
			}
		}
		if p.waits != nil {
			waits.observe(o, s.Waits, p.waits.State())
		}
		if p.profiles == nil && p.exported == nil {
			return nil
		}
		taken := s.profiling()
		o.ObserveFloat64(gapTime, taken.GapTime.Seconds())
		for _, is := range []profiling.State{profiling.Started, profiling.Paused,
			profiling.Stopped} {
			n := int64(0)
			if is == taken.State {
				n = 1
			}
			o.ObserveInt64(state, n,
				metric.WithAttributes(attribute.String("perfline.profiling.state", string(is))))
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
