//go:build lab && linux && !perfline_portable

package cpuprof

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/internal/samplingtest"
)

// profileAs takes a profile and checks it. It may be refused one, or that ends early.
func profileAs(t *testing.T, r samplingtest.Rival) (refused, early bool) {
	t.Helper()
	if r.RateOnly {
		runtime.SetCPUProfileRate(0)
		return false, false
	}
	if r.StopFirst {
		pprof.StopCPUProfile()
	}
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		if r.StopLast {
			pprof.StopCPUProfile()
		}
		return true, false
	}
	runtime.Gosched() // the engine may start now, on a single processor, too
	burn(1000)
	end := time.Now()
	pprof.StopCPUProfile()
	p, err := profile.Parse(&b)
	if err != nil {
		t.Errorf("%s: the foreign profile is broken: %v", r.Name, err)
		return false, false
	}
	if p.Period != int64(10*time.Millisecond) {
		t.Errorf("%s: the foreign profile has a sample every %v: want 10ms, which it asked for", r.Name, time.Duration(p.Period))
	}
	return false, p.TimeNanos+p.DurationNanos < end.UnixNano()
}

// wantFreeProcess wants that other code can profile.
func wantFreeProcess(t *testing.T) {
	t.Helper()
	err := samplingtest.UntilFree(func() error {
		if pprof.StartCPUProfile(io.Discard) != nil {
			return sampling.ErrBusy
		}
		return nil
	})
	if err != nil {
		t.Errorf("after all were done: %v", err)
	}
	pprof.StopCPUProfile()
}

// Whatever others do at whatever moment, they get whole profiles, nothing waits for
// ever, and we resume.
func TestLabConflicts(t *testing.T) { testConflicts(t, 300, false) }

// The same while the rate is set to 0 at any time, which ends their profiles early, too.
func TestLabConflictsAndRateZero(t *testing.T) {
	over := make(chan struct{})
	var interloper sync.WaitGroup
	interloper.Go(func() {
		tick := time.NewTicker(100 * time.Microsecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				runtime.SetCPUProfileRate(0)
			case <-over:
				return
			}
		}
	})
	testConflicts(t, 150, true)
	close(over)
	interloper.Wait()
	running(t).Stop(discard)
	wantFreeProcess(t)
}

func testConflicts(t *testing.T, conflicts int, interloper bool) {
	e, err := New(sampling.NewSymbols(), samplingtest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Stop(discard) })
	var (
		turns   = make(chan struct{}, 1) // a rival acts for each
		one     sync.Mutex               // rival at a time
		all     sync.WaitGroup
		refused atomic.Int64
		early   atomic.Int64
	)
	for _, f := range samplingtest.Rivals {
		all.Go(func() {
			for range turns {
				one.Lock()
				switch r, short := profileAs(t, f); {
				case r:
					refused.Add(1)
				case short:
					early.Add(1)
				}
				one.Unlock()
			}
		})
	}
	random := rand.New(rand.NewPCG(1, 2))
	turn := func() {
		if random.IntN(2) > 0 {
			return
		}
		select {
		case turns <- struct{}{}:
		default:
		}
	}
	free := func() { // whenever no rival does anything, the profiler is to be had
		one.Lock()
		defer one.Unlock()
		err := samplingtest.UntilFree(func() error { return e.Start(e.Interval(0)) })
		if err != nil && !interloper {
			t.Errorf("Start while no other code uses the profiler: %v", err)
		}
		e.Stop(discard)
	}
	var stopped, taken, busy int
	allKinds := func() bool { return taken > 0 && busy > 0 && stopped > 0 && refused.Load() > 0 }
	began := time.Now()
	for (taken+busy+int(refused.Load()) < conflicts || !allKinds() && time.Since(began) < 30*time.Second) && !t.Failed() {
		turn()
		err := e.Start(e.Interval(0))
		if errors.Is(err, sampling.ErrBusy) {
			e.Stop(discard) // what was asked for must not keep them waiting
			free()
			busy++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for range (stopped + taken) % 8 {
			turn()
			burn(100)
			runtime.Gosched()
			if err = e.Tick(discard); err != nil {
				break
			}
		}
		switch {
		case err == nil:
			turn()
			e.Stop(discard)
			stopped++
		case errors.Is(err, sampling.ErrTaken):
			if taken++; taken%2 == 0 {
				free()
			}
		default:
			t.Fatal(err)
		}
	}
	close(turns)
	all.Wait()
	t.Logf("taken %d times, busy at %d starts, stopped %d times; they were refused %d times, %d of their profiles ended early",
		taken, busy, stopped, refused.Load(), early.Load())
	if most := int64(conflicts / 50); early.Load() > most && !interloper { // in the time that type owner tells of
		t.Errorf("%d foreign profiles ended before they were stopped, want at most %d", early.Load(), most)
	}
	if !allKinds() {
		t.Error("one kind of conflict never happened")
	}
	wantFreeProcess(t)
}
