//go:build lab

package window

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/internal/cpushare"
	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/internal/samplingtest"
	"github.com/perfline/perfline/profiling/profile"
)

// Two functions under labels of their own, over two windows: each sample has the labels and the stack of its function.
func TestLabSamples(t *testing.T) { split(t, 2) }

// Each function has its part of the samples.
func TestLabSplit(t *testing.T) {
	cpushare.Check(t, func() error {
		// Counts are small: 200 samples.
		got, want := split(t, 4)
		t.Logf("share of work70: %.1f %% of samples, %.1f %% of time", got*100, want*100)
		if math.Abs(got-want) > 0.1 {
			return fmt.Errorf("share of work70: %.3f of samples' weight, %.3f of time: want them within 0.1", got, want)
		}
		return nil
	})
}

// split returns the share of work70 in the samples, and in the time.
func split(t *testing.T, windows int) (ofSamples, ofTime float64) {
	t.Helper()
	e := start(t)
	began := sampling.Now()
	c := &collected{}
	var long, all time.Duration
	for range windows {
		for range 5 { // half a second of CPU time
			pprof.Do(t.Context(), pprof.Labels("part", "70", "at", "x"), func(context.Context) { long += work70(70 * time.Millisecond) })
			pprof.Do(t.Context(), pprof.Labels("part", "30"), func(context.Context) { all += work30(30 * time.Millisecond) })
		}
		if err := e.Tick(c.emit); err != nil {
			t.Fatalf("Tick: %v", err)
		}
	}
	all += long
	e.Stop(c.emit)
	ended := sampling.Now()
	var in70, in30 time.Duration
	last := began
	for _, s := range c.samples {
		if s.At < last || s.At > ended {
			t.Errorf("sample at %d: want it after %d and before %d", s.At, last, ended)
		}
		last = s.At
		var want []spanlabels.Label
		switch {
		case on(s, "work70"):
			in70 += s.Weight
			want = []spanlabels.Label{{Key: "at", Value: "x"}, {Key: "part", Value: "70"}}
		case on(s, "work30"):
			in30 += s.Weight
			want = []spanlabels.Label{{Key: "part", Value: "30"}}
		default:
			continue
		}
		if s.Weight != time.Duration(s.Count)*10*time.Millisecond || s.Count < 1 {
			t.Errorf("Count %d, Weight %v: want 10 ms each", s.Count, s.Weight)
		}
		if !slices.Equal(s.Labels, want) {
			t.Errorf("labels %v, want %v", s.Labels, want)
		}
		if s.Tag != nil || s.Cut {
			t.Errorf("Tag %v, Cut %v: want neither", s.Tag, s.Cut)
		}
		// inlined into its caller, and visible nevertheless
		if !on(s, ".work") {
			t.Errorf("stack without the inlined call: %s", s.Stack[0].Name)
		}
		for _, f := range s.Stack {
			if strings.HasSuffix(f.Name, "work70") && (f.StartLine == 0 || f.Line <= f.StartLine || !strings.HasSuffix(f.File, "window_lab_test.go")) {
				t.Errorf("symbol %+v: want where work70 begins, and a line after", *f)
			}
		}
	}
	if e.Lost() != 0 {
		t.Errorf("Lost() = %d, want 0", e.Lost())
	}
	return float64(in70) / float64(in70+in30), float64(long) / float64(all)
}

//go:noinline
func work70(d time.Duration) time.Duration {
	return work(d)
}

//go:noinline
func work30(d time.Duration) time.Duration {
	return work(d)
}

func work(d time.Duration) time.Duration { return burn(d) }

// burn takes so much of a processor, however long the machine takes to give it, and returns how
// much; where that is not known, it takes so long.
//
//go:noinline
func burn(d time.Duration) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := cputime.Thread
	if used() == 0 {
		began := time.Now()
		used = func() time.Duration { return time.Since(began) }
	}
	began := used()
	for used()-began < d {
	}
	return used() - began
}

