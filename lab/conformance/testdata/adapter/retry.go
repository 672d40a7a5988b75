package adapter

import (
	"context"
	"time"
)

// RetryConfig has the fields of OpenTelemetry's. A queue has no intervals: InitialInterval and MaxInterval have no effect.
type RetryConfig struct {
	Enabled                                      bool
	InitialInterval, MaxInterval, MaxElapsedTime time.Duration
}

var DefaultRetryConfig = RetryConfig{Enabled: true, InitialInterval: 5 * time.Second, MaxInterval: 30 * time.Second, MaxElapsedTime: time.Minute}

type (
	RequestFunc  func(context.Context, func(context.Context) error) error
	EvaluateFunc func(error) (bool, time.Duration)
)

func (c RetryConfig) RequestFunc(evaluate EvaluateFunc) RequestFunc {
	return func(ctx context.Context, fn func(context.Context) error) error {
		return Retry(ctx, c.MaxElapsedTime, func(ctx context.Context) (err error, retry bool, after time.Duration) {
			if err = fn(ctx); err != nil && c.Enabled {
				retry, after = evaluate(err)
			}
			return err, retry, after
		})
	}
}
