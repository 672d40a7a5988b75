package otlpmetrics

import (
	"fmt"
	"math"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/protobuf/encoding/protowire"

	w "github.com/perfline/perfline/internal/otlpwire"
)

// Tags of OTLP's messages: a field's number and the type of its value.
const (
	requestResourceMetrics = 1<<3 | w.Prefixed

	metricName                 = 1<<3 | w.Prefixed
	metricDescription          = 2<<3 | w.Prefixed
	metricUnit                 = 3<<3 | w.Prefixed
	metricGauge                = 5<<3 | w.Prefixed
	metricSum                  = 7<<3 | w.Prefixed
	metricHistogram            = 9<<3 | w.Prefixed
	metricExponentialHistogram = 10<<3 | w.Prefixed
	metricSummary              = 11<<3 | w.Prefixed

	dataPoints   = 1<<3 | w.Prefixed // of all kinds of metrics
	temporality  = 2<<3 | w.Varint   // of sums and histograms
	sumMonotonic = 3<<3 | w.Varint

	pointStart = 2<<3 | w.Fixed64 // of all kinds of points
	pointTime  = 3<<3 | w.Fixed64

	numberDouble     = 4<<3 | w.Fixed64
	numberExemplars  = 5<<3 | w.Prefixed
	numberInt        = 6<<3 | w.Fixed64
	numberAttributes = 7<<3 | w.Prefixed

	histogramCount      = 4<<3 | w.Fixed64
	histogramSum        = 5<<3 | w.Fixed64
	histogramCounts     = 6<<3 | w.Prefixed
	histogramBounds     = 7<<3 | w.Prefixed
	histogramExemplars  = 8<<3 | w.Prefixed
	histogramAttributes = 9<<3 | w.Prefixed
	histogramMin        = 11<<3 | w.Fixed64
	histogramMax        = 12<<3 | w.Fixed64

	exponentialAttributes    = 1<<3 | w.Prefixed
	exponentialCount         = 4<<3 | w.Fixed64
	exponentialSum           = 5<<3 | w.Fixed64
	exponentialScale         = 6<<3 | w.Varint
	exponentialZeroCount     = 7<<3 | w.Fixed64
	exponentialPositive      = 8<<3 | w.Prefixed
	exponentialNegative      = 9<<3 | w.Prefixed
	exponentialExemplars     = 11<<3 | w.Prefixed
	exponentialMin           = 12<<3 | w.Fixed64
	exponentialMax           = 13<<3 | w.Fixed64
	exponentialZeroThreshold = 14<<3 | w.Fixed64

	bucketsOffset = 1<<3 | w.Varint
	bucketsCounts = 2<<3 | w.Prefixed

	summaryCount      = 4<<3 | w.Fixed64
	summarySum        = 5<<3 | w.Fixed64
	summaryQuantiles  = 6<<3 | w.Prefixed
	summaryAttributes = 7<<3 | w.Prefixed

	quantileQuantile = 1<<3 | w.Fixed64
	quantileValue    = 2<<3 | w.Fixed64

	exemplarTime       = 2<<3 | w.Fixed64
	exemplarDouble     = 3<<3 | w.Fixed64
	exemplarSpanID     = 4<<3 | w.Prefixed
	exemplarTraceID    = 5<<3 | w.Prefixed
	exemplarInt        = 6<<3 | w.Fixed64
	exemplarAttributes = 7<<3 | w.Prefixed
)

// appendRequest appends an ExportMetricsServiceRequest, and returns the number of its points. It
// leaves out metrics of an unknown kind or temporality, and returns an error that names the last
// one.
func appendRequest(b []byte, m *metricdata.ResourceMetrics) (_ []byte, points int, err error) {
	b, request := w.BeginMessage(b, requestResourceMetrics)
	b = w.AppendResource(b, m.Resource)
	for i := range m.ScopeMetrics {
		s := &m.ScopeMetrics[i]
		var scope int
		b, scope = w.BeginMessage(b, w.Scopes)
		b = w.AppendScope(b, s.Scope)
		for j := range s.Metrics {
			var n int
			var wrong error
			if b, n, wrong = appendMetric(b, &s.Metrics[j]); wrong != nil {
				err = fmt.Errorf("metric %q is not sent: %w", s.Metrics[j].Name, wrong)
			}
			points += n
		}
		b = w.EndMessage(b, scope)
	}
	return w.EndMessage(b, request), points, err
}

