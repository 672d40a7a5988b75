//go:build lab && linux

package profiling_test

import (
	"bytes"
	"runtime/pprof"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

// used is the process's CPU time.
func used(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bursts uses CPU time as the threads of a server do, in short bursts.
func bursts(t *testing.T, most time.Duration) {
	t.Helper()
	before := used(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			tick := time.NewTicker(3 * time.Millisecond)
			defer tick.Stop()
			for used(t)-before < most {
				<-tick.C
				if burn(200_000) == 0 {
					t.Error("xorshift never is 0")
				}
			}
		})
	}
	all.Wait()
}

func weight(tr *profile.Trace) (sum time.Duration) {
	for _, s := range tr.Samples {
		sum += s.Weight
	}
	return sum
}

// CPUTime is what the process used while the profiler sampled: not what was used in a gap, nor what was
// used before TakeTrace.
func TestLabCPUTimeAndGaps(t *testing.T) {
	profiling.LiveEngines(t)
	p := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
	// least is the time that was used while the profiler certainly sampled, and most is that
	// with the time of its pausing and resuming.
	check := func(what string, tr *profile.Trace, least, most time.Duration) {
		t.Helper()
		const slack = 20 * time.Millisecond // the kernel's 4 to 10 ms for which getrusage is late, for each of two threads
		if tr.CPUTime < least-slack || tr.CPUTime > most+slack {
			t.Errorf("%s: the trace has a CPU time of %v, the process used %v to %v", what, tr.CPUTime, least, most)
		}
	}
	before := used(t)
	bursts(t, 100*time.Millisecond)
	tr, err := p.TakeTrace()
	if err != nil {
		t.Fatal(err)
	}
	after := used(t)
	check("a part", tr, after-before, after-before)

	before = used(t)
	bursts(t, 100*time.Millisecond)
	taking := used(t)
	takeProfiler(t, &bytes.Buffer{})
	until(t, "paused", func() bool { return p.State() == profiling.Paused })
	paused := used(t)
	bursts(t, 100*time.Millisecond)
	stopping := used(t)
	// This makes the other profile, and under load that takes as long as the bursts.
	pprof.StopCPUProfile()
	until(t, "started again", func() bool { return p.State() == profiling.Started })
	again := used(t)
	bursts(t, 100*time.Millisecond)
	if tr, err = p.TakeTrace(); err != nil {
		t.Fatal(err)
	}
	after = used(t)
	check("a part with a gap", tr, taking-before+after-again, paused-before+after-stopping)

	before = used(t)
	bursts(t, 100*time.Millisecond)
	taking = used(t)
	takeProfiler(t, &bytes.Buffer{})
	defer pprof.StopCPUProfile()
	until(t, "paused", func() bool { return p.State() == profiling.Paused })
	paused = used(t)
	bursts(t, 100*time.Millisecond)
	check("a part that ends in a gap", stop(t, p), taking-before, paused-before)
}

// Samples of a Wall profiler stand for elapsed time.
func TestLabWallSamplesStandForTheTimePassed(t *testing.T) {
	profiling.LiveEngines(t)
	p := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond, Wall: true})
	until(t, "samples", func() bool { return p.Stats().Samples >= 50 })
	tr := stop(t, p)
	// This goroutine and others waited all the time.
	if got, want := weight(tr), (tr.Stopped-tr.Started)/2; got < want {
		t.Errorf("samples stand for %v, want those of some goroutines in %v", got, tr.Stopped-tr.Started)
	}
}

// The engine of the CPU measures what a sample costs.
func TestLabSampleCost(t *testing.T) {
	profiling.LiveEngines(t)
	p, err := profiling.Start(t.Context(), profiling.Options{SampleInterval: 10 * time.Millisecond, MaxBufferSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if p.Engine() != "cpu" {
		t.Skipf("engine %q does not tell", p.Engine())
	}
	burnUntil(t, p, 3)
	trace := stop(t, p)
	if cost := trace.Stats.SampleCost; cost <= 0 || cost > trace.CPUTime {
		t.Errorf("a sample costs %v, and all of the process used %v", cost, trace.CPUTime)
	}
}
