package main

import (
	"context"
	"log/slog"
	"os"
	"runtime"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/waits"
)

// startTelemetry starts perfline, and makes marks of warnings in the log.
func startTelemetry(ctx context.Context, recorder waits.Recorder) (*perfline.Pipeline, error) {
	lines := slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})
	pl, err := perfline.Start(ctx, perfline.Config{
		Service: "shop",
		Keep:    bridge.KeepPolicy{Slow: slow},
		Waits:   recorder,
		// With metrics, all measures are in the histogram perfline.measure.duration. Their names
		// are constants.
		Measures: bridge.MeasureConfig{Names: []string{"*"}},

		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)), // says when traces do not arrive
		// Clients of the live page and of the service may record sessions, and see all frames.
		// Both allow clients on this machine.
		Sessions: sessions.Config{
			Policy: profiling.Policy{Remote: true, Modules: []string{profiling.ModuleAny}},
		},
	})
	if err != nil {
		return nil, err
	}
	// Warnings become marks of the request they are about; errors are printed too.
	slog.SetDefault(slog.New(marks.NewHandler(lines, slog.LevelWarn)))
	// The runtime makes profiles of contention only with these settings.
	runtime.SetMutexProfileFraction(10)
	runtime.SetBlockProfileRate(int(100 * time.Microsecond))
	return pl, nil
}

// flush sends the spans so far, and gives the entries so far to observers.
func flush(ctx context.Context, pl *perfline.Pipeline) {
	if err := pl.Flush(ctx); err != nil {
		slog.Warn("not all spans are delivered yet", "error", err) // Shutdown has the count
	}
	observer.ProcessTimeline().Deliver()
}

// stopTelemetry delivers the rest, also when ctx has ended, and returns the losses.
func stopTelemetry(ctx context.Context, pl *perfline.Pipeline) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return pl.Shutdown(ctx)
}
