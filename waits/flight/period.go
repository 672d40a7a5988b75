package flight

import (
	"context"
	"fmt"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/internal/tracelog"
	"github.com/perfline/perfline/internal/waiting"
)

// A period is a time in which the recorder is armed.
type period struct {
	r        *recorder
	recorder flightRecorder // r.control serialises its methods
	began    time.Time
	ended    chan struct{} // closed when the flight recorder is stopped

	// r.mu guards until and auto.
	until time.Time // zero for no end
	auto  bool      // a slow request armed the recorder

	final outcome // of the end, for run to report
}

// An outcome lists counted roots without a result, and the error that is the reason, if any.
type outcome struct {
	roots []bridge.Root
	err   error
}

// run does the work of the period, except for the analysis.
func (p *period) run() {
	defer p.r.goroutines.Done()
	// Drop the labels of the request that armed the recorder.
	pprof.SetGoroutineLabels(context.Background())
	tick, beat := time.NewTicker(tickInterval), time.NewTicker(tracelog.BeatInterval)
	defer tick.Stop()
	defer beat.Stop()
	meter := cputime.NewMeter()
	tracelog.CPU(meter.Read())
	for {
		select {
		case <-beat.C:
			tracelog.Beat()
		case <-tick.C:
			p.tick()
			tracelog.CPU(meter.Read())
		case <-p.ended:
			p.r.report(p.final)
			return
		}
	}
}

// tick takes a snapshot if one is due, and ends the period when its time is over.
func (p *period) tick() {
	r := p.r
	r.control.Lock()
	now := time.Now()
	r.mu.Lock()
	if r.period != p { // another goroutine has ended the period
		r.mu.Unlock()
		r.control.Unlock()
		return
	}
	gone := append(r.dropExpired(now), r.displaced...)
	r.displaced = r.displaced[:0]
	over := !p.until.IsZero() && !now.Before(p.until)
	due := r.due(now, gatherTime) && r.affordable(now)
	r.mu.Unlock()
	var o outcome
	switch {
	case over:
		p.end(true)
	case due:
		o = p.takeSnapshot(now)
	}
	r.control.Unlock()
	r.report(outcome{append(gone, o.roots...), o.err})
}

// end stops the flight recorder. The caller holds r.control, and the period has not ended. The last
// snapshot ignores MinInterval: no later snapshot can contain its requests.
func (p *period) end(last bool) {
	r := p.r
	if last {
		r.mu.Lock()
		r.lastAt = time.Time{}
		r.mu.Unlock()
		p.final = p.takeSnapshot(time.Now())
	}
	p.recorder.Stop()
	now := time.Now()
	r.mu.Lock()
	r.period = nil
	r.stats.Armed += now.Sub(p.began)
	r.disarmed = waiting.NotAnyMore
	if p.auto {
		r.pausedUntil = now.Add(autoPause)
		r.disarmed = waiting.Paused(r.pausedUntil)
	}
	p.final.roots = append(p.final.roots, r.abandon(len(r.waiting), waiting.Disarmed, now)...)
	p.final.roots = append(p.final.roots, r.displaced...)
	r.waiting, r.displaced = nil, nil
	if r.analysing == nil {
		r.snapshot.data = nil
	}
	r.mu.Unlock()
	close(p.ended)
}

// dropExpired removes and counts waiting roots that left the window. The caller holds mu.
func (r *recorder) dropExpired(now time.Time) (late []bridge.Root) {
	n := 0
	for n < len(r.waiting) && now.Sub(r.waiting[n].arrived) > r.c.MinAge+generation {
		n++
	}
	return r.abandon(n, r.hindrance(now), now)
}

// hindrance returns the reason why requests leave the window without a snapshot. The caller holds
// mu.
func (r *recorder) hindrance(now time.Time) waiting.Reason {
	switch {
	case r.analysing != nil:
		return waiting.Analysing
	case !r.affordable(now):
		return waiting.OverBudget
	default:
		return waiting.LeftWindow // the process did not run in time
	}
}

