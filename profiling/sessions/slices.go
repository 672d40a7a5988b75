package sessions

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// sliceSize is how many events are gone through between two looks at the clock.
const sliceSize = 1 << 12

// slice is how long post-processing works before it lets others have the processor.
const slice = 2 * time.Millisecond

// A progress cuts the post-processing of a session into slices, and tells how far it is
// (Scope Profiler, StopProfiler).
type progress struct {
	ctx   context.Context //nolint:containedctx // of the whole post-processing, which has no other
	total atomic.Int64    // steps of sliceSize, as far as that is known before
	done  atomic.Int64
	began time.Time // of this slice
	seen  int       // events, since done was counted
}

// expect says how many steps there will be.
func (p *progress) expect(steps int) { p.total.Store(int64(steps)) }

// after is called after something has gone through n more events. It fails when nobody wants the
// session any more.
func (p *progress) after(n int) error {
	if p.seen += n; p.seen < sliceSize {
		return nil
	}
	p.done.Add(int64(p.seen / sliceSize))
	p.seen %= sliceSize
	return p.rest()
}

// rest lets others have the processor if it is time to. It fails when nobody wants the session any more.
func (p *progress) rest() error {
	if now := time.Now(); now.Sub(p.began) >= slice {
		runtime.Gosched()
		p.began = time.Now()
	}
	return p.ctx.Err()
}

// fraction is how far it is, from 0 to 1.
func (p *progress) fraction() float64 {
	return min(1, float64(p.done.Load())/float64(max(1, p.total.Load())))
}
