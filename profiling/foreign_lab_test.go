//go:build lab

package profiling_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/profiling"
)

// until waits for something that happens by itself.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// takeProfiler stops whatever profiles and profiles itself. A profiler asks for the CPU profiler
// again some time after it was taken, which may be sooner than here.
func takeProfiler(t *testing.T, to *bytes.Buffer) {
	t.Helper()
	until(t, "the profiler", func() bool {
		pprof.StopCPUProfile()
		to.Reset()
		return pprof.StartCPUProfile(to) == nil
	})
}

// Some agents stop any CPU profile and start their own. Such an agent gets a whole profile. All
// profilers pause meanwhile, and then continue.
func TestLabForeignProfilerComesAndGoes(t *testing.T) {
	profiling.LiveEngines(t)
	fast := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
	slow := start(t, profiling.Options{SampleInterval: 50 * time.Millisecond})
	state := func(want profiling.State) func() bool {
		return func() bool { return fast.State() == want && slow.State() == want }
	}
	until(t, "both started", state(profiling.Started))
	burnUntil(t, fast, 1)
	burnUntil(t, slow, 1)
	const rounds = 3
	before := slow.Stats().Gaps // that fast's coming made
	for range rounds {
		var foreign bytes.Buffer
		takeProfiler(t, &foreign)
		until(t, "both paused", state(profiling.Paused))
		pprof.StopCPUProfile()
		if _, err := pprofpb.Parse(&foreign); err != nil {
			t.Errorf("the other's profile: %v", err)
		}
		until(t, "both started again", state(profiling.Started))
	}
	if err := pprof.StartCPUProfile(io.Discard); err == nil {
		pprof.StopCPUProfile()
		t.Error("other code got the CPU profiler while profilers use it")
	}
	for p, more := range map[*profiling.Profiler]int{fast: 0, slow: before} {
		if s := stop(t, p).Stats; s.Gaps < rounds+more || s.GapTime <= 0 {
			t.Errorf("%v: %d gaps of %v, want %d at least", p.SampleInterval(), s.Gaps, s.GapTime, rounds+more)
		}
	}
	// With the last profiler the CPU profiler is free, at once.
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Errorf("after the last profiler: %v", err)
	}
	pprof.StopCPUProfile()
}

// SetCPUProfileRate(0) of other code ends the engine's profile, without another profile. The
// profilers go on, and after the last one the CPU profiler is free.
func TestLabForeignRateOfZero(t *testing.T) {
	profiling.LiveEngines(t)
	p := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
	const rounds = 3
	for n := 1; n <= rounds; n++ {
		until(t, "a gap", func() bool {
			runtime.SetCPUProfileRate(0) // no profile may run right now
			return p.Stats().Gaps >= n
		})
		until(t, "started again", func() bool { return p.State() == profiling.Started })
		burnUntil(t, p, p.Stats().Samples+2)
	}
	if s := stop(t, p).Stats; s.BusyGaps < rounds || s.BusyTime <= 0 {
		t.Errorf("busy %d times for %v, want %d", s.BusyGaps, s.BusyTime, rounds)
	}
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Errorf("after the last profiler: %v", err)
	}
	pprof.StopCPUProfile()
}

// A profile that runs when a profiler starts is not disturbed.
func TestLabForeignProfilerWasFirst(t *testing.T) {
	profiling.LiveEngines(t)
	var foreign bytes.Buffer
	if err := pprof.StartCPUProfile(&foreign); err != nil {
		t.Fatal(err)
	}
	p := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
	if p.State() != profiling.Paused {
		t.Errorf("the state is %s while somebody else profiles", p.State())
	}
	pprof.StopCPUProfile()
	if _, err := pprofpb.Parse(&foreign); err != nil {
		t.Errorf("the other's profile: %v", err)
	}
	until(t, "started", func() bool { return p.State() == profiling.Started })
	burnUntil(t, p, 1)
	tr := stop(t, p)
	if s := tr.Stats; s.Gaps != 1 || s.GapTime <= 0 || s.BusyGaps != 1 || s.BusyTime != s.GapTime {
		t.Errorf("%d gaps of %v, busy %d of %v, want one, which is that", s.Gaps, s.GapTime, s.BusyGaps, s.BusyTime)
	}
}

// An execution trace has samples of the same signals.
func TestLabExecutionTraceMeanwhile(t *testing.T) {
	profiling.LiveEngines(t)
	p := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
	var execution bytes.Buffer
	if err := trace.Start(&execution); err != nil {
		t.Skipf("somebody traces: %v", err) // go test -trace
	}
	burnUntil(t, p, 5)
	trace.Stop()
	if execution.Len() == 0 {
		t.Error("the execution trace is empty")
	}
	if tr := stop(t, p); tr.Stats.Gaps != 0 || tr.Stats.Lost != 0 {
		t.Errorf("%d gaps, %d lost, want none", tr.Stats.Gaps, tr.Stats.Lost)
	}
}

// burnUntil keeps this goroutine busy until the profiler has n samples.
func burnUntil(t *testing.T, p *profiling.Profiler, n uint64) {
	t.Helper()
	until(t, "samples", func() bool {
		burned = burn(1_000_000)
		return p.Stats().Samples >= n
	})
}

// The trace of each engine has the code that ran right before Stop.
func TestLabShortSession(t *testing.T) {
	profiling.LiveEngines(t)
	for range 5 { // a busy machine may give a profiler no sample
		p := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
		for begin := time.Now(); time.Since(begin) < 300*time.Millisecond; { // less than a window of the portable engine
			burned = burn(1_000_000)
		}
		tr := stop(t, p)
		found := false
		for _, s := range tr.Samples {
			for c := range tr.Calls(s) {
				found = found || strings.HasSuffix(c.Name, "profiling_test.burn")
			}
			if s.Timestamp < tr.Started || s.Timestamp > tr.Stopped {
				t.Errorf("a sample at %v of a profiler from %v to %v", s.Timestamp, tr.Started, tr.Stopped)
			}
		}
		if found {
			return
		}
	}
	t.Error("no sample of five profilers is of what ran")
}

// A profile that other code stops, and whose writer blocks, delays no profiler.
func TestLabForeignWriterHangs(t *testing.T) {
	profiling.LiveEngines(t)
	w := &slowWriter{entered: make(chan struct{}), open: make(chan struct{})}
	if err := pprof.StartCPUProfile(w); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		pprof.StopCPUProfile()
	}()
	<-w.entered
	p := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
	profiling.ForceSample()
	if p.State() != profiling.Paused {
		t.Errorf("the state is %s", p.State())
	}
	if tr, err := p.Stop(); !errors.Is(err, profiling.ErrBusy) || tr.Stats.BusyTime != tr.Stopped-tr.Started {
		t.Errorf("Stop: error %v, busy for %v of %v, want ErrBusy and all of it", err, tr.Stats.BusyTime, tr.Stopped-tr.Started)
	}
	q := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
	close(w.open)
	<-stopped
	until(t, "started", func() bool { return q.State() == profiling.Started })
	burnUntil(t, q, 1)
	stop(t, q)
	// The request made meanwhile is withdrawn.
	until(t, "the CPU profiler is free", func() bool {
		if err := pprof.StartCPUProfile(io.Discard); err != nil {
			return false
		}
		pprof.StopCPUProfile()
		return true
	})
}

type slowWriter struct {
	entered, open chan struct{}
	once          sync.Once
}

func (w *slowWriter) Write(b []byte) (int, error) {
	w.once.Do(func() { close(w.entered) })
	<-w.open
	return len(b), nil
}
