package profiling_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
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
func TestForeignProfilerComesAndGoes_JSP5(t *testing.T) {
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
func TestForeignRateOfZero(t *testing.T) {
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
	if _, err := pprofpb.Parse(&foreign); err != nil {
		t.Errorf("the other's profile: %v", err)
	}
	until(t, "started", func() bool { return p.State() == profiling.Started })
	burnUntil(t, p, 1)
	tr := stop(t, p)
	if s := tr.Stats; s.Gaps != 1 || s.GapTime <= 0 || s.BusyGaps != 1 || s.BusyTime != s.GapTime {
		t.Errorf("%d gaps of %v, busy %d of %v, want one, which is that", s.Gaps, s.GapTime, s.BusyGaps, s.BusyTime)
	}
	written, err := tr.Pprof()
	if err != nil {
		t.Fatal(err)
	}
	if len(written.Comments) != 1 || !strings.Contains(written.Comments[0], "other code in the process had the CPU profiler for") {
		t.Errorf("the profile's comments are %q, want one that tells of the gap", written.Comments)
	}
}

// Other code has the CPU profiler all the time. Then Stop returns ErrBusy, and the counts have
// the gap.
func TestForeignProfilerAllTheTime(t *testing.T) {
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Fatal(err)
	}
	defer pprof.StopCPUProfile()
	p := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
	part, err := p.TakeTrace() // the profiler goes on
	if err != nil || len(part.Samples) != 0 || part.Stats.BusyTime != part.Stopped-part.Started {
		t.Errorf("TakeTrace: %v, %d samples, busy for %v of %v, want all of it and no error", err, len(part.Samples), part.Stats.BusyTime, part.Stopped-part.Started)
	}
	tr, err := p.Stop()
	if !errors.Is(err, profiling.ErrBusy) {
		t.Errorf("Stop: %v, want ErrBusy", err)
	}
	if tr == nil || len(tr.Samples) != 0 || tr.Stats.BusyGaps != 1 || tr.Stats.BusyTime != tr.Stopped-tr.Started {
		t.Errorf("Stop: trace %+v, want an empty one that says how long", tr)
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

// burnUntil keeps this goroutine busy until the profiler has n samples.
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

// The trace of each engine has the code that ran right before Stop.
func TestShortSession_JSP27(t *testing.T) {
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

// A test in a synctest bubble may meet profilers from outside of the bubble.
func TestProfilersAndBubbles(t *testing.T) {
	p := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
	before := p.Stats().Samples
	synctest.Test(t, func(t *testing.T) {
		profiling.ForceSample()
		other, err := profiling.Start(t.Context(), profiling.Options{SampleInterval: 10 * time.Millisecond, MaxBufferSize: 10})
		if err != nil {
			t.Fatal(err)
		}
		stop(t, other)
		stop(t, p)
	})
	if n := p.Stats().Samples - before; n < 1 {
		t.Errorf("%d samples were taken in the bubble, want the one that was forced", n)
	}
}

// The profiler's own goroutine has no labels of the goroutine that started it.
func TestProfilerHasNoLabels(t *testing.T) {
	var p *profiling.Profiler
	pprof.Do(t.Context(), pprof.Labels("customer", "secret"), func(context.Context) {
		p = start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
	})
	w := start(t, profiling.Options{SampleInterval: time.Millisecond, Wall: true, WallBudget: 1})
	until(t, "a tick", func() bool { return w.Stats().Samples > 0 })
	tr := stop(t, w)
	stop(t, p)
	for _, s := range tr.Samples {
		for c := range tr.Calls(s) {
			if strings.HasPrefix(c.Name, "github.com/perfline/perfline/profiling.(*hub)") && s.ContextID != profile.None {
				t.Fatalf("%s runs with %+v", c.Name, tr.Contexts[s.ContextID])
			}
		}
	}
}

// A profile that other code stops, and whose writer blocks, delays no profiler.
func TestForeignWriterHangs(t *testing.T) {
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

// The program's log handler is its own business: one that blocks holds up no profiler, nor the
// code that has the CPU profiler.
func TestLogHandlerBlocks(t *testing.T) {
	handler := &slowHandler{entered: make(chan struct{}, 1), open: make(chan struct{})}
	logger, output, flags := slog.Default(), log.Writer(), log.Flags()
	slog.SetDefault(slog.New(handler))
	defer func() {
		close(handler.open)
		slog.SetDefault(logger)
		log.SetOutput(output)
		log.SetFlags(flags)
	}()
	p := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
	var foreign bytes.Buffer
	takeProfiler(t, &foreign)
	until(t, "paused", func() bool { return p.State() == profiling.Paused })
	select {
	case <-handler.entered:
	case <-time.After(30 * time.Second):
		t.Fatal("the pause was not logged")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		other, err := profiling.Start(context.Background(), profiling.Options{MaxBufferSize: 10})
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := other.Stop(); !errors.Is(err, profiling.ErrBusy) {
			t.Errorf("Stop: %v, want ErrBusy", err)
		}
		pprof.StopCPUProfile()
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("a profiler waits for the log handler")
	}
	until(t, "started", func() bool { return p.State() == profiling.Started })
	burnUntil(t, p, p.Stats().Samples+2)
	stop(t, p)
}

type slowHandler struct {
	slog.Handler
	entered, open chan struct{}
}

func (h *slowHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *slowHandler) Handle(context.Context, slog.Record) error {
	select {
	case h.entered <- struct{}{}:
	default: // it has been
	}
	<-h.open
	return nil
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

// A stack that is deeper than the engine sees is cut, and marked as cut.
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
