package main

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
)

// retry waits for a time, as callers do before they try again. The wait is what is under test.
func retry(ctx context.Context, way string, takes time.Duration) error {
	ctx, span := otel.Tracer("shop").Start(ctx, "retry")
	defer span.End()
	if way == sleeping {
		backOff(takes)
		return nil
	}
	return pause(ctx, takes)
}

//go:noinline
func backOff(takes time.Duration) { time.Sleep(takes) }

//go:noinline
func pause(ctx context.Context, takes time.Duration) error {
	timer := time.NewTimer(takes)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
