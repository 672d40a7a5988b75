// Package outputs selects the outputs of spans, log records and metrics, by a Config and by
// OpenTelemetry's variables. Package exporter reads the endpoints, and sends spans and log records
// over OTLP.
//
// For a wrong variable, the package logs a line and uses the default. A wrong variable for an
// address or credentials causes an error. A wrong field also causes an error. Errors contain the
// value and the rule.
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

// Spans selects the output of spans. The first case that applies decides:
//
//   - OTLP, if c contains a Sender or an Endpoint.
//   - OTLP, the console or no output, as OTEL_TRACES_EXPORTER selects.
//   - OTLP, if another variable sets an endpoint.
//   - No output.
//
// If the console is the output, the result console is an exporter that prints spans. The caller
// must shut this exporter down. Otherwise, the result console is nil.
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

// LogRecords reports whether log records are sent over OTLP. LogRecords returns true in these
// cases:
//
//   - c contains a Sender or an Endpoint.
//   - OTEL_LOGS_EXPORTER is otlp.
//   - OTEL_LOGS_EXPORTER is unset, another variable sets an endpoint, and the parameter marks is
//     true.
//
// The parameter marks is true if marks become log records. If the parameter is false, an endpoint
// variable alone does not select OTLP. The reason is that many backends of traces reject logs.
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
