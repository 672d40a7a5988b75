package outputs_test

import (
	"bytes"
	"fmt"
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

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		name    string
		env     env
		c       exporter.Config
		otlp    string // name of the receiver; empty: spans do not go over OTLP
		spans   string // name of another exporter
		metrics bool
	}{
		{"nothing set", nil, exporter.Config{}, "", "", false},
		{"none", env{traces: "none", endpoint: "http://h:4317", metrics: "none"}, exporter.Config{}, "", "", false},
		{"an endpoint alone", env{endpoint: "http://h:4317"}, exporter.Config{}, "grpc to http://h:4317", "", false},
		{"a field alone", nil, exporter.Config{Endpoint: "http://h:4318"}, "http/protobuf to http://h:4318", "", false},
		{"the field wins", env{traces: "console"}, exporter.Config{Endpoint: "http://h:1"}, "grpc to http://h:1", "", false},
		{"otlp without an endpoint", env{traces: "otlp"}, exporter.Config{}, "grpc to http://localhost:4317", "", false},
		{"console", env{traces: "console"}, exporter.Config{}, "", "console", false},
		{"in any case", env{traces: "OTLP", metrics: "Otlp"}, exporter.Config{}, "grpc to http://localhost:4317", "", true},
		{"the known part of a list", env{traces: "zipkin, console", metrics: "prometheus,otlp"}, exporter.Config{}, "", "console", true},
		{"the first of several", env{traces: "otlp,console"}, exporter.Config{}, "grpc to http://localhost:4317", "", false},
		{"none among others", env{traces: "otlp,none", metrics: "none,otlp"}, exporter.Config{}, "", "", false},
		{"unknown exporters", env{traces: "zipkin", metrics: "prometheus"}, exporter.Config{}, "", "", false},
		{"unknown exporters and an endpoint", env{traces: "zipkin", metrics: "prometheus", endpoint: "http://h:4317"}, exporter.Config{}, "grpc to http://h:4317", "", false},
		{"an unknown protocol", env{traces: "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, exporter.Config{}, "grpc to http://localhost:4317", "", false},
		{"a protocol in any case", env{traces: "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "HTTP/Protobuf"}, exporter.Config{}, "http/protobuf to http://localhost:4318", "", false},
		{"metrics over gRPC", env{metrics: "otlp"}, exporter.Config{}, "", "", true},
		{"metrics over HTTP", env{metrics: "otlp", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/protobuf"}, exporter.Config{}, "", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			o, err := outputs.Resolve(t.Context(), environ.NewReader(slog.New(slog.DiscardHandler)), outputs.Config{Traces: c.c})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = o.Shutdown(t.Context()) }()
			name := ""
			if o.Sender != nil {
				name = fmt.Sprint(o.Sender)
			}
			if name != c.otlp {
				t.Errorf("spans go by %q, want %q", name, c.otlp)
			}
			if (o.Spans != nil) != (c.spans != "") || o.Name != c.spans {
				t.Errorf("spans go to %q (%T), want %q", o.Name, o.Spans, c.spans)
			}
			r := o.Metrics(resource.Empty())
			if (r != nil) != c.metrics {
				t.Errorf("metrics: %v, want some: %v", r, c.metrics)
			}
			if r != nil {
				_ = r.Shutdown(t.Context())
			}
		})
	}
}

func TestResolveErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		env  env
		says string
	}{
		{"an endpoint that is no URL", env{endpoint: "localhost"}, `exporter: OTEL_EXPORTER_OTLP_ENDPOINT "localhost"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			_, err := outputs.Resolve(t.Context(), environ.NewReader(slog.New(slog.DiscardHandler)), outputs.Config{})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}

// A variable of all signals that is wrong is one line, also where spans and metrics read it.
func TestResolveLogsAVariableOnce(t *testing.T) {
	t.Setenv(traces, "otlp")
	t.Setenv(metrics, "otlp")
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")
	var log bytes.Buffer
	o, err := outputs.Resolve(t.Context(), environ.NewReader(slog.New(slog.NewTextHandler(&log, nil))), outputs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if lines := log.String(); strings.Count(lines, "\n") != 1 || !strings.Contains(lines, "variable=OTEL_EXPORTER_OTLP_TIMEOUT value=soon") {
		t.Errorf("logged %q, want a line about the variable", lines)
	}
}
