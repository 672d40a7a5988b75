// Package otlpmetrics compares perfline's exporter of metrics with OpenTelemetry's.
package otlpmetrics_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/internal/otlpmetrics"
	"github.com/perfline/perfline/internal/queue"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A receiver keeps the bodies that it gets. err is what it answers.
type receiver struct {
	takes time.Duration // until it answers

	mu     sync.Mutex // guards what follows
	bodies [][]byte
	err    error
	closed int
}

func (r *receiver) Send(_ context.Context, body []byte) queue.Answer {
	time.Sleep(r.takes)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return queue.Answer{Err: r.err}
	}
	r.bodies = append(r.bodies, body)
	return queue.Answer{}
}

func (r *receiver) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed++
	return nil
}

// take returns the request that arrived, and fails unless there is one.
func (r *receiver) take(t interface{ Fatalf(string, ...any) }) *v1.ExportMetricsServiceRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.bodies) != 1 {
		t.Fatalf("%d requests arrived, want one", len(r.bodies))
	}
	m := &v1.ExportMetricsServiceRequest{}
	if err := proto.Unmarshal(r.bodies[0], m); err != nil {
		t.Fatalf("the request cannot be decoded: %v", err)
	}
	r.bodies = nil
	return m
}

func newExporter(to *receiver, res *resource.Resource, log *slog.Logger) *otlpmetrics.Exporter {
	return otlpmetrics.New(otlpmetrics.Config{
		Sender: to, To: "test", Resource: res, Logger: log, Timeout: time.Minute,
		Temporality: metric.DefaultTemporalitySelector, Aggregation: metric.DefaultAggregationSelector,
	})
}

// The same metrics are the same requests as with OpenTelemetry's exporter, whatever they are.
func TestExporterAsTheSDKs(t *testing.T) {
	theirs := &receiver{}
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		theirs.Send(r.Context(), body)
	}))
	defer srv.Close()
	sdk, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpointURL(srv.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sdk.Shutdown(context.Background()) }()
	rapid.Check(t, func(t *rapid.T) {
		m := resourceMetrics(t)
		ours := &receiver{}
		e := newExporter(ours, m.Resource, slog.New(slog.DiscardHandler))
		wrong := e.Export(context.Background(), m)
		if err := e.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		theirWrong := sdk.Export(context.Background(), m)
		if (wrong == nil) != (theirWrong == nil) {
			t.Fatalf("the error is %v, and %v with the SDK", wrong, theirWrong)
		}
		if len(ours.bodies) == 0 { // nothing to send: the SDK sends an empty request
			if points := e.Stats().Accepted; points != 0 {
				t.Fatalf("%d points were accepted and not sent", points)
			}
			theirs.bodies = nil
			return
		}
		got, want := ours.take(t), theirs.take(t)
		if stats, sent := e.Stats(), points(got); stats.Accepted != sent || stats.Delivered != sent {
			t.Fatalf("%d points were sent, and counted as %+v", sent, stats)
		}
		normalize(got)
		normalize(want)
		if !proto.Equal(got, want) {
			t.Fatalf("got\n%v\nwant\n%v", got, want)
		}
	})
}

// points counts the points of a request.
func points(r *v1.ExportMetricsServiceRequest) (n uint64) {
	for _, rm := range r.ResourceMetrics {
		for _, sm := range rm.ScopeMetrics {
			for _, m := range sm.Metrics {
				n += uint64(len(m.GetGauge().GetDataPoints()) + len(m.GetSum().GetDataPoints()) + len(m.GetHistogram().GetDataPoints()) +
					len(m.GetExponentialHistogram().GetDataPoints()) + len(m.GetSummary().GetDataPoints()))
			}
		}
	}
	return n
}

// normalize takes an empty scope for none, which is the same for a receiver.
func normalize(r *v1.ExportMetricsServiceRequest) {
	for _, rm := range r.ResourceMetrics {
		for _, sm := range rm.ScopeMetrics {
			if sm.Scope == nil {
				sm.Scope = &commonpb.InstrumentationScope{}
			}
		}
	}
}

