// Package measures aggregates the durations of measures in a histogram of OpenTelemetry. Package
// bridge describes it: MeasureConfig and MeasureHistogram.
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

// A table has the attributes of each series, which are made once. Unlike a kinds.Map, it sends
// everything over its bound to one series, and finds a series by a text that is on the caller's
// stack.
type table struct {
	keys     []string // of attributes
	most     int
	beyond   []metric.RecordOption
	overflow atomic.Uint64
	known    atomic.Pointer[map[string][]metric.RecordOption] // the map does not change
	mu       sync.Mutex                                       // held by those who add
}

func (s *table) init(c *Config) {
	s.keys = slices.Clone(c.Attributes)
	s.most = cmp.Or(c.MaxSeries, DefaultSeries) - 1 // one is for the others
	s.beyond = seriesOf(attribute.Bool(OverflowKey, true))
	s.known.Store(&map[string][]metric.RecordOption{})
}

// get returns the attributes of a measure that failed with an error of type failure. An empty type
// means that the measure did not fail.
func (s *table) get(name, failure string, attrs []slog.Attr) []metric.RecordOption {
	var room [256]byte
	id := appendText(appendText(room[:0], name), failure)
	if len(attrs) > 0 {
		for i, key := range s.keys {
			if v, ok := findScalar(attrs, key); ok {
				id = appendScalar(binary.AppendUvarint(id, uint64(i)), v)
			}
		}
	}
	known := *s.known.Load()
	if options, ok := known[string(id)]; ok {
		return options
	}
	if len(known) >= s.most {
		s.overflow.Add(1)
		return s.beyond
	}
	return s.add(string(id), name, failure, attrs)
}

// add adds a series, unless another goroutine has added it or the last one.
func (s *table) add(id, name, failure string, attrs []slog.Attr) []metric.RecordOption {
	set := []attribute.KeyValue{attribute.String(NameKey, limitedText(name))}
	if failure != "" {
		set = append(set, attribute.String(FailureKey, limitedText(failure)))
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
	known := *s.known.Load()
	if have, ok := known[id]; ok {
		return have
	}
	if len(known) >= s.most {
		s.overflow.Add(1)
		return s.beyond
	}
	next := maps.Clone(known)
	next[id] = options
	s.known.Store(&next)
	return options
}

// seriesOf returns the options of a series.
func seriesOf(attrs ...attribute.KeyValue) []metric.RecordOption {
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attrs...))}
}

// findScalar returns the last value of a key if that is a scalar. Keys of members begin with their
// groups' names and dots.
func findScalar(attrs []slog.Attr, key string) (v slog.Value, ok bool) {
	for _, a := range slices.Backward(attrs) {
		if a.Value.Kind() == slog.KindGroup {
			within := key
			if a.Key != "" {
				rest, ok := strings.CutPrefix(key, a.Key)
				if !ok || !strings.HasPrefix(rest, ".") {
					continue
				}
				within = rest[1:]
			}
			if v, ok := findScalar(a.Value.Group(), within); ok {
				return v, true
			}
		} else if a.Key == key {
			return a.Value, a.Value.Kind() != slog.KindAny
		}
	}
	return slog.Value{}, false
}

// maxSeriesText is the length of texts in attributes, in bytes.
const maxSeriesText = 128

// limitedText returns what a series has of a text. The text is cut first: a text that is made valid
// may be shorter, and the result must not depend on more than appendText appends.
func limitedText(s string) string {
	return strings.Clone(text.Cut(text.Valid(text.Cut(s, maxSeriesText)), maxSeriesText))
}

// appendText appends what tells a text from others.
func appendText(id []byte, s string) []byte {
	length := min(len(s), maxSeriesText+1) // of a longer text, all that its value depends on
	return append(binary.AppendUvarint(id, uint64(length)), s[:min(length, maxSeriesText)]...)
}

// appendScalar appends what tells a scalar from others.
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
