// Package measures aggregates the durations of measures in an OpenTelemetry histogram, which
// bridge.MeasureHistogram describes.
package measures

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/internal/text"
)

// Attributes that the histogram sets itself.
const (
	NameKey     = "perfline.measure.name"
	FailureKey  = string(semconv.ErrorTypeKey)
	OverflowKey = "otel.metric.overflow"
)

// The default and the largest number of series. The SDK has a limit of its own.
const (
	DefaultSeries = 200
	MaxSeries     = 2000
)

// The recommended bounds of the buckets, in seconds.
var bounds = []float64{
	.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10,
}

// A Histogram records measures for a bridge.MeasureHistogram. A Histogram may be used concurrently.
type Histogram struct {
	names     []string
	series    table
	histogram metric.Float64Histogram
	exemplar  func(span any) context.Context
	panics    atomic.Uint64
}

var _ record.Meter = (*Histogram)(nil)

// New returns a histogram. New returns an error if mp returns an error. bridge.MeasureConfig
// describes names, attributes, maxSeries and mp. exemplar returns the context of an exemplar.
func New(names, attributes []string, maxSeries int, mp metric.MeterProvider,
	exemplar func(span any) context.Context) (*Histogram, error) {
	if mp == nil {
		mp = otel.GetMeterProvider()
	}
	histogram, err := scope.Meter(mp).Float64Histogram("perfline.measure.duration",
		metric.WithUnit("s"), metric.WithDescription("Duration of measures, by name."),
		metric.WithExplicitBucketBoundaries(bounds...))
	if err != nil {
		return nil, err
	}
	h := &Histogram{names: slices.Clone(names), histogram: histogram, exemplar: exemplar}
	h.series.keys = slices.Clone(attributes)
	h.series.limit = cmp.Or(maxSeries, DefaultSeries) - 1 // without the overflow series
	h.series.overflowOptions = seriesOf(attribute.Bool(OverflowKey, true))
	h.series.series.Store(&map[string][]metric.RecordOption{})
	return h, nil
}

// Stats returns the counts for bridge.MeasureStats.
func (h *Histogram) Stats() (series, overflow, panics uint64) {
	series, overflow = uint64(len(*h.series.series.Load())), h.series.overflow.Load()
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
func (h *Histogram) Measured(span any, name string, duration time.Duration, attrs []slog.Attr,
	failure *record.Failure) {
	defer h.noteProgramPanic()
	errorType := ""
	if failure != nil {
		errorType = failure.Type
	}
	series := h.series.get(name, errorType, attrs)
	h.histogram.Record(h.exemplar(span), duration.Abs().Seconds(), series...)
}

// noteProgramPanic recovers and counts a panic of the meter provider, and reports the first one.
// The callers defer noteProgramPanic.
func (h *Histogram) noteProgramPanic() {
	if p := recover(); p != nil && h.panics.Add(1) == 1 {
		defer func() { _ = recover() }() // the error handler is also the program's code
		otel.Handle(fmt.Errorf("perfline: the meter provider panicked; "+
			"the histogram perfline.measure.duration lacks this measure and maybe others: %v", p))
	}
}

// A table stores the attributes of each series. Unlike a kinds.Map, a table gives all further
// series the same attributes, and finds a series by a key on the caller's stack.
type table struct {
	keys            []string // of attributes
	limit           int
	overflowOptions []metric.RecordOption
	overflow        atomic.Uint64                                    // measures over the limit
	series          atomic.Pointer[map[string][]metric.RecordOption] // immutable maps
	mu              sync.Mutex                                       // guards changes of series
}

// get returns the options of the series of a measure. errorType is empty if the measure did not
// fail.
func (s *table) get(name, errorType string, attrs []slog.Attr) []metric.RecordOption {
	var buf [256]byte
	id := appendText(appendText(buf[:0], name), errorType)
	if len(attrs) > 0 {
		for i, key := range s.keys {
			if v, ok := findScalar(attrs, key); ok {
				id = appendScalar(binary.AppendUvarint(id, uint64(i)), v)
			}
		}
	}
	series := *s.series.Load()
	if options, ok := series[string(id)]; ok {
		return options
	}
	if len(series) < s.limit {
		if options := s.add(string(id), name, errorType, attrs); options != nil {
			return options
		}
	}
	s.overflow.Add(1)
	return s.overflowOptions
}

// add adds a series, unless another goroutine has added the series. add returns nil if another
// goroutine has added the last series.
func (s *table) add(id, name, errorType string, attrs []slog.Attr) []metric.RecordOption {
	set := []attribute.KeyValue{attribute.String(NameKey, limitedText(name))}
	if errorType != "" {
		set = append(set, attribute.String(FailureKey, limitedText(errorType)))
	}
	for _, key := range s.keys {
		if v, ok := findScalar(attrs, key); ok {
			if v.Kind() == slog.KindString {
				v = slog.StringValue(limitedText(v.String()))
			}
			set = append(set, attribute.KeyValue{Key: attribute.Key(key), Value: otlpenc.Value(v)})
		}
	}
	options := seriesOf(set...)
	s.mu.Lock()
	defer s.mu.Unlock()
	series := *s.series.Load()
	if first, ok := series[id]; ok || len(series) >= s.limit {
		return first
	}
	series = maps.Clone(series)
	series[id] = options
	s.series.Store(&series)
	return options
}

func seriesOf(attrs ...attribute.KeyValue) []metric.RecordOption {
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attrs...))}
}

// findScalar returns the last value of a key if the value is a scalar. The key of a group's member
// begins with the group's name and a dot.
func findScalar(attrs []slog.Attr, key string) (v slog.Value, ok bool) {
	for _, a := range slices.Backward(attrs) {
		if a.Value.Kind() == slog.KindGroup {
			memberKey := key
			if a.Key != "" {
				rest, ok := strings.CutPrefix(key, a.Key)
				if !ok || !strings.HasPrefix(rest, ".") {
					continue
				}
				memberKey = rest[1:]
			}
			if v, ok := findScalar(a.Value.Group(), memberKey); ok {
				return v, true
			}
		} else if a.Key == key {
			return a.Value, a.Value.Kind() != slog.KindAny
		}
	}
	return slog.Value{}, false
}

// maxSeriesText is the largest size of a text in a series' attributes, in bytes.
const maxSeriesText = 128

// limitedText returns the text of an attribute. limitedText cuts s first: the valid text may be
// shorter, and the result must depend on the same bytes as the result of appendText.
func limitedText(s string) string {
	return strings.Clone(text.Cut(text.Valid(text.Cut(s, maxSeriesText)), maxSeriesText))
}

// appendText appends a text to a series' id.
func appendText(id []byte, s string) []byte {
	length := min(len(s), maxSeriesText+1) // tells a long text from its first bytes alone
	return append(binary.AppendUvarint(id, uint64(length)), s[:min(length, maxSeriesText)]...)
}

// appendScalar appends a scalar to a series' id.
func appendScalar(id []byte, v slog.Value) []byte {
	id = append(id, byte(v.Kind()))
	var bits uint64
	switch v.Kind() {
	case slog.KindBool:
		if v.Bool() {
			bits = 1
		}
	case slog.KindInt64:
		bits = uint64(v.Int64())
	case slog.KindUint64:
		bits = v.Uint64()
	case slog.KindFloat64:
		bits = math.Float64bits(v.Float64())
	case slog.KindDuration:
		bits = uint64(v.Duration())
	case slog.KindTime:
		bits = uint64(v.Time().UnixNano())
	default:
		return appendText(id, v.String())
	}
	return binary.LittleEndian.AppendUint64(id, bits)
}