func resourceMetrics(t *rapid.T) *metricdata.ResourceMetrics {
	return &metricdata.ResourceMetrics{
		Resource: resource.NewWithAttributes(text(t, "resource's schema"), attributes(t)...),
		ScopeMetrics: list(t, "scopes", func() metricdata.ScopeMetrics {
			return metricdata.ScopeMetrics{
				Scope: instrumentation.Scope{
					Name: text(t, "scope"), Version: text(t, "version"), SchemaURL: text(t, "schema"), Attributes: attribute.NewSet(attributes(t)...),
				},
				Metrics: list(t, "metrics", func() metricdata.Metrics {
					return metricdata.Metrics{Name: text(t, "name"), Description: text(t, "description"), Unit: text(t, "unit"), Data: aggregation(t)}
				}),
			}
		}),
	}
}

func aggregation(t *rapid.T) metricdata.Aggregation {
	temporality := rapid.SampledFrom([]metricdata.Temporality{
		metricdata.CumulativeTemporality, metricdata.CumulativeTemporality, metricdata.DeltaTemporality, metricdata.DeltaTemporality, metricdata.Temporality(0),
	}).Draw(t, "temporality")
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		return metricdata.Gauge[int64]{DataPoints: list(t, "points", func() metricdata.DataPoint[int64] { return point(t, integer) })}
	case 1:
		return metricdata.Gauge[float64]{DataPoints: list(t, "points", func() metricdata.DataPoint[float64] { return point(t, double) })}
	case 2:
		return metricdata.Sum[int64]{
			DataPoints:  list(t, "points", func() metricdata.DataPoint[int64] { return point(t, integer) }),
			Temporality: temporality, IsMonotonic: rapid.Bool().Draw(t, "monotonic"),
		}
	case 3:
		return metricdata.Sum[float64]{
			DataPoints:  list(t, "points", func() metricdata.DataPoint[float64] { return point(t, double) }),
			Temporality: temporality, IsMonotonic: rapid.Bool().Draw(t, "monotonic"),
		}
	case 4:
		return metricdata.Histogram[int64]{DataPoints: list(t, "points", func() metricdata.HistogramDataPoint[int64] { return histogram(t, integer) }), Temporality: temporality}
	case 5:
		return metricdata.Histogram[float64]{DataPoints: list(t, "points", func() metricdata.HistogramDataPoint[float64] { return histogram(t, double) }), Temporality: temporality}
	case 6:
		return metricdata.ExponentialHistogram[int64]{DataPoints: list(t, "points", func() metricdata.ExponentialHistogramDataPoint[int64] { return exponential(t, integer) }), Temporality: temporality}
	case 7:
		return metricdata.ExponentialHistogram[float64]{DataPoints: list(t, "points", func() metricdata.ExponentialHistogramDataPoint[float64] { return exponential(t, double) }), Temporality: temporality}
	case 8:
		return metricdata.Summary{DataPoints: list(t, "points", func() metricdata.SummaryDataPoint {
			return metricdata.SummaryDataPoint{
				Attributes: attribute.NewSet(attributes(t)...), StartTime: moment(t), Time: moment(t), Count: count(t), Sum: double(t),
				QuantileValues: list(t, "quantiles", func() metricdata.QuantileValue {
					return metricdata.QuantileValue{Quantile: double(t), Value: double(t)}
				}),
			}
		})}
	default:
		return nil
	}
}

func point[N int64 | float64](t *rapid.T, value func(*rapid.T) N) metricdata.DataPoint[N] {
	return metricdata.DataPoint[N]{
		Attributes: attribute.NewSet(attributes(t)...), StartTime: moment(t), Time: moment(t), Value: value(t), Exemplars: exemplars(t, value),
	}
}

func histogram[N int64 | float64](t *rapid.T, value func(*rapid.T) N) metricdata.HistogramDataPoint[N] {
	return metricdata.HistogramDataPoint[N]{
		Attributes: attribute.NewSet(attributes(t)...), StartTime: moment(t), Time: moment(t), Count: count(t), Sum: value(t),
		Bounds: list(t, "bounds", func() float64 { return double(t) }), BucketCounts: list(t, "counts", func() uint64 { return count(t) }),
		Min: extrema(t, value), Max: extrema(t, value), Exemplars: exemplars(t, value),
	}
}

func exponential[N int64 | float64](t *rapid.T, value func(*rapid.T) N) metricdata.ExponentialHistogramDataPoint[N] {
	buckets := func() metricdata.ExponentialBucket {
		return metricdata.ExponentialBucket{Offset: rapid.Int32().Draw(t, "offset"), Counts: list(t, "counts", func() uint64 { return count(t) })}
	}
	return metricdata.ExponentialHistogramDataPoint[N]{
		Attributes: attribute.NewSet(attributes(t)...), StartTime: moment(t), Time: moment(t), Count: count(t), Sum: value(t),
		Scale: rapid.Int32().Draw(t, "scale"), ZeroCount: count(t), ZeroThreshold: double(t), PositiveBucket: buckets(), NegativeBucket: buckets(),
		Min: extrema(t, value), Max: extrema(t, value), Exemplars: exemplars(t, value),
	}
}