// appendMetric returns the number of the metric's points, 0 if it leaves the metric out.
func appendMetric(b []byte, m *metricdata.Metrics) (_ []byte, points int, err error) {
	before := len(b)
	b, at := w.BeginMessage(b, w.Items)
	b = w.AppendText(b, metricName, m.Name)
	b = w.AppendText(b, metricDescription, m.Description)
	b = w.AppendText(b, metricUnit, m.Unit)
	switch d := m.Data.(type) {
	case metricdata.Gauge[int64]:
		b, points = appendGauge(b, d), len(d.DataPoints)
	case metricdata.Gauge[float64]:
		b, points = appendGauge(b, d), len(d.DataPoints)
	case metricdata.Sum[int64]:
		points = len(d.DataPoints)
		b, err = appendSum(b, d)
	case metricdata.Sum[float64]:
		points = len(d.DataPoints)
		b, err = appendSum(b, d)
	case metricdata.Histogram[int64]:
		points = len(d.DataPoints)
		b, err = appendHistogram(b, d)
	case metricdata.Histogram[float64]:
		points = len(d.DataPoints)
		b, err = appendHistogram(b, d)
	case metricdata.ExponentialHistogram[int64]:
		points = len(d.DataPoints)
		b, err = appendExponentialHistogram(b, d)
	case metricdata.ExponentialHistogram[float64]:
		points = len(d.DataPoints)
		b, err = appendExponentialHistogram(b, d)
	case metricdata.Summary:
		b, points = appendSummary(b, d), len(d.DataPoints)
	default:
		err = fmt.Errorf("its data are of the unknown type %T", d)
	}
	if err != nil {
		return b[:before], 0, err
	}
	return w.EndMessage(b, at), points, nil
}

func appendTemporality(b []byte, t metricdata.Temporality) ([]byte, error) {
	switch t {
	case metricdata.DeltaTemporality:
		return append(b, byte(temporality), 1), nil
	case metricdata.CumulativeTemporality:
		return append(b, byte(temporality), 2), nil
	default:
		return b, fmt.Errorf("its temporality is unknown: %v", t)
	}
}

func appendGauge[N int64 | float64](b []byte, g metricdata.Gauge[N]) []byte {
	b, at := w.BeginMessage(b, metricGauge)
	return w.EndMessage(appendNumbers(b, g.DataPoints), at)
}

func appendSum[N int64 | float64](b []byte, s metricdata.Sum[N]) ([]byte, error) {
	b, at := w.BeginMessage(b, metricSum)
	b, err := appendTemporality(appendNumbers(b, s.DataPoints), s.Temporality)
	if s.IsMonotonic {
		b = append(b, byte(sumMonotonic), 1)
	}
	return w.EndMessage(b, at), err
}

func appendNumbers[N int64 | float64](b []byte, points []metricdata.DataPoint[N]) []byte {
	for i := range points {
		p := &points[i]
		var at int
		b, at = w.BeginMessage(b, dataPoints)
		b = appendTimes(b, p.StartTime, p.Time)
		b = appendNumber(b, numberInt, numberDouble, p.Value)
		b = appendExemplars(b, numberExemplars, p.Exemplars)
		b = w.AppendSet(b, numberAttributes, &p.Attributes)
		b = w.EndMessage(b, at)
	}
	return b
}

func appendHistogram[N int64 | float64](b []byte, h metricdata.Histogram[N]) ([]byte, error) {
	b, at := w.BeginMessage(b, metricHistogram)
	for i := range h.DataPoints {
		p := &h.DataPoints[i]
		var point int
		b, point = w.BeginMessage(b, dataPoints)
		b = appendTimes(b, p.StartTime, p.Time)
		b = w.AppendFixed64(b, histogramCount, p.Count)
		b = appendDouble(b, histogramSum, float64(p.Sum))
		b = appendPacked(b, histogramCounts, p.BucketCounts, protowire.AppendFixed64)
		b = appendPacked(b, histogramBounds, p.Bounds, func(b []byte, bound float64) []byte {
			return protowire.AppendFixed64(b, math.Float64bits(bound))
		})
		b = appendExemplars(b, histogramExemplars, p.Exemplars)
		b = w.AppendSet(b, histogramAttributes, &p.Attributes)
		b = appendExtrema(b, histogramMin, p.Min)
		b = appendExtrema(b, histogramMax, p.Max)
		b = w.EndMessage(b, point)
	}
	b, err := appendTemporality(b, h.Temporality)
	return w.EndMessage(b, at), err
}

