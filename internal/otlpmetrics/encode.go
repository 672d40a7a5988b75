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

	metricName        = 1<<3 | w.Prefixed
	metricDescription = 2<<3 | w.Prefixed
	metricUnit        = 3<<3 | w.Prefixed
	metricGauge       = 5<<3 | w.Prefixed
	metricSum         = 7<<3 | w.Prefixed
	metricHistogram   = 9<<3 | w.Prefixed
	metricExponential = 10<<3 | w.Prefixed
	metricSummary     = 11<<3 | w.Prefixed

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

// A number is the type of a metric's values.
type number interface{ int64 | float64 }

// appendRequest appends an ExportMetricsServiceRequest, and returns the number of its points. It
// omits metrics of an unknown kind or temporality. The error names the last omitted metric.
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

// appendMetric appends a metric, and returns the number of its points. It appends nothing if it
// returns an error.
func appendMetric(b []byte, m *metricdata.Metrics) (_ []byte, points int, err error) {
	before := len(b)
	b, at := w.BeginMessage(b, w.Items)
	b = w.AppendText(b, metricName, m.Name)
	b = w.AppendText(b, metricDescription, m.Description)
	b = w.AppendText(b, metricUnit, m.Unit)
	var data int                     // index of the data
	var sums *metricdata.Temporality // nil for kinds without a temporality
	isMonotonic := false
	switch d := m.Data.(type) {
	case metricdata.Gauge[int64]:
		b, data, points = appendPoints(b, metricGauge, d.DataPoints, appendNumberPoint)
	case metricdata.Gauge[float64]:
		b, data, points = appendPoints(b, metricGauge, d.DataPoints, appendNumberPoint)
	case metricdata.Sum[int64]:
		b, data, points = appendPoints(b, metricSum, d.DataPoints, appendNumberPoint)
		sums, isMonotonic = &d.Temporality, d.IsMonotonic
	case metricdata.Sum[float64]:
		b, data, points = appendPoints(b, metricSum, d.DataPoints, appendNumberPoint)
		sums, isMonotonic = &d.Temporality, d.IsMonotonic
	case metricdata.Histogram[int64]:
		b, data, points = appendPoints(b, metricHistogram, d.DataPoints, appendHistogramPoint)
		sums = &d.Temporality
	case metricdata.Histogram[float64]:
		b, data, points = appendPoints(b, metricHistogram, d.DataPoints, appendHistogramPoint)
		sums = &d.Temporality
	case metricdata.ExponentialHistogram[int64]:
		b, data, points = appendPoints(b, metricExponential, d.DataPoints, appendExponential)
		sums = &d.Temporality
	case metricdata.ExponentialHistogram[float64]:
		b, data, points = appendPoints(b, metricExponential, d.DataPoints, appendExponential)
		sums = &d.Temporality
	case metricdata.Summary:
		b, data, points = appendPoints(b, metricSummary, d.DataPoints, appendSummaryPoint)
	default:
		return b[:before], 0, fmt.Errorf("its data are of the unknown type %T", d)
	}
	if sums != nil {
		switch *sums {
		case metricdata.DeltaTemporality:
			b = append(b, byte(temporality), 1)
		case metricdata.CumulativeTemporality:
			b = append(b, byte(temporality), 2)
		default:
			return b[:before], 0, fmt.Errorf("its temporality is unknown: %v", *sums)
		}
	}
	if isMonotonic {
		b = append(b, byte(sumMonotonic), 1)
	}
	return w.EndMessage(w.EndMessage(b, data), at), points, nil
}

// appendPoints begins the data of a metric, and appends the points. It returns the index of the
// data and the number of points.
func appendPoints[P any](
	b []byte, kind uint64, points []P, point func([]byte, *P) []byte,
) (_ []byte, data, n int) {
	b, data = w.BeginMessage(b, kind)
	return appendMessages(b, dataPoints, points, point), data, len(points)
}

func appendNumberPoint[N number](b []byte, p *metricdata.DataPoint[N]) []byte {
	b = appendTimes(b, p.StartTime, p.Time)
	b = appendNumber(b, numberInt, numberDouble, p.Value)
	b = appendExemplars(b, numberExemplars, p.Exemplars)
	return w.AppendSet(b, numberAttributes, &p.Attributes)
}

func appendHistogramPoint[N number](b []byte, p *metricdata.HistogramDataPoint[N]) []byte {
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
	return appendExtrema(b, histogramMax, p.Max)
}

func appendExponential[N number](b []byte, p *metricdata.ExponentialHistogramDataPoint[N]) []byte {
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
	return w.AppendFixed64(b, exponentialZeroThreshold, math.Float64bits(p.ZeroThreshold))
}

func appendBuckets(b []byte, tag uint64, buckets metricdata.ExponentialBucket) []byte {
	b, at := w.BeginMessage(b, tag)
	b = appendSigned(b, bucketsOffset, buckets.Offset)
	return w.EndMessage(appendPacked(b, bucketsCounts, buckets.Counts, protowire.AppendVarint), at)
}

func appendSummaryPoint(b []byte, p *metricdata.SummaryDataPoint) []byte {
	b = appendTimes(b, p.StartTime, p.Time)
	b = w.AppendFixed64(b, summaryCount, p.Count)
	b = w.AppendFixed64(b, summarySum, math.Float64bits(p.Sum))
	b = appendMessages(b, summaryQuantiles, p.QuantileValues, appendQuantile)
	return w.AppendSet(b, summaryAttributes, &p.Attributes)
}

func appendQuantile(b []byte, q *metricdata.QuantileValue) []byte {
	b = w.AppendFixed64(b, quantileQuantile, math.Float64bits(q.Quantile))
	return w.AppendFixed64(b, quantileValue, math.Float64bits(q.Value))
}

func appendExemplars[N number](b []byte, tag uint64, exemplars []metricdata.Exemplar[N]) []byte {
	return appendMessages(b, tag, exemplars, appendExemplar)
}

func appendExemplar[N number](b []byte, e *metricdata.Exemplar[N]) []byte {
	b = w.AppendFixed64(b, exemplarTime, w.Nanos(e.Time))
	b = appendNumber(b, exemplarInt, exemplarDouble, e.Value)
	b = appendID(b, exemplarSpanID, e.SpanID)
	b = appendID(b, exemplarTraceID, e.TraceID)
	return w.AppendAttributes(b, exemplarAttributes, e.FilteredAttributes, 0)
}

// appendMessages appends a message for each element of a list.
func appendMessages[E any](b []byte, tag uint64, list []E, fields func([]byte, *E) []byte) []byte {
	for i := range list {
		var at int
		b, at = w.BeginMessage(b, tag)
		b = w.EndMessage(fields(b, &list[i]), at)
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

// appendNumber appends a value of a oneof, including 0.
func appendNumber[N number](b []byte, integer, double uint64, n N) []byte {
	if v, ok := any(n).(int64); ok {
		return protowire.AppendFixed64(append(b, byte(integer)), uint64(v))
	}
	return appendDouble(b, double, float64(n))
}

// appendDouble appends a field, including 0.
func appendDouble(b []byte, tag uint64, f float64) []byte {
	return protowire.AppendFixed64(append(b, byte(tag)), math.Float64bits(f))
}

func appendExtrema[N number](b []byte, tag uint64, e metricdata.Extrema[N]) []byte {
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
