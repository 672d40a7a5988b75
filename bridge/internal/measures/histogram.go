// Package measures aggregates the durations of measures in a histogram of OpenTelemetry. Package
// bridge describes it: MeasureConfig and MeasureHistogram.
package measures

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/internal/text"
)

// Attributes of the histogram that its own code sets.
const (
	NameKey     = "perfline.measure.name"
	FailureKey  = string(semconv.ErrorTypeKey)
	OverflowKey = "otel.metric.overflow"
)

// Limits of the series. The SDK has a bound of its own.
const (
	DefaultSeries = 200
	MaxSeries     = 2000
)

// A Config configures a histogram. Its fields without a comment are as in a bridge.MeasureConfig.
type Config struct {
	Names         []string
	Attributes    []string
	MaxSeries     int
	MeterProvider metric.MeterProvider // nil means otel.GetMeterProvider()

	Exemplar func(span any) context.Context // a context with the span that an exemplar leads to
}

// bounds are the recommended bounds of buckets, in seconds.
var bounds = []float64{
	.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10,
}

// A Histogram is what a bridge.MeasureHistogram attaches to its timeline.
type Histogram struct {
	names     []string
	series    table
	histogram metric.Float64Histogram
	exemplar  func(span any) context.Context
	panics    atomic.Uint64
}

var _ record.Meter = (*Histogram)(nil)

// New returns a histogram, or the error of the meter provider.
func New(c Config) (*Histogram, error) {
	mp := c.MeterProvider
	if mp == nil {
		mp = otel.GetMeterProvider()
	}
	histogram, err := scope.Meter(mp).Float64Histogram("perfline.measure.duration",
		metric.WithUnit("s"), metric.WithDescription("Duration of measures, by name."),
		metric.WithExplicitBucketBoundaries(bounds...))
	if err != nil {
		return nil, err
	}
	h := &Histogram{names: slices.Clone(c.Names), histogram: histogram, exemplar: c.Exemplar}
	h.series.init(&c)
	return h, nil
}

// Stats returns the counts of a bridge.MeasureStats.
func (h *Histogram) Stats() (series, overflow, panics uint64) {
	series, overflow = uint64(len(*h.series.known.Load())), h.series.overflow.Load()
	if overflow > 0 {
		series++
	}
	return series, overflow, h.panics.Load()
}

// Wants implements [record.Meter].
func (h *Histogram) Wants(name string) (wanted bool) {
	if !text.Matches(h.names, name) {
		return false
	}
	defer h.noteProgramPanic()
	return h.histogram.Enabled(context.Background())
}

// Measured implements [record.Meter].
func (h *Histogram) Measured(
	span any, name string, duration time.Duration, attrs []slog.Attr, failure *record.Failure,
) {
	defer h.noteProgramPanic()
	kind := ""
	if failure != nil {
		kind = failure.Type
	}
	series := h.series.get(name, kind, attrs)
	h.histogram.Record(h.exemplar(span), duration.Abs().Seconds(), series...)
}

// noteProgramPanic is deferred. It counts a panic of the meter provider, and reports the first one.
func (h *Histogram) noteProgramPanic() {
	if p := recover(); p != nil && h.panics.Add(1) == 1 {
		defer func() { _ = recover() }() // of the error handler, which is the program's, too
		otel.Handle(fmt.Errorf("perfline: the meter provider panicked; "+
			"the histogram perfline.measure.duration lacks this measure and maybe others: %v", p))
	}
}
