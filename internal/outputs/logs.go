package outputs

import (
	"slices"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlp"
)

const logsExporter = "OTEL_LOGS_EXPORTER"

// resolveLogs finds out where log records go. An endpoint alone means otlp only if marks are to be
// log records: many backends of traces take no logs.
func (o *Outputs) resolveLogs(vars *environ.Reader, c exporter.Config, wanted bool) error {
	if o.Logs = c.Sender; o.Logs != nil {
		return nil
	}
	where := otlp.Config{Endpoint: c.Endpoint, Protocol: c.Protocol, Headers: c.Headers}
	names := environ.List(vars, logsExporter,
		"none, or otlp if marks are log records and there is an endpoint")
	found := slices.Contains(names, "otlp") || c.Endpoint != ""
	if !found && len(names) == 0 && wanted {
		var err error
		if found, err = otlp.HasEndpoint(where, otlp.Logs); err != nil {
			return err
		}
	}
	if !found {
		return nil
	}
	sender, err := o.open(vars, where, otlp.Logs)
	o.Logs = sender
	return err
}
