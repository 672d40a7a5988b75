// Package outputs selects the outputs of spans, log records and metrics, by a Config and by
// OpenTelemetry's variables. Package exporter reads the endpoints, and sends spans and log records
// over OTLP.
//
// A wrong variable causes a log line, and its default counts. A wrong field is an error with the
// value and the rule, and so is a wrong variable for an address or credentials.
package outputs

import (
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlp"
)

const (
	tracesExporter = "OTEL_TRACES_EXPORTER"
	logsExporter   = "OTEL_LOGS_EXPORTER"
)

// Spans selects the output of spans: OTLP, the console as OTEL_TRACES_EXPORTER says, or none. An
// endpoint alone selects OTLP. The caller shuts the console down.
func Spans(vars *environ.Reader, c exporter.Config) (
	overOTLP bool, console sdktrace.SpanExporter, err error,
) {
	if c.Sender != nil {
		return true, nil, nil
	}
	names := environ.List(vars, tracesExporter, "otlp with an endpoint, else none")
	if len(names) > 1 {
		vars.Ignored(tracesExporter, "spans go to one place: only "+names[0]+" counts")
	}
	switch {
	case len(names) == 0, c.Endpoint != "":
		overOTLP, err = hasEndpoint(c, otlp.Traces)
		return overOTLP, nil, err
	case names[0] != "console":
		return names[0] == "otlp", nil, nil
	}
	if console, err = stdouttrace.New(); err != nil {
		return false, nil, fmt.Errorf("exporter: %s %q: %w", tracesExporter, names[0], err)
	}
	return false, console, nil
}

// LogRecords reports whether the Config or OTEL_LOGS_EXPORTER sends log records over OTLP. An
// endpoint by variable alone selects OTLP only if marks become log records: many backends of traces
// refuse logs.
func LogRecords(vars *environ.Reader, c exporter.Config, marks bool) (bool, error) {
	if c.Sender != nil {
		return true, nil
	}
	names := environ.List(vars, logsExporter,
		"none, or otlp if marks are log records and there is an endpoint")
	if len(names) == 0 && c.Endpoint == "" && marks {
		return hasEndpoint(c, otlp.Logs)
	}
	return slices.Contains(names, "otlp") || c.Endpoint != "", nil
}

func hasEndpoint(c exporter.Config, signal otlp.Signal) (bool, error) {
	where := otlp.Config{Endpoint: c.Endpoint, Protocol: c.Protocol, Headers: c.Headers}
	return otlp.HasEndpoint(where, signal)
}
