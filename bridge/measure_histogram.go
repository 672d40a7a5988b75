package bridge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/internal/measures"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// MeasureConfig configures the histogram perfline.measure.duration. The zero value makes no
// histogram.
type MeasureConfig struct {
	// Names are the names of the measures: "stock.query" is one name, "stock.*" stands for all
	// names that begin with "stock.", and "*" for all. Measures with other names are not in the
	// histogram.
	Names []string

	// Attributes are the keys of the attributes that the histogram keeps, as span attributes have
	// them: "req.method" for the member method of the group req. Each combination of values is a
	// series, so only keys with few values belong here. nil means none: there is one series for
	// each name, and one more for each type of error. Lists and bytes are left out.
	Attributes []string

	// MaxSeries limits the series, up to 2000. The last one takes the measures that would need
	// more: its only attribute is otel.metric.overflow, true. 0 means 200: a series costs the SDK
	// about 3 KB, and Prometheus stores 19 time series for it.
	MaxSeries int

	// MeterProvider makes the histogram. nil means otel.GetMeterProvider().
	MeterProvider metric.MeterProvider

	// Timeline is the process timeline whose measures count. nil means observer.ProcessTimeline().
	Timeline *observer.Timeline
}

// Check returns an error that names the first wrong field.
func (c MeasureConfig) Check() error {
	for i, name := range c.Names {
		if before, _ := strings.CutSuffix(name, "*"); name == "" || !utf8.ValidString(name) ||
			strings.Contains(before, "*") {
			return fmt.Errorf("MeasureConfig.Names[%d] %q: must be a name in UTF-8, with * at its end at most", i, name)
		}
	}
	for i, key := range c.Attributes {
		if key == "" || !utf8.ValidString(key) {
			return fmt.Errorf("MeasureConfig.Attributes[%d] %q: must be a key in UTF-8", i, key)
		}
		if key == measures.NameKey || key == measures.FailureKey || key == measures.OverflowKey {
			return fmt.Errorf("MeasureConfig.Attributes[%d] %q: must be another key, because the histogram sets this one itself", i, key)
		}
		if slices.Contains(c.Attributes[:i], key) {
			return fmt.Errorf("MeasureConfig.Attributes[%d] %q: must not be listed twice", i, key)
		}
	}
	if c.MaxSeries < 0 || c.MaxSeries > measures.MaxSeries {
		return fmt.Errorf("MeasureConfig.MaxSeries %d: must be from 1 to %d, or 0 for %d",
			c.MaxSeries, measures.MaxSeries, measures.DefaultSeries)
	}
	return nil
}

// A MeasureHistogram aggregates the durations of measures in OpenTelemetry's histogram
// perfline.measure.duration, in seconds:
//
//	attribute              value
//	---------              -----
//	perfline.measure.name  the measure's name
//	error.type             the type of the error, if the measure failed (Timing.Fail)
//	others                 the attributes that MeasureConfig.Attributes allows
//
// It gets every measure of the names in [MeasureConfig], once, whatever the sampler says. Under a
// span that is not recorded, a measure costs its two readings of the clock and the histogram, and
// does not become an entry or a span. A measure between marks ([marks.Measure]) is missing there,
// because its marks are.
//
// With exemplars (OTEL_METRICS_EXEMPLAR_FILTER), the histogram leads to sampled spans: of the
// measure after marks.Start, else the span that the measure was recorded under. The local root has
// the attribute pyroscope.profile.id while it is profiled.
//
// The instrument recommends bounds of buckets from 100 µs to 10 s. Views, readers and variables of
// the SDK choose others, or an exponential histogram. Texts have 128 bytes at most. A measure that
// ended before its start counts as positive, as in its span.
type MeasureHistogram struct {
	histogram *measures.Histogram
	detach    func()
}

// MeasureStats count what the histogram itself does not count.
type MeasureStats struct {
	Series uint64 // combinations of attributes
	// measures in the series with otel.metric.overflow: their combination was over MaxSeries
	Overflow uint64
	Panics   uint64 // measures that the histogram lost, because the meter provider panicked
}

// NewMeasureHistogram returns a histogram, which gets measures from now on until Stop. If a
// timeline has several histograms, only the last one gets them. The error names a wrong field, or
// is the meter provider's.
func NewMeasureHistogram(c MeasureConfig) (*MeasureHistogram, error) {
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	histogram, err := measures.New(measures.Config{
		Names: c.Names, Attributes: c.Attributes, MaxSeries: c.MaxSeries,
		MeterProvider: c.MeterProvider, Exemplar: sampledContext,
	})
	if err != nil {
		return nil, fmt.Errorf("bridge: the histogram of measures: %w", err)
	}
	learn()
	detach := processTimeline((*record.Timeline)(c.Timeline)).Meter(histogram)
	return &MeasureHistogram{histogram, detach}, nil
}

// Stop leaves the timeline. Further calls do nothing.
func (h *MeasureHistogram) Stop() { h.detach() }

// Stats returns the counts. It may be called after Stop.
func (h *MeasureHistogram) Stats() MeasureStats {
	series, overflow, panics := h.histogram.Stats()
	return MeasureStats{Series: series, Overflow: overflow, Panics: panics}
}

// sampledContext returns a context with the span that an exemplar of a measure leads to. span is
// what a [record.Meter] gets. The context has no span if that is not sampled, so that no exemplar
// leads to a trace that is not exported.
func sampledContext(span any) context.Context {
	switch s := span.(type) {
	case *recordedSpan:
		if s.sampled {
			return (*openedMeasure)(s)
		}
	case *openedMeasure:
		if s.sampled {
			return s
		}
	case *openedSpan:
		return sampledContext(s.span)
	case *droppedSpan:
	case trace.Span: // of another provider, whose spans cost more than their context
		if s.SpanContext().IsSampled() {
			return trace.ContextWithSpan(context.Background(), s)
		}
	}
	return context.Background()
}
