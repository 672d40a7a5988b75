package sessions

import (
	"context"
	"iter"
	"sync/atomic"
)

// checkEvery is how many elements a loop of post-processing goes through between two checks of its
// context.
const checkEvery = 1 << 12

// A progress cuts the post-processing of a session into slices, and counts them (Scope Profiler,
// StopProfiler). The scheduler preempts post-processing like any other goroutine, so that a slice
// need not yield.
type progress struct {
	ctx         context.Context //nolint:containedctx // of the whole post-processing, which has no other
	total, done atomic.Int64    // elements
}

// fraction returns how much of the work is done, from 0 to 1.
func (p *progress) fraction() float64 {
	return min(1, float64(p.done.Load())/float64(max(1, p.total.Load())))
}

// each yields the elements of list, until the context ends. The caller checks the context
// afterwards.
func each[T any](p *progress, list []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for len(list) > 0 && p.ctx.Err() == nil {
			slice := list[:min(checkEvery, len(list))]
			for i := range slice {
				if !yield(&slice[i]) {
					return
				}
			}
			list = list[len(slice):]
			p.done.Add(int64(len(slice)))
		}
	}
}
