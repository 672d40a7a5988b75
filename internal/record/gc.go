package record

import (
	"log/slog"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// A gcWatch makes the entries of type GC while observers of a process timeline want them. The
// entries are made in a pass of the timeline, so that the root's mu orders them with Observe and
// Disconnect. The cleanup that runs after a garbage collection, on a goroutine of the runtime, only
// requests a pass.
type gcWatch struct {
	tl    *Timeline
	ended atomic.Bool // no observer wants the entries; set with the root's mu held

	// The root's mu guards the fields below.
	cycle int64         // the last cycle with an entry, or the last one before the watch
	seen  time.Duration // the end of that cycle, since the root's origin
	stats debug.GCStats // reused, for its slices
	heap  [2]metrics.Sample
}

// watchGC starts or stops the watch of t, a process timeline. r.mu is held.
func (r *root) watchGC(t *Timeline, wanted bool) {
	switch {
	case wanted && r.gc == nil && !r.bubbled():
		g := &gcWatch{tl: t, seen: r.lockedNow(),
			heap: [2]metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/goal:bytes"}}}
		debug.ReadGCStats(&g.stats)
		g.cycle = g.stats.NumGC
		g.await()
		r.gc = g
	case !wanted && r.gc != nil:
		r.gc.ended.Store(true)
		r.gc = nil
	}
}

// bubbled reports whether the timeline was made in a bubble of testing/synctest, where times have
// no monotonic reading. The garbage collector does not use the clock of the bubble. A cleanup runs
// outside the bubble, where touching a timer of the bubble is fatal.
func (r *root) bubbled() bool {
	return r.epoch == r.epoch.Round(0) //nolint:staticcheck // Equal ignores the monotonic reading
}

// A sentinel is an object without references, for a cleanup after the next garbage collection. The
// pointer keeps a sentinel out of the blocks that the runtime shares between small objects.
type sentinel struct{ _ *byte }

// await arranges a call of collected after the next garbage collection.
func (g *gcWatch) await() { runtime.AddCleanup(new(sentinel), (*gcWatch).collected, g) }

// collected does not block: the runtime runs all cleanups on a few goroutines.
func (g *gcWatch) collected() {
	if g.ended.Load() {
		return
	}
	g.await()
	// The program's scheduler may block, which must not stop the runtime's goroutine.
	if r := g.tl.root; r.scheduler != nil {
		go r.arm()
	} else {
		r.arm()
	}
}

// collectGC adds an entry for each garbage collection since the last pass, and reports whether
// there was any. r.mu is held.
func (r *root) collectGC() bool {
	g := r.gc
	if g == nil {
		return false
	}
	wall := time.Now()
	now := wall.Sub(r.epoch) // the monotonic reading of the same instant
	if r.clock != nil {
		now = r.lockedNow()
	}
	debug.ReadGCStats(&g.stats) // takes 0.8 µs and does not stop the world
	n := g.stats.NumGC - g.cycle
	known := min(n, int64(len(g.stats.Pause)))
	r.totals[kindGC].Overflow += uint64(n - known)
	for i := known - 1; i >= 0; i-- { // oldest first
		attrs := []slog.Attr{slog.Int64("cycle", g.stats.NumGC-i)}
		if i == 0 { // the runtime has the heap sizes of the last collection only
			attrs = g.appendHeap(attrs)
		}
		end := now
		if r.clock == nil {
			g.seen = collectionEnd(now-wall.Sub(g.stats.PauseEnd[i]), g.seen, now)
			end = g.seen
		}
		pause := g.stats.Pause[i]
		r.passEntries = append(r.passEntries, &Entry{
			name: "gc", start: end - pause, duration: pause, at: now, tl: g.tl, attrs: attrs,
			kind: kindGC,
		})
	}
	g.cycle, g.seen = g.stats.NumGC, now
	return n > 0
}

// lockedNow is now with r.mu held. lockedNow does not call a program's clock, which [root.lock] has
// read.
func (r *root) lockedNow() time.Duration {
	if r.clock != nil {
		return time.Duration(r.clockRead.Load())
	}
	return r.now()
}

// collectionEnd returns end, bounded by seen and now: the wall clock of end may have been stepped.
func collectionEnd(end, seen, now time.Duration) time.Duration { return min(max(end, seen), now) }

// appendHeap appends the heap sizes after the last collection.
func (g *gcWatch) appendHeap(attrs []slog.Attr) []slog.Attr {
	metrics.Read(g.heap[:])
	for i, key := range [...]string{"heapLive", "heapGoal"} {
		if v := g.heap[i].Value; v.Kind() == metrics.KindUint64 { // the runtime has the metric
			attrs = append(attrs, slog.Uint64(key, v.Uint64()))
		}
	}
	return attrs
}
