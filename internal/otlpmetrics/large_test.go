package otlpmetrics_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	metricpb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/otlpmetrics"
	"github.com/perfline/perfline/internal/queue"
)

// A small receiver takes requests up to a limit, and fails on purpose now and then.
type small struct {
	limit   int
	answers []queue.Answer // of the next requests that are not too large
	got     map[string]int // every point, with what is around it
	refused int            // requests
	sizes   []int          // of all requests
}

func (s *small) Send(_ context.Context, body []byte) queue.Answer {
	s.sizes = append(s.sizes, len(body))
	if len(body) > s.limit {
		s.refused++
		return queue.Answer{Err: errors.New("413"), TooLarge: true}
	}
	if len(s.answers) > 0 {
		a := s.answers[0]
		if s.answers = s.answers[1:]; a.Err != nil {
			return a
		}
	}
	var request metricpb.MetricsData
	if err := proto.Unmarshal(body, &request); err != nil {
		return queue.Answer{Err: err}
	}
	for _, r := range request.GetResourceMetrics() {
		for _, sm := range r.GetScopeMetrics() {
			for _, m := range sm.GetMetrics() {
				for point, data := range points(m) {
					s.got[fmt.Sprint(r.GetResource(), r.GetSchemaUrl(), sm.GetScope(), sm.GetSchemaUrl(), m.GetName(), m.GetUnit(), m.GetDescription(), data, point)]++
				}
			}
		}
	}
	return queue.Answer{}
}

func (*small) Close() error { return nil }

// points returns the points of a metric, and what they have in common.
func points(m *metricpb.Metric) map[string]string {
	all := map[string]string{}
	switch {
	case m.GetGauge() != nil:
		for _, p := range m.GetGauge().GetDataPoints() {
			all[p.String()] = "gauge"
		}
	case m.GetSum() != nil:
		for _, p := range m.GetSum().GetDataPoints() {
			all[p.String()] = fmt.Sprint("sum", m.GetSum().GetAggregationTemporality(), m.GetSum().GetIsMonotonic())
		}
	case m.GetHistogram() != nil:
		for _, p := range m.GetHistogram().GetDataPoints() {
			all[p.String()] = fmt.Sprint("histogram", m.GetHistogram().GetAggregationTemporality())
		}
	}
	return all
}

func exporterTo(s *small, log *strings.Builder) *otlpmetrics.Exporter {
	return otlpmetrics.New(otlpmetrics.Config{
		Sender: s, To: "backend", Resource: resource.NewSchemaless(attribute.String("service.name", "shop")), Timeout: time.Minute,
		Logger: slog.New(slog.NewTextHandler(log, nil)), Temporality: metric.DefaultTemporalitySelector, Aggregation: metric.DefaultAggregationSelector,
	})
}

// anyMetrics makes metrics of several scopes and kinds, with n points in all. Each point has a number and some text.
func anyMetrics(t *rapid.T, n, text int) *metricdata.ResourceMetrics {
	rm := &metricdata.ResourceMetrics{}
	for number := 0; number < n; {
		s := metricdata.ScopeMetrics{Scope: instrumentation.Scope{Name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "scope")}}
		for range rapid.IntRange(1, 3).Draw(t, "metrics") {
			m := metricdata.Metrics{Name: fmt.Sprint("m", number), Unit: "s", Description: "d"}
			var numbers []metricdata.DataPoint[int64]
			var histograms []metricdata.HistogramDataPoint[float64]
			for range min(n-number, rapid.IntRange(0, 40).Draw(t, "points")) {
				attributes := attribute.NewSet(attribute.Int("n", number), attribute.String("text", strings.Repeat("x", text)))
				numbers = append(numbers, metricdata.DataPoint[int64]{Attributes: attributes, Value: int64(number)})
				histograms = append(histograms, metricdata.HistogramDataPoint[float64]{Attributes: attributes, Count: uint64(number), Bounds: []float64{1}, BucketCounts: []uint64{1, 2}})
				number++
			}
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				m.Data = metricdata.Gauge[int64]{DataPoints: numbers}
			case 1:
				m.Data = metricdata.Sum[int64]{DataPoints: numbers, Temporality: metricdata.DeltaTemporality, IsMonotonic: true}
			default:
				m.Data = metricdata.Histogram[float64]{DataPoints: histograms, Temporality: metricdata.CumulativeTemporality}
			}
			s.Metrics = append(s.Metrics, m)
		}
		rm.ScopeMetrics = append(rm.ScopeMetrics, s)
	}
	return rm
}

