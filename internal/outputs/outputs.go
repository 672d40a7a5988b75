// Package outputs finds out where spans, metrics and log records go, by a Config and
// OpenTelemetry's variables, and makes what sends them.
package outputs

import (
	"context"
	"errors"
	"fmt"
	"io"

	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/otlpmetrics"
)

// Outputs are where spans, metrics and log records go: checked, and not connected. Spans go to one
// of Sender and Spans, or nowhere.
type Outputs struct {
	Sender exporter.Sender // of encoded spans; nil: they do not go over OTLP
	// the console, or an exporter of the program; nil: they do not go there
	Spans sdktrace.SpanExporter
	Name  string          // of Spans
	Logs  exporter.Sender // of encoded log records; nil: they go nowhere

	// of metrics, once Metrics has been called; nil: they do not go over OTLP
	Points *otlpmetrics.Exporter

	reader func(*resource.Resource) metric.Reader // nil: metrics go nowhere
	opened []interface{ Shutdown(context.Context) error }
}

// Config is what the program gives, in place of variables. Its exporter and its reader are the
// program's until Start is done.
type Config struct {
	Traces  exporter.Config
	Spans   sdktrace.SpanExporter
	Metrics metric.Reader
	Logs    exporter.Config
	AsLogs  bool // marks are to be log records
}

// Resolve finds out where spans and metrics go:
//
//   - Spans go to the Config's exporter, else where OTEL_TRACES_EXPORTER says: otlp, console or
//     none. An endpoint alone means otlp.
//   - Metrics go to the Config's reader, else where OTEL_METRICS_EXPORTER says, and nowhere without
//     both: many backends of traces take no metrics.
//   - Log records go where the Config or OTEL_LOGS_EXPORTER says: otlp or none. If marks are to be
//     log records, an endpoint alone means otlp.
//
// Variables that are wrong and do no harm are logged by vars, and their defaults count. Other wrong
// variables and fields are errors that name the value and the rule. The caller closes Sender, or
// shuts Spans down, and the reader of Metrics; or it does all with Shutdown.
func Resolve(ctx context.Context, vars *environ.Reader, c Config) (*Outputs, error) {
	o := &Outputs{}
	var err error
	if c.Spans != nil {
		o.Spans, o.Name = c.Spans, "Config.SpanExporter"
	} else {
		err = o.resolveTraces(vars, c.Traces)
	}
	switch {
	case err != nil:
	case c.Metrics != nil:
		o.reader = func(*resource.Resource) metric.Reader { return c.Metrics }
	default:
		err = o.resolveMetrics(vars, c.Traces.Logger)
	}
	if err == nil {
		err = o.resolveLogs(vars, c.Logs, c.AsLogs)
	}
	if err != nil {
		return nil, errors.Join(err, o.Shutdown(ctx))
	}
	return o, nil
}

// Metrics makes the reader of metrics, nil if they go nowhere. Metrics over OTLP carry res.
func (o *Outputs) Metrics(res *resource.Resource) metric.Reader {
	if o.reader == nil {
		return nil
	}
	return o.reader(res)
}

// Shutdown closes what Resolve has opened. It is for a program that does not start.
func (o *Outputs) Shutdown(ctx context.Context) error {
	var all error
	for _, opened := range o.opened {
		all = errors.Join(all, opened.Shutdown(ctx))
	}
	return all
}

const tracesExporter = "OTEL_TRACES_EXPORTER"

func (o *Outputs) resolveTraces(vars *environ.Reader, c exporter.Config) (err error) {
	if o.Sender = c.Sender; o.Sender != nil {
		return nil
	}
	where := otlp.Config{Endpoint: c.Endpoint, Protocol: c.Protocol, Headers: c.Headers}
	names := environ.List(vars, tracesExporter, "otlp with an endpoint, else none")
	if len(names) > 1 {
		vars.Ignored(tracesExporter, "spans go to one place: only "+names[0]+" counts")
	}
	if len(names) == 0 || c.Endpoint != "" {
		found, err := otlp.HasEndpoint(where, otlp.Traces)
		if err != nil || !found {
			return err
		}
		names = []string{"otlp"}
	}
	switch names[0] {
	case "none":
		return nil
	case "otlp":
		o.Sender, err = o.open(vars, where, otlp.Traces)
		return err
	}
	if o.Spans, err = stdouttrace.New(); err != nil {
		return fmt.Errorf("exporter: %s %q: %w", tracesExporter, names[0], err)
	}
	o.Name = names[0]
	o.opened = append(o.opened, o.Spans)
	return nil
}

// open returns the sender of a signal.
func (o *Outputs) open(vars *environ.Reader, where otlp.Config,
	signal otlp.Signal) (exporter.Sender, error) {
	settings, err := otlp.Resolve(vars, where, signal)
	if err != nil {
		return nil, err
	}
	s, err := settings.Sender()
	if err != nil {
		return nil, err
	}
	o.opened = append(o.opened, closing{s})
	return sender{s}, nil
}

// A sender is an OTLP sender as an exporter.Sender.
type sender struct{ *otlp.Sender }

func (s sender) Send(ctx context.Context, body []byte) exporter.Answer {
	a := s.Sender.Send(ctx, body)
	return exporter.Answer{
		Err: a.Err, Retry: a.Retry, After: a.After, Unanswered: a.Unanswered, Unknown: a.Unknown,
		TooLarge: a.TooLarge,
		Rejected: a.Rejected, Message: a.Message,
	}
}

// closing has the Shutdown of what only has a Close.
type closing struct{ io.Closer }

func (c closing) Shutdown(context.Context) error { return c.Close() }
