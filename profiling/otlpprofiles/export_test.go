package otlpprofiles

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/profiling/internal/continuous"
)

// An Exporter is what New returns, with more methods for tests.
type Exporter = profileExporter

// NewExporter is New.
var NewExporter = newExporter

// StartProcess is Start with the profiles of another process.
func (e *profileExporter) StartProcess(ctx context.Context, res *resource.Resource, log *slog.Logger, of continuous.Process) error {
	return e.start(ctx, res, log, of)
}

// Add queues a request with one profile, as if it had been taken.
func (e *profileExporter) Add(body []byte) { (&sink{queue: e.started().queue}).add(request{body, 1}) }
