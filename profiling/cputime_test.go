package profiling

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/profiling/internal/sampling"
)

// useCPU uses some of the process's CPU time, with the clock's own calls.
func useCPU(t *testing.T, length time.Duration) {
	t.Helper()
	before := cputime.Process()
	if before == 0 {
		t.Skip("the process's CPU time is not known on this system")
	}
	for cputime.Process()-before < length {
	}
}

// A trace has the CPU time that the process used, unless its samples are not of that time.
func TestCPUTime(t *testing.T) {
	for name, c := range map[string]struct {
		wall  bool
		size  int
		known bool
	}{
		"a profiler of the CPU":         {false, 100, true},
		"one whose buffer was full":     {false, 1, false},
		"one of the wall clock":         {true, 100, false},
		"one of the wall that was full": {true, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, c.wall)
				p := d.startWith(Options{MaxBufferSize: c.size, Wall: c.wall})
				useCPU(t, 20*time.Millisecond)
				d.emit(1)
				tr := d.stop(p)
				if c.known && tr.CPUTime < 20*time.Millisecond || !c.known && tr.CPUTime != 0 {
					t.Errorf("the trace has a CPU time of %v; known: %v, 20ms were used", tr.CPUTime, c.known)
				}
			})
		})
	}
}

// A change of the engine's interval after a profiler has stopped, before the hub removes
// it, is no gap: the CPU time used until then stays.
func TestCPUTimeBeforeTheEnd(t *testing.T) {
	onDesk(t, func(d *desk) {
		p := d.start(context.Background(), 10*time.Millisecond, 0)
		useCPU(t, 20*time.Millisecond)
		p.endedAt.Store(sampling.Now())
		p.follow(engineIdle, sampling.Now())
		p.follow(engineRunning, sampling.Now())
		if tr := d.stop(p); tr.CPUTime < 20*time.Millisecond {
			d.Errorf("the trace has a CPU time of %v, 20ms were used", tr.CPUTime)
		}
	})
}

// CPUTime is what the process used while the profiler sampled: not what was used in a gap, nor what was
// used before TakeTrace.
func TestCPUTimeAndGaps(t *testing.T) {
	onDesk(t, func(d *desk) {
		const used = 5 * time.Millisecond
		began := cputime.Process()
		p := d.start(d.Context(), 10*time.Millisecond, 0)
		// check wants the time from least to most, which were read inside and outside of the time that counts.
		check := func(what string, got, least, most time.Duration) {
			t.Helper()
			if got < least || got > most {
				t.Errorf("%s: the trace has a CPU time of %v, want %v to %v", what, got, least, most)
			}
		}
		useCPU(t, used)
		d.emit(1)
		outside := cputime.Process()
		part := d.take(p)
		check("a part", part.CPUTime, used, cputime.Process()-began)

		useCPU(t, used)
		d.tell(func(e *fakeEngine) { e.busy, e.taken = true, true })
		d.pass()
		d.wantState(p, Paused)
		paused := cputime.Process()
		useCPU(t, 4*used)
		d.tell(func(e *fakeEngine) { e.busy = false })
		inGap := cputime.Process() - paused
		d.pass()
		d.wantState(p, Started)
		useCPU(t, used)
		next := cputime.Process()
		part = d.take(p)
		check("a part with a gap", part.CPUTime, 2*used, cputime.Process()-outside-inGap)

		useCPU(t, used)
		d.tell(func(e *fakeEngine) { e.busy, e.taken = true, true })
		d.pass()
		paused = cputime.Process()
		useCPU(t, 4*used)
		tr := d.stop(p)
		check("a part that ends in a gap", tr.CPUTime, used, paused-next)
	})
}
