package perfline

import (
	"context"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/pyroscope"
)

// Stats are a pipeline's counts, from the timeline to the backend.
type Stats struct {
	Timeline observer.Stats
	Bridge   bridge.Stats
	Delivery exporter.DeliveryStats // zero without a backend
	Profiles pyroscope.Stats        // zero without a server for profiles
}

// Stats collects what was recorded and returns the counts.
func (p *Pipeline) Stats() Stats {
	s := Stats{Timeline: p.timeline.Stats()}
	if p.processor != nil {
		s.Bridge = p.processor.Stats()
	}
	if p.delivery != nil {
		s.Delivery = p.delivery.Stats()
	}
	if p.profiles != nil {
		s.Profiles = p.profiles.Stats()
	}
	return s
}

// A LostError is what Shutdown returns when something was lost.
type LostError struct {
	Spans    uint64 // accepted for delivery and not taken by the backend
	Entries  uint64 // marks and measures that never reached a span
	Profiles uint64 // taken of the program and not by the server, or not for certain
	Stats    Stats  // by cause
}

func (e *LostError) Error() string {
	var causes []string
	add := func(n uint64, what string) {
		if n > 0 {
			causes = append(causes, fmt.Sprintf("%d %s", n, what))
		}
	}
	d, b := e.Stats.Delivery, e.Stats.Bridge
	add(d.Dropped, "spans dropped at the full queue")
	add(d.Failed, "spans not taken by the backend")
	add(d.Pending, "spans given up at the deadline")
	add(e.Stats.Timeline.Total().Overflow, "entries dropped at the full timeline")
	add(b.Overflow, "entries dropped at the bridge's full queue")
	add(b.Late, "marks made after their span's end")
	add(b.Limited, "marks over their span's event limit")
	add(b.AgedOut, "marks of spans that never ended")
	add(b.Unmade, "measures recorded right before the end")
	f := e.Stats.Profiles
	add(f.Refused, "profiles refused by the server")
	add(f.Unanswered, "profiles that the server did not answer")
	add(f.Overflow, "profiles dropped at the full queue")
	add(f.Pending, "profiles given up at the end")
	return fmt.Sprintf("perfline: lost %d spans, %d marks or measures and %d profiles: %s", e.Spans, e.Entries, e.Profiles, strings.Join(causes, ", "))
}

func (e *LostError) any() bool { return e.Spans > 0 || e.Entries > 0 || e.Profiles > 0 }

func (s Stats) lost() LostError {
	return LostError{
		Spans: s.Delivery.Lost(), Entries: s.Timeline.Total().Overflow + s.Bridge.Lost(),
		Profiles: s.Profiles.Lost(), Stats: s,
	}
}

// registerMetrics shows the counts as OpenTelemetry metrics:
//
//	perfline.entries   by perfline.entry.type and perfline.outcome
//	perfline.bridge    by perfline.outcome
//	perfline.delivery  by perfline.outcome
//	perfline.profiles  by perfline.outcome
//	perfline.profiling.gaps, perfline.profiling.gap_time
func (p *Pipeline) registerMetrics(mp metric.MeterProvider) (metric.Registration, error) {
	m := mp.Meter(bridge.ScopeName)
	entries, err := m.Int64ObservableCounter("perfline.entries", metric.WithUnit("{entry}"),
		metric.WithDescription("Entries of the timeline, by what became of them."))
	if err != nil {
		return nil, err
	}
	bridged, err := m.Int64ObservableCounter("perfline.bridge", metric.WithUnit("{item}"),
		metric.WithDescription("Marks, measures and spans at the bridge to OpenTelemetry, by what became of them."))
	if err != nil {
		return nil, err
	}
	delivery, err := m.Int64ObservableCounter("perfline.delivery", metric.WithUnit("{span}"),
		metric.WithDescription("Spans on their way to the backend, by what became of them."))
	if err != nil {
		return nil, err
	}
	profiles, err := m.Int64ObservableCounter("perfline.profiles", metric.WithUnit("{profile}"),
		metric.WithDescription("Profiles on their way to Pyroscope, by what became of them."))
	if err != nil {
		return nil, err
	}
	gaps, err := m.Int64ObservableCounter("perfline.profiling.gaps", metric.WithUnit("{gap}"),
		metric.WithDescription("How often continuous profiling sampled nothing for a time."))
	if err != nil {
		return nil, err
	}
	gapTime, err := m.Float64ObservableCounter("perfline.profiling.gap_time", metric.WithUnit("s"),
		metric.WithDescription("How long in all continuous profiling sampled nothing."))
	if err != nil {
		return nil, err
	}
	instruments := map[string]metric.Int64Observable{"perfline.entries": entries, "perfline.bridge": bridged,
		"perfline.delivery": delivery, "perfline.profiles": profiles, "perfline.profiling.gaps": gaps}
	return m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := p.Stats()
		for _, c := range p.exist(s.Counts()) {
			if instrument := instruments[c.Group]; instrument != nil && !c.Now {
				o.ObserveInt64(instrument, int64(c.N), metric.WithAttributes(attributes(c)...))
			}
		}
		if p.profiles != nil {
			o.ObserveFloat64(gapTime, s.Profiles.GapTime.Seconds())
		}
		return nil
	}, entries, bridged, delivery, profiles, gaps, gapTime)
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
