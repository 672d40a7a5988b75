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

// MeasureConfig configures the histogram perfline.measure.duration. The zero value selects no
// measures.
type MeasureConfig struct {
	// Names selects measures by name:
	//
	//   - "stock.query" selects one name.
	//   - "stock.*" selects all names that begin with "stock.".
	//   - "*" selects all names.
	Names []string

	// Attributes lists the keys of the attributes that the histogram records. A key has the form of
	// a span attribute: "req.method" is the member method of the group req. The histogram omits
	// attributes with lists or bytes.
	//
	// Each combination of values is a series, so choose only keys with few values. With nil, each
	// name has one series, and one more series for each type of error.
	Attributes []string

	// MaxSeries is the largest number of series, up to 2000. 0 means 200. A series occupies about 3
	// KB in the SDK, and becomes 19 time series in Prometheus.
	//
	// The last series counts the measures of all combinations over the limit. The only attribute of
	// the last series is otel.metric.overflow, with the value true.
	MaxSeries int

	// MeterProvider creates the histogram. nil means otel.GetMeterProvider().
	MeterProvider metric.MeterProvider

	// Timeline is the process timeline that records the measures. nil means
	// observer.ProcessTimeline().
	Timeline *observer.Timeline
}

// Check returns an error for the first invalid field, or nil. The error names the field.
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

// A MeasureHistogram records the durations of measures in OpenTelemetry's histogram
// perfline.measure.duration, in seconds:
//
//	attribute              value
//	---------              -----
//	perfline.measure.name  the measure's name
//	error.type             the type of the error, if the measure failed (Timing.Fail)
//	others                 the attributes that MeasureConfig.Attributes selects
//
// The histogram counts each measure that [MeasureConfig] selects once, sampled or not. A measure
// under a span that is not recorded costs two clock readings and the histogram's work. Such a
// measure creates no entry and no span. The histogram omits measures between marks
// ([marks.Measure]) under such a span, because the marks are not recorded.
//
// With exemplars (OTEL_METRICS_EXEMPLAR_FILTER), the histogram refers to sampled spans. For a
// measure of marks.Start, the exemplar refers to the span of the measure. For other measures, the
// exemplar refers to the parent span. A local root that is profiled has the attribute
// pyroscope.profile.id.
//
// The histogram recommends bucket bounds from 100 µs to 10 s. Views, readers and variables of the
// SDK override the bounds, or select an exponential histogram. The histogram truncates texts to 128
// bytes. A negative duration counts as positive, as in the measure's span. All methods may be
// called concurrently.
type MeasureHistogram struct {
	histogram *measures.Histogram
	detach    func()
}

// MeasureStats are the counts of a [MeasureHistogram].
type MeasureStats struct {
	Series   uint64 // combinations of attributes
	Overflow uint64 // measures over MaxSeries, in the series with otel.metric.overflow
	Panics   uint64 // measures that were lost, because the meter provider panicked
}

// NewMeasureHistogram returns a histogram that counts measures until Stop. A new histogram replaces
// the earlier histogram of the same timeline. NewMeasureHistogram returns an error if a field is
// invalid, or if the meter provider returns an error.
func NewMeasureHistogram(c MeasureConfig) (*MeasureHistogram, error) {
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	h, err := measures.New(c.Names, c.Attributes, c.MaxSeries, c.MeterProvider, sampledContext)
	if err != nil {
		return nil, fmt.Errorf("bridge: the histogram of measures: %w", err)
	}
	probeSDK()
	return &MeasureHistogram{h, processTimeline((*record.Timeline)(c.Timeline)).Meter(h)}, nil
}

// Stop detaches the histogram from the timeline. Further calls do nothing.
func (h *MeasureHistogram) Stop() { h.detach() }

// Stats returns the counts. Stats may be called after Stop.
func (h *MeasureHistogram) Stats() MeasureStats {
	series, overflow, panics := h.histogram.Stats()
	return MeasureStats{Series: series, Overflow: overflow, Panics: panics}
}

// sampledContext returns the context of an exemplar for a span that a [record.Meter] receives. The
// context has the span only if the span is sampled, so that no exemplar refers to a trace that is
// not exported.
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
	case trace.Span: // of another provider, and perhaps large: a context without the span is small
		if s.SpanContext().IsSampled() {
			return trace.ContextWithSpan(context.Background(), s)
		}
	}
	return context.Background()
}
