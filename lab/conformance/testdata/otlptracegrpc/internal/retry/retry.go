// Package retry makes attempts by perfline's queue, which has its own pauses. It is in place of OpenTelemetry's package, whose tests it runs.
package retry

import (
	"context"
	"time"

	"github.com/perfline/perfline/conformance/adapter"
)

// Config has the fields of OpenTelemetry's. A queue has no intervals: InitialInterval and MaxInterval have no effect.
type Config struct {
	Enabled                                      bool
	InitialInterval, MaxInterval, MaxElapsedTime time.Duration
}

var DefaultConfig = Config{Enabled: true, InitialInterval: 5 * time.Second, MaxInterval: 30 * time.Second, MaxElapsedTime: time.Minute}

type (
	RequestFunc  func(context.Context, func(context.Context) error) error
	EvaluateFunc func(error) (bool, time.Duration)
)

func (c Config) RequestFunc(evaluate EvaluateFunc) RequestFunc {
	return func(ctx context.Context, fn func(context.Context) error) error {
		return adapter.Retry(ctx, c.MaxElapsedTime, func(ctx context.Context) (err error, retry bool, after time.Duration) {
			if err = fn(ctx); err != nil && c.Enabled {
				retry, after = evaluate(err)
			}
			return err, retry, after
		})
	}
}
