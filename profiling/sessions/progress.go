package sessions

import (
	"context"
	"iter"
	"sync/atomic"
)

// checkEvery is the number of elements that a loop visits between two checks of its context.
const checkEvery = 1 << 12

// A progress counts the elements that post-processing has visited (Scope Profiler, StopProfiler),
// and holds its context. The scheduler preempts post-processing, so that loops need not yield.
type progress struct {
	ctx         context.Context //nolint:containedctx // the only one of the post-processing
	total, done atomic.Int64    // elements
}

// fraction returns the completed part of the work, from 0 to 1.
func (p *progress) fraction() float64 {
	return min(1, float64(p.done.Load())/float64(max(1, p.total.Load())))
}

// each yields the elements of list until the context ends, which the caller must check.
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
