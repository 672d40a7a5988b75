package integration

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	colmetricpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/integration/backend"
)

const (
	toJaeger = `exporter="otlp_grpc/jaeger"`
	toTempo  = `exporter="otlp_grpc/tempo"`
)

// ownCollector is one that a test may end and start again.
func ownCollector(ctx context.Context, t *testing.T, config backend.CollectorConfig) *backend.Collector {
	t.Helper()
	c, err := backend.StartCollector(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the Collector's log:\n%s", c.Log())
		}
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func count(ctx context.Context, t *testing.T, c *backend.Collector, metric, label string) int {
	t.Helper()
	n, err := c.Count(ctx, metric, label)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

// waitForSpans waits for want spans of the service in j, each counted once though a Collector
// that was ended may have sent it twice, and returns its traces.
func waitForSpans(ctx context.Context, t *testing.T, j *backend.Jaeger, service string, want int) map[string][]backend.Span {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var traces map[string][]backend.Span
	n := 0
	err := backend.Poll(ctx, func() (bool, error) {
		all, err := j.Traces(ctx, service)
		if err != nil {
			return false, err
		}
		ids := map[string]bool{}
		for _, spans := range all {
			for _, s := range spans {
				ids[s.ID] = true
			}
		}
		traces, n = all, len(ids)
		return n >= want, nil
	})
	if err != nil || n != want {
		t.Fatalf("Jaeger has %d spans of %s, want %d: %v", n, service, want, err)
	}
	return traces
}

// A metricSink takes metrics by OTLP over HTTP, as Prometheus does.
type metricSink struct {
	mu     sync.Mutex
	points map[string]int // by name of the metric, of service=shop
}

func (s *metricSink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	data, err := io.ReadAll(body)
	var request colmetricpb.ExportMetricsServiceRequest
	if err == nil {
		err = proto.Unmarshal(data, &request)
	}
	if err != nil || r.URL.Path != "/api/v1/otlp/v1/metrics" {
		http.Error(w, "want metrics", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rm := range request.ResourceMetrics {
		for _, a := range rm.Resource.Attributes {
			if a.Key != "service.name" || a.Value.GetStringValue() != "shop" {
				continue
			}
			for _, sm := range rm.ScopeMetrics {
				for _, m := range sm.Metrics {
					s.points[m.Name] += len(m.GetSum().GetDataPoints()) + len(m.GetHistogram().GetDataPoints())
				}
			}
		}
	}
}

// TestShopThroughCollector runs the shop with a Collector between it and its backends,
// where a second Jaeger stands for Tempo: both have all of its spans with their events.
func TestShopThroughCollector(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	metrics := &metricSink{points: map[string]int{}}
	prometheus := httptest.NewServer(metrics)
	defer prometheus.Close()
	jaeger, tempo := ownJaeger(ctx, t), ownJaeger(ctx, t)
	c := ownCollector(ctx, t, backend.CollectorConfig{
		Jaeger: jaeger.OTLPGRPC(), Tempo: tempo.OTLPGRPC(), Metrics: prometheus.URL + "/api/v1/otlp",
	})
	cmd, out := shop(buildShop(t), jaeger, serviceName(t), "-for", "2s", "-rps", "100")
	cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.OTLPGRPC(), "OTEL_METRICS_EXPORTER=otlp",
		// Many small exports, for the Collector to make few of.
		"OTEL_BSP_SCHEDULE_DELAY=10")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m := delivered.FindStringSubmatch(out.String())
	if m == nil || m[1] != m[2] || m[3] != "0" {
		t.Fatalf("the shop does not say that all was delivered:\n%s", out)
	}
	spans, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range []*backend.Jaeger{jaeger, tempo} {
		ordersAreWhole(t, waitForSpans(ctx, t, j, "shop", spans))
	}

	if got := count(ctx, t, c, "otelcol_receiver_accepted_spans", ""); got != spans {
		t.Errorf("the Collector counts %d spans accepted, the shop delivered %d", got, spans)
	}
	exports := count(ctx, t, c, "rpc_server_call_duration_count", "TraceService/Export")
	for _, exporter := range []string{toJaeger, toTempo} {
		got := 0 // of answered exports; the backend shows spans before it answers
		if err := backend.Poll(ctx, func() (bool, error) {
			got = count(ctx, t, c, "otelcol_exporter_sent_spans", exporter)
			return got >= spans, nil
		}); err != nil || got != spans {
			t.Errorf("the Collector counts %d spans sent by %s, want %d: %v", got, exporter, spans, err)
		}
		batches := count(ctx, t, c, "otelcol_exporter_queue_batch_send_size_count", exporter)
		if batches == 0 || exports < batches {
			t.Errorf("the Collector made %d batches by %s of the shop's %d exports, want no more", batches, exporter, exports)
		}
		t.Logf("%s: %d spans in %d exports left in %d batches", exporter, spans, exports, batches)
	}

	// The Collector's queue of metrics may be empty while they are on their way.
	arrived := func(name string) bool {
		metrics.mu.Lock()
		defer metrics.mu.Unlock()
		return metrics.points[name] > 0
	}
	for _, name := range []string{"http.server.request.duration", "perfline.delivery.spans", "perfline.delivery.metrics", "perfline.marks", "perfline.spans", "perfline.entries"} {
		if err := backend.Poll(ctx, func() (bool, error) { return arrived(name), nil }); err != nil {
			t.Errorf("%q is not among the metrics that arrived: %v", name, err)
		}
	}
}
