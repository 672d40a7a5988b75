package outputs_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/internal/outputs"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type env = map[string]string

const (
	traces   = "OTEL_TRACES_EXPORTER"
	metrics  = "OTEL_METRICS_EXPORTER"
	endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
)

func TestOutputs(t *testing.T) {
	for _, c := range []struct {
		name    string
		env     env
		c       exporter.Config
		otlp    bool // spans go over OTLP
		console bool
		metrics bool
	}{
		{"nothing set", nil, exporter.Config{}, false, false, false},
		{"none", env{traces: "none", endpoint: "http://h:4317", metrics: "none"}, exporter.Config{}, false, false, false},
		{"an endpoint alone", env{endpoint: "http://h:4317"}, exporter.Config{}, true, false, false},
		{"a field alone", nil, exporter.Config{Endpoint: "http://h:4318"}, true, false, false},
		{"the field wins", env{traces: "console"}, exporter.Config{Endpoint: "http://h:1"}, true, false, false},
		{"a sender of the program", env{traces: "none"}, exporter.Config{Sender: sender{}}, true, false, false},
		{"otlp without an endpoint", env{traces: "otlp"}, exporter.Config{}, true, false, false},
		{"console", env{traces: "console"}, exporter.Config{}, false, true, false},
		{"in any case", env{traces: "OTLP", metrics: "Otlp"}, exporter.Config{}, true, false, true},
		{"the known part of a list", env{traces: "zipkin, console", metrics: "prometheus,otlp"}, exporter.Config{}, false, true, true},
		{"the first of several", env{traces: "otlp,console"}, exporter.Config{}, true, false, false},
		{"none among others", env{traces: "otlp,none", metrics: "none,otlp"}, exporter.Config{}, false, false, false},
		{"unknown exporters", env{traces: "zipkin", metrics: "prometheus"}, exporter.Config{}, false, false, false},
		{"unknown exporters and an endpoint", env{traces: "zipkin", metrics: "prometheus", endpoint: "http://h:4317"}, exporter.Config{}, true, false, false},
		{"an unknown protocol", env{traces: "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, exporter.Config{}, true, false, false},
		{"a protocol in any case", env{traces: "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "HTTP/Protobuf"}, exporter.Config{}, true, false, false},
		{"metrics over gRPC", env{metrics: "otlp"}, exporter.Config{}, false, false, true},
		{"metrics over HTTP", env{metrics: "otlp", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/protobuf"}, exporter.Config{}, false, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			vars := environ.NewReader(slog.New(slog.DiscardHandler))
			overOTLP, spans, err := outputs.Spans(vars, c.c)
			if err != nil {
				t.Fatal(err)
			}
			if overOTLP != c.otlp || (spans != nil) != c.console {
				t.Errorf("spans go over OTLP: %v, and to %T; want %v and the console: %v", overOTLP, spans, c.otlp, c.console)
			}
			points, err := outputs.Metrics(vars, resource.Empty(), slog.New(slog.DiscardHandler))
			if err != nil || (points != nil) != c.metrics {
				t.Fatalf("metrics: %v, %v, want some: %v", points, err, c.metrics)
			}
			if points != nil {
				_ = outputs.Reader(vars, points).Shutdown(t.Context())
			}
		})
	}
}

// A sender is one of the program.
type sender struct{}

func (sender) Send(context.Context, []byte) exporter.Answer { return exporter.Answer{} }

// A sender of the program gets log records, too, whatever the variables say.
func TestSenderOfLogRecords(t *testing.T) {
	t.Setenv("OTEL_LOGS_EXPORTER", "none")
	vars := environ.NewReader(slog.New(slog.DiscardHandler))
	if over, err := outputs.LogRecords(vars, exporter.Config{Sender: sender{}}, false); !over || err != nil {
		t.Errorf("got %v, %v", over, err)
	}
}

// An endpoint that counts must be a URL.
func TestErrors(t *testing.T) {
	t.Setenv(endpoint, "localhost")
	vars := environ.NewReader(slog.New(slog.DiscardHandler))
	_, _, spans := outputs.Spans(vars, exporter.Config{})
	_, logs := outputs.LogRecords(vars, exporter.Config{}, true)
	t.Setenv(metrics, "otlp")
	_, points := outputs.Metrics(vars, resource.Empty(), nil)
	for _, err := range []error{spans, logs, points} {
		if want := `exporter: OTEL_EXPORTER_OTLP_ENDPOINT "localhost"`; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
