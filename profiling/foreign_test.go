package profiling_test

import (
	"bytes"
	"io"
	"runtime/pprof"
	"runtime/trace"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/profiling"
)

// until waits for something that happens by itself.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// Who stops whatever profiles and profiles itself, as some agents do, gets a whole
// profile; all sessions are paused meanwhile, and then go on.
func TestForeignProfilerComesAndGoes_JSP5(t *testing.T) {
	fast := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
	slow := start(t, profiling.Options{SampleInterval: 50 * time.Millisecond})
	state := func(want profiling.State) func() bool {
		return func() bool { return fast.State() == want && slow.State() == want }
	}
	until(t, "both started", state(profiling.Started))
	const rounds = 3
	before := slow.Stats().Gaps // that fast's coming made
	for range rounds {
		pprof.StopCPUProfile()
		var foreign bytes.Buffer
		if err := pprof.StartCPUProfile(&foreign); err != nil {
			t.Fatalf("the other's profiler: %v", err)
		}
		until(t, "both paused", state(profiling.Paused))
		pprof.StopCPUProfile()
		if _, err := profile.Parse(&foreign); err != nil {
			t.Errorf("the other's profile: %v", err)
		}
		until(t, "both started again", state(profiling.Started))
	}
	if err := pprof.StartCPUProfile(io.Discard); err == nil {
		pprof.StopCPUProfile()
		t.Error("somebody else got the profiler while sessions use it")
	}
	for p, more := range map[*profiling.Profiler]int{fast: 0, slow: before} {
		if s := stop(t, p).Stats; s.Gaps < rounds+more || s.GapTime <= 0 {
			t.Errorf("%v: %d gaps of %v, want %d at least", p.SampleInterval(), s.Gaps, s.GapTime, rounds+more)
		}
	}
	// With the last session the profiler is free, at once.
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Errorf("after the last session: %v", err)
	}
	pprof.StopCPUProfile()
}

// A profile that runs when a session starts is not disturbed.
func TestForeignProfilerWasFirst(t *testing.T) {
	var foreign bytes.Buffer
	if err := pprof.StartCPUProfile(&foreign); err != nil {
		t.Fatal(err)
	}
	p := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
	if p.State() != profiling.Paused {
		t.Errorf("the state is %s while somebody else profiles", p.State())
	}
	pprof.StopCPUProfile()
	if _, err := profile.Parse(&foreign); err != nil {
		t.Errorf("the other's profile: %v", err)
	}
	until(t, "started", func() bool { return p.State() == profiling.Started })
	if s := stop(t, p).Stats; s.Gaps != 1 || s.GapTime <= 0 {
		t.Errorf("%d gaps of %v, want one", s.Gaps, s.GapTime)
	}
}

// An execution trace has samples of the same signals.
func TestExecutionTraceMeanwhile(t *testing.T) {
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

// burnUntil keeps this goroutine busy until the session has n samples.
func burnUntil(t *testing.T, p *profiling.Profiler, n uint64) {
	t.Helper()
	until(t, "samples", func() bool {
		burned = burn(1_000_000)
		return p.Stats().Samples >= n
	})
}

var burned uint64 // else there would be nothing to compute

//go:noinline
func burn(n int) (x uint64) {
	x = 88172645463325252
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// A stack that is deeper than the engine sees is cut, and says so.
func TestDeepStacksAreCut(t *testing.T) {
	p := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
	var deep func(n int)
	deep = func(n int) {
		if n > 0 {
			deep(n - 1)
			return
		}
		burnUntil(t, p, 20)
	}
	deep(200)
	tr := stop(t, p)
	cut := 0
	for _, s := range tr.Samples {
		if s.Truncated {
			cut++
		}
	}
	if cut == 0 || uint64(cut) != tr.Stats.Truncated {
		t.Errorf("%d samples say that they are cut, the counts %d of %d; want some, and the same", cut, tr.Stats.Truncated, len(tr.Samples))
	}
}
