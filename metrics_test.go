package perfline_test

import (
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/observer"
)

// Config.Metrics reads the metrics of requests and perfline's own counts.
func TestMetricsReader(t *testing.T) { overBoth(t, testMetricsReader) }

func testMetricsReader(t *testing.T, start starter) {
	t.Helper()
	before := otel.GetMeterProvider()
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	reader := sdkmetric.NewManualReader()
	pl, ctx, log := start(t, perfline.Config{Service: "shop", Metrics: reader})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /things/{id}", func(http.ResponseWriter, *http.Request) {})
	h := bridgehttp.Server{Timeline: observer.FromContext(ctx)}.Middleware(mux)
	for range 3 {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/things/7", http.NoBody))
	}
	var got metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &got); err != nil {
		t.Fatal(err)
	}
	if name, _ := got.Resource.Set().Value(semconv.ServiceNameKey); name.AsString() != "shop" {
		t.Errorf("the metrics are of the service %q, want shop", name.AsString())
	}
	names := map[string]metricdata.Aggregation{}
	for _, s := range got.ScopeMetrics {
		for _, m := range s.Metrics {
			names[m.Name] = m.Data
		}
	}
	durations, ok := names["http.server.request.duration"].(metricdata.Histogram[float64])
	if !ok || len(durations.DataPoints) != 1 || durations.DataPoints[0].Count != 3 {
		t.Errorf("http.server.request.duration is %+v, want one point of 3 requests", names["http.server.request.duration"])
	}
	if _, ok := names["perfline.marks"]; !ok {
		t.Errorf("the metrics lack perfline.marks: %v", slices.Sorted(maps.Keys(names)))
	}
	if pl.MeterProvider() != otel.GetMeterProvider() {
		t.Error("MeterProvider is not the global one")
	}
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	if err := reader.Collect(t.Context(), &got); !errors.Is(err, sdkmetric.ErrReaderShutdown) {
		t.Errorf("after Shutdown, Collect returns %v, want ErrReaderShutdown", err)
	}
	if log.Len() > 0 {
		t.Errorf("logged %s", log)
	}
}

func TestMetricsExporterErrors(t *testing.T) {
	for _, c := range []struct{ name, variable, value, want string }{
		{"endpoint", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "nowhere", `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT "nowhere": must be a URL`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("OTEL_METRICS_EXPORTER", "otlp")
			t.Setenv(c.variable, c.value)
			_, err := perfline.Start(t.Context(), perfline.Config{Service: "shop"})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// Metric points have an account of their own, from the queue to the answer.
func TestMetricPointsAreCounted(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		lost   bool
	}{
		{"accepted", http.StatusOK, false},
		{"not accepted", http.StatusBadRequest, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(c.status) }))
			defer backend.Close()
			before := otel.GetMeterProvider()
			t.Cleanup(func() { otel.SetMeterProvider(before) })
			t.Setenv("OTEL_METRICS_EXPORTER", "otlp")
			t.Setenv("OTEL_TRACES_EXPORTER", "none")
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", backend.URL)
			pl, ctx, _ := start(t, perfline.Config{Service: "shop"})
			_, span := pl.TracerProvider().Tracer("t").Start(ctx, "s")
			span.End()
			err := pl.Shutdown(patient(t))
			s := pl.Stats().Metrics
			if s.Accepted == 0 || s.Accepted != s.Delivered+s.Failed || c.lost != (s.Failed > 0) {
				t.Errorf("got %+v", s)
			}
			var lost *perfline.LostError
			if errors.As(err, &lost) != c.lost || c.lost && lost.MetricPoints != s.Failed {
				t.Errorf("Shutdown returned %v, and %d metric points failed", err, s.Failed)
			}
		})
	}
}
