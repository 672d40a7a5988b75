package flight

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
	"github.com/perfline/perfline/waits/flight/internal/analysis"
)

// restFactor is the length of each rest, as a multiple of the work before. The analysis works for
// about a millisecond between two calls of pause, so that a processor also serves requests.
const restFactor = 4

// errStopped is pause's panic, which ends the analysis at Shutdown: the reader has no other exit.
var errStopped = errors.New("flight: the recorder is shut down")

// An analyst reads a snapshot within the budget.
type analyst struct {
	r       *recorder
	resumed time.Time     // end of the last pause
	used    time.Duration // CPU time of the thread at that time
	stopped bool          // a pause has panicked
}

// analyse reads the snapshot and stores the results of roots.
func (r *recorder) analyse(roots []bridge.Root) {
	defer r.goroutines.Done()
	pprof.SetGoroutineLabels(context.Background()) // drops the labels of Disarm's caller
	results, began, err := r.read(roots)
	r.mark(results)
	found := make([]*waits.Request, len(roots))
	r.mu.Lock()
	now := time.Now()
	for i, root := range roots {
		id := idOf(root)
		switch x := results[id]; {
		case x != nil:
			found[i] = x.request
			r.stats.Analysed++
			r.results.add(id, x)
		case errors.Is(err, errStopped):
			r.stats.Abandoned++
			r.missing.add(id, waiting.Disarmed, now)
		case err != nil:
			r.stats.Failed++
			r.missing.add(id, waiting.Failed, now)
		default:
			r.stats.NotFound++
			r.missing.add(id, r.absence(root, began), now)
		}
	}
	r.results.makeRoom(func(id local.ID, why waiting.Reason) { r.missing.add(id, why, now) })
	r.analysing = nil
	if r.period == nil {
		r.snapshot.data = nil
	}
	r.mu.Unlock()
	if err != nil && !errors.Is(err, errStopped) {
		r.logOnce("analysis",
			"perfline: the analysis of an execution trace failed; the requests in it do not show what they waited for; further failures are counted but not logged", "error", err)
	}
	r.notify(roots, found)
}

// absence returns the reason why a root is missing in the last snapshot, which began at a time. The
// caller holds mu.
func (r *recorder) absence(root bridge.Root, began time.Time) waiting.Reason {
	switch {
	case !root.End.Before(began):
		return waiting.NotInTrace
	case r.lastAt.Sub(began) < r.c.MinAge:
		return waiting.OverBytes
	default:
		return waiting.TooOld
	}
}

// mark notes which results, stored and new, are of requests that have left memory.
func (r *recorder) mark(added map[local.ID]*result) {
	r.mu.Lock()
	held := r.held
	r.mu.Unlock()
	if held == nil {
		return
	}
	ids := slices.Collect(maps.Keys(r.results.requests)) // the analysis alone changes them
	ids = slices.AppendSeq(ids, maps.Keys(added))
	for i, held := range held(ids) {
		for _, x := range []*result{r.results.requests[ids[i]], added[ids[i]]} {
			if x != nil {
				x.gone = !held
			}
		}
	}
}

// read calls the reader, and converts a panic to an error. If Shutdown stops the analysis, read
// returns the results that are complete. began is the begin of the trace.
func (r *recorder) read(roots []bridge.Root) (results map[local.ID]*result, began time.Time,
	err error) {
	wanted := make([]analysis.Root, len(roots))
	for i, root := range roots {
		wanted[i] = analysis.Root{
			TraceID: root.TraceID, SpanID: root.SpanID, Duration: root.End.Sub(root.Start),
		}
	}
	a := &analyst{r: r}
	runtime.LockOSThread() // for the thread's CPU time
	defer runtime.UnlockOSThread()
	defer func() {
		v := recover()
		if a.stopped { // the reader may have recovered the panic
			err = errStopped
			return
		}
		a.countWork()
		if v == nil {
			return
		}
		r.mu.Lock()
		r.stats.Panics++
		r.mu.Unlock()
		err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	}()
	a.sleep(0) // waits for the budget
	r.mu.Lock()
	own := r.own
	r.mu.Unlock()
	requests, began, err := r.process.read(bytes.NewReader(r.snapshot.data), wanted, own, a.pause)
	if a.stopped {
		return nil, began, errStopped
	}
	results = make(map[local.ID]*result, len(requests))
	for i := range requests {
		if i > 0 {
			a.pause()
		}
		q := requests[i] // a pointer into the slice would retain all results
		if id := (local.ID{Trace: q.TraceID, Span: q.RootID}); results[id] == nil {
			results[id] = r.results.prepare(&q)
		}
	}
	return results, began, err
}

// pause counts the work since the last pause, and rests. It panics with errStopped at Shutdown.
func (a *analyst) pause() { a.sleep(restFactor * a.countWork()) }

// countWork counts the work since the last pause, and returns its CPU time. On systems that do not
// measure a thread's CPU time, wall time counts: then the analysis uses less than its budget if the
// process is short of processors.
func (a *analyst) countWork() time.Duration {
	now := time.Now()
	d := now.Sub(a.resumed)
	if used := a.r.process.threadTime(); used > 0 {
		d = used - a.used
	}
	a.r.mu.Lock()
	defer a.r.mu.Unlock()
	a.r.budget.spend(now, d)
	a.r.stats.Analysing += d
	a.r.cost += d
	return d
}

// sleep waits for at least d, until the budget allows more work.
func (a *analyst) sleep(d time.Duration) {
	a.r.mu.Lock()
	d = max(d, a.r.budget.wait(time.Now(), 0))
	a.r.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a.r.stop:
		a.stopped = true
		panic(errStopped)
	}
	a.resumed, a.used = time.Now(), a.r.process.threadTime()
}
