//go:build !perfline_portable && (linux || darwin)

package cpuprof

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/perfline/perfline/internal/cpushare"
	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/internal/samplingtest"
	"github.com/perfline/perfline/profiling/profile"
)

const here = "github.com/perfline/perfline/profiling/internal/cpuprof."

func discard(*sampling.Sample) {}

func newEngine(t *testing.T) *Engine {
	t.Helper()
	e, err := New(sampling.NewSymbols())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Stop(discard) })
	return e
}

// started is an engine that runs at its shortest interval.
func started(t *testing.T) *Engine {
	t.Helper()
	e := newEngine(t)
	samplingtest.Start(t, e)
	return e
}

// sampled runs work until n of its samples were seen, which are those with function on
// their stack, and hands each of them to see.
func sampled(t *testing.T, e *Engine, function string, n int, work func(), see func(*sampling.Sample)) {
	t.Helper()
	for n > 0 {
		work()
		err := e.Tick(func(s *sampling.Sample) {
			if slices.ContainsFunc(s.Stack, func(f *profile.Call) bool { return f.Name == here+function }) {
				n -= s.Count
				see(s)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

var sink uint64

// burn, and those that are named for their share, use the CPU.
//
//go:noinline
func burn(n int) {
	x := uint64(n)
	for range n * 1000 {
		x = x*6364136223846793005 + 1442695040888963407
	}
	sink = x
}

//go:noinline
func burn60() { burn(600) }

//go:noinline
func burn40() { burn(400) }

//go:noinline
func burnBoth() {
	burn60()
	burn40()
}

//go:noinline
func burnDeep(depth int) {
	if depth > 0 {
		deeper(depth)
	} else {
		burn40()
	}
	sink++ // the calls above are no tail calls
}

// deeper is inlined into burnDeep.
func deeper(depth int) { burnDeep(depth - 1) }

func TestInterval(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		name              string
		tick, asked, want time.Duration
	}{
		{"as asked", 4 * ms, 10 * ms, 10 * ms},
		{"the shortest", 4 * ms, 0, 4 * ms},
		{"negative", 4 * ms, -ms, 4 * ms},
		{"shorter than the shortest", 4 * ms, 1, 4 * ms},
		{"just longer than the shortest", 4 * ms, 4*ms + 1, 4 * ms},
		{"no whole fraction", 4 * ms, 6 * ms, time.Second / 167},
		{"the longest", 4 * ms, time.Second, time.Second},
		{"longer than the longest", 4 * ms, time.Hour, time.Second},
		{"endless", 4 * ms, 1<<63 - 1, time.Second},
		{"a tick that is no whole fraction", 3333333, 0, time.Second / 300},
		{"a third", 10 * ms, time.Second / 3, time.Second / 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newEngine(t)
			e.shortest = tc.tick
			got := e.Interval(tc.asked)
			if got != tc.want {
				t.Errorf("Interval(%v) with ticks of %v: got %v, want %v", tc.asked, tc.tick, got, tc.want)
			}
			if again := e.Interval(got); again != got {
				t.Errorf("Interval(%v) = %v: it is an interval already", got, again)
			}
		})
	}
	t.Run("of this system", func(t *testing.T) {
		if got := newEngine(t).Interval(0); got < ms || got > 10*ms {
			t.Errorf("the shortest interval is %v: want 1 to 10 ms", got)
		}
	})
}

// Samples are of the function that ran, at the time when it ran.
func TestSamples(t *testing.T) {
	began := sampling.Now()
	e := started(t)
	counts := map[string]int{}
	total, last := 0, began
	sampled(t, e, "burnBoth", 50, burnBoth, func(s *sampling.Sample) {
		switch {
		case s.At < last || s.At > sampling.Now():
			t.Errorf("a sample at %d: the one before is at %d, and it is %d", s.At, last, sampling.Now())
		case s.Weight != e.Interval(0)*time.Duration(s.Count):
			t.Errorf("%d samples at an interval of %v weigh %v", s.Count, e.Interval(0), s.Weight)
		case s.Marker != profile.Ordinary:
			t.Errorf("marker %d of a function that runs", s.Marker)
		case s.Cut || s.Tag != nil:
			t.Errorf("a short stack without labels has cut=%v tag=%p", s.Cut, s.Tag)
		}
		last = s.At
		if root := s.Stack[len(s.Stack)-1].Name; root != "testing.tRunner" {
			t.Errorf("the stack's outermost is %s, want testing.tRunner, as runtime/pprof has it", root)
		}
		countFunctions(counts, s)
		total += s.Count
	})
	if counts["burn60"]+counts["burn40"] < total*9/10 {
		t.Errorf("of %d samples burn60 has %d and burn40 %d: they do all the work", total, counts["burn60"], counts["burn40"])
	}
	if e.Lost() > 0 {
		t.Errorf("%d samples were lost", e.Lost())
	}
}

// countFunctions adds a sample to the count of each function on its stack.
func countFunctions(counts map[string]int, s *sampling.Sample) {
	for _, f := range s.Stack {
		counts[strings.TrimPrefix(f.Name, here)] += s.Count
	}
}

// A function has as many samples as its part of the time.
func TestSplit_CPUShare(t *testing.T) {
	cpushare.Check(t, func() error {
		e := started(t)
		defer e.Stop(discard)
		counts := map[string]int{}
		sampled(t, e, "burnBoth", 300, burnBoth, func(s *sampling.Sample) { countFunctions(counts, s) })
		// Four standard deviations of 300 samples.
		if share := float64(counts["burn60"]) / float64(counts["burnBoth"]); math.Abs(share-0.6) > 0.12 {
			return fmt.Errorf("burn60 has %.2f of %d samples, want about 0.60", share, counts["burnBoth"])
		}
		return nil
	})
}

func TestDeepStacks(t *testing.T) {
	e := started(t)
	inlined := 0
	sampled(t, e, "burn40", 5, func() { burnDeep(100) }, func(s *sampling.Sample) {
		if !s.Cut || len(s.Stack) < deepest {
			t.Errorf("more than 100 frames: cut=%v, %d frames; want it cut after %d", s.Cut, len(s.Stack), deepest)
		}
		// The runtime keeps a frame that was inlined without the one it was inlined into.
		if outermost := s.Stack[len(s.Stack)-1]; outermost.Name != here+"burnDeep" {
			t.Errorf("the outermost frame is %s, which was inlined into burnDeep", outermost.Name)
		}
		if len(s.Stack) > deepest {
			inlined++
		}
	})
	if inlined == 0 {
		t.Errorf("no stack was cut within an inlined frame")
	}
}

func TestTagIsTheGoroutinesLabels(t *testing.T) {
	e := started(t)
	var want unsafe.Pointer
	seen := map[unsafe.Pointer]bool{}
	labelled := func() {
		pprof.Do(context.Background(), pprof.Labels("k", "v"), func(context.Context) {
			want = goruntime.Labels()
			burn(5000)
		})
	}
	sampled(t, e, "burn", 3, labelled, func(s *sampling.Sample) { seen[s.Tag] = true })
	if !seen[want] {
		t.Errorf("labels at %p were never on a sample, but %v", want, seen)
	}
	if got := goruntime.Labels(); got != nil {
		t.Errorf("the engine left labels on its goroutine: %p", got)
	}
}

func TestStart(t *testing.T) {
	t.Run("labels of its caller stay", func(t *testing.T) {
		pprof.Do(context.Background(), pprof.Labels("k", "v"), func(context.Context) {
			want := goruntime.Labels()
			started(t).Stop(discard)
			if got := goruntime.Labels(); got != want {
				t.Errorf("labels %p, want %p", got, want)
			}
		})
	})
	t.Run("busy", func(t *testing.T) {
		if err := pprof.StartCPUProfile(io.Discard); err != nil {
			t.Fatal(err)
		}
		e := newEngine(t)
		if err := e.Start(e.Interval(0)); !errors.Is(err, sampling.ErrBusy) {
			t.Errorf("somebody profiles, and Start returns %v", err)
		}
		pprof.StopCPUProfile()
		samplingtest.Start(t, e)
	})
	t.Run("twice", func(t *testing.T) {
		e := started(t)
		if err := e.Start(e.Interval(0)); err == nil {
			t.Error("no error of a second Start")
		}
	})
	t.Run("free after Stop", func(t *testing.T) {
		for range 20 {
			started(t).Stop(discard)
			if err := pprof.StartCPUProfile(io.Discard); err != nil {
				t.Fatal(err)
			}
			pprof.StopCPUProfile()
		}
	})
	t.Run("not running", func(t *testing.T) {
		e := newEngine(t)
		e.Stop(discard)
		if err := e.Tick(discard); err != nil {
			t.Error(err)
		}
	})
}

func TestTaken(t *testing.T) {
	e := started(t)
	burn(10_000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		pprof.StopCPUProfile()
	}()
	n := 0
	var err error
	for err == nil {
		err = e.Flush(func(*sampling.Sample) { n++ })
	}
	if !errors.Is(err, sampling.ErrTaken) {
		t.Errorf("somebody stopped the profiler, and Flush returns %v", err)
	}
	if !strings.Contains(err.Error(), "StopCPUProfile was called") {
		t.Errorf("Flush: %v, want an error that says what ended the profile", err)
	}
	<-done
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Errorf("who took the profiler does not get it: %v", err)
	}
	e.Stop(discard) // must not stop theirs
	if err := pprof.StartCPUProfile(io.Discard); err == nil {
		t.Error("an engine that does not run stopped somebody's profile")
	}
	pprof.StopCPUProfile()
}

// SetCPUProfileRate(0) is not taken for StopCPUProfile, and the CPU profiler is free afterwards.
func TestTakenByARateOfZero(t *testing.T) {
	e := started(t)
	runtime.SetCPUProfileRate(0)
	if err := e.Tick(discard); !errors.Is(err, sampling.ErrTaken) || !strings.Contains(err.Error(), "SetCPUProfileRate(0) was called") {
		t.Errorf("Tick: %v, want ErrTaken and what ended the profile", err)
	}
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	pprof.StopCPUProfile()
}

// A panic of emit must not keep the profiler from other code.
func TestEmitPanics(t *testing.T) {
	e := started(t)
	emit := func(*sampling.Sample) { panic("emit") }
	panics := func(f func()) (panicked bool) {
		defer func() { panicked = recover() != nil }()
		f()
		return false
	}
	for !panics(func() { _ = e.Tick(emit) }) {
		burn(1000)
	}
	burn(50_000)
	for !panics(func() { e.Stop(emit) }) { // there was no sample to panic at
		samplingtest.Start(t, e)
		burn(50_000)
	}
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		t.Errorf("after Stop: %v", err)
	}
	pprof.StopCPUProfile()
	samplingtest.Start(t, e)
	time.Sleep(e.overdue + e.overdue/4) // the read that panicked must not be given up now
	if err := e.Tick(discard); err != nil {
		t.Errorf("Tick, when reads of before are overdue: %v", err)
	}
}
