package recipes

import (
	"log/slog"

	"go.opentelemetry.io/contrib/bridges/otelslog"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgelog"
	"github.com/perfline/perfline/marks"
)

// NewLogger returns a logger that writes lines with the ids of their span, sends the same records
// over OTLP, and makes marks of warnings.
func NewLogger(pl *perfline.Pipeline, lines slog.Handler) *slog.Logger {
	records := otelslog.NewHandler("shop",
		otelslog.WithLoggerProvider(bridgelog.NewLoggerProvider(pl, nil)))
	return slog.New(marks.NewHandler(slog.NewMultiHandler(bridge.NewHandler(lines), records), nil))
}
