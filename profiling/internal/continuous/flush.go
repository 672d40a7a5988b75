package continuous

import (
	"context"
	"errors"
	"fmt"

	"github.com/perfline/perfline/internal/queue"
)

// Flush takes profiles now, except of leaked goroutines. It returns when all profiles in q, the
// queue that the source's sink fills, are delivered or lost. The error says how many were lost and
// why; to names the receiver in it. It is also an error when the queue gives up or ctx ends: then
// profiles still wait. After [Source.Stop], Flush does nothing.
func Flush[T queue.Item](ctx context.Context, s *Source, q *queue.Queue[T], to string) error {
	before := q.Stats()
	switch err := s.Take(ctx); {
	case errors.Is(err, ErrStopped):
		return nil
	case err != nil:
		return fmt.Errorf("flushing to %s: %w", to, err)
	}
	if err := q.Flush(ctx); err != nil {
		return err
	}
	// Profiles may have been lost before the queue's Flush began.
	after := q.Stats()
	if n := after.Failed + after.Dropped - before.Failed - before.Dropped; n > 0 {
		return fmt.Errorf("%d profiles not delivered to %s: %w", n, to, q.Reason())
	}
	return nil
}
