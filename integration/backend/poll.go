package backend

import (
	"context"
	"time"
)

// Poll calls f until it reports true or an error, or ctx ends. It calls f less often the longer
// that takes: a call may cost a program of the other side some work.
func Poll(ctx context.Context, f func() (bool, error)) error {
	const longest = 200 * time.Millisecond
	pause := 10 * time.Millisecond
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		if ok, err := f(); ok || err != nil {
			return err
		}
		timer.Reset(pause)
		pause = min(pause*3/2, longest)
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
