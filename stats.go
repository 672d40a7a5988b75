package perfline

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/pyroscope"
)

// Stats are a pipeline's counts, from the timeline to the backend.
type Stats struct {
	Timeline observer.Stats
	Bridge   bridge.Stats
	Delivery exporter.Stats  // zero without a backend
	Profiles pyroscope.Stats // zero without a server for profiles

	// Unlabelled is how many of the SDK's spans profiles no longer know, because too many had not ended. perfline's own
	// provider has no such bound.
	Unlabelled uint64
}

// Stats collects what was recorded and returns the counts.
func (p *Pipeline) Stats() Stats {
	s := Stats{Timeline: p.timeline.Stats()}
	if p.tracing != nil {
		s.Bridge = p.tracing.stats()
		if p.tracing.labels != nil {
			s.Unlabelled = p.tracing.labels.Unlabelled()
		}
	}
	if p.delivery != nil {
		s.Delivery = p.delivery.Stats()
	}
	if p.profiles != nil {
		s.Profiles = p.profiles.Stats()
	}
	return s
}

// A LostError says what a pipeline has lost between its Start and its Shutdown. Marks count for the timeline: other
// pipelines that carry the same timeline at that time share them. Measures are spans.
type LostError struct {
	Spans    uint64   // not taken by the backend
	Marks    uint64   // that never reached a span
	Profiles uint64   // taken of the program and not by the server, or not for certain
	Causes   []string // such as "3 spans dropped at the full queue"
}

func (e *LostError) Error() string {
	return fmt.Sprintf("perfline: lost %d spans, %d marks and %d profiles: %s", e.Spans, e.Marks, e.Profiles, strings.Join(e.Causes, ", "))
}

// lost returns what was lost since before, nil if that is nothing.
func (s Stats) lost(before Stats) error {
	e := &LostError{}
	add := func(sum *uint64, now, then uint64, what string) {
		if now > then {
			*sum += now - then
			e.Causes = append(e.Causes, fmt.Sprintf("%d %s", now-then, what))
		}
	}
	d, b, o, f := s.Delivery, s.Bridge, before.Bridge, s.Profiles
	add(&e.Spans, d.Dropped, 0, "spans dropped at the full queue")
	add(&e.Spans, d.Failed, 0, "spans not taken by the backend")
	add(&e.Spans, d.Pending, 0, "spans given up at the deadline")
	add(&e.Marks, b.Refused, o.Refused, "marks dropped at the full timeline")
	add(&e.Marks, b.Late, o.Late, "marks made after their span's end")
	add(&e.Marks, b.Limited, o.Limited, "marks over their span's event limit")
	add(&e.Marks, b.AgedOut, o.AgedOut, "marks of spans that never ended")
	add(&e.Profiles, f.Refused, 0, "profiles refused by the server")
	add(&e.Profiles, f.Unanswered, 0, "profiles that the server did not answer")
	add(&e.Profiles, f.Overflow, 0, "profiles dropped at the full queue")
	add(&e.Profiles, f.Pending, 0, "profiles given up at the end")
	if len(e.Causes) == 0 {
		return nil
	}
	return e
}

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
