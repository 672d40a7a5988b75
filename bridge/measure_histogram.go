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
	// Names selects measures by name: "stock.query" selects one name, "stock.*" all names that
	// begin with "stock.", and "*" all names.
	Names []string

	// Attributes are the keys of the attributes that the histogram records, in the form of span
	// attributes: "req.method" is the member method of the group req. Each combination of values is
	// a series, so choose only keys with few values. nil means none: each name has one series, and
	// one more for each type of error. The histogram leaves out lists and bytes.
	Attributes []string

	// MaxSeries is the largest number of series, up to 2000. 0 means 200: a series takes about 3 KB
	// in the SDK, and 19 time series in Prometheus. The last series has the only attribute
	// otel.metric.overflow, true, and counts the measures of all further combinations.
	MaxSeries int

	// MeterProvider makes the histogram. nil means otel.GetMeterProvider().
	MeterProvider metric.MeterProvider

	// Timeline is the process timeline with the measures. nil means observer.ProcessTimeline().
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
//	others                 the attributes that MeasureConfig.Attributes selects
//
// The histogram counts every measure that [MeasureConfig] selects once, whether the measure is
// sampled or not. Under a span that is not recorded, a measure costs two readings of the clock and
// the histogram's work, and does not become an entry or a span. A measure between marks
// ([marks.Measure]) is then missing, because the marks are not recorded.
//
// With exemplars (OTEL_METRICS_EXEMPLAR_FILTER), the histogram refers to sampled spans: to the span
// of the measure after marks.Start, otherwise to the span above the measure. A local root that is
// profiled has the attribute pyroscope.profile.id.
//
// The instrument recommends bucket bounds from 100 µs to 10 s. Views, readers and variables of the
// SDK override the bounds, or choose an exponential histogram. Texts are cut to 128 bytes. A
// negative duration counts as positive, as in the measure's span. All methods may be called
// concurrently.
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

// NewMeasureHistogram returns a histogram that counts measures from now on until Stop. Only the
// last histogram of a timeline counts measures. NewMeasureHistogram returns an error if a field is
// wrong, or if the meter provider returns an error.
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

// Stats returns the counts, also after Stop.
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
