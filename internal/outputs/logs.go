package outputs

import (
	"fmt"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlp"
)

const logsExporter = "OTEL_LOGS_EXPORTER"

// resolveLogs finds out where log records go. An endpoint alone means otlp only if marks are to be log records: many backends of
// traces take no logs.
func (o *Outputs) resolveLogs(vars *environ.Reader, c exporter.Config, wanted bool) error {
	if o.Logs = c.Sender; o.Logs != nil {
		return nil
	}
	where := otlp.Config{Endpoint: c.Endpoint, Protocol: c.Protocol, Headers: c.Headers}
	name := environ.Get(logsExporter)
	switch {
	case c.Endpoint != "":
		name = "otlp"
	case name == "" && wanted:
		found, err := otlp.HasEndpoint(where, otlp.Logs)
		if err != nil || !found {
			return err
		}
		name = "otlp"
	}
	switch name {
	case "", "none":
		return nil
	case "otlp":
		sender, err := o.open(vars, where, otlp.Logs)
		o.Logs = sender
		return err
	default:
		return fmt.Errorf("exporter: %w", environ.Error(logsExporter))
	}
}
