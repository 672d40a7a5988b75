package otlpprofiles

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/internal/continuous"
	"github.com/perfline/perfline/profiling"
)

// An Exporter is what New returns, with more methods for tests.
type Exporter struct {
	*continuous.Exporter
	delivery *continuous.Delivery
}

// NewExporter is New.
func NewExporter(c Config) *Exporter {
	e, r := &Exporter{}, receiver(c)
	open := r.Open
	r.Open = func(env continuous.Environment) (d *continuous.Delivery, err error) {
		e.delivery, err = open(env)
		return e.delivery, err
	}
	e.Exporter = continuous.NewExporter(r)
	return e
}

// StartProcess is Start with the profiles of another process.
func (e *Exporter) StartProcess(ctx context.Context, res *resource.Resource, log *slog.Logger, of continuous.Process) error {
	_, err := continuous.StartExporters(ctx, continuous.Environment{
		Resource: res, Logger: log, Process: func(context.Context, profiling.Selection) continuous.Process { return of },
	}, e.Exporter)
	return err
}

// Add queues a request with one profile, as if it had been taken.
func (e *Exporter) Add(body []byte) { e.delivery.Sink.(*sink).add(request{body, 1}) }