func exemplars[N int64 | float64](t *rapid.T, value func(*rapid.T) N) []metricdata.Exemplar[N] {
	return list(t, "exemplars", func() metricdata.Exemplar[N] {
		return metricdata.Exemplar[N]{
			FilteredAttributes: attributes(t), Time: moment(t), Value: value(t),
			SpanID:  rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "span id"),
			TraceID: rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(t, "trace id"),
		}
	})
}

func extrema[N int64 | float64](t *rapid.T, value func(*rapid.T) N) metricdata.Extrema[N] {
	if rapid.Bool().Draw(t, "there is one") {
		return metricdata.NewExtrema(value(t))
	}
	return metricdata.Extrema[N]{}
}

func list[E any](t *rapid.T, what string, element func() E) []E {
	var all []E
	for range rapid.IntRange(0, 3).Draw(t, what) {
		all = append(all, element())
	}
	return all
}

func attributes(t *rapid.T) []attribute.KeyValue {
	return list(t, "attributes", func() attribute.KeyValue {
		key := attribute.Key(text(t, "key"))
		switch rapid.IntRange(0, 5).Draw(t, "value's kind") {
		case 0:
			return key.Bool(rapid.Bool().Draw(t, "value"))
		case 1:
			return key.Int64(integer(t))
		case 2:
			return key.Float64(double(t))
		case 3:
			return key.StringSlice(list(t, "texts", func() string { return text(t, "element") }))
		case 4:
			return key.Int64Slice(list(t, "numbers", func() int64 { return integer(t) }))
		default:
			return key.String(text(t, "value"))
		}
	})
}

// text draws texts around the length from which protobuf's lengths take two bytes.
func text(t *rapid.T, what string) string {
	if rapid.IntRange(0, 9).Draw(t, what+" is long") == 0 {
		return strings.Repeat("x", rapid.IntRange(100, 20_000).Draw(t, what+"'s length"))
	}
	return rapid.StringN(0, 10, -1).Draw(t, what)
}

func integer(t *rapid.T) int64 {
	return rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, -1, 1, math.MinInt64, math.MaxInt64})).Draw(t, "integer")
}

func double(t *rapid.T) float64 {
	return rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1)})).Draw(t, "double")
}

func count(t *rapid.T) uint64 {
	return rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, math.MaxUint64})).Draw(t, "count")
}

func moment(t *rapid.T) time.Time {
	return rapid.SampledFrom([]time.Time{{}, time.Unix(0, 0), time.Unix(1<<30, 1), time.Unix(-5, 0)}).Draw(t, "time")
}

// Metrics that the receiver does not take are counted and reported, and those that OTLP does not have are an error of the export.
func TestExporterLosses(t *testing.T) { synctest.Test(t, testExporterLosses) }

func testExporterLosses(t *testing.T) {
	var log strings.Builder
	to := &receiver{takes: time.Second, err: errors.New("refused")} // the export waits when ForceFlush is called
	e := newExporter(to, resource.Empty(), slog.New(slog.NewTextHandler(&log, nil)))
	sum := metricdata.Sum[int64]{Temporality: metricdata.CumulativeTemporality, DataPoints: []metricdata.DataPoint[int64]{{Value: 1}, {Value: 2}}}
	m := &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{{Name: "a", Data: sum}, {Name: "b"}}}}}
	if err := e.Export(t.Context(), m); err == nil || !strings.Contains(err.Error(), `metric "b"`) {
		t.Errorf("Export returns %v, want an error with the metric's name", err)
	}
	if err := e.ForceFlush(t.Context()); err == nil || !strings.Contains(err.Error(), "2 metric points") {
		t.Errorf("ForceFlush returns %v, want an error with the count", err)
	}
	if s := e.Stats(); s.Accepted != 2 || s.Failed != 2 {
		t.Errorf("the books are %+v, want 2 points accepted and failed", s)
	}
	if err := e.Shutdown(t.Context()); err != nil || to.closed != 1 {
		t.Errorf("Shutdown returns %v, and closed the sender %d times", err, to.closed)
	}
	if !strings.Contains(log.String(), "refused") {
		t.Errorf("logged %s", log.String())
	}
}