// A receiver that takes small requests only gets every point once, with all that is around the point, as one that takes large requests does.
func TestReceiverOfSmallRequests(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const kib = 1 << 10
		m := anyMetrics(rt, rapid.IntRange(1, 300).Draw(rt, "n"), rapid.SampledFrom([]int{10, 4 * kib}).Draw(rt, "text"))
		to := &small{limit: rapid.SampledFrom([]int{70, 200, 4000}).Draw(rt, "limit") * kib, got: map[string]int{}}
		for range rapid.IntRange(0, 3).Draw(rt, "failures") {
			to.answers = append(to.answers, queue.Answer{}, queue.Answer{Err: errors.New("503"), Retry: true})
		}
		large := &small{limit: 1 << 30, got: map[string]int{}}
		synctest.Test(t, func(t *testing.T) {
			for _, s := range []*small{to, large} {
				var log strings.Builder
				e := exporterTo(s, &log)
				if err := e.Export(t.Context(), m); err != nil {
					rt.Fatal(err)
				}
				for range 2 {
					if err := e.ForceFlush(t.Context()); err != nil {
						rt.Fatal(err)
					}
					if err := e.Export(t.Context(), m); err != nil {
						rt.Fatal(err)
					}
				}
				if err := e.Shutdown(t.Context()); err != nil {
					rt.Fatal(err)
				}
				if s.refused > 6 { // of 3 MiB, and half of that, down to 64 KiB
					rt.Errorf("%d requests were refused: the size is not remembered", s.refused)
				}
				if got := e.Stats(); got.Delivered != got.Accepted {
					rt.Errorf("books are %+v", got)
				}
			}
		})
		if !maps.Equal(to.got, large.got) {
			rt.Errorf("it got %d different points, want %d, each three times", len(to.got), len(large.got))
		}
	})
}

// A point that is too large by itself is lost alone, and counted. So are points of a request that is refused after others were taken.
func TestPointsThatAreRefused(t *testing.T) {
	const kib = 1 << 10
	gauge := func(sizes ...int) *metricdata.ResourceMetrics {
		var points []metricdata.DataPoint[int64]
		for i, size := range sizes {
			points = append(points, metricdata.DataPoint[int64]{Value: int64(i), Attributes: attribute.NewSet(attribute.String("text", strings.Repeat("x", size)))})
		}
		return &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{{Name: "m", Data: metricdata.Gauge[int64]{DataPoints: points}}}}}}
	}
	for _, c := range []struct {
		name    string
		sizes   []int
		answers []queue.Answer
		want    queue.Stats
	}{
		{"a large one", []int{10, 200 * kib, 10}, nil, queue.Stats{Accepted: 3, Delivered: 2, Failed: 1}},
		{"only a large one", []int{200 * kib}, nil, queue.Stats{Accepted: 1, Failed: 1}},
		{"the second half", []int{60 * kib, 60 * kib}, []queue.Answer{{}, {Err: errors.New("401")}}, queue.Stats{Accepted: 2, Delivered: 1, Failed: 1}},
		{"all", []int{10, 10}, []queue.Answer{{Err: errors.New("401")}}, queue.Stats{Accepted: 2, Failed: 2}},
		{"a large export", slices.Repeat([]int{30 * kib}, 200), nil, queue.Stats{Accepted: 200, Delivered: 200}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				to := &small{limit: 100 * kib, got: map[string]int{}, answers: c.answers}
				e := exporterTo(to, &log)
				if err := e.Export(t.Context(), gauge(c.sizes...)); err != nil {
					t.Fatal(err)
				}
				_ = e.Shutdown(t.Context())
				if got := e.Stats(); got != c.want {
					t.Errorf("books are %+v, want %+v", got, c.want)
				}
				if lost := c.want.Failed > 0; lost != strings.Contains(log.String(), "level=WARN") {
					t.Errorf("the log is %s", log.String())
				}
				for _, size := range to.sizes {
					if size > 3<<20 {
						t.Errorf("a request has %d bytes", size)
					}
				}
			})
		})
	}
}
