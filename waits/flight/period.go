package flight

import (
	"context"
	"fmt"
	"runtime/pprof"
	"time"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/internal/tracelog"
)

// A period is a time in which the recorder is armed.
type period struct {
	r        *recorder
	recorder flightRecorder // r.control serialises its methods
	began    time.Time
	ended    chan struct{} // closed when the flight recorder is stopped

	// r.mu guards these.
	until time.Time // zero for no end
	auto  bool      // a slow request armed the recorder

	final outcome // of the end; run reports it
}

// An outcome has the roots that get no result, which are counted already, and the reason if it is
// an error.
type outcome struct {
	roots []bridge.Root
	err   error
}

// run does all work of the period, except for the analysis.
func (p *period) run() {
	defer p.r.goroutines.Done()
	// The goroutine inherited the labels of the request that armed the recorder.
	pprof.SetGoroutineLabels(context.Background())
	tick := time.NewTicker(tickInterval)
	defer tick.Stop()
	meter := cputime.NewMeter()
	for {
		tracelog.CPU(meter.Read())
		select {
		case <-tick.C:
			p.tick()
		case <-p.ended:
			p.r.report(p.final)
			return
		}
	}
}

// tick takes a snapshot if one is due, and ends the period when its time is over.
func (p *period) tick() {
	r, now := p.r, time.Now()
	r.mu.Lock()
	late := outcome{roots: r.dropExpired(now)}
	over := !p.until.IsZero() && !now.Before(p.until)
	due := r.due(now, gatherTime)
	r.mu.Unlock()
	r.report(late)
	if over || due {
		r.report(p.act())
	}
}

// act does what tick has to do.
func (p *period) act() outcome {
	r := p.r
	r.control.Lock()
	defer r.control.Unlock()
	select {
	case <-p.ended:
		return outcome{}
	default:
	}
	now := time.Now()
	r.mu.Lock()
	over := !p.until.IsZero() && !now.Before(p.until) // Arm may have moved it
	r.mu.Unlock()
	if over {
		p.end(true)
		return outcome{}
	}
	return p.takeSnapshot(now)
}

// end stops the flight recorder. The caller holds r.control, and the period has not ended. The last
// snapshot does not wait for MinInterval: no other one can have its requests.
func (p *period) end(last bool) {
	r := p.r
	var left outcome
	if last {
		r.mu.Lock()
		r.lastAt = time.Time{}
		r.mu.Unlock()
		left = p.takeSnapshot(time.Now())
	}
	p.recorder.Stop()
	now := time.Now()
	r.mu.Lock()
	r.period = nil
	r.stats.Armed += now.Sub(p.began)
	if p.auto {
		r.pausedUntil = now.Add(autoPause)
	}
	r.stats.Abandoned += uint64(len(r.waiting))
	left.roots = append(left.roots, r.waiting...)
	p.final, r.waiting, r.arrivals = left, nil, nil
	if !r.reading {
		r.snapshot.data = nil
	}
	r.mu.Unlock()
	close(p.ended)
}

// expired takes the roots that have left the window while they waited, and counts them. The caller
// holds mu.
func (r *recorder) dropExpired(now time.Time) (late []bridge.Root) {
	n := 0
	for n < len(r.arrivals) && now.Sub(r.arrivals[n]) > r.c.MinAge+generation {
		n++
	}
	r.stats.Abandoned += uint64(n)
	return r.dequeue(n)
}

// due reports whether a snapshot may be taken now, for a root of at least this age. The caller
// holds mu.
func (r *recorder) due(now time.Time, age time.Duration) bool {
	return len(r.arrivals) > 0 && now.Sub(r.arrivals[0]) >= age && !r.reading &&
		!now.Before(r.lastAt.Add(r.c.MinInterval))
}

// dequeue takes the n oldest roots that wait. The caller holds mu.
func (r *recorder) dequeue(n int) []bridge.Root {
	if n == 0 {
		return nil
	}
	roots := append([]bridge.Root(nil), r.waiting[:n]...)
	r.waiting = append(r.waiting[:0], r.waiting[n:]...)
	r.arrivals = append(r.arrivals[:0], r.arrivals[n:]...)
	return roots
}

// take writes a snapshot for the roots that wait, and starts its analysis. It does nothing if no
// snapshot may be taken. The caller holds r.control, and the period has not ended.
func (p *period) takeSnapshot(now time.Time) outcome {
	r := p.r
	r.mu.Lock()
	if !r.due(now, settleTime) || r.closed {
		r.mu.Unlock()
		return outcome{}
	}
	n := 0
	for n < len(r.arrivals) && now.Sub(r.arrivals[n]) >= settleTime {
		n++
	}
	roots := r.dequeue(n)
	r.reading, r.lastAt = true, now
	r.mu.Unlock()

	r.snapshot.reset()
	_, err := p.recorder.WriteTo(&r.snapshot)
	if err == nil {
		err = r.snapshot.check()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Writing += time.Since(now)
	if err != nil {
		r.stats.SnapshotsFailed++
		r.stats.Failed += uint64(len(roots))
		r.reading = false
		return outcome{roots, err}
	}
	r.stats.Snapshots++
	r.stats.SnapshotBytes += uint64(r.snapshot.size)
	r.goroutines.Add(1)
	go r.analyse(roots)
	return outcome{}
}

// report tells the log and the functions that watch. The caller holds no lock.
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
	size int // of all that was written
}

// reset empties the snapshot. The first one gets room for a usual one at once: growing, with
// copies, took tens of milliseconds in a busy process.
func (s *snapshot) reset() {
	if s.size = 0; s.data == nil {
		s.data = make([]byte, 0, min(s.max/4, 16<<20))
	}
	s.data = s.data[:0]
}

// Write keeps what fits. It counts the rest, for the error's text.
func (s *snapshot) Write(b []byte) (int, error) {
	s.size += len(b)
	if s.size <= s.max {
		s.data = append(s.data, b...)
	}
	return len(b), nil
}

// check returns an error if the snapshot is not complete.
func (s *snapshot) check() error {
	if s.size > s.max {
		return fmt.Errorf("snapshot of %d bytes: must be at most four times Config.MaxBytes, which is %d: raise it", s.size, s.max/4)
	}
	return nil
}