// Other code stops and starts profiles while the engine ticks. No goroutine panics or
// blocks, all profiles can be read, and the engine comes back.
func TestLabConflicts(t *testing.T) {
	const conflicts = 200
	var (
		wg            sync.WaitGroup
		profiles, cut int // of other code; ended by the engine
	)
	begun, free, done := make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
	wg.Go(func() {
		defer close(done)
		for n := range conflicts {
			<-begun
			if n%4 == 0 {
				runtime.SetCPUProfileRate(0)
				if n%8 == 0 {
					tell(free)
					continue
				}
			}
			pprof.StopCPUProfile()                               // the engine's, as some do "to be sure"
			if w, err := begin(sampling.Process{}); err == nil { // else the engine was first
				work30(100 * time.Microsecond)
				if w.endedAt.Load() != 0 {
					cut++
				}
				pprof.StopCPUProfile()
				profiles++
				if _, err := pprofpb.ParseData(w.profile.Bytes()); err != nil {
					t.Errorf("profile of somebody else: %v", err)
				}
			}
			tell(free)
		}
	})
	e := New(sampling.NewSymbols(), samplingtest.Patience, sampling.Process{})
	var started, busy, taken int
	emit := func(*sampling.Sample) {}
	for runs, over := false, false; !over; {
		if runs {
			if err := e.Tick(emit); errors.Is(err, sampling.ErrTaken) {
				runs = false
				taken++
			} else if err != nil {
				t.Fatalf("Tick: %v", err)
			}
		} else if err := e.Start(interval); errors.Is(err, sampling.ErrBusy) {
			busy++
			select {
			case <-free:
			case <-done:
			}
		} else if err != nil {
			t.Fatalf("Start: %v", err)
		} else {
			runs = true
			started++
		}
		if runs {
			tell(begun)
		}
		select {
		case <-done:
			over = true
		default:
		}
	}
	wg.Wait()
	e.Stop(emit)
	t.Logf("%d conflicts: %d profiles of somebody else, %d cut; engine started %d times, busy %d, taken %d", conflicts, profiles, cut, started, busy, taken)
	if profiles == 0 || started < 2 || taken == 0 || e.Lost() != 0 {
		t.Errorf("profiles %d, started %d, taken %d, lost %d: want all to be had, and none lost", profiles, started, taken, e.Lost())
	}
	if cut > conflicts/50 { // the moment that the package's comment tells of
		t.Errorf("%d of somebody else's %d profiles were ended by the engine, want next to none", cut, profiles)
	}
	c := &collected{}
	for range 5 { // a busy machine may give a window no sample
		samplingtest.Start(t, e)
		work70(100 * time.Millisecond)
		e.Stop(c.emit)
		if len(c.samples) > 0 {
			return
		}
	}
	t.Error("no samples after all conflicts, want some")
}

func tell(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // told already
	}
}

// start makes an engine that runs until the test ends.
func start(t testing.TB) *Engine {
	t.Helper()
	e := New(sampling.NewSymbols(), samplingtest.Patience, sampling.Process{})
	samplingtest.Start(t, e)
	t.Cleanup(func() { e.Stop(func(*sampling.Sample) {}) })
	return e
}

// on says whether a function whose name ends in suffix is on the stack.
func on(s sampling.Sample, suffix string) bool {
	return slices.ContainsFunc(s.Stack, func(f *profile.Call) bool { return strings.HasSuffix(f.Name, suffix) })
}

func BenchmarkRotation(b *testing.B) {
	e := start(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := e.Tick(func(*sampling.Sample) {}); err != nil {
			b.Fatal(err)
		}
	}
}

// The cost of the check for other code.
func BenchmarkIdle(b *testing.B) {
	start(b)
	for b.Loop() {
		if idle(sampling.Process{}) {
			b.Fatal("idle while a window is under way")
		}
	}
}