// abandon removes and counts the n oldest roots of the list. The caller holds mu.
func (r *recorder) abandon(n int, why waiting.Reason, now time.Time) []bridge.Root {
	roots := r.dequeue(n)
	for _, root := range roots {
		r.stats.Abandoned++
		r.missing.add(idOf(root), why, now)
	}
	return roots
}

// due reports whether a snapshot is due for a root of at least this age. The caller holds mu.
func (r *recorder) due(now time.Time, age time.Duration) bool {
	return len(r.waiting) > 0 && now.Sub(r.waiting[0].arrived) >= age && r.analysing == nil &&
		!now.Before(r.lastAt.Add(r.c.MinInterval))
}

// affordable reports whether the budget suffices for an analysis as costly as the last one. An
// analysis that has to wait for the budget ends too late for exported spans, and meanwhile no other
// snapshot is taken. An analysis that needs more than half of the budget is late in any case, and
// may begin at once. The caller holds mu.
func (r *recorder) affordable(now time.Time) bool {
	cost := r.cost
	if cost > r.budget.limit/2 {
		cost = 0
	}
	end := now.Add((1 + restFactor) * cost) // some of the budget returns during the analysis
	return r.budget.wait(end, cost) <= 0
}

// dequeue removes the n oldest roots from the list. The caller holds mu.
func (r *recorder) dequeue(n int) []bridge.Root {
	if n == 0 {
		return nil
	}
	roots := make([]bridge.Root, n)
	for i := range roots {
		roots[i] = r.waiting[i].root
	}
	r.waiting = slices.Delete(r.waiting, 0, n)
	return roots
}

// takeSnapshot writes a snapshot for the waiting roots, and starts its analysis. It does nothing if
// no snapshot is due. The caller holds r.control, and the period has not ended.
func (p *period) takeSnapshot(now time.Time) outcome {
	r := p.r
	r.mu.Lock()
	if !r.due(now, settleTime) || r.closed {
		r.mu.Unlock()
		return outcome{}
	}
	n := 0
	for n < len(r.waiting) && now.Sub(r.waiting[n].arrived) >= settleTime {
		n++
	}
	roots := r.dequeue(n)
	slices.SortStableFunc(roots, compareRoots)
	r.analysing, r.lastAt, r.cost = roots, now, 0
	r.mu.Unlock()

	r.snapshot.reset()
	_, err := p.recorder.WriteTo(&r.snapshot)
	if size := r.snapshot.size; err == nil && size > r.snapshot.max {
		err = fmt.Errorf(
			"snapshot of %d bytes: must be at most four times Config.MaxBytes, which is %d: raise it",
			size, r.c.MaxBytes)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Writing += time.Since(now)
	if err != nil {
		r.stats.SnapshotsFailed++
		r.stats.Failed += uint64(len(roots))
		r.analysing = nil
		for _, root := range roots {
			r.missing.add(idOf(root), waiting.Failed, now)
		}
		return outcome{roots, err}
	}
	r.stats.Snapshots++
	r.stats.SnapshotBytes += uint64(r.snapshot.size)
	r.goroutines.Add(1)
	go r.analyse(roots)
	return outcome{}
}

// report informs the log and the functions of Watch. The caller holds no lock.
func (r *recorder) report(o outcome) {
	if o.err != nil {
		r.logOnce("snapshot",
			"perfline: a snapshot of the execution trace failed; the requests in it do not show what they waited for; further failures are counted but not logged", "error", o.err)
	}
	r.notify(o.roots, nil)
}

// A snapshot is a part of the execution trace in memory.
type snapshot struct {
	data []byte
	max  int
	size int // of all writes
}

// reset empties the snapshot. The first snapshot gets its usual size at once: growing, with copies,
// took tens of milliseconds in a busy process.
func (s *snapshot) reset() {
	if s.size = 0; s.data == nil {
		s.data = make([]byte, 0, min(s.max/4, 16<<20))
	}
	s.data = s.data[:0]
}

// Write appends b unless the snapshot would exceed the size limit. Write counts the bytes of b in
// all cases. Write never returns an error.
func (s *snapshot) Write(b []byte) (int, error) {
	s.size += len(b)
	if s.size <= s.max {
		s.data = append(s.data, b...)
	}
	return len(b), nil
}
