package signals

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	colmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/bridge/bridgelog"
	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling/otlpprofiles"
)

// The paths of the four signals.
const (
	traces   = "/v1/traces"
	logs     = "/v1/logs"
	metrics  = "/v1/metrics"
	profiles = "/v1development/profiles"
)

// A tap keeps the requests that it passes on to a receiver, and those that it only takes if there is none.
type tap struct {
	*httptest.Server
	mu  sync.Mutex // guards got
	got map[string][][]byte
}

func newTap(t *testing.T, to string) *tap {
	t.Helper()
	p := &tap{got: map[string][][]byte{}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		if to != "" {
			forward, err := http.NewRequestWithContext(req.Context(), http.MethodPost, to+req.URL.Path, bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			forward.Header = req.Header.Clone()
			resp, err := http.DefaultClient.Do(forward)
			if err != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			defer resp.Body.Close()
			answer, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("%s: the Collector answers %s %q %v", req.URL.Path, resp.Status, answer, err)
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.got[req.URL.Path] = append(p.got[req.URL.Path], body)
	}))
	t.Cleanup(p.Close)
	return p
}

// items returns what the requests of a signal have: how often each item came, with its resource and its scope.
func (p *tap) items(t *testing.T, signal string) map[string]int {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]int{}
	if signal == profiles {
		for id, content := range flatten(t, p.got[signal]) {
			all[id+content]++
		}
		return all
	}
	for _, body := range p.got[signal] {
		for _, item := range itemsOf(t, signal, body) {
			all[item]++
		}
	}
	return all
}

// itemsOf returns the items of a request, each as the deterministic bytes of its resource, its scope and itself.
func itemsOf(t *testing.T, signal string, body []byte) (all []string) {
	t.Helper()
	text := func(messages ...proto.Message) string {
		var b strings.Builder
		for _, m := range messages {
			one, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%x/", one)
		}
		return b.String()
	}
	decode := func(m proto.Message) {
		if err := proto.Unmarshal(body, m); err != nil {
			t.Fatalf("%s: %v", signal, err)
		}
	}
	switch signal {
	case traces:
		m := &coltrace.ExportTraceServiceRequest{}
		decode(m)
		for _, r := range m.GetResourceSpans() {
			for _, s := range r.GetScopeSpans() {
				for _, item := range s.GetSpans() {
					all = append(all, text(r.GetResource(), s.GetScope(), item)+r.GetSchemaUrl()+s.GetSchemaUrl())
				}
			}
		}
	case logs:
		m := &collogs.ExportLogsServiceRequest{}
		decode(m)
		for _, r := range m.GetResourceLogs() {
			for _, s := range r.GetScopeLogs() {
				for _, item := range s.GetLogRecords() {
					if item.GetBody().GetValue() == nil {
						item.Body = nil // the Collector makes an empty value of a body that is not there
					}
					all = append(all, text(r.GetResource(), s.GetScope(), item)+r.GetSchemaUrl()+s.GetSchemaUrl())
				}
			}
		}
	case metrics:
		m := &colmetrics.ExportMetricsServiceRequest{}
		decode(m)
		for _, r := range m.GetResourceMetrics() {
			for _, s := range r.GetScopeMetrics() {
				for _, item := range s.GetMetrics() {
					all = append(all, text(r.GetResource(), s.GetScope(), item)+r.GetSchemaUrl()+s.GetSchemaUrl())
				}
			}
		}
	}
	return all
}

