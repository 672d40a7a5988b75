package perfline_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/observer"
)

// OTEL_METRICS_EXPORTER brings the metrics of requests and perfline's own counts to
// where it says: here, a page to be scraped.
func TestMetricsExporter(t *testing.T) { overBoth(t, testMetricsExporter) }

func testMetricsExporter(t *testing.T, start starter) {
	t.Helper()
	before := otel.GetMeterProvider()
	t.Cleanup(func() { otel.SetMeterProvider(before) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // its port is free now
	t.Setenv("OTEL_METRICS_EXPORTER", "prometheus")
	t.Setenv("OTEL_EXPORTER_PROMETHEUS_HOST", host)
	t.Setenv("OTEL_EXPORTER_PROMETHEUS_PORT", port)
	pl, ctx, log := start(t, perfline.Config{Service: "shop"})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /things/{id}", func(http.ResponseWriter, *http.Request) {})
	h := bridgehttp.Server{Timeline: observer.FromContext(ctx)}.Middleware(mux)
	for range 3 {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/things/7", http.NoBody))
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + net.JoinHostPort(host, port) + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="200",http_route="/things/{id}"`,
		`perfline_bridge_total{`,
		`service_name="shop"`,
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", page)
	}
	if err := pl.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if resp, err := client.Get("http://" + net.JoinHostPort(host, port) + "/metrics"); err == nil {
		resp.Body.Close()
		t.Error("the page is there after Shutdown")
	}
	if log.Len() > 0 {
		t.Errorf("logged %s", log)
	}
}

func TestMetricsExporterErrors(t *testing.T) {
	for _, c := range []struct{ name, variable, value, want string }{
		{"unknown exporter", "OTEL_METRICS_EXPORTER", "pigeon", `OTEL_METRICS_EXPORTER "pigeon"`},
		{"unknown protocol", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "smoke", `OTEL_EXPORTER_OTLP_METRICS_PROTOCOL "smoke": must be`},
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
