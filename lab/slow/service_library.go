package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.opentelemetry.io/otel"
	"golang.org/x/sync/semaphore"
)

// A quota bounds the number of exports by a library's semaphore.
type quota struct {
	exports *semaphore.Weighted
	call    func(context.Context, time.Duration) error
}

func newQuota(call func(context.Context, time.Duration) error) *quota {
	return &quota{exports: semaphore.NewWeighted(1), call: call}
}

// export waits in a library: for the quota, which another request has taken before, or for the next
// attempt.
func (s *shop) export(ctx context.Context, way string, takes time.Duration) error {
	ctx, span := otel.Tracer("shop").Start(ctx, "export")
	defer span.End()
	if way == retrying {
		return send(ctx, takes)
	}
	if err := s.outside.prepare(ctx, "archive", "", takes); err != nil {
		return err
	}
	return s.quota.take(ctx)
}

//go:noinline
func (q *quota) take(ctx context.Context) error {
	if err := q.exports.Acquire(ctx, 1); err != nil {
		return err
	}
	q.exports.Release(1)
	return nil
}

//go:noinline
func send(ctx context.Context, pause time.Duration) error {
	attempts := 0
	attempt := func() (int, error) {
		if attempts++; attempts == 1 {
			return 0, errors.New("the archive is busy")
		}
		return attempts, nil
	}
	_, err := backoff.Retry(ctx, attempt, backoff.WithBackOff(backoff.NewConstantBackOff(pause)))
	return err
}

// archive is the other request. Its client learns from the first bytes of the answer that the quota
// is taken.
func (s *shop) archive(w http.ResponseWriter, r *http.Request) {
	_, _, takes, err := parsePart(r.FormValue("part"))
	if err == nil {
		err = s.quota.archive(r.Context(), takes,
			func() error { return http.NewResponseController(w).Flush() })
	}
	if err != nil {
		panic(fmt.Errorf("archive: %w", err)) // the answer has begun
	}
}

// archive has the quota while the dependency works.
func (q *quota) archive(ctx context.Context, takes time.Duration, announce func() error) error {
	if err := q.exports.Acquire(ctx, 1); err != nil {
		return err
	}
	defer q.exports.Release(1)
	if err := announce(); err != nil {
		return err
	}
	return q.call(ctx, takes)
}