// One run sends all four signals to a Collector. The Collector passes on what the program sent, item by item, and the program's books
// have the same numbers. Chosen items have the content that the program gave them, and lead to each other.
func TestAllSignals(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	received := newTap(t, "")
	c := startCollector(ctx, t, backend.CollectorConfig{Jaeger: "127.0.0.1:1", All: received.URL})
	sent := newTap(t, c.OTLPHTTP())
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": sent.URL, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", "OTEL_LOGS_EXPORTER": "otlp", "OTEL_METRICS_EXPORTER": "otlp",
		"PERFLINE_MARKS": "both", "OTEL_METRIC_EXPORT_INTERVAL": "600000",
	} {
		t.Setenv(name, value)
	}
	pl, err := perfline.Start(ctx, perfline.Config{
		Service: "shop", Sampler: sdktrace.AlwaysSample(), Measures: bridge.MeasureConfig{Names: []string{"render"}},
		ProfileExporter: otlpprofiles.New(otlpprofiles.Config{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	logger := bridgelog.NewLoggerProvider(pl, nil).Logger("shop")
	marks.Mark(ctx, "started")
	handler := bridgehttp.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		marks.Mark(r.Context(), "cache.miss", slog.String("key", r.URL.Query().Get("key")))
		var line log.Record
		line.SetSeverity(log.SeverityWarn)
		line.SetBody(attribute.StringValue("cold"))
		logger.Emit(r.Context(), line)
		timing := marks.Time(r.Context(), "render")
		if r.URL.Query().Get("key") == "7" {
			burn(r.Context(), 200*time.Millisecond) // has samples for certain
		}
		timing.End()
	}))
	const requests = 20
	for i := range requests {
		request := httptest.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("/?key=%d", i), http.NoBody)
		handler.ServeHTTP(httptest.NewRecorder(), request)
	}
	if err := pl.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	for _, signal := range []string{traces, logs, metrics, profiles} {
		want := sent.items(t, signal)
		var got map[string]int
		err := backend.Poll(ctx, func() (bool, error) {
			got = received.items(t, signal)
			return sum(got) >= sum(want), nil
		})
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: the program sent %d items and the Collector passed on %d, or others: %v", signal, sum(want), sum(got), err)
			continue
		}
		t.Logf("%s: %d items sent, the same received", signal, sum(want))
	}
	s := pl.Stats()
	spans, records := 2*requests, 2*requests+1
	for _, b := range []struct {
		what                       string
		accepted, delivered, items uint64
		least                      int
	}{
		{"spans", s.Delivery.Accepted, s.Delivery.Delivered, uint64(sum(received.items(t, traces))), spans},
		{"log records", s.Logs.Accepted, s.Logs.Delivered, uint64(sum(received.items(t, logs))), records},
		{"profiles", s.OTLPProfiles.Accepted, s.OTLPProfiles.Delivered, uint64(sum(received.items(t, profiles))), 1},
	} {
		if b.accepted != b.delivered || b.delivered != b.items || b.items < uint64(b.least) {
			t.Errorf("%s: accepted %d, delivered %d, received %d, want all equal and at least %d", b.what, b.accepted, b.delivered, b.items, b.least)
		}
	}
	checkLinks(t, received)
}

// checkLinks checks the data of one request in all signals: its span, its line in the log, its samples. Its mark is an event and a log
// record. Its measure has an exemplar.
func checkLinks(t *testing.T, received *tap) {
	t.Helper()
	span, trace := "", "" // of the request with key=7
	events := 0
	for _, body := range received.got[traces] {
		m := &coltrace.ExportTraceServiceRequest{}
		_ = proto.Unmarshal(body, m) // decoded before
		for _, ss := range m.GetResourceSpans()[0].GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				for _, e := range s.GetEvents() {
					events++
					if e.GetName() == "cache.miss" && e.GetAttributes()[0].GetValue().GetStringValue() == "7" {
						trace, span = fmt.Sprintf("%x", s.GetTraceId()), fmt.Sprintf("%x", s.GetSpanId())
					}
				}
			}
		}
	}
	if span == "" {
		t.Fatalf("no span has the mark of the request with the key 7 among %d events", events)
	}
	var records []string
	for _, body := range received.got[logs] {
		m := &collogs.ExportLogsServiceRequest{}
		_ = proto.Unmarshal(body, m) // decoded before
		for _, rl := range m.GetResourceLogs() {
			for _, sl := range rl.GetScopeLogs() {
				for _, l := range sl.GetLogRecords() {
					if id := fmt.Sprintf("%x", l.GetTraceId()); id == trace || l.GetEventName() == "started" && id == "" {
						records = append(records, fmt.Sprintf("%s %s %v %x", l.GetEventName(), l.GetBody().GetStringValue(), l.GetSeverityNumber(), l.GetSpanId()))
					}
				}
			}
		}
	}
	slices.Sort(records)
	want := []string{" cold SEVERITY_NUMBER_WARN " + span, "cache.miss  SEVERITY_NUMBER_UNSPECIFIED " + span, "started  SEVERITY_NUMBER_UNSPECIFIED "}
	if !slices.Equal(records, want) {
		t.Errorf("log records %q, want %q", records, want)
	}
	measured, exemplars := uint64(0), 0
	for _, body := range received.got[metrics] {
		m := &colmetrics.ExportMetricsServiceRequest{}
		_ = proto.Unmarshal(body, m) // decoded before
		for _, sm := range m.GetResourceMetrics()[0].GetScopeMetrics() {
			for _, metric := range sm.GetMetrics() {
				for _, p := range metric.GetHistogram().GetDataPoints() {
					if metric.GetName() == "perfline.measure.duration" {
						measured += p.GetCount()
					}
					for _, e := range p.GetExemplars() {
						if len(e.GetTraceId()) == 16 && len(e.GetSpanId()) == 8 {
							exemplars++
						}
					}
				}
			}
		}
	}
	if measured != 20 || exemplars == 0 {
		t.Errorf("%d measures are in the histogram and %d exemplars lead to a trace, want 20 and some", measured, exemplars)
	}
	all := strings.Join(slices.Collect(maps.Keys(received.items(t, profiles))), "")
	if !strings.Contains(all, " link "+trace+"/"+span) {
		t.Errorf("no sample leads to the span %s/%s", trace, span)
	}
}

func sum(of map[string]int) (n int) {
	for _, count := range of {
		n += count
	}
	return n
}
