package perfline_test

import (
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
)

// restoreMeters puts the global meter provider back after a test.
func restoreMeters(t *testing.T) {
	t.Helper()
	before := otel.GetMeterProvider()
	t.Cleanup(func() { otel.SetMeterProvider(before) })
}

// Config.Measures makes a histogram, which a reader of the program gets with perfline's counts of it.
func TestMeasures(t *testing.T) { overBoth(t, testMeasures) }

func testMeasures(t *testing.T, start starter) {
	t.Helper()
	restoreMeters(t)
	reader := sdkmetric.NewManualReader()
	pl, ctx, log := start(t, perfline.Config{
		Metrics: reader, Measures: bridge.MeasureConfig{Names: []string{"stock.*"}, Attributes: []string{"site"}, MaxSeries: 3},
	})
	ctx, span := pl.TracerProvider().Tracer("t").Start(ctx, "root")
	for _, site := range []string{"north", "south", "east", "west"} {
		marks.Time(ctx, "stock.query", slog.String("site", site)).End()
	}
	marks.Time(ctx, "payment.charge").End()
	span.End()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]metricdata.Aggregation{}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			got[m.Name] = m.Data
		}
	}
	if h, ok := got["perfline.measure.duration"].(metricdata.Histogram[float64]); !ok || len(h.DataPoints) != 3 || len(h.DataPoints[0].Exemplars) != 1 {
		t.Errorf("perfline.measure.duration is %+v, want 3 series with exemplars", got["perfline.measure.duration"])
	}
	counts := map[string]int64{}
	for _, name := range []string{"perfline.measures", "perfline.measures.series"} {
		sum, _ := got[name].(metricdata.Sum[int64])
		for _, p := range sum.DataPoints {
			outcome, _ := p.Attributes.Value("perfline.outcome")
			counts[strings.TrimSpace(name+" "+outcome.AsString())] = p.Value
		}
	}
	if counts["perfline.measures overflow"] != 2 || counts["perfline.measures.series"] != 3 || len(counts) != 3 {
		t.Errorf("the counts are %v, want 2 measures over the bound, none that panicked and 3 series", counts)
	}
	if s := pl.Stats().Measures; s != (bridge.MeasureStats{Series: 3, Overflow: 2}) {
		t.Errorf("Stats has %+v", s)
	}
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	marks.Time(ctx, "stock.query", slog.String("site", "north-west")).End()
	if s := pl.Stats().Measures; s.Overflow != 2 {
		t.Errorf("after Shutdown, %d measures are over the bound, want 2", s.Overflow)
	}
	if log.Len() > 0 {
		t.Errorf("logged %s", log)
	}
}

// Without names there is no histogram, and without metrics it wants nothing.
func TestNoMeasures(t *testing.T) {
	restoreMeters(t)
	for _, names := range [][]string{nil, {"*"}} {
		otel.SetMeterProvider(noopmetric.NewMeterProvider())
		pl, ctx, _ := start(t, perfline.Config{Measures: bridge.MeasureConfig{Names: names}})
		marks.Time(ctx, "a").End()
		if s := pl.Stats().Measures; s != (bridge.MeasureStats{}) {
			t.Errorf("names %q: the counts are %+v, want none", names, s)
		}
		for _, c := range pl.Counts() {
			if strings.HasPrefix(c.Group, "perfline.measures") && names == nil {
				t.Errorf("without names there is the count %+v", c)
			}
		}
		if err := pl.Shutdown(patient(t)); err != nil {
			t.Error(err)
		}
	}
}

// The histogram and the exemplar of a sampled measure are on the wire, as explicit buckets and, by OpenTelemetry's variable, as an exponential
// histogram. A measure that is not sampled counts without an exemplar.
func TestMeasuresOverOTLP(t *testing.T) {
	for _, aggregation := range []string{"", "base2_exponential_bucket_histogram"} {
		for _, sampled := range []bool{true, false} {
			restoreMeters(t)
			received := &metricRequests{}
			backend := httptest.NewServer(received)
			defer backend.Close()
			t.Setenv("OTEL_METRICS_EXPORTER", "otlp")
			t.Setenv("OTEL_TRACES_EXPORTER", "none")
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", backend.URL)
			t.Setenv("OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", aggregation)
			sampler := sdktrace.NeverSample()
			if sampled {
				sampler = sdktrace.AlwaysSample()
			}
			pl, ctx, _ := start(t, perfline.Config{Sampler: sampler, Measures: bridge.MeasureConfig{Names: []string{"a"}}})
			ctx, span := pl.TracerProvider().Tracer("t").Start(ctx, "root")
			marks.Time(ctx, "a").End()
			span.End()
			if err := pl.Shutdown(patient(t)); err != nil {
				t.Fatal(err)
			}
			count, exponential, exemplars := received.measures()
			var want [][2]string
			if sc := trace.SpanContextFromContext(ctx); sampled {
				want = [][2]string{{sc.TraceID().String(), sc.SpanID().String()}}
			}
			if exponential != (aggregation != "") {
				t.Errorf("aggregation %q: the histogram is exponential: %t", aggregation, exponential)
			}
			if count != 1 || len(exemplars) != len(want) || sampled && exemplars[0] != want[0] {
				t.Errorf("aggregation %q, sampled %t: %d measures with the exemplars %v, want 1 with %v", aggregation, sampled, count, exemplars, want)
			}
		}
	}
}

// metricRequests are what an OTLP receiver gets.
type metricRequests struct {
	mu  sync.Mutex
	all []*metricspb.MetricsData
}

func (r *metricRequests) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	request := &metricspb.MetricsData{}
	if err := proto.Unmarshal(body, request); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, request)
}

// measures returns the count and the exemplars of perfline.measure.duration, each with its trace's id and its span's, as the last request has them.
func (r *metricRequests) measures() (count uint64, exponential bool, ids [][2]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	take := func(n uint64, exemplars []*metricspb.Exemplar) {
		count, ids = n, nil
		for _, e := range exemplars {
			ids = append(ids, [2]string{hex.EncodeToString(e.GetTraceId()), hex.EncodeToString(e.GetSpanId())})
		}
	}
	for _, request := range r.all {
		for _, resource := range request.GetResourceMetrics() {
			for _, scope := range resource.GetScopeMetrics() {
				for _, m := range scope.GetMetrics() {
					if m.GetName() != "perfline.measure.duration" {
						continue
					}
					for _, p := range m.GetHistogram().GetDataPoints() {
						take(p.GetCount(), p.GetExemplars())
					}
					for _, p := range m.GetExponentialHistogram().GetDataPoints() {
						exponential = true
						take(p.GetCount(), p.GetExemplars())
					}
				}
			}
		}
	}
	return count, exponential, ids
}
