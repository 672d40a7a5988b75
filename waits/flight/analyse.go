package flight

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"time"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/waits"
	"github.com/perfline/perfline/waits/flight/internal/analysis"
)

// The analysis works for about a millisecond, until it calls pause, and then rests for so many
// times as long. A processor that it uses has time for requests in between.
const restFactor = 4

// errStopped is the panic that ends the analysis at Shutdown. Its reader has no other way to stop.
var errStopped = errors.New("flight: the recorder is shut down")

// An analyst reads a snapshot within the budget.
type analyst struct {
	r       *recorder
	resumed time.Time     // when the last pause ended
	used    time.Duration // CPU time of the thread at that moment
	stopped bool          // a pause has panicked
}

// analyse reads the snapshot and makes the results of roots.
func (r *recorder) analyse(roots []bridge.Root) {
	defer r.goroutines.Done()
	pprof.SetGoroutineLabels(context.Background()) // not the labels of the code that called Disarm
	results, err := r.read(roots)
	found := make([]*waits.Request, len(roots))
	for i, root := range roots {
		found[i] = results[key{root.TraceID, root.SpanID}].request
	}
	r.mu.Lock()
	for i, root := range roots {
		switch {
		case found[i] != nil:
			r.stats.Analysed++
			k := key{root.TraceID, root.SpanID}
			r.results.add(k, found[i], results[k].bytes)
		case errors.Is(err, errStopped):
			r.stats.Abandoned++
		case err != nil:
			r.stats.Failed++
		default:
			r.stats.NotFound++
		}
	}
	r.reading = false
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

// read calls the reader, and returns its panic as an error.
func (r *recorder) read(roots []bridge.Root) (results map[key]result, err error) {
	wanted := make([]analysis.Root, len(roots))
	for i, root := range roots {
		wanted[i] = analysis.Root{TraceID: root.TraceID, SpanID: root.SpanID,
			Duration: root.End.Sub(root.Start)}
	}
	a := &analyst{r: r}
	runtime.LockOSThread() // whose CPU time is the analyst's
	defer runtime.UnlockOSThread()
	defer func() {
		v := recover()
		if a.stopped { // the reader may have made an error of the panic
			results, err = nil, errStopped
			return
		}
		a.countWork()
		if v == nil {
			return
		}
		r.mu.Lock()
		r.stats.Panics++
		r.mu.Unlock()
		results, err = nil, fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	}()
	a.sleep(0) // the budget may be used up
	requests, err := r.process.read(bytes.NewReader(r.snapshot.data), wanted, a.pause)
	results = make(map[key]result, len(requests))
	for i := range requests {
		if i > 0 {
			a.pause()
		}
		q := &requests[i]
		results[key{q.TraceID, q.RootID}] = result{q, sizeOf(q)}
	}
	return results, err
}

// pause counts the work since the last pause, and rests. It panics with errStopped at Shutdown.
func (a *analyst) pause() { a.sleep(restFactor * a.countWork()) }

// worked counts the work since the last pause, and returns its length in CPU time. Where that is
// not known, wall time counts: then the analysis uses less than its budget in a process that is
// short of processors.
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
	return d
}

// sleep waits for at least d, and until there is something left to spend.
func (a *analyst) sleep(d time.Duration) {
	a.r.mu.Lock()
	d = max(d, a.r.budget.wait(time.Now()))
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
