package bridge

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/observer"
)

// MeasureConfig configures the histogram perfline.measure.duration. The zero value makes no histogram.
type MeasureConfig struct {
	// Names are the names of the measures: "stock.query" is one name, "stock.*" stands for all names that begin with
	// "stock.", and "*" for all. Measures with other names are not in the histogram.
	Names []string

	// Attributes are the keys of the attributes that the histogram keeps, as span attributes have them: "req.method" for the member
	// method of the group req. Each combination of values is a series, so only keys with few values belong here. nil means none:
	// there is one series for each name, and one more for each type of error. Lists and bytes are left out.
	Attributes []string

	// MaxSeries limits the series, up to 2000. The last one takes the measures that would need more: its only attribute is
	// otel.metric.overflow, true. 0 means 200: a series costs the SDK about 3 KB, and Prometheus stores 19 time series for it.
	MaxSeries int

	// MeterProvider makes the histogram. nil means otel.GetMeterProvider().
	MeterProvider metric.MeterProvider

	// Timeline is the process timeline whose measures count. nil means observer.ProcessTimeline().
	Timeline *observer.Timeline
}

const (
	defaultSeries = 200
	maxSeries     = 2000 // as in the SDK, which has a bound of its own
)

// Attributes of the histogram that its own code sets.
const (
	measureName     = "perfline.measure.name"
	measureFailure  = string(semconv.ErrorTypeKey)
	measureOverflow = "otel.metric.overflow"
)

// Check returns an error that names the first wrong field.
func (c MeasureConfig) Check() error {
	for i, name := range c.Names {
		if before, _ := strings.CutSuffix(name, "*"); name == "" || !utf8.ValidString(name) || strings.Contains(before, "*") {
			return fmt.Errorf("MeasureConfig.Names[%d] %q: must be a name in UTF-8, with * at its end at most", i, name)
		}
	}
	for i, key := range c.Attributes {
		if key == "" || !utf8.ValidString(key) {
			return fmt.Errorf("MeasureConfig.Attributes[%d] %q: must be a key in UTF-8", i, key)
		}
		if key == measureName || key == measureFailure || key == measureOverflow {
			return fmt.Errorf("MeasureConfig.Attributes[%d] %q: must be another key, because the histogram sets this one itself", i, key)
		}
		if slices.Contains(c.Attributes[:i], key) {
			return fmt.Errorf("MeasureConfig.Attributes[%d] %q: must not be listed twice", i, key)
		}
	}
	if c.MaxSeries < 0 || c.MaxSeries > maxSeries {
		return fmt.Errorf("MeasureConfig.MaxSeries %d: must be from 1 to %d, or 0 for %d", c.MaxSeries, maxSeries, defaultSeries)
	}
	return nil
}

// A MeasureHistogram aggregates the durations of measures in OpenTelemetry's histogram perfline.measure.duration, in
// seconds:
//
//	attribute              value
//	---------              -----
//	perfline.measure.name  the measure's name
//	error.type             the type of the error, if the measure failed (Timing.Fail)
//	others                 the attributes that MeasureConfig.Attributes allows
//
// It gets every measure of the names in [MeasureConfig], once, whatever the sampler says. Under a span that is not
// recorded, a measure costs its two readings of the clock and the histogram, and does not become an entry or a span.
// A measure between marks ([marks.Measure]) is missing there, because its marks are.
//
// With exemplars (OTEL_METRICS_EXEMPLAR_FILTER), the histogram leads to sampled spans: of the measure after marks.Start, else the span
// that the measure was recorded under. The local root has the attribute pyroscope.profile.id while it is profiled.
//
// The instrument recommends bounds of buckets from 100 µs to 10 s. Views, readers and variables of the SDK choose others, or an
// exponential histogram. Texts have 128 bytes at most. A measure that ended before its start counts as positive, as in its span.
type MeasureHistogram struct {
	names     []string // as in MeasureConfig
	series    measureSeries
	histogram metric.Float64Histogram
	detach    func()
	panics    atomic.Uint64
}

// MeasureStats count what the histogram itself does not count.
type MeasureStats struct {
	Series   uint64 // combinations of attributes
	Overflow uint64 // measures in the series with otel.metric.overflow: their combination was over MaxSeries
	Panics   uint64 // measures that the histogram lost, because the meter provider panicked
}

// measureBounds are the recommended bounds of buckets, in seconds.
var measureBounds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// NewMeasureHistogram returns a histogram, which gets measures from now on until Stop. If a timeline has several histograms, only the
// last one gets them. The error names a wrong field, or is the meter provider's.
func NewMeasureHistogram(c MeasureConfig) (*MeasureHistogram, error) {
	if err := c.Check(); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	mp := c.MeterProvider
	if mp == nil {
		mp = otel.GetMeterProvider()
	}
	histogram, err := scope.Meter(mp).Float64Histogram("perfline.measure.duration", metric.WithUnit("s"),
		metric.WithDescription("Duration of measures, by name."), metric.WithExplicitBucketBoundaries(measureBounds...))
	if err != nil {
		return nil, fmt.Errorf("bridge: the histogram of measures: %w", err)
	}
	h := &MeasureHistogram{names: slices.Clone(c.Names), histogram: histogram}
	h.series.init(c)
	learn()
	h.detach = processTimeline((*record.Timeline)(c.Timeline)).Meter((*meter)(h))
	return h, nil
}

// Stop leaves the timeline. Further calls do nothing.
func (h *MeasureHistogram) Stop() { h.detach() }

// Stats returns the counts. It may be called after Stop.
func (h *MeasureHistogram) Stats() MeasureStats {
	s := MeasureStats{Series: uint64(len(*h.series.known.Load())), Overflow: h.series.overflow.Load(), Panics: h.panics.Load()}
	if s.Overflow > 0 {
		s.Series++
	}
	return s
}

// A meter is a MeasureHistogram as the timeline sees it. It is a type of its own, so that users see
// neither its methods nor the types that these need.
type meter MeasureHistogram

var _ record.Meter = (*meter)(nil)

// Wants implements [record.Meter].
func (m *meter) Wants(name string) (wanted bool) {
	if !text.Matches(m.names, name) {
		return false
	}
	defer m.noteProgramPanic()
	return m.histogram.Enabled(context.Background())
}

// Measured implements [record.Meter].
func (m *meter) Measured(span any, name string, duration time.Duration, attrs []slog.Attr, failure *record.Failure) {
	defer m.noteProgramPanic()
	kind := ""
	if failure != nil {
		kind = failure.Type
	}
	m.histogram.Record(sampledContext(span), duration.Abs().Seconds(), m.series.get(name, kind, attrs)...)
}

// noteProgramPanic is deferred. It counts a panic of the meter provider, and reports the first one.
func (m *meter) noteProgramPanic() {
	if p := recover(); p != nil && m.panics.Add(1) == 1 {
		defer func() { _ = recover() }() // of the error handler, which is the program's, too
		otel.Handle(fmt.Errorf("perfline: the meter provider panicked; the histogram perfline.measure.duration lacks this measure and maybe others: %v", p))
	}
}

// sampledContext returns a context with the span that an exemplar of a measure leads to. span is what a [record.Meter] gets.
// The context has no span if that is not sampled, so that no exemplar leads to a trace that is not exported.
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
