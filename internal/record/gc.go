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
// timeline's passes make the entries, so that the root's mu orders them with Observe and
// Disconnect. The cleanup that runs after a garbage collection, on a goroutine of the runtime's,
// only requests a pass.
type gcWatch struct {
	tl    *Timeline
	ended atomic.Bool // they are not wanted any more; set with the root's mu held

	// Guarded by the root's mu.
	cycle int64         // the last one that was told, or had ended when the watch began
	seen  time.Duration // when that was, since the root's origin
	stats debug.GCStats // kept for its slices
	heap  [2]metrics.Sample
}

// watchGC begins a watch for t, a process timeline, or ends it. r.mu is held.
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
// no monotonic reading. The garbage collector does not use its clock, and cleanups, which run
// outside, must not touch its timer: that is fatal.
func (r *root) bubbled() bool {
	return r.epoch == r.epoch.Round(0) //nolint:staticcheck // Equal does not look at the monotonic reading
}

// A sentinel is an object that nothing refers to. The pointer keeps it out of the blocks that small
// objects share and live in.
type sentinel struct{ _ *byte }

// await lets the next collection that finds a new sentinel call collected.
func (g *gcWatch) await() { runtime.AddCleanup(new(sentinel), (*gcWatch).collected, g) }

// collected must not wait for anything: the runtime has other cleanups to run.
func (g *gcWatch) collected() {
	if g.ended.Load() {
		return
	}
	g.await()
	// it is the caller's, and might keep the runtime's goroutine
	if r := g.tl.root; r.scheduler != nil {
		go r.arm()
	} else {
		r.arm()
	}
}

// collectGC adds an entry to the pass for each garbage collection since the last pass, and reports
// whether there was one. r.mu is held.
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
	debug.ReadGCStats(&g.stats) // measured at 0.8 µs; it does not stop the world
	n := g.stats.NumGC - g.cycle
	known := min(n, int64(len(g.stats.Pause)))
	r.totals[kindGC].Overflow += uint64(n - known)
	for i := known - 1; i >= 0; i-- { // oldest first
		attrs := []slog.Attr{slog.Int64("cycle", g.stats.NumGC-i)}
		if i == 0 { // of the others it is not known any more
			attrs = g.appendHeap(attrs)
		}
		end := now
		if r.clock == nil {
			g.seen = collectionEnd(now-wall.Sub(g.stats.PauseEnd[i]), g.seen, now)
			end = g.seen
		}
		pause := g.stats.Pause[i]
		r.entries = append(r.entries, &Entry{
			name: "gc", start: end - pause, duration: pause, at: now, tl: g.tl, attrs: attrs,
			kind: kindGC,
		})
	}
	g.cycle, g.seen = g.stats.NumGC, now
	return n > 0
}

// lockedNow is now for callers that hold r.mu. They do not call a clock of the program: its time is
// what [root.lock] has read.
func (r *root) lockedNow() time.Duration {
	if r.clock != nil {
		return time.Duration(r.clockRead.Load())
	}
	return r.now()
}

// collectionEnd returns the end of a collection that ended at end by the wall clock, which may have
// been stepped: not before seen, and not after now.
func collectionEnd(end, seen, now time.Duration) time.Duration { return min(max(end, seen), now) }

// appendHeap appends what the runtime says of the heap after its last collection.
func (g *gcWatch) appendHeap(attrs []slog.Attr) []slog.Attr {
	metrics.Read(g.heap[:])
	for i, key := range [...]string{"heapLive", "heapGoal"} {
		// else this runtime has it no more
		if v := g.heap[i].Value; v.Kind() == metrics.KindUint64 {
			attrs = append(attrs, slog.Uint64(key, v.Uint64()))
		}
	}
	return attrs
}
