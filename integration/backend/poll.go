package backend

import (
	"context"
	"time"
)

// Poll calls f until it reports true or an error, or ctx ends.
func Poll(ctx context.Context, f func() (bool, error)) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := f(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