func appendExponentialHistogram[N int64 | float64](b []byte,
	h metricdata.ExponentialHistogram[N]) ([]byte, error) {
	b, at := w.BeginMessage(b, metricExponentialHistogram)
	for i := range h.DataPoints {
		p := &h.DataPoints[i]
		var point int
		b, point = w.BeginMessage(b, dataPoints)
		b = w.AppendSet(b, exponentialAttributes, &p.Attributes)
		b = appendTimes(b, p.StartTime, p.Time)
		b = w.AppendFixed64(b, exponentialCount, p.Count)
		b = appendDouble(b, exponentialSum, float64(p.Sum))
		b = appendSigned(b, exponentialScale, p.Scale)
		b = w.AppendFixed64(b, exponentialZeroCount, p.ZeroCount)
		b = appendBuckets(b, exponentialPositive, p.PositiveBucket)
		b = appendBuckets(b, exponentialNegative, p.NegativeBucket)
		b = appendExemplars(b, exponentialExemplars, p.Exemplars)
		b = appendExtrema(b, exponentialMin, p.Min)
		b = appendExtrema(b, exponentialMax, p.Max)
		b = w.AppendFixed64(b, exponentialZeroThreshold, math.Float64bits(p.ZeroThreshold))
		b = w.EndMessage(b, point)
	}
	b, err := appendTemporality(b, h.Temporality)
	return w.EndMessage(b, at), err
}

func appendBuckets(b []byte, tag uint64, buckets metricdata.ExponentialBucket) []byte {
	b, at := w.BeginMessage(b, tag)
	b = appendSigned(b, bucketsOffset, buckets.Offset)
	return w.EndMessage(appendPacked(b, bucketsCounts, buckets.Counts, protowire.AppendVarint), at)
}

func appendSummary(b []byte, s metricdata.Summary) []byte {
	b, at := w.BeginMessage(b, metricSummary)
	for i := range s.DataPoints {
		p := &s.DataPoints[i]
		var point int
		b, point = w.BeginMessage(b, dataPoints)
		b = appendTimes(b, p.StartTime, p.Time)
		b = w.AppendFixed64(b, summaryCount, p.Count)
		b = w.AppendFixed64(b, summarySum, math.Float64bits(p.Sum))
		for _, q := range p.QuantileValues {
			var quantile int
			b, quantile = w.BeginMessage(b, summaryQuantiles)
			b = w.AppendFixed64(b, quantileQuantile, math.Float64bits(q.Quantile))
			b = w.AppendFixed64(b, quantileValue, math.Float64bits(q.Value))
			b = w.EndMessage(b, quantile)
		}
		b = w.AppendSet(b, summaryAttributes, &p.Attributes)
		b = w.EndMessage(b, point)
	}
	return w.EndMessage(b, at)
}

func appendExemplars[N int64 | float64](b []byte, tag uint64,
	exemplars []metricdata.Exemplar[N]) []byte {
	for i := range exemplars {
		e := &exemplars[i]
		var at int
		b, at = w.BeginMessage(b, tag)
		b = w.AppendFixed64(b, exemplarTime, w.Nanos(e.Time))
		b = appendNumber(b, exemplarInt, exemplarDouble, e.Value)
		b = appendID(b, exemplarSpanID, e.SpanID)
		b = appendID(b, exemplarTraceID, e.TraceID)
		b = w.AppendAttributes(b, exemplarAttributes, e.FilteredAttributes, 0)
		b = w.EndMessage(b, at)
	}
	return b
}

func appendID(b []byte, tag uint64, id []byte) []byte {
	if len(id) == 0 {
		return b
	}
	return append(w.AppendLength(b, tag, len(id)), id...)
}

func appendTimes(b []byte, start, at time.Time) []byte {
	b = w.AppendFixed64(b, pointStart, w.Nanos(start))
	return w.AppendFixed64(b, pointTime, w.Nanos(at))
}

// appendNumber appends a value of a oneof, also if it is 0.
func appendNumber[N int64 | float64](b []byte, integer, double uint64, n N) []byte {
	if v, ok := any(n).(int64); ok {
		return protowire.AppendFixed64(append(b, byte(integer)), uint64(v))
	}
	return appendDouble(b, double, float64(n))
}

// appendDouble appends a field, also if it is 0.
func appendDouble(b []byte, tag uint64, f float64) []byte {
	return protowire.AppendFixed64(append(b, byte(tag)), math.Float64bits(f))
}

func appendExtrema[N int64 | float64](b []byte, tag uint64, e metricdata.Extrema[N]) []byte {
	if v, ok := e.Value(); ok {
		return appendDouble(b, tag, float64(v))
	}
	return b
}

// appendSigned appends a field of type sint32.
func appendSigned(b []byte, tag uint64, n int32) []byte {
	if n == 0 {
		return b
	}
	return protowire.AppendVarint(append(b, byte(tag)), protowire.EncodeZigZag(int64(n)))
}

// appendPacked appends a list of numbers.
func appendPacked[E any](b []byte, tag uint64, list []E, element func([]byte, E) []byte) []byte {
	if len(list) == 0 {
		return b
	}
	b, at := w.BeginMessage(b, tag)
	for _, e := range list {
		b = element(b, e)
	}
	return w.EndMessage(b, at)
}
