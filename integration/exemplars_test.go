package integration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/marks"
)

// With a tenth of the requests sampled, Prometheus has all measures, by name and by error. Its exemplars lead to spans that
// Jaeger has: to the measures' own ones, or to the ones around them.
func TestExemplars(t *testing.T) { overBoth(t, testExemplars) }

func testExemplars(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	prometheus, err := backend.StartPrometheus(ctx, "--web.enable-otlp-receiver", "--enable-feature=exemplar-storage")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := prometheus.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("OTEL_METRICS_EXPORTER", "otlp")
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/protobuf")
	t.Setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", prometheus.OTLPHTTP()+"/v1/metrics")
	var service string
	pl, tl, _ := start(t, jaeger, func(c *perfline.Config) {
		service = c.Service
		c.Sampler = sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.1))
		c.Measures = bridge.MeasureConfig{Names: []string{"stock.*", "payment"}}
	})
	const requests = 300
	var mu sync.Mutex
	sampled := map[string]bool{}
	var n int
	handler := bridgehttp.Server{TracerProvider: pl.TracerProvider(), MeterProvider: pl.MeterProvider(), Timeline: tl}.Middleware(http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			n++
			if sc := trace.SpanContextFromContext(r.Context()); sc.IsSampled() {
				sampled[sc.TraceID().String()] = true
			}
			marks.Time(r.Context(), "stock.query").End()
			_, charge := marks.Start(r.Context(), "payment")
			if n%3 == 0 {
				charge.Fail(errors.New("no money"))
			}
			charge.End()
			marks.Time(r.Context(), "other").End()
		}))
	for range requests {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody))
	}
	if err := pl.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}

	for query, want := range map[string]string{
		`sum(perfline_measure_duration_seconds_count{%s})`:                                                                  "600",
		`sum(perfline_measure_duration_seconds_count{%s,perfline_measure_name="stock.query"})`:                              "300",
		`sum(perfline_measure_duration_seconds_count{%s,perfline_measure_name="payment",error_type=""})`:                    "200",
		`sum(perfline_measure_duration_seconds_count{%s,perfline_measure_name="payment",error_type="*errors.errorString"})`: "100",
		`sum(http_server_request_duration_seconds_count{%s})`:                                                               "300",
	} {
		query = fmt.Sprintf(query, fmt.Sprintf("service_name=%q", service))
		if got, err := prometheus.Query(ctx, query); err != nil || len(got) != 1 || got[0].Value != want {
			t.Errorf("%s is %v, %v; want %s", query, got, err, want)
		}
	}
	for metric, spans := range map[string][]string{
		`perfline_measure_duration_seconds_bucket{%s,perfline_measure_name="stock.query"}`: {"GET"},
		`perfline_measure_duration_seconds_bucket{%s,perfline_measure_name="payment"}`:     {"payment"},
		`http_server_request_duration_seconds_bucket{%s}`:                                  {"GET"},
	} {
		query := fmt.Sprintf(metric, fmt.Sprintf("service_name=%q", service))
		all, err := prometheus.Exemplars(ctx, query)
		if err != nil || len(all) == 0 {
			t.Errorf("%s has the exemplars %v, %v; want some", query, all, err)
		}
		for _, labels := range all {
			if !sampled[labels["trace_id"]] {
				t.Errorf("%s leads to the trace %q, which was not sampled", query, labels["trace_id"])
			} else if name := spanName(ctx, t, service, labels); !slices.Contains(spans, name) {
				t.Errorf("%s leads to the span %q, want %q", query, name, spans)
			}
		}
	}
}

// spanName returns the name of the span that an exemplar leads to, which Jaeger may not have yet.
func spanName(ctx context.Context, t *testing.T, service string, labels map[string]string) (name string) {
	t.Helper()
	err := backend.Poll(ctx, func() (bool, error) {
		traces, err := jaeger.Traces(ctx, service)
		for _, s := range traces[labels["trace_id"]] {
			if s.ID == labels["span_id"] {
				name = s.Name
			}
		}
		return name != "", err
	})
	if err != nil {
		t.Errorf("Jaeger has no span %v: %v", labels, err)
	}
	return name
}
